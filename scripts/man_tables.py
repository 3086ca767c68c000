"""Makes of a reference in Markdown the source of a man page: its name first, and tables as lists of terms."""

import re
import sys


def cells(line: str) -> list[str]:
    """The cells of a table's row; `\\|` within one stays a bar."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def term(head: list[str], row: list[str]) -> str:
    """A row as a term with what it means: `key` (a size; 4KiB), then the last column."""
    named = zip(head[1:-1], row[1:-1])
    is_default = lambda of, cell: of == "default" and cell != "must be given"
    between = [f"default: {cell}" if is_default(of, cell) else cell for of, cell in named if cell]
    about = f" ({'; '.join(between)})" if between else ""
    return f"{row[0] or head[0]}{about}\n:   {row[-1] or '-'}\n"


def source(lines: list[str], name: str, about: str) -> str:
    """The document with its title replaced by NAME and DESCRIPTION, which a man page begins with."""
    made = [f"# NAME\n\n{name} - {about}\n", "# DESCRIPTION"]
    head: list[str] | None = None
    fenced = False
    for line in lines[1:]:
        fenced ^= line.startswith("```")
        if fenced or not line.startswith("|"):
            head = None
            line = line if fenced else re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
            if not line.startswith("<!--"):
                made.append(line[1:] if line.startswith("##") and not fenced else line)
        elif head is None:
            head = cells(line)
        elif not re.fullmatch(r"[|\s:-]+", line):
            plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell) for cell in cells(line)]
            made.append(term(head, plain))
    return "\n".join(made) + "\n"


if __name__ == "__main__":
    sys.stdout.write(source(sys.stdin.read().splitlines(), sys.argv[1], sys.argv[2]))
