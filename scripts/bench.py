#!/usr/bin/env python3
"""Speed beside fio: each case is run by our engine and by fio in turn, on the same file, and the
medians go into a table (printed, and put between the marks of docs/benchmarks.md with the facts of the
machine; what stands outside of the marks is written by hand).

Timing is no test: whatever the figures are, this exits 0. Without fio its columns say so.
"""

import argparse
import configparser
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

import marks

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENGINE = ROOT / "target/release/examples/bench_engine"
FLASHLAG = ROOT / "target/release/flashlag"
DOCUMENT = ROOT / "docs/benchmarks.md"

# The file on tmpfs is small, so that the kernel's cache misses do not hide what the tools cost.
MEMORY_MIB = 16

# fio's side of each case is a section of the job file that flashlag writes of this scenario.
SCENARIO = ROOT / "scripts/bench.toml"
# As a job file has it: a buffer that is new for each write.
REFILL = {"refill_buffers": "1"}

# Name, case of bench_engine, section of the job file and what is otherwise in it, where, and the
# bars: (figure, at least or at most, how many times fio's). Random addresses with replacement on
# both sides (norandommap).
CASES = [
    ("null device, 4 KiB random reads", "null", ("null_read", {}), None,
     [("ops/CPU s", ">=", 1.5)]),
    ("psync, 4 KiB random reads, tmpfs", "psync-randread-1", ("psync_read", {}), "memory",
     [("CPU/op", "<=", 0.85)]),
    ("psync, 4 KiB random writes, tmpfs", "psync-randwrite-1", ("psync_write", {}), "memory",
     [("CPU/op", "<=", 0.85)]),
    ("the same, fio with refill_buffers", "psync-randwrite-1", ("psync_write", REFILL), "memory",
     [("CPU/op", "<=", 0.85)]),
    ("psync, O_DIRECT, write + fdatasync", "psync-randwrite-1-direct-durable",
     ("durable_write", {"fdatasync": "1", "sync": "none"}), "disk", [("ops/s", ">=", 1.0)]),
    ("io_uring, O_DIRECT, depth 32, random reads", "io_uring-randread-32-direct",
     ("deep_read", {}), "disk", [("ops/s", ">=", 1.0), ("CPU/op", "<=", 0.9)]),
    ("io_uring, O_DIRECT, depth 32, random writes", "io_uring-randwrite-32-direct",
     ("deep_write", {}), "disk", [("ops/s", ">=", 1.0), ("CPU/op", "<=", 0.9)]),
    ("the same writes, fio with refill_buffers", "io_uring-randwrite-32-direct",
     ("deep_write", REFILL), "disk", [("ops/s", ">=", 1.0), ("CPU/op", "<=", 0.9)]),
]

