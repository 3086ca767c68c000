#!/usr/bin/env python3
"""Puts the sentence of the pictured run into the README, and its terminal's summary into the reviewer's page.

Run by scripts/pictures, so that what these documents show is what a real run said.
"""

import pathlib

import marks

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
REVIEWER = ROOT / "docs/start-reviewer.md"
SUMMARY = ROOT / "docs/pictures/terminal.txt"


def main():
    paragraphs = SUMMARY.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    # Title, headline, strip, table of the tests, saves: what fits a screen.
    headline = paragraphs[1]
    quoted = "\n".join(f"> {line}" for line in headline.splitlines())
    shown = "\n\n".join(paragraphs[:5])
    marks.put(README, "sentence", quoted)
    marks.put(REVIEWER, "terminal", f"```\n{shown}\n```")


if __name__ == "__main__":
    main()
