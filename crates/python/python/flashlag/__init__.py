"""Measure, explain and predict how flash storage makes a device lag.

The same as the `flashlag` program, with the same words:

>>> import flashlag
>>> run = flashlag.run("quick", on="sim:pixel-2016+f2fs")
>>> print(run.headline)                                         # doctest: +SKIP
>>> frame = polars.DataFrame(run.frame())                       # doctest: +SKIP

Times are whole nanoseconds and end in `_ns`; sizes are bytes and end in `_bytes`.
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
from flashlag._run import Run, load, run, verify

__all__ = [
    "OPERATION",
    "SCHEDULED",
    "Device",
    "Error",
    "InputError",
    "Interrupted",
    "LostUnit",
    "Op",
    "PowerCut",
    "Run",
    "Stats",
    "Table",
    "__version__",
    "load",
    "operations",
    "run",
    "verify",
]
