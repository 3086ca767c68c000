"""`python -m flashlag`: the `flashlag` program, where its folder is not in PATH."""

from __future__ import annotations

import os
import sys

from flashlag._program import installed


def main() -> None:
    """Becomes the program, with the same arguments."""
    program = installed()
    if program is None:
        sys.exit("flashlag: no program was installed with this package: pip install flashlag brings both")
    os.execv(program, [program, *sys.argv[1:]])


main()
