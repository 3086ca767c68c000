"""Errors speak Python: whatever option a sentence names is its keyword argument, where there is one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import flashlag
from flashlag._words import in_python

CRATES = Path(__file__).parents[2]
WITHOUT_KEYWORD = {
    "runs": "repeats are several calls",
    "fail-if": "the gate of a comparison is the program's",
    "from-format": "no traces are read in Python",
    "columns": "no traces are read in Python",
    "store": "nothing is served in Python",
    "plugin": "nothing is served in Python",
    "listen": "nothing is served in Python",
    "direct-io": "of losetup",
    "directory": "of fio",
    "output-format": "of fio",
    "disable": "of fio, --disable_lat",
    "rule": "of a style sheet",
    "probe": "nothing is watched in Python",
    "end": "of the watch of a phone, which there is not in Python",
    "format": "of the report of a watch, which there is not in Python",
}
"""Options of sentences that no function of the package has, and why."""


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("overwrite it with --force", "overwrite it with force=True"),
        ("go on with it by --resume, or", "go on with it by resume=True, or"),
        (
            "add --yes to agree, or --budget to cap it",
            "add yes=True to agree, or budget=… to cap it",
        ),
        ("more than --budget 6.3 MB (raise it)", 'more than budget="6.3 MB" (raise it)'),
        ("the reviewers left 300 MB: --leave 300MB.", 'the reviewers left 300 MB: leave="300MB".'),
        ("give a directory with --on DIR", 'give a directory with on="DIR"'),
        ("--leave: `x` is no size", "leave: `x` is no size"),
        ("--min-battery: above 100", "min_battery: above 100"),
        ("(--max-temperature 45C)", "(max_temperature=45)"),
        ("name one with --from", "name one with start=…"),
        ("with --no-forecast it takes no time", "with forecast=False it takes no time"),
        ("(`--chart list` prints all)", "(`charts()` prints all)"),
        ("give --change age=12mo", 'give change="age=12mo"'),
        ("with --runs 3", "with --runs 3"),
        ("`--set spam=…`: no such setting", '`set={"spam": …}`: no such setting'),
        ("try --set idle=24h.", 'try set={"idle": "24h"}.'),
        (
            "(--set time=2h --set bytes=256GB)",
            '(set={"time": "2h", "bytes": "256GB"})',
        ),
        ("Run it longer (--set time=).", 'Run it longer (set={"time": …}).'),
        # A command for a terminal, an option of another program, a path.
        ("`flashlag clean --force`, then --force", "`flashlag clean --force`, then force=True"),
        ("use `fio --output=FILE`", "use `fio --output=FILE`"),
        ("losetup --direct-io=on", "losetup --direct-io=on"),
        ("cannot read /tmp/a--force", "cannot read /tmp/a--force"),
    ],
)
def test_an_option_in_a_sentence_is_its_keyword_argument(sentence: str, expected: str) -> None:
    assert in_python(sentence) == expected
    assert in_python(expected) == expected
    assert str(flashlag.InputError(sentence)) == expected


def linked(crate: str, found: dict[str, Path]) -> dict[str, Path]:
    """The crates that the package is made of."""
    folder = CRATES / crate
    if crate not in found:
        found[crate] = folder
        manifest = tomllib.loads((folder / "Cargo.toml").read_text())
        # What a page in a browser does without stands under a target.
        parts = [manifest, *manifest.get("target", {}).values()]
        for name in (name for part in parts for name in part.get("dependencies", {})):
            if name.startswith("flashlag-"):
                linked(name.removeprefix("flashlag-"), found)
    return found


def sentences() -> list[tuple[str, str]]:
    """Each text of these crates with an option in it: where it is, and what it says."""
    found = []
    for folder in linked("python", {}).values():
        for path in sorted((folder / "src").rglob("*.rs")):
            if "tests" in path.stem or "tests" in path.parts:
                continue
            code = path.read_text().partition("#[cfg(test)]")[0]
            code = re.sub(r"^\s*//.*$", "", code, flags=re.MULTILINE)
            code = re.sub(r"\\\n\s*", "", code)
            for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
                # A word alone, without a sentence, is an argument for another program or the name of an option.
                if re.search(r"(?<![\w-])--[a-z]", text) and " " in text:
                    found.append((f"{path.relative_to(CRATES)}", text))
    return found


def test_every_option_that_a_text_names_has_a_keyword_or_a_reason_why_there_is_none() -> None:
    texts = sentences()
    assert len(texts) > 40, "the texts are not found any more"
    assert any("add --yes to agree" in text for _, text in texts)
    left = {}
    for place, text in texts:
        # What a text holds a place for is there when it is read.
        said = in_python(re.sub(r"\{[^}]*\}", "7", text))
        outside = re.sub(r"`\w[^`]*`", "", said)
        for option in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", outside):
            left.setdefault(option, f"{place}: {text}")
    assert {option: place for option, place in left.items() if option not in WITHOUT_KEYWORD} == {}
    assert set(left) == set(WITHOUT_KEYWORD), "an entry that is not needed any more"


def test_errors_of_each_kind_name_keyword_arguments(tmp_path: Path, quick: flashlag.Run) -> None:
    path = tmp_path / "run.json"
    quick.save(path)
    with pytest.raises(flashlag.Error, match="overwrite it with force=True"):
        quick.save(path)
    with pytest.raises(flashlag.Error, match="add yes=True to agree, or budget="):
        flashlag.run("fill", on=tmp_path)
    with pytest.raises(flashlag.InputError, match="^leave: "):
        flashlag.run(on="sim:zero", leave="lots")
    with pytest.raises(flashlag.InputError, match='set={"spam": …}'):
        flashlag.run(on="sim:zero", set={"spam": 1})
    with pytest.raises(flashlag.InputError, match=r"`charts\(\)` prints all"):
        quick.chart("nonsense")
    other = flashlag.run("sqlite", on="sim:zero+ext4")
    with pytest.raises(flashlag.Error, match="or force=True"):
        flashlag.compare(quick, other)
