"""A sweep of 10,000 points: in one process, and on Dask workers of which two are killed.

    target/python/tests/bin/python scripts/sweep_bench.py target/release [GRID.toml]

Prints the figures of docs/sweeps.md as Markdown, with the CPU time of all processes, which other load on the
machine hardly changes, and fails if a table differs from another by one byte.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRID = ROOT / "docs/sweeps/fill-levels.toml"
KILLS = 2


def package(built: Path, folder: Path) -> None:
    """The Python package as it was built, for this process and its workers."""
    shutil.copytree(ROOT / "crates/python/python/flashlag", folder / "flashlag")
    shutil.copy(built / "libflashlag_python.so", folder / "flashlag/_flashlag.abi3.so")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)


def cpu_seconds() -> float:
    """CPU time of this process, and of all processes below it that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def program(built: Path, grid: Path, table: Path, threads: int) -> float:
    begin = time.monotonic()
    command = [built / "flashlag", "sweep", grid, "-o", table, "--threads", str(threads), "-q"]
    subprocess.run(command, check=True)
    return time.monotonic() - begin


def on_dask(grid: Path, table: Path, workers: int, kills: int) -> float:
    import flashlag
    from distributed import Client, LocalCluster

    killed: list[int] = []

    def kill(done: int, points: int) -> None:
        if len(killed) < kills and done >= points * (len(killed) + 1) // (kills + 1):
            pids = [nanny.pid for nanny in cluster.workers.values()]
            victim = next((pid for pid in pids if pid and pid not in killed), None)
            if victim is not None:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(workers)
        begin = time.monotonic()
        flashlag.sweep(grid, table, executor=client.get_executor(), progress=kill)
        took = time.monotonic() - begin
    assert len(killed) == kills, f"{len(killed)} workers were killed"
    return took


def nothing(chunk: bytes) -> bytes:
    return chunk


def scheduler(tasks: int, size: int) -> float:
    """Seconds of a task that does nothing, with the bytes of a chunk's results."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        executor = client.get_executor()
        begin = time.monotonic()
        under_way = []
        for number in range(tasks):
            under_way.append(executor.submit(nothing, number.to_bytes(size, "little")))
            if len(under_way) == 64:
                under_way.pop(0).result()
        for task in under_way:
            task.result()
        return (time.monotonic() - begin) / tasks


def main() -> None:
    built = Path(sys.argv[1]).resolve()
    grid = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else GRID
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package(built, folder / "package")
        tables, took = [], {}
        ways = {
            "the program, 1 thread": lambda table: program(built, grid, table, 1),
            "the program, 2 threads": lambda table: program(built, grid, table, 2),
            "Dask, 1 worker": lambda table: on_dask(grid, table, 1, 0),
            "Dask, 2 workers": lambda table: on_dask(grid, table, 2, 0),
            "Dask, 2 workers, 2 killed": lambda table: on_dask(grid, table, 2, KILLS),
        }
        import flashlag

        points = flashlag._flashlag.Sweep(str(grid), str(folder / "count.parquet")).points()
        print(f"| {points:,} points | seconds | points a second | CPU ms of a point |\n|---|---|---|---|")
        for number, (way, measure) in enumerate(ways.items()):
            table = folder / f"{number}.parquet"
            before = cpu_seconds()
            took[way] = measure(table)
            cpu = (cpu_seconds() - before) / points
            tables.append(table.read_bytes())
            rate = points / took[way]
            print(f"| {way} | {took[way]:.1f} | {rate:.0f} | {1000 * cpu:.2f} |", flush=True)
        assert all(table == tables[0] for table in tables), "the tables differ"
        size = len(tables[0])
        print(f"\nAll {len(tables)} tables are the same {size:,} bytes, {size / points:.0f} a point.")
        two = took["the program, 1 thread"] / took["the program, 2 threads"]
        dask = took["Dask, 1 worker"] / took["Dask, 2 workers"]
        print(f"Two threads for one: {two:.2f} times; two workers for one: {dask:.2f} times.")
        each = scheduler(5000, 100_000)
        print(f"A task of 100 kB that does nothing takes the scheduler {each * 1000:.2f} ms.")


if __name__ == "__main__":
    main()
