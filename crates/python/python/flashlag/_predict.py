"""Forecasts, fits and profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict, cast

from flashlag import _flashlag
from flashlag._errors import InputError
from flashlag._run import Path, Run, Size, Value, _size, in_words, load
from flashlag._views import _preformatted

if TYPE_CHECKING:
    from flashlag._flashlag import Table

Changes: TypeAlias = str | Mapping[str, Value] | Sequence[str]
"""Changes, each on top of those before it: `"full=90%,fs=f2fs"` or `{"full": "90%", "fs": "f2fs"}`."""


def _changes(change: Changes) -> list[str]:
    if isinstance(change, str):
        return [change] if change else []
    if isinstance(change, Mapping):
        switches = {True: "on", False: "off"}
        words = {
            key: switches[value] if isinstance(value, bool) else in_words(value)
            for key, value in change.items()
        }
        return [f"{key}={value}" for key, value in words.items()]
    return list(change)


class ForecastStep(TypedDict):
    """One change of a forecast."""

    change: str
    """The change as requested: `fs=f2fs`."""
    filesystem: str
    """Filesystem and options after it."""
    share: float | None
    """Its share of the whole effect on a durable write's mean time: shares may be negative and sum up to 1."""
    reasons: list[str]
    """The reasons, in sentences."""
    beyond: list[str]
    """What goes beyond published measurements, in sentences."""


class _ForecastData(TypedDict):
    steps: list[ForecastStep]
    warnings: list[str]
    assumptions: list[str]


class Forecast:
    """A simulated device before and after each of several changes, and at fill levels."""

    def __init__(self, native: _flashlag.Forecast) -> None:
        self._native = native
        self._data = cast("_ForecastData", json.loads(native.to_json()))

    @property
    def steps(self) -> list[ForecastStep]:
        """Each change, with its share of the whole effect and the reasons for it, in sentences."""
        return self._data["steps"]

    @property
    def warnings(self) -> list[str]:
        """What speaks against the forecast."""
        return self._data["warnings"]

    @property
    def assumptions(self) -> list[str]:
        """What the forecast takes for granted."""
        return self._data["assumptions"]

    def frame(self) -> Table:
        """A row for each test: before the first change (`as it is`), and after each change.

        Latencies are in nanoseconds, means over the seeds.
        """
        table = self._native.frame()
        if table is None:
            raise InputError("there is no change in this forecast: levels() has its figures")
        return table

    def levels(self) -> Table:
        """A row for each test at each fill level, a share of the filesystem's room (`full`)."""
        table = self._native.levels()
        if table is None:
            raise InputError('there are no levels in this forecast: give sweep="full=10%..95%"')
        return table

    def _repr_html_(self) -> str:
        return _preformatted(str(self))

    def __str__(self) -> str:
        return self._native.text()


def predict(
    subject: Path | Run,
    change: Changes = "",
    *,
    sweep: str | None = None,
    fs: str | None = None,
    daily: Size | None = None,
    seeds: int | None = None,
    force: bool = False,
    causes: bool = True,
) -> Forecast:
    """Forecasts the effect of a change by simulating: another filesystem, full storage, a year of use.

    Args:
        subject: A simulated run or its file, or a profile: a name or a TOML file.
        change: `full=90%`, `fs=f2fs`, `age=12mo`, or a parameter of the profile; `flashlag predict
            --help` lists them.
        sweep: Fill levels ten points apart: `full=10%..95%`.
        fs: Filesystem and options before the first change; by default the profile's.
        daily: Bytes written on each day of use; by default 5 GB.
        seeds: Number of seeds to average; by default 3 with `age=`, else 1.
        force: Use a run although it failed a trust check or has too few operations.
        causes: Whether what years change is simulated cause by cause besides.
    """
    changes = _changes(change)
    if not changes and sweep is None:
        raise InputError('there is nothing to forecast: give change="full=90%" or a sweep')
    words = {
        "subject": "run" if isinstance(subject, Run) else os.fspath(subject),
        "change": changes,
        "sweep": sweep,
        "fs": fs,
        "daily": _size(daily),
        "seeds": seeds,
        "force": force,
        "causes": causes,
    }
    run = subject._native if isinstance(subject, Run) else None
    return Forecast(_flashlag.predict(words, run))


