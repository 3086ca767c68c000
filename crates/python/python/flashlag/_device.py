"""The simulated flash as a library."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flashlag import _flashlag
from flashlag._errors import InputError
from flashlag._run import Path, Size, in_words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Op(IntEnum):
    """Codes of operations."""

    READ = 0
    """Reads a range."""
    WRITE = 1
    """Writes a range; with `fua`, it is durable before it ends."""
    FLUSH = 2
    """Makes all writes that ended before it durable. Its range means nothing."""
    DISCARD = 3
    """Declares the content of a range unused (TRIM)."""


OPERATION: np.dtype[np.void] = np.dtype(
    [("op", "u1"), ("fua", "?"), ("offset_bytes", "u8"), ("length_bytes", "u8")], align=True
)
"""An operation: its code, whether it is durable at once, and its range, in multiples of 512 bytes."""

SCHEDULED: np.dtype[np.void] = np.dtype(
    [("op", "u1"), ("fua", "?"), ("offset_bytes", "u8"), ("length_bytes", "u8"), ("at_ns", "u8")],
    align=True,
)
"""An operation of a schedule: `at_ns` is when it comes, in the device's time."""


def operations(
    op: ArrayLike,
    offset_bytes: ArrayLike = 0,
    length_bytes: ArrayLike = 4096,
    *,
    fua: ArrayLike = False,
    at_ns: ArrayLike | None = None,
) -> NDArray[np.void]:
    """An array of operations for `Device.submit`.

    Each argument is one value for all operations, or an array with one for each.

    Args:
        op: Codes of `Op`.
        offset_bytes: Where each range begins, in bytes.
        length_bytes: The length of each range, in bytes.
        fua: Whether a write is durable before it ends (force unit access).
        at_ns: When each operation comes, in nanoseconds of the device's time; without it an operation
            comes when one before it has ended.
    """
    fields = {"op": op, "fua": fua, "offset_bytes": offset_bytes, "length_bytes": length_bytes}
    if at_ns is not None:
        fields["at_ns"] = at_ns
    parts = {name: np.asarray(field) for name, field in fields.items()}
    shape = np.broadcast_shapes(*(part.shape for part in parts.values()))
    if len(shape) > 1:
        raise InputError(f"operations are a list, not an array of {len(shape)} dimensions")
    kind = OPERATION if at_ns is None else SCHEDULED
    made = np.zeros(shape or (1,), dtype=kind)
    for name, part in parts.items():
        made[name] = part
    return made


@dataclass(frozen=True)
class Stats:
    """Statistics of a device since it was made.

    Programmed bytes are whole mapping units, also where the host wrote a part of one. `None` is what the
    device's kind of map does not count, or a part that the device lacks.
    """

    now_ns: int
    """The device's time."""
    host_written_bytes: int
    """Bytes written by the host."""
    host_read_bytes: int
    """Bytes read by the host."""
    flushes: int
    """Flushes by the host."""
    discards: int
    """Discards by the host."""
    programmed_bytes: int | None
    """All bytes programmed."""
    programmed_host_bytes: int | None
    """Bytes programmed for the host."""
    copied_bytes: int | None
    """Bytes moved by garbage collection or merges."""
    padding_bytes: int | None
    """Bytes of program units that were padded."""
    folded_bytes: int
    """Bytes moved from the write cache to the main area."""
    map_bytes: int
    """Bytes of map pages that were programmed."""
    write_amplification: float | None
    """Bytes programmed for each byte written by the host; `None` before the first write."""
    mapped_bytes: int
    """Bytes with content, those in the write buffer aside."""
    buffered_bytes: int | None
    """Bytes in the write buffer without a program under way."""
    buffer_bytes: int | None
    """Size of the write buffer."""
    cache_used_bytes: int | None
    """Occupied bytes of the write cache, stale ones included."""
    cache_bytes: int | None
    """Size of the write cache at present."""
    page_reads: int
    """Page reads of all dies."""
    programs: int
    """Programs of all dies."""
    erases: int
    """Block erases of all dies."""
    suspended: int
    """Programs and erases that were suspended by a read."""
    die_busy_ns: int
    """Busy time, summed over all dies."""
    free_blocks: int | None
    """Free blocks, each over all dies."""
    bad_blocks: int | None
    """Bad blocks, each over all dies."""
    mean_cycles: int
    """Mean program/erase cycles of a block."""
    least_cycles: int
    """Program/erase cycles of the least worn block."""
    most_cycles: int
    """Program/erase cycles of the most worn block."""
    life_used: float | None
    """Used share of the rated program/erase cycles; `None` without a rating."""


class LostUnit(NamedTuple):
    """A mapping unit that has reverted to an earlier content."""

    offset_bytes: int
    """Start of the unit."""
    length_bytes: int
    """Length of the unit."""
    change: int
    """The first write or discard whose data is lost, counted from 1; all later data is lost too."""


