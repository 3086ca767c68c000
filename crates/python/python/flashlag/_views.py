"""Runs compared and explained."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, cast

from flashlag import _flashlag
from flashlag._run import Path, Run, load

if TYPE_CHECKING:
    from flashlag import types
    from flashlag._flashlag import Table


def _preformatted(text: str) -> str:
    """Text for a notebook, in columns as it is."""
    return f'<pre style="line-height:1.25">{escape(text)}</pre>'


class Comparison:
    """Two or more runs side by side, each ratio with its 95 % interval."""

    def __init__(self, native: _flashlag.Comparison) -> None:
        self._native = native
        self._data: types.ComparisonRecord | None = None

    @property
    def data(self) -> types.ComparisonRecord:
        """The comparison as Python objects: what `flashlag compare --format json` prints."""
        if self._data is None:
            self._data = cast("types.ComparisonRecord", json.loads(self._native.to_json()))
        return self._data

    @property
    def sentence(self) -> str:
        """Who is faster, by how much; or what each side is like."""
        return self.data["faster"] or self.data["sentence"]

    def frame(self) -> Table:
        """A row for each test and side.

        `p50_ratio`, `p99_ratio` and `rate_ratio` are to the first side, each with the ends of its 95 %
        interval (`p99_low`, `p99_high`) and whether a difference is shown (`p99_differs`).
        """
        return self._native.frame()

    def summary(self, *, full: bool = False) -> str:
        """The comparison as in a terminal, without colour."""
        return self._native.text(full)

    def html(self) -> str:
        """A self-contained HTML page."""
        return self._native.html()

    def _repr_html_(self) -> str:
        return _preformatted(self.summary())

    def __str__(self) -> str:
        return self.summary()


class Explained:
    """Why a run lagged, or what storage is made of."""

    def __init__(self, native: _flashlag.Explained) -> None:
        self._native = native
        self._data: types.Explained | None = None

    @property
    def data(self) -> types.Explained:
        """What was seen and found: what `flashlag explain --json` prints."""
        if self._data is None:
            self._data = cast("types.Explained", json.loads(self._native.to_json()))
        return self._data

    @property
    def findings(self) -> list[types.Finding]:
        """What to change or to know: data in danger first, then by cost."""
        return self.data["findings"]

    def summary(self, *, full: bool = False) -> str:
        """The explanation as in a terminal, without colour; with `full`, each finding's ground."""
        return self._native.text(full)

    def _repr_html_(self) -> str:
        return _preformatted(self.summary())

    def __str__(self) -> str:
        return self.summary()


def _named(runs: Iterable[Path | Run], first: int) -> list[tuple[str, _flashlag.Run]]:
    """Runs with the names of their files, or with their numbers."""
    named = []
    for number, run in enumerate(runs, start=first):
        if isinstance(run, Run):
            named.append((f"run {number}", run._native))
        else:
            named.append((os.fspath(run), load(run)._native))
    return named


def compare(
    *runs: Path | Run,
    against: Path | Run | Sequence[Path | Run] = (),
    labels: Sequence[str] = (),
    force: bool = False,
) -> Comparison:
    """Compares two or more runs, with the confidence interval of each difference.

    Runs of one machine, set up the same, count as repeats of one side.

    Args:
        runs: Runs, or their files.
        against: The run or the runs of the other side, e.g. those made before a change, with those made
            after it as `runs`.
        labels: Names of the sides, the other side first: one for each side, or one for each run.
        force: Compare although the scenarios differ.

    Raises:
        Error: Runs that did not do the same, or one run twice.
    """
    others = _named([against] if isinstance(against, str | os.PathLike | Run) else against, 1)
    return Comparison(
        _flashlag.compare(others, _named(runs, len(others) + 1), list(labels), force)
    )


def explain(
    subject: Path | Run = ".", *, profile: Path | None = None, forecast: bool = True
) -> Explained:
    """Says why a run lagged, or what a directory or a phone's storage is made of.

    Nothing is written, and nothing measured but a simulated device.

    Args:
        subject: A run or its file, a directory, `adb:[SERIAL]`, or `sim:PROFILE`.
        profile: The profile that effects are forecast on; by default the nearest to the run.
        forecast: Whether to forecast effects that the run did not measure, for at most 15 s.
    """
    named = None if profile is None else os.fspath(profile)
    if isinstance(subject, Run):
        return Explained(_flashlag.explain("run", subject._native, named, forecast))
    return Explained(_flashlag.explain(os.fspath(subject), None, named, forecast))
