"""Measure, explain and predict how flash storage makes a device lag.

The same as the `flashlag` program, with the same words:

>>> import flashlag, polars
>>> run = flashlag.run("quick", on="sim:pixel-2016+f2fs")
>>> print(run.headline)
>>> frame = polars.DataFrame(run.frame())

Times are whole nanoseconds and their names end in `_ns`; sizes are bytes and end in `_bytes`.
"""

from flashlag._device import (
    OPERATION,
    SCHEDULED,
    Device,
    LostUnit,
    Op,
    PowerCut,
    Stats,
    operations,
)
from flashlag._errors import Error, InputError, Interrupted
from flashlag._flashlag import VERSION as __version__
from flashlag._flashlag import Table
from flashlag._predict import (
    Fit,
    FittedParameter,
    Forecast,
    ForecastStep,
    Profile,
    fit,
    predict,
    profiles,
)
from flashlag._run import Chart, Run, load, run, verify
from flashlag._sweep import Swept, sweep
from flashlag._views import Comparison, Explained, compare, explain

__all__ = [
    "OPERATION",
    "SCHEDULED",
    "Chart",
    "Comparison",
    "Device",
    "Error",
    "Explained",
    "Fit",
    "FittedParameter",
    "Forecast",
    "ForecastStep",
    "InputError",
    "Interrupted",
    "LostUnit",
    "Op",
    "PowerCut",
    "Profile",
    "Run",
    "Stats",
    "Swept",
    "Table",
    "__version__",
    "compare",
    "explain",
    "fit",
    "load",
    "operations",
    "predict",
    "profiles",
    "run",
    "sweep",
    "verify",
]