class PowerCut(NamedTuple):
    """The outcome of a power cut."""

    recovery_ns: int
    """Time to find the map again, which the next operation waits for."""
    lost: list[LostUnit] | None
    """What was lost, by address; `None` without a ledger."""


class Device:
    """A simulated flash device in virtual time, without data: NAND, map, garbage collection, caches, wear.

    Deterministic: the same profile, size, state, seed and operations give the same latencies. Several
    threads may use one device; their calls take turns. The GIL is released meanwhile.

    Args:
        profile: A simulated device (`flashlag.profiles()` lists them) or a TOML file.
        size: The size that a host sees, in bytes or as text (`"8GB"`); by default the profile's.
        state: `new`, `full`, or `aged:12mo` at 20 GB a day.
        seed: Seed of every random choice.
        ledger: Whether to record what a power cut would lose, which takes time and memory.
    """

    def __init__(
        self,
        profile: Path,
        *,
        size: Size | None = None,
        state: str = "new",
        seed: int = 1,
        ledger: bool = False,
    ) -> None:
        text = f"{size}B" if isinstance(size, int) else size
        self._native = _flashlag.Device(in_words(profile), text, state, seed, ledger)

    @property
    def profile(self) -> str:
        """The profile's name."""
        return self._native.profile

    @property
    def seed(self) -> int:
        """The seed of every random choice."""
        return self._native.seed

    @property
    def size_bytes(self) -> int:
        """The size that a host sees, in bytes."""
        return self._native.size_bytes

    @property
    def unit_bytes(self) -> int:
        """The size of a mapping unit, in bytes: what one entry of the map stands for."""
        return self._native.unit_bytes

    @property
    def now_ns(self) -> int:
        """The device's time, in nanoseconds: when the last operation ended, and idle time after it."""
        return self._native.now_ns

    def submit(
        self, operations: NDArray[np.void], *, queue_depth: int = 1
    ) -> NDArray[np.int64]:
        """Submits operations and returns the latency of each, in nanoseconds.

        Operations with the field `at_ns` come at those times, whether or not others have ended, and
        their latencies count from then. Without it `queue_depth` operations are in flight: the next one
        is submitted when one has ended. All have ended when this returns.

        Args:
            operations: An array of `OPERATION` or `SCHEDULED`, as `flashlag.operations` makes it.
            queue_depth: Operations in flight, of those without times.

        Raises:
            InputError: An array of another kind.
            Error: An operation outside of the device, or a device that is worn out; those before it
                are done.
        """
        array = _array(operations)
        scheduled = array.dtype == SCHEDULED
        if scheduled and queue_depth != 1:
            raise InputError("operations with at_ns come at their times: leave queue_depth out")
        latencies = np.empty(len(array), dtype=np.int64)
        if len(array):
            self._native.submit(array.view(np.uint8), latencies, array.itemsize, queue_depth)
        return latencies

    def idle(self, ns: int) -> None:
        """Lets time pass in which no operation comes: the device may collect garbage or fold its cache."""
        self._native.idle(ns)

    def stats(self) -> Stats:
        """Statistics since the device was made."""
        fields: dict[str, Any] = json.loads(self._native.stats())
        return Stats(**fields)

    def snapshot(self) -> bytes:
        """The state of the device, its time included, to be restored by this version of flashlag."""
        return self._native.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Puts the device into the state of a snapshot of the same profile, size and seed."""
        self._native.restore(snapshot)

    def cut_power(self) -> PowerCut:
        """Cuts the power; it comes back at once. Nothing that was under way goes on."""
        recovery_ns, lost = self._native.cut_power()
        return PowerCut(recovery_ns, None if lost is None else [LostUnit(*unit) for unit in lost])

    def __repr__(self) -> str:
        return f"<flashlag.Device {self.profile} of {self.size_bytes} bytes at {self.now_ns} ns>"


def _array(operations: NDArray[np.void]) -> NDArray[np.void]:
    """The operations in one piece, with the fields in the places that Rust knows."""
    array = np.asarray(operations)
    if array.ndim == 1 and array.dtype in (OPERATION, SCHEDULED):
        return np.ascontiguousarray(array)
    names = set(array.dtype.names or ())
    kind = SCHEDULED if "at_ns" in names else OPERATION
    if array.ndim != 1 or names != set(kind.names or ()):
        raise InputError(
            "operations are a list of flashlag.OPERATION or flashlag.SCHEDULED: make it with "
            "flashlag.operations(op, offset_bytes, length_bytes)"
        )
    made = np.zeros(len(array), dtype=kind)
    for name in kind.names or ():
        made[name] = array[name]
    return made