class FittedParameter(TypedDict):
    """A parameter of a profile before and after a fit."""

    key: str
    """Its key in the profile."""
    before: str
    """Its value in the profile that the fit began with, with its unit."""
    after: str
    """Its value now, with its unit."""
    uncertainty: float | None
    """Standard deviation as a share of the value; `None` where the run does not determine it."""
    bound: str | None
    """The bound of its range that it lies on."""
    held: str | None
    """Why it was not fitted, if it was not."""


class _FitData(TypedDict):
    start: str
    filesystem: str
    misfit_before: float
    misfit: float
    simulations: int
    exhausted: bool
    lacks: list[str]
    parameters: list[FittedParameter]


class Fit:
    """A profile that was made from a measured run."""

    def __init__(self, native: _flashlag.Fit) -> None:
        self._native = native
        self._data = cast("_FitData", json.loads(native.to_json()))

    @property
    def profile(self) -> str:
        """The profile as a file, in TOML."""
        return self._native.toml()

    @property
    def misfit(self) -> float:
        """The typical difference of simulated and measured figures, as a share: 0.1 is ten percent."""
        return self._data["misfit"]

    @property
    def misfit_before(self) -> float:
        """The same of the profile that the fit began with."""
        return self._data["misfit_before"]

    @property
    def parameters(self) -> list[FittedParameter]:
        """All parameters with a range."""
        return self._data["parameters"]

    @property
    def lacks(self) -> list[str]:
        """What the run lacks, a sentence each."""
        return self._data["lacks"]

    def save(self, path: Path, *, force: bool = False) -> None:
        """Writes the profile. With `force`, over any file of that name."""
        self._native.save(os.fspath(path), force)

    def _repr_html_(self) -> str:
        return _preformatted(str(self))

    def __str__(self) -> str:
        return self._native.text()


def fit(
    run: Path | Run,
    output: Path | None = None,
    *,
    name: str | None = None,
    start: Path | None = None,
    fs: str | None = None,
    only: Sequence[str] = (),
    simulations: int = 3000,
    starts: int = 3,
    force: bool = False,
) -> Fit:
    """Makes a device profile from a measured run, by up to `simulations` simulations: minutes.

    Args:
        run: The measured run or its file: `quick` works; `lifecycle` determines more parameters.
        output: The file of the new profile. Without one nothing is stored.
        name: The new profile's name; by default the file's, or `fitted`.
        start: The starting profile (`--from`); by default the built-in one with the nearest figures.
        fs: Filesystem and options of the run; by default those in the run file.
        only: Parameters that may move; by default all with a range.
        simulations: Maximum number of simulations.
        starts: Number of starting points of the search.
        force: Overwrite the file, and use a run although it failed a trust check or has too few
            operations.
    """
    path = None if output is None else os.fspath(output)
    stem = "fitted" if path is None else os.path.splitext(os.path.basename(path))[0]
    words = {
        "run_name": "run" if isinstance(run, Run) else os.path.basename(os.fspath(run)),
        "name": name or stem,
        "start": None if start is None else os.fspath(start),
        "fs": fs,
        "only": list(only),
        "simulations": simulations,
        "starts": starts,
        "force": force,
    }
    measured = run if isinstance(run, Run) else load(run)
    fitted = Fit(_flashlag.fit(words, measured._native))
    if path is not None:
        fitted.save(path, force=force)
    return fitted


@dataclass(frozen=True)
class Profile:
    """A simulated device."""

    name: str
    """Its name, as in `sim:NAME`."""
    about: str
    """The device, in a line."""
    os: str
    """The software that ran on the device when it was measured."""
    filesystem: str
    """The default filesystem of `sim:NAME`, with options."""
    size_bytes: int
    """Its size."""
    toml: str
    """The profile as a file, with the source of every parameter."""


def profiles() -> list[Profile]:
    """The simulated devices that come with flashlag."""
    return [Profile(*fields) for fields in _flashlag.profiles()]