def run_json(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{"):])


def ours(case, directory, seconds, mib):
    figures = run_json([ENGINE, case, directory, str(seconds), str(mib)])
    return {
        "ops/s": figures["ops_per_sec"],
        "CPU/op": figures["cpu_ns_per_op"],
        "ops/CPU s": 1e9 / figures["cpu_ns_per_op"],
        "p50": figures["p50_ns"],
        "p99": figures["p99_ns"],
    }


def job_options(section, seconds, mib):
    """The options of a section of the job file, the global ones first."""
    command = [FLASHLAG, "scenarios", SCENARIO, "--format", "fio", "--set", f"span={mib}MiB",
               "--set", f"time={seconds}s"]
    written = configparser.RawConfigParser()
    written.optionxform = str
    written.read_string(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return dict(written["global"]) | dict(written[section])


def fio(section, otherwise, directory, seconds, mib):
    options = job_options(section, seconds, mib)
    # The same buffer again and again unless the case says otherwise; the file is laid out by us.
    for name in ("refill_buffers", "overwrite", "filesize", "stonewall"):
        options.pop(name, None)
    null = options["ioengine"] == "null"
    options |= {"filename": "null" if null else f"{directory}/bench-0000.dat"} | otherwise
    job = run_json(["fio", "--output-format=json", "--name=bench",
                    *(f"--{name}={value}" for name, value in options.items())])["jobs"][0]
    side = job["read"] if job["read"]["total_ios"] else job["write"]
    cpu_ns = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e6 / side["total_ios"]
    percentile = side["clat_ns"]["percentile"]
    p50, p99 = percentile["50.000000"], percentile["99.000000"]
    if "fdatasync" in options:
        sync = job["sync"]["lat_ns"]["percentile"]
        p50, p99 = p50 + sync["50.000000"], p99 + sync["99.000000"]
    return {"ops/s": side["iops"], "CPU/op": cpu_ns, "ops/CPU s": 1e9 / cpu_ns,
            "p50": p50, "p99": p99}


def median(runs, figure):
    return statistics.median(run[figure] for run in runs)


def spread(runs, figure):
    values = [run[figure] for run in runs]
    return (max(values) - min(values)) / statistics.median(values) if min(values) > 0 else 0.0


def short(figure, value):
    if figure in ("CPU/op", "p50", "p99"):
        for unit, scale in (("ms", 1e6), ("µs", 1e3)):
            if value >= scale:
                return f"{value / scale:.3g} {unit}"
        return f"{value:.3g} ns"
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g}"


def row(name, figure, mine, theirs, bars):
    if any(run[figure] is None for run in mine + theirs):
        return [name, figure, "too few operations", "", "", "", "", ""]
    bar = next((bar for bar in bars if bar[0] == figure), None)
    cells = [name, figure, short(figure, median(mine, figure)), f"{spread(mine, figure):.0%}"]
    if not theirs:
        return cells + ["fio is missing", "", "", ""]
    ratio = median(mine, figure) / median(theirs, figure) if median(theirs, figure) else 0.0
    cells += [short(figure, median(theirs, figure)), f"{spread(theirs, figure):.0%}",
              f"{ratio:.2f} ×"]
    if not bar:
        return cells + [""]
    met = ratio >= bar[2] if bar[1] == ">=" else ratio <= bar[2]
    sign = "≥" if bar[1] == ">=" else "≤"
    return cells + [f"{sign} {bar[2]} ×: {'met' if met else 'missed'}"]


def measure(case, places, arguments, has_fio):
    name, engine_case, (section, otherwise), place, bars = case
    directory = places.get(place, places["disk"])
    mib = MEMORY_MIB if place == "memory" else arguments.mib
    mine, theirs = [], []
    for turn in range(arguments.runs):
        # Who goes first alternates too: a machine that warms up or cools favours neither.
        sides = [("ours", mine), ("fio", theirs)]
        for side, runs in sides if turn % 2 == 0 else reversed(sides):
            if side == "ours":
                runs.append(ours(engine_case, directory, arguments.seconds, mib))
            elif has_fio:
                if not (pathlib.Path(directory) / "bench-0000.dat").exists() and place:
                    ours(engine_case, directory, 0, mib)
                runs.append(fio(section, otherwise, directory, arguments.seconds, mib))
    figures = ["ops/s", "CPU/op", "p50", "p99"]
    if any(bar[0] == "ops/CPU s" for bar in bars):
        figures[0:2] = ["ops/CPU s", "CPU/op"]
    return [row(name if figure == figures[0] else "", figure, mine, theirs, bars)
            for figure in figures]


def meter_cost(places, arguments):
    """What splitting waits costs at 20,000 operations a second: a device that takes 50 µs, spun
    through, so that what differs is ours alone."""
    on, off = [], []
    for _ in range(arguments.runs):
        for case, runs in (("spin", on), ("spin-nometer", off)):
            runs.append(ours(case, places["disk"], arguments.seconds, arguments.mib))
    cost = median(on, "CPU/op") - median(off, "CPU/op")
    return (f"Splitting waits costs {cost:.0f} ns an operation, {cost / 50_000:.2%} of the time, on "
            f"a device that takes 50 µs (bar: 2 % at 20,000 a second; {spread(off, 'CPU/op'):.2%} "
            "is the spread of the runs without it).")


def peak_memory(directory):
    """The largest resident set of a `quick` run, in MB; None where there is no binary yet."""
    if not FLASHLAG.exists():
        return None
    output = pathlib.Path(directory) / "quick.json"
    command = [FLASHLAG, "run", "quick", "--on", directory, "-o", output, "--force", "--yes"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_maxrss * 1024 / 1e6, child.returncode)


def machine(places):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith(("model name", "Model"))), platform.machine())
    version = "not installed"
    if shutil.which("fio"):
        version = subprocess.run(["fio", "--version"], capture_output=True, text=True).stdout.strip()
    # By the mount: statfs gives ext2, ext3 and ext4 the same number.
    kind = subprocess.run(["findmnt", "-n", "-o", "FSTYPE", "--target", places["disk"]],
                          capture_output=True, text=True).stdout.strip()
    return [f"CPU: {model}, {os.cpu_count()} of them", f"kernel: {platform.release()}",
            f"disk cases on: {kind}; memory cases on tmpfs",
            f"fio: {version}",
            f"load average at the start: {os.getloadavg()[0]:.2f}"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each side (default 5)")
    parser.add_argument("--seconds", type=int, default=3, help="a run (default 3)")
    parser.add_argument("--mib", type=int, default=128, help="size of the file on disk (default 128)")
    parser.add_argument("--on", help="directory for the disk cases (default: a new one in target)")
    parser.add_argument("--no-quick", action="store_true", help="leave out the `quick` run")
    parser.add_argument("--no-write", action="store_true", help="print only")
    return parser.parse_args()


def simulation():
    """How fast the flash is simulated, as its own bench prints it."""
    done = subprocess.run(["cargo", "run", "--release", "--locked", "-q", "-p", "flashlag-flash",
                           "--example", "bench_flash"],
                          cwd=ROOT, check=True, capture_output=True, text=True)
    return f"```\n{done.stdout.rstrip()}\n```"


def main():
    arguments = parse()
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "flashlag-engine",
                    "--example", "bench_engine"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "flashlag-cli"],
                   cwd=ROOT, check=True)
    has_fio = shutil.which("fio") is not None
    if not has_fio:
        print("skipped: fio is not installed, so there is nothing to compare with", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=arguments.on or ROOT / "target") as disk, \
            tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        places = {"disk": disk, "memory": memory}
        facts = machine(places)
        header = ["case", "figure", "flashlag", "spread", "fio", "spread", "ratio", "bar"]
        table = [header, ["---"] * 2 + ["---:"] * 5 + ["---"]]
        for case in CASES:
            table += measure(case, places, arguments, has_fio)
            print(f"{case[0]}: done", file=sys.stderr)
        extra = [meter_cost(places, arguments)]
        quick = None if arguments.no_quick else peak_memory(disk)
        if quick:
            extra.append(f"Peak memory of a `quick` run (exit code {quick[1]}): {quick[0]:.1f} MB "
                         "(bar: 24 MB).")
    lines = ["| " + " | ".join(cells) + " |" for cells in table]
    engine = "\n".join(
        [f"Medians of {arguments.runs} runs of {arguments.seconds} s for each side, in turn.", "",
         *[f"- {fact}" for fact in facts], "", *lines, "", *[line + "\n" for line in extra]])
    flash = simulation()
    print(f"{engine}\n{flash}")
    if not arguments.no_write:
        marks.put(DOCUMENT, "engine", engine)
        marks.put(DOCUMENT, "simulation", flash)


if __name__ == "__main__":
    main()
