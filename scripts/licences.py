#!/usr/bin/env python3
"""Writes the licences of all code that is in a release: each crate with its licence and the texts in it, each
text once; SQLite, the C library and Rust's standard library.

    licences.py TOOLS FILE
"""
import json, pathlib, re, sys

import dist_files

NAMED = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)


def texts(folder):
    """The licence files of a crate or library."""
    found = [file for file in sorted(folder.iterdir()) if file.is_file() and NAMED.match(file.name)]
    return [file.read_text(errors="replace").strip() for file in found if file.suffix not in (".rs", ".html", ".py")]


def folders():
    """Where each crate's source is."""
    metadata = json.loads(dist_files.printed("cargo", "metadata", "--locked", "--format-version", "1"))
    return {(one["name"], one["version"]): pathlib.Path(one["manifest_path"]).parent for one in metadata["packages"]}


def main():
    tools, out = map(pathlib.Path, sys.argv[1:3])
    where, numbers, lines, bare = folders(), {}, [], []
    parts = []
    for (name, version), licence in sorted(dist_files.inside(dist_files.RELEASE).items()):
        if not name.startswith("flashlag"):
            parts.append((f"{name} {version}", licence.replace("/", " OR "), texts(where[name, version])))
    libc = next(tools.glob("lib/python3*/site-packages/ziglang/lib/libc/musl"))
    rust = pathlib.Path(dist_files.printed("rustc", "--print", "sysroot")) / "share/doc/rust/licenses"
    parts += [("SQLite", "in the public domain", []), ("musl", "MIT", texts(libc)),
              (f"Rust's standard library {dist_files.rustc()}", "MIT OR Apache-2.0",
               [(rust / f"{name}.txt").read_text().strip() for name in ("Apache-2.0", "MIT")])]
    for name, licence, found in parts:
        at = sorted({numbers.setdefault(text, len(numbers) + 1) for text in found})
        bare += [name] if not at and licence != "in the public domain" else []
        lines.append(f"{name}: {licence}" + (f" (texts {', '.join(map(str, at))})" if at else ""))
    lines += [f"\n{'=' * 30} text {number} {'=' * 30}\n\n{text}" for text, number in numbers.items()]
    out.write_text("flashlag's programs contain code of these projects.\n\n" + "\n".join(lines) + "\n")
    if bare:
        print(f"licences: no text of its own has: {', '.join(bare)}", file=sys.stderr)


main()
