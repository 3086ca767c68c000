"""Writes what each profile forecasts of rows that it was fitted to and that are left out, into docs/model.md.

    python3 scripts/left_out.py target/release/flashlag [PROFILE...]
"""

import pathlib
import subprocess
import sys

import marks

MODEL = pathlib.Path(__file__).parent.parent / "docs/model.md"


def table(said):
    """The lines of the program's table as Markdown; a profile that was fitted to nothing is left out."""
    rows = [line.split() for line in said.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[1].isdigit() and row[2] != "0"]
    if not rows:
        sys.exit(f"no profile's figures in what was printed:\n{said}")
    head = "| profile | parameters | rows | median error | worst |\n|---|---|---|---|---|\n"
    return head + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    """Asks the program for these profiles, by default all: some take many minutes."""
    command = [sys.argv[1], "-q", "profiles", "check", "--leave-one-out", *sys.argv[2:]]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    marks.put(MODEL, "left-out", table(said))


if __name__ == "__main__":
    main()
