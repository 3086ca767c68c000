"""A sweep on a cluster is the sweep of one process, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from distributed import Client, LocalCluster

import flashlag

GRID = """
profile = ["nexus5-2013", "pixel-2016"]
filesystem = ["ext4", "f2fs"]
size = "512MiB"
seed = {{ from = 1, count = {count} }}
[set]
saves = 20
random_bytes = "64KiB"
bytes = "1MiB"
span = "1MiB"
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    count = int(os.environ.get("FLASHLAG_TEST_SWEEP_POINTS", "1000")) // 4
    path.write_text(GRID.format(count=count))
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(GRID.format(count=10))
    return path


@pytest.fixture
def cluster() -> Iterator[Any]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def workers(cluster: Any) -> list[int]:
    """The processes of the workers."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def has_killed(pid: int) -> bool:
    """Kills a process; false where it ended by itself after it was looked for."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_two_killed_workers_lose_and_double_no_row_and_the_bytes_are_those_of_one_process(
    tmp_path: Path, grid: Path, cluster: Any, program: Path
) -> None:
    table, alone = tmp_path / "cluster.parquet", tmp_path / "alone.parquet"
    killed: list[int] = []

    def kill(done: int, points: int) -> None:
        due = [points // 5, points // 2]
        if len(killed) < 2 and done >= due[len(killed)]:
            victim = next((pid for pid in workers(cluster) if pid not in killed), None)
            if victim is not None and has_killed(victim):
                killed.append(victim)

    with Client(cluster) as client:
        swept = flashlag.sweep(
            grid, table, executor=client.get_executor(), chunk=10, in_flight=8, progress=kill
        )
    assert len(killed) == 2
    subprocess.run([program, "sweep", grid, "-o", alone, "--threads", "1", "-q"], check=True)
    assert table.read_bytes() == alone.read_bytes()
    read = parquet.read_table(table)
    assert swept.rows == read.num_rows == 5 * swept.points
    rows = list(zip(read["point"].to_pylist(), read["phase"].to_pylist(), strict=True))
    assert len(set(rows)) == len(rows), "no row is there twice"
    assert sorted(set(read["index"].to_pylist())) == list(range(swept.points))


def test_any_executor_gives_the_same_bytes(tmp_path: Path, small: Path) -> None:
    tables = [tmp_path / "threads.parquet", tmp_path / "processes.parquet"]
    flashlag.sweep(small, tables[0], chunk=3)
    with ProcessPoolExecutor(2) as pool:
        flashlag.sweep(small, tables[1], executor=pool, chunk=7)
    assert tables[0].read_bytes() == tables[1].read_bytes()


def own_workers() -> list[int]:
    """The processes of a sweep of this process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rpartition(") ")[2].split()[:2]
            worker = b"sweep-worker" in (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if worker and state != "Z" and int(parent) == os.getpid():
            found.append(int(entry.name))
    return found


def test_without_an_executor_the_points_are_measured_in_processes_that_may_die(
    tmp_path: Path, small: Path
) -> None:
    table, whole = tmp_path / "table.parquet", tmp_path / "whole.parquet"
    killed: list[int] = []

    def kill(done: int, _points: int) -> None:
        # A process that has just ended may have no successor yet.
        due = done > 0 and len(killed) < 2
        if due and (victims := own_workers()) and has_killed(victims[0]):
            killed.append(victims[0])

    flashlag.sweep(small, table, chunk=4, progress=kill)
    assert len(killed) == 2 and own_workers() == []
    with ThreadPoolExecutor(2) as pool:
        flashlag.sweep(small, whole, executor=pool)
    assert table.read_bytes() == whole.read_bytes()


def test_ctrl_c_and_an_exception_of_the_callers_end_a_sweep_and_leave_no_process(
    tmp_path: Path, grid: Path
) -> None:
    table = tmp_path / "table.parquet"

    def interrupt(done: int, _points: int) -> None:
        if done > 0:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        flashlag.sweep(grid, table, chunk=4, progress=interrupt)
    assert own_workers() == [] and not table.exists()

    def refuse(_done: int, _points: int) -> None:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        flashlag.sweep(grid, table, progress=refuse)
    assert own_workers() == [] and not table.exists()
    assert flashlag._flashlag.Sweep(str(grid), str(table)).done() >= 4


def test_an_executor_that_broke_loses_nothing_and_the_same_call_goes_on(
    tmp_path: Path, small: Path
) -> None:
    table, whole = tmp_path / "table.parquet", tmp_path / "whole.parquet"
    with ProcessPoolExecutor(1) as pool:

        def kill(done: int, points: int) -> None:
            if done >= points // 2:
                for pid in list(pool._processes):
                    has_killed(pid)

        with pytest.raises(flashlag.Error, match="kept: the same call goes on"):
            flashlag.sweep(small, table, executor=pool, chunk=1, in_flight=2, progress=kill)
    assert not table.exists()
    seen: list[int] = []
    flashlag.sweep(small, table, progress=lambda done, _: seen.append(done))
    assert seen[0] >= 20, "what was measured is not measured again"
    flashlag.sweep(small, whole)
    assert table.read_bytes() == whole.read_bytes()


def test_a_scheduler_that_is_not_there_is_named(tmp_path: Path, small: Path) -> None:
    with pytest.raises(flashlag.Error, match="no Dask scheduler answers at tcp://127.0.0.1:1"):
        flashlag.sweep(small, tmp_path / "table.parquet", executor="tcp://127.0.0.1:1")


def test_a_scheduler_that_goes_away_ends_the_sweep_and_keeps_what_is_measured(
    tmp_path: Path, small: Path
) -> None:
    table = tmp_path / "table.parquet"
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)

    def close(done: int, points: int) -> None:
        if done >= points // 4:
            client.close()
            cluster.close()

    with pytest.raises(flashlag.Error, match="of 40 points are measured and kept"):
        flashlag.sweep(
            small, table, executor=client.get_executor(), chunk=1, in_flight=2, progress=close
        )
    assert flashlag.sweep(small, table).points == 40


def test_a_misspelt_key_is_refused_by_its_line_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text('profile = "zero"\nfilesytem = "ext4"\n')
    with pytest.raises(flashlag.InputError, match="line 2.*did you mean `filesystem`"):
        flashlag.sweep(path, tmp_path / "table.parquet")
    assert [entry.name for entry in tmp_path.iterdir()] == ["grid.toml"]


class Once(Executor):
    """An executor whose workers die at every task's first try."""

    def __init__(self, dies: int) -> None:
        self.dies, self.tries = dies, dict[bytes, int]()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        tries = self.tries[args[0]] = self.tries.get(args[0], 0) + 1
        if tries <= self.dies:
            future.set_exception(OSError("the worker died"))
        else:
            future.set_result(fn(*args))
        return future


def test_a_task_whose_worker_dies_is_submitted_again_a_few_times(
    tmp_path: Path, small: Path
) -> None:
    assert flashlag.sweep(small, tmp_path / "a.parquet", executor=Once(2), retries=2).points == 40
    with pytest.raises(flashlag.Error, match="failed 3 times, last with OSError: the worker died"):
        flashlag.sweep(small, tmp_path / "b.parquet", executor=Once(3), retries=2)


def test_bytes_that_are_no_results_are_refused(tmp_path: Path, small: Path) -> None:
    class Echo(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(args[0])
            return future

    with pytest.raises(flashlag.Error, match="damaged"):
        flashlag.sweep(small, tmp_path / "table.parquet", executor=Echo())


def test_a_second_sweep_of_one_output_waits_its_turn(tmp_path: Path, small: Path) -> None:
    table = tmp_path / "table.parquet"
    begun, ends = threading.Event(), threading.Event()

    def hold(_done: int, _points: int) -> None:
        begun.set()
        ends.wait(30)

    thread = threading.Thread(target=lambda: flashlag.sweep(small, table, progress=hold))
    thread.start()
    begun.wait(30)
    with pytest.raises(flashlag.Error, match="another sweep writes"):
        flashlag.sweep(small, table)
    ends.set()
    thread.join()
    assert table.exists()
