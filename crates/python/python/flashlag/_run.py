"""Runs: made, read and looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from flashlag import _flashlag
from flashlag._errors import Error, Interrupted

if TYPE_CHECKING:
    from flashlag import types
    from flashlag._flashlag import Table

Path: TypeAlias = str | os.PathLike[str]
"""A path of a file or a directory."""
Size: TypeAlias = int | str
"""A size: a number of bytes, or text such as `"300MB"` (10⁶ bytes) and `"64KiB"` (2¹⁰)."""
Value: TypeAlias = str | int | float | bool | os.PathLike[str]
"""The value of a setting."""


def in_words(value: Value) -> str:
    """A value as the command line has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _size(size: Size | None) -> str | None:
    if isinstance(size, int):
        return f"{size}B"
    return size


def _optional(value: Value | None) -> str | None:
    return None if value is None else in_words(value)


class Chart:
    """A chart of a run as SVG, which a notebook shows."""

    def __init__(self, run: _flashlag.Run, name: str, dark: bool) -> None:
        self._run, self._name, self._dark = run, name, dark
        self.svg: str = run.chart(name, dark)
        """The drawing, with its fonts and colours in it."""

    def save(self, path: Path, *, force: bool = False) -> None:
        """Writes the SVG. With `force`, over any file of that name."""
        self._run.save_chart(self._name, self._dark, os.fspath(path), force)

    def _repr_svg_(self) -> str:
        return self.svg


class Run:
    """Everything that was seen in one run of one scenario on one target: a run file.

    `run["phases"]`, `run["trust"]` and so on have the names of the run file, whose fields
    docs/results-format.md describes. In a notebook a run shows the first screen of its report.
    """

    def __init__(self, native: _flashlag.Run) -> None:
        self._native = native
        self._data: types.Run | None = None

    @staticmethod
    def from_json(text: str) -> Run:
        """The run of a run file's text."""
        return Run(_flashlag.Run.from_json(text))

    @property
    def data(self) -> types.Run:
        """The run file as Python objects."""
        if self._data is None:
            self._data = cast("types.Run", json.loads(self._native.to_json()))
        return self._data

    def __getitem__(self, name: str) -> Any:
        return cast("dict[str, Any]", self.data)[name]

    @property
    def status(self) -> str:
        """How the run ended: `complete`, `interrupted`, `failed` or `running`."""
        return self.data["status"]["kind"]

    @property
    def trusted(self) -> bool:
        """Whether every trust check passed: if not, `run["trust"]` says which did not, and why."""
        return self._native.trusted

    @property
    def headline(self) -> str:
        """Whether the device lags and how badly, in a sentence."""
        return self._native.headline

    def summary(self, *, full: bool = False) -> str:
        """The summary as in a terminal, without colour; with `full`, every check and phase."""
        return self._native.summary(full)

    def frame(self) -> Table:
        """The figures: a row for each phase.

        Latencies (`latency_p50_ns`, …) run from handing an operation to the device until it was done, in
        nanoseconds; rates are `ops_per_sec` and `bytes_per_sec`. A percentile beyond which fewer than
        ten values lie is null.
        """
        return self._native.frame()

    def histogram(self, of: str = "latency") -> Table:
        """The histograms of all phases: a row for each bucket with a value.

        A bucket holds `count` values from `from_ns` to `to_ns`, and is at most 1/64 of its values wide.
        `of`: `latency`; `response`, from the intended start of a schedule; or `flush`.
        """
        return self._native.histogram(of)

    def intervals(self) -> Table:
        """The course over time: a row for each interval of each phase, which ends at `t_ns`."""
        return self._native.intervals()

    def charts(self) -> dict[str, str]:
        """The charts of the run: titles by their names, those of the first screen first."""
        return dict(self._native.charts())

    def chart(self, name: str = "strip", *, dark: bool = False) -> Chart:
        """One chart of the run, by its name in `charts()`: `strip`, `latency-…`, `throughput-…`."""
        return Chart(self._native, name, dark)

    def to_json(self) -> str:
        """The text of the run file."""
        return self._native.to_json()

    def save(self, path: Path, *, force: bool = False) -> None:
        """Writes the run file. With `force`, over any file of that name."""
        self._native.save(os.fspath(path), force)

    def html(self) -> str:
        """The report: a self-contained HTML page."""
        return self._native.html()

    def save_report(self, path: Path, *, force: bool = False) -> None:
        """Writes the report. With `force`, over any file of that name."""
        self._native.save_report(os.fspath(path), force)

    def _repr_html_(self) -> str:
        return self._native.first_screen()

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        scenario, target = self.data["scenario"]["name"], self.data["target"]["name"]
        return f"<flashlag.Run {scenario} on {target}: {self.status}>"

    def __reduce__(self) -> tuple[Callable[[str], Run], tuple[str]]:
        return Run.from_json, (self.to_json(),)


