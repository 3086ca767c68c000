"""The `flashlag` program that the wheel contains."""

from __future__ import annotations

import os
from importlib import metadata


def installed() -> str | None:
    """The program that was installed with this package; another one may be of another version."""
    try:
        files = metadata.files("flashlag") or []
    except metadata.PackageNotFoundError:
        return None
    found = [os.fspath(file.locate()) for file in files if file.name == "flashlag"]
    return next((path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)), None)
