"""Writes what each profile forecasts of rows that it was fitted to and that are left out, into docs/model.md.

    python3 scripts/left_out.py target/release/flashlag [PROFILE...]

By default all profiles: some take many minutes. A family is forecast at once besides if all of it is asked for.
"""

import pathlib
import subprocess
import sys

import marks

MODEL = pathlib.Path(__file__).parent.parent / "docs/model.md"
# One phone with other storage; UFS 2.0 of one year behind one generation of Snapdragon; one maker's A1 cards of one year.
FAMILIES = [
    ["moto-x-2013", "moto-x-2013-sandisk", "moto-x-2013-toshiba"],
    ["moto-z-2016", "pixel-2016"],
    ["sd-a1", "sd-a1-extreme", "sd-a1-ultra"],
]


def figures(program, *words):
    """The program's figures of each profile that was fitted to rows: parameters, rows, median error and worst."""
    command = [program, "-q", "profiles", "check", "--leave-one-out", *words]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in said.splitlines()]
    rows = {row[0]: row[1:] for row in rows if len(row) == 5 and row[1].isdigit() and row[2] != "0"}
    if not rows:
        sys.exit(f"no profile's figures in what was printed:\n{said}")
    return rows


def main():
    """Asks the program for these profiles, then for the families among them."""
    program, *names = sys.argv[1:]
    alone = figures(program, *names)
    together = {}
    for family in FAMILIES:
        if all(name in alone for name in family):
            together |= figures(program, "--family", *family)
    head = (
        "| profile | parameters | rows | median error | worst | median with its family | worst |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    lines = [[name, *row, *together.get(name, ["", ""])[-2:]] for name, row in alone.items()]
    marks.put(MODEL, "left-out", head + "\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