def run(
    scenario: Path = "quick",
    *,
    on: Path = ".",
    set: Mapping[str, Value] | None = None,
    seed: int = 1,
    output: Path | None = None,
    label: str | None = None,
    leave: Size | None = None,
    budget: Size | None = None,
    min_battery: int | None = None,
    max_temperature: float | None = None,
    cool_to: float | None = None,
    verify: bool = False,
    resume: bool = False,
    force: bool = False,
    yes: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Run:
    """Runs a scenario on a directory's storage, or on a simulated device.

    The GIL is released meanwhile. Ctrl-C ends the run as in a terminal: `Interrupted` has the run with
    what was measured.

    Args:
        scenario: A scenario (quick, fill, lifecycle, sqlite, prefs, card, soak, wake, disk,
            micro, write, app) or a TOML file.
        on: The directory whose storage is measured, or `sim:PROFILE[+FS[,OPTION]...]` for a simulated
            device, or `adb:[SERIAL][:PATH]` for a phone on a cable.
        set: Changed settings of the scenario: `{"span": "200MB"}`.
        seed: Seed of every random choice.
        output: The run file, which is kept up to date while it runs. Without one nothing is stored.
        label: Name of the device under test in every view.
        leave: Free space that a fill leaves, in bytes or as text.
        budget: The most that may be written, in bytes or as text.
        min_battery: The run ends when the battery falls below this and is not charged, in percent.
        max_temperature: The run ends when the battery is hotter than this, in degrees Celsius.
        cool_to: Before each test, wait until the battery is not hotter than this, in degrees Celsius.
        verify: Read back everything written and check every byte.
        resume: Continue the run in the file `output`, at its next test.
        force: Overwrite the file `output`, whatever is in it.
        yes: Agree to writing more than 4 GB.
        progress: Called with the name of each phase as it begins. What it raises ends the run.

    Raises:
        InputError: A name, a key or a value that does not exist; also a `ValueError`.
        Error: The storage can't be measured, or fails.
        Interrupted: Ctrl-C; also a `KeyboardInterrupt`.
    """
    settings = [(key, in_words(value)) for key, value in (set or {}).items()]
    native, signal = _flashlag.run(
        {
            "scenario": os.fspath(scenario),
            "on": os.fspath(on),
            "set": settings,
            "seed": seed,
            "output": None if output is None else os.fspath(output),
            "label": label,
            "leave": _size(leave),
            "budget": _size(budget),
            "min_battery": _optional(min_battery),
            "max_temperature": _optional(max_temperature),
            "cool_to": _optional(cool_to),
            "verify": verify,
            "resume": resume,
            "force": force,
            "yes": yes,
        },
        progress,
    )
    made = Run(native)
    if isinstance(signal, KeyboardInterrupt):
        kept = "in run" if output is None else f"in {os.fspath(output)}"
        raise Interrupted(f"stopped; its measurements are kept {kept}", made) from signal
    if signal is not None:
        raise signal
    status = made.data["status"]
    if status["kind"] == "failed":
        error = Error(status["error"])
        error.run = made
        raise error
    return made


def load(path: Path) -> Run:
    """Reads a run file, or fio's json+ as a run."""
    return Run(_flashlag.load(os.fspath(path)))


def verify(path: Path) -> list[str]:
    """Recomputes every figure of a run file from its histograms, and its findings from the figures.

    Returns a sentence for each that differs: an empty list for a file that holds.
    """
    return _flashlag.verify(os.fspath(path))
