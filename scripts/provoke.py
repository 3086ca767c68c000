#!/usr/bin/env python3
"""Provokes stalls of known causes while `flashlag run` measures a directory, and compares their names.

    scripts/provoke.py target/release/flashlag DIR [--rounds 2]

Each round measures three times, and for half a second in two beside forty `dd` that write past the page cache on
the same filesystem, stopped by SIGSTOP, and beside fifty busy loops a processor. The table has what was provoked
against what was named. A name contradicts where it says that the provoked thing was not the cause, or names one that
did not happen: `storage`, `mixed` and `unknown` claim nothing. Ends with 1 on any contradiction.
"""

import argparse
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SCENARIO = """
name = "provoke"
about = "Random writes with fdatasync, which stalls are provoked among."
assumptions = ["None."]

[[io]]
name = "rand_write_4k"
operation = "write"
pattern = "random"
block = "4KiB"
span = "16MiB"
bytes = "{bytes}"
durable = "fdatasync"

[[step]]
measure = ["rand_write_4k"]
state = "new"
"""
BURST = 0.5
# A stall of nearly that length while the process is stopped twice in three seconds is the stop itself.
LONG = 0.9 * BURST * 1e9
NO_CLAIM = {"storage", "mixed", "unknown"}
# What is written in a run: some ten seconds on a fast disk.
SIZES = {"dd": "128MiB", "stop": "256MiB", "busy": "256MiB"}
WRITERS, LOOPS = 40, 50
# What no provocation here does.
NEVER = {"throttling", "cleaning", "checkpoint", "discard", "wake_up", "wear_levelling"}


def contradicts(provoked, stall):
    """Whether the name of a stall can't be right beside what was done."""
    cause = stall["cause"]
    if provoked == "stop" and stall["ns"] >= LONG:
        # More than half of it was the stop: the account says so or is mixed.
        return cause not in {"stopped", "mixed", "unknown"}
    if cause in NO_CLAIM:
        return False
    if cause == "stopped":
        return provoked != "stop"
    if cause == "other_io":
        return provoked != "dd"
    return cause in NEVER


def loops(provoked, place):
    """Shell loops that provoke, each with its file or none."""
    if provoked == "dd":
        files = [Path(place, f"beside-{number}") for number in range(WRITERS)]
        write = "while :; do dd if=/dev/zero of=$1 bs=8M count=32 oflag=direct 2>/dev/null; done"
        return [(["sh", "-c", write, "sh", str(file)], file) for file in files]
    if provoked == "busy":
        return [(["sh", "-c", "while :; do :; done"], None)] * (LOOPS * (os.cpu_count() or 1))
    return []


def signal_group(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


@contextlib.contextmanager
def beside(provoked, place, pid):
    """Provokes for half a second in two until the block ends: what is always there is a phase's normal, no stall."""
    over = threading.Event()
    begun = [(subprocess.Popen(command, start_new_session=True), file) for command, file in loops(provoked, place)]
    # The run itself, or what runs beside.
    groups = [child.pid for child, _ in begun] or [pid]
    within, without = (signal.SIGCONT, signal.SIGSTOP) if begun else (signal.SIGSTOP, signal.SIGCONT)

    def send(number):
        for group in groups:
            signal_group(group, number)

    def bursts():
        send(without)
        while not over.wait(1.5):
            send(within)
            time.sleep(BURST)
            send(without)

    thread = threading.Thread(target=bursts)
    try:
        thread.start()
        yield
    finally:
        over.set()
        thread.join()
        for child, file in begun:
            signal_group(child.pid, signal.SIGKILL)
            child.wait()
            if file:
                file.unlink(missing_ok=True)


def stalls_of(program, provoked, place, size):
    """The stalls of one run."""
    with tempfile.TemporaryDirectory() as folder:
        scenario, output = Path(folder, "provoke.toml"), Path(folder, "run.json")
        scenario.write_text(SCENARIO.format(bytes=size))
        command = [program, "run", scenario, "--on", place, "-o", output, "--yes", "-q"]
        run = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            with beside(provoked, place, run.pid):
                run.wait()
        finally:
            run.kill()
            run.wait()
        if not output.exists():
            sys.exit(f"flashlag run ended with {run.returncode} and no run file: {provoked}")
        phases = json.loads(output.read_text())["phases"]
        stalls = [stall for phase in phases for stall in phase.get("stalls", [])]
        took = sum(phase["elapsed_ns"] for phase in phases) / 1e9
        print(f"{provoked}: {len(stalls)} stalls in {took:.0f} s", file=sys.stderr, flush=True)
        return stalls


def ended(*_):
    """Ends what runs beside as well; a second signal does not interrupt that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=Path)
    options.add_argument("directory", type=Path)
    options.add_argument("--rounds", type=int, default=2)
    given = options.parse_args()
    signal.signal(signal.SIGTERM, ended)
    named = collections.Counter()
    wrong = []
    for _ in range(given.rounds):
        for provoked in SIZES:
            for stall in stalls_of(given.program, provoked, given.directory, SIZES[provoked]):
                basis = stall.get("cause_basis", "measured")
                named[provoked, stall["cause"], basis] += 1
                if contradicts(provoked, stall):
                    wrong.append((provoked, stall))
    print("| provoked | named | how | stalls |\n|---|---|---|---|")
    for (provoked, cause, basis), count in sorted(named.items()):
        print(f"| {provoked} | {cause} | {basis} | {count} |")
    print(f"\n{sum(named.values())} stalls, {len(wrong)} with a name that contradicts")
    for provoked, stall in wrong:
        print(f"{provoked}: {json.dumps(stall)}")
    return 1 if wrong or not named else 0


if __name__ == "__main__":
    sys.exit(main())
