"""The program's options in the words of Python: `--force` is `force=True`, `--leave 1GB` is `leave="1GB"`.

The sentences of errors are made for the command line. What they call by an option is here called by the
keyword argument, as the signatures of the package's functions have it.
"""

from __future__ import annotations

import inspect
import re
from functools import cache

NAMED_OTHERWISE = {"from": "start"}
"""Options whose keyword has another name: `from` is a word of Python's own."""
METHODS = {"chart list": "charts()"}
"""Options, with their value, that a method does the work of."""

_COMMAND = re.compile(r"(`\w[^`]*`)")
"""A command for a terminal or a name, which stays as it is: of the program, or of another one."""
_PAIR = r"--set (?P<key>[\w.]+)=(?P<value>[^\s,;:()`'\"]*[^\s,;:()`'\".])?"
_PAIRS = re.compile(r"{0}(?:(?:,| and)? {0})*".format(re.sub(r"\?P<\w+>", "?:", _PAIR)))
_VALUE = r"\d[\d.,]*\d?(?: ?(?:[kKMGT]i?B|B|%|C)\b)?|[A-Z]{2,}[\w.]*\w|\w+:[\w:+]*|\w+=[\w%]+"
_OPTION = re.compile(rf"(?<![\w-])--(?P<name>[a-z][a-z-]*[a-z])(?:[ =](?P<value>{_VALUE}|list\b))?")


@cache
def _keywords() -> dict[str, inspect.Parameter]:
    """The keyword arguments of everything public, by the names of their options."""
    import flashlag

    found: dict[str, inspect.Parameter] = {}
    for name in flashlag.__all__:
        it = getattr(flashlag, name)
        if inspect.isfunction(it) or inspect.isclass(it) and "__init__" in vars(it):
            for keyword in inspect.signature(it).parameters.values():
                if keyword.kind in (keyword.VAR_POSITIONAL, keyword.VAR_KEYWORD):
                    continue
                found.setdefault(keyword.name.replace("_", "-"), keyword)
    return found | {option: found[keyword] for option, keyword in NAMED_OTHERWISE.items()}


def in_python(sentence: str) -> str:
    """A sentence of the program's whose options are keyword arguments. Others stay as they are."""
    parts = _COMMAND.split(sentence)
    parts[::2] = [_OPTION.sub(_keyword, _PAIRS.sub(_settings, part)) for part in parts[::2]]
    return "".join(parts)


def _settings(pairs: re.Match[str]) -> str:
    """`--set span=20MB --set time=2h` as `set={"span": "20MB", "time": "2h"}`."""
    found = [(pair["key"], pair["value"]) for pair in re.finditer(_PAIR, pairs[0])]
    inside = ", ".join(f'"{key}": {_quoted(value or "…")}' for key, value in found)
    return f"set={{{inside}}}"


def _quoted(value: str) -> str:
    return value if value == "…" else f'"{value}"'


def _keyword(option: re.Match[str]) -> str:
    name, value = option["name"], option["value"]
    if f"{name} {value}" in METHODS:
        return METHODS[f"{name} {value}"]
    off = _keywords().get(name.removeprefix("no-"))
    keyword = _keywords().get(name)
    behind = option[0][len("--" + name) :]
    if keyword is None and off is not None and off.default is True:
        return f"{off.name}=False{behind}"
    if keyword is None:
        return option[0]
    if isinstance(keyword.default, bool):
        return f"{keyword.name}=True{behind}"
    if value is not None and value != "list":
        number = re.match(r"[\d.]*\d", value)
        is_number = re.match(r"int\b|float\b", str(keyword.annotation)) is not None
        return f"{keyword.name}={number[0] if is_number and number else _quoted(value)}"
    # `--leave: no size` names the argument, any other the way to give it.
    named = option.string[option.end() :].startswith(":") and not behind
    return f"{keyword.name}{'' if named else '=…'}{behind}"
