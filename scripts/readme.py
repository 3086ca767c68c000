#!/usr/bin/env python3
"""Puts the terminal's summary of the pictured run into the README, between its markers.

Run by scripts/pictures, so that what the README shows is what a real run said.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SUMMARY = ROOT / "docs/pictures/terminal.txt"


def between(text, name, body):
    """`text` with `body` on the lines between `<!-- name -->` and `<!-- /name -->`."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, rest = text.split(opening, 1)
    _, tail = rest.split(closing, 1)
    return f"{head}{opening}\n{body}\n{closing}{tail}"


def main():
    paragraphs = SUMMARY.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    # Title, headline, strip, table of the tests, saves: what fits a screen.
    headline = paragraphs[1]
    quoted = "\n".join(f"> {line}" for line in headline.splitlines())
    shown = "\n\n".join(paragraphs[:5])
    text = README.read_text(encoding="utf-8")
    text = between(text, "sentence", quoted)
    text = between(text, "terminal", f"```\n{shown}\n```")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
