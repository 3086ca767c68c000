"""Sweeps: every combination of a grid's values, on any `concurrent.futures` executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flashlag import _flashlag
from flashlag._errors import Error
from flashlag._program import installed
from flashlag._run import Path

_PATIENCE = 30.0
"""Seconds after which a scheduler that has not come back is gone."""
_LOOK = 1.0
"""Seconds between two looks at a scheduler."""


@dataclass(frozen=True)
class Swept:
    """A finished sweep."""

    output: str
    """The table, a Parquet file: `polars.read_parquet(swept.output)`."""
    points: int
    """Number of points."""
    rows: int
    """Number of rows: one for each phase, and one for each point that failed."""
    failed: int
    """Rows of what failed: their `error` says why."""
    skipped: int
    """Rows of tests that have no meaning on their device."""


def measure(chunk: bytes) -> bytes:
    """Measures a chunk's points; what a worker does."""
    return _flashlag.measure(chunk)


def sweep(
    grid: Path,
    output: Path,
    *,
    executor: Executor | str | None = None,
    chunk: int | None = None,
    in_flight: int | None = None,
    retries: int = 10,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Swept:
    """Simulates every point of a grid into one Parquet table, as `flashlag sweep` does.

    `grid`: a TOML file, see docs/sweeps.md. `executor`: where points are measured: any executor of
    `concurrent.futures`, for a cluster that of Dask, `Client(address).get_executor()`, or the address of
    its scheduler; without, the cores of this machine, in processes of the `flashlag` program that is installed
    with this package. The table is the same, byte for byte; only a point that ends its process, as where
    memory runs out, is a row that says so, and other executors fail.

    `chunk` is the number of points of one task, 50 unless a journal has another; `in_flight` the most
    tasks that are submitted and not done, 64 by default. A task whose worker died is submitted again, up
    to `retries` times. `progress` is called with the points that are measured, and all.

    What is measured is kept in `OUTPUT.journal` until the table is written: the same call goes on after
    Ctrl-C, a crash, or an executor that broke. With `force` it begins anew.
    """
    native = _flashlag.Sweep(os.fspath(grid), os.fspath(output), chunk, force)
    try:
        program = installed() if executor is None else None
        if program is not None:
            points, rows, failed, skipped = native.run(program, progress)
        else:
            with _opened(executor) as workers:
                _Submitted(native, workers, in_flight or 64, retries, progress).all()
            points, rows, failed, skipped = native.finish()
    finally:
        native.close()
    return Swept(os.fspath(output), points, rows, failed, skipped)


@contextmanager
def _opened(executor: Executor | str | None) -> Iterator[Executor]:
    if executor is None:
        pool = ThreadPoolExecutor(_flashlag.Sweep.cores())
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
    elif isinstance(executor, str):
        with _client(executor) as client:
            yield client.get_executor()
    else:
        yield executor


def _client(address: str) -> Any:
    """A client of the Dask scheduler at an address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise Error(
            f"{address} is a Dask scheduler's address, and Dask is not installed here: "
            "pip install 'flashlag[dask]'"
        ) from error
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise Error(
            f"no Dask scheduler answers at {address}: start one with `dask scheduler`, and give the "
            "address that it prints; nothing was measured, and nothing is lost"
        ) from error


class _Submitted:
    """The tasks of a sweep that are under way."""

    def __init__(
        self,
        native: _flashlag.Sweep,
        executor: Executor,
        in_flight: int,
        retries: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.native = native
        self.executor = executor
        self.in_flight = max(1, in_flight)
        self.retries = retries
        self.progress = progress
        self.points = native.points()
        self.tasks: dict[Future[bytes], int] = {}
        self.failures: dict[int, int] = {}
        self.silent = 0.0

    def all(self) -> None:
        """Measures what is missing."""
        try:
            following = self.native.next_missing(0)
            self._report()
            while following is not None or self.tasks:
                while following is not None and len(self.tasks) < self.in_flight:
                    self._submit(following)
                    following = self.native.next_missing(following + 1)
                self._take()
        finally:
            for task in self.tasks:
                task.cancel()

    def _submit(self, index: int) -> None:
        try:
            task = self.executor.submit(measure, self.native.chunk(index))
        except Exception as error:
            # Each kind of executor has an exception of its own for that.
            raise self._broken(error) from error
        self.tasks[task] = index

    def _take(self) -> None:
        """Waits for a task, and keeps what is done."""
        done, _ = wait(self.tasks, timeout=_LOOK, return_when=FIRST_COMPLETED)
        if not done:
            self._look()
        for task in done:
            index = self.tasks.pop(task)
            try:
                results = task.result()
            except Error:
                raise
            except ImportError as error:
                raise Error(
                    f"a worker can't import flashlag ({error}): install flashlag "
                    f"{_flashlag.VERSION} on every worker"
                ) from error
            except BrokenExecutor as error:
                raise self._broken(error) from error
            except (Exception, CancelledError) as error:
                self._again(index, error)
                continue
            self.silent = 0.0
            self.native.add(results)
        if done:
            self._report()

    def _again(self, index: int, error: BaseException) -> None:
        """Submits a chunk again whose worker died."""
        self._look()
        failures = self.failures.get(index, 0) + 1
        self.failures[index] = failures
        if failures > self.retries:
            raise Error(
                f"chunk {index} failed {failures} times, last with {type(error).__name__}: {error}; "
                f"{self._kept()}"
            ) from error
        self._submit(index)

    def _look(self) -> None:
        """Gives up on a scheduler that is gone."""
        client = getattr(self.executor, "_client", None)
        if client is None or client.status == "running":
            self.silent = 0.0
            return
        self.silent += _LOOK
        if client.status == "closed" or self.silent > _PATIENCE:
            raise Error(f"the Dask scheduler is gone (its client is {client.status}); {self._kept()}")

    def _broken(self, error: BaseException) -> Error:
        return Error(
            f"the executor takes no more work ({type(error).__name__}: {error}); {self._kept()}"
        )

    def _kept(self) -> str:
        done = self.native.done()
        return f"{done} of {self.points} points are measured and kept: the same call goes on"

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self.native.done(), self.points)
