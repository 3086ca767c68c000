"""Writes generated text into a document, between its marks; what stands outside is written by hand and kept."""

import pathlib
import sys


def put(path, name, body):
    """Replaces the lines between `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

    Ends the program, with the document as it was, where a mark is missing or stands twice.
    """
    path = pathlib.Path(path)
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = path.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        sys.exit(f"{path}: there must be one {begin} and one {end} after it")
    before, rest = text.split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}\n{body.strip()}\n{end}{after}", encoding="utf-8")
