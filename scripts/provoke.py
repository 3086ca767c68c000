#!/usr/bin/env python3
"""Provokes stalls of known causes while `flashlag run` measures a directory, and compares their names.

    scripts/provoke.py target/release/flashlag DIR [--rounds 2]

Each round measures three times: beside `dd` writing and syncing on the same filesystem, stopped by SIGSTOP for half
a second in two, and at the lowest priority beside four busy loops a processor. The table has what was provoked
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
STOPPED = 0.5
# A stall of nearly that length while the process is stopped twice in three seconds is the stop itself.
LONG = 0.9 * STOPPED * 1e9
NO_CLAIM = {"storage", "mixed", "unknown"}
# What is written in a run: at the lowest priority an operation takes a thousand times as long.
SIZES = {"dd": "64MiB", "stop": "64MiB", "busy": "256KiB"}
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


@contextlib.contextmanager
def beside(provoked, place, pid):
    """Provokes until the block ends."""
    children, over = [], threading.Event()

    def stop_and_go():
        while not over.wait(1.5):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(STOPPED)
                os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=stop_and_go)
    try:
        if provoked == "dd":
            command = f"while :; do dd if=/dev/zero of={place}/beside bs=1M count=256 conv=fsync 2>/dev/null; done"
            children.append(subprocess.Popen(["sh", "-c", command], start_new_session=True))
        elif provoked == "busy":
            os.setpriority(os.PRIO_PROCESS, pid, 19)
            for _ in range(4 * (os.cpu_count() or 1)):
                loop = [sys.executable, "-c", "while True: pass"]
                children.append(subprocess.Popen(loop, start_new_session=True))
        elif provoked == "stop":
            thread.start()
        yield
    finally:
        over.set()
        if thread.is_alive():
            thread.join()
        for child in children:
            os.killpg(child.pid, signal.SIGKILL)
        for child in children:
            child.wait()
        Path(place, "beside").unlink(missing_ok=True)


def stalls_of(program, provoked, place, size):
    """The stalls of one run."""
    with tempfile.TemporaryDirectory() as folder:
        scenario, output = Path(folder, "provoke.toml"), Path(folder, "run.json")
        scenario.write_text(SCENARIO.format(bytes=size))
        command = [program, "run", scenario, "--on", place, "-o", output, "--yes", "-q"]
        run = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL)
        try:
            with beside(provoked, place, run.pid):
                run.wait()
        finally:
            run.kill()
            run.wait()
        if not output.exists():
            sys.exit(f"flashlag run ended with {run.returncode} and no run file: {provoked}")
        phases = json.loads(output.read_text())["phases"]
        return [stall for phase in phases for stall in phase.get("stalls", [])]


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
