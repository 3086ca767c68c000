#!/usr/bin/env python3
"""The virtual device beside nbdkit's own memory plugin, and how exactly it delivers its times.

Each round starts both servers afresh, in turn, and drives them with fio's nbd engine: 4 KiB random
writes, depth 1 and 16. Then a device whose writes take 1 ms is written to one at a time; how late its
requests complete is the server's own histogram, and what a client sees is fio's. The figures go into
docs/benchmarks.md, between its marks. Timing is no test: whatever they are, this exits 0.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

import marks

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PLUGIN = TARGET / "release/libflashlag_nbd.so"
DOCUMENT = ROOT / "docs/benchmarks.md"
MIB = 256


class Server:
    """nbdkit with a plugin, on a socket of its own."""

    def __init__(self, folder, words, before=()):
        self.socket = pathlib.Path(folder) / "nbd"
        self.control = pathlib.Path(folder) / "control"
        words = [str(word).replace("CONTROL", str(self.control)) for word in words]
        self.before = list(before)
        self.child = subprocess.Popen([*self.before, "nbdkit", "-f", "-U", self.socket, *words])
        for _ in range(500):
            if self.socket.exists():
                break
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        for path in (self.socket, self.control):
            path.unlink(missing_ok=True)

    def cpu_seconds(self):
        fields = (pathlib.Path("/proc") / str(self.child.pid) / "stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def lateness(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.control))
            control.sendall(b'{"do":"stat"}\n')
            answer = json.loads(control.makefile().readline())
        return answer["ok"]["stats"]["lateness_ns"]["summary"]

    def fio(self, depth, seconds):
        command = ["fio", "--output-format=json", "--name=bench", "--ioengine=nbd",
                   f"--uri=nbd+unix:///?socket={self.socket}", "--rw=randwrite", "--bs=4k",
                   f"--iodepth={depth}", f"--size={MIB}m", "--norandommap", "--time_based",
                   f"--runtime={seconds}"]
        before = self.cpu_seconds()
        done = subprocess.run([*self.before, *command], check=True, capture_output=True, text=True)
        # Its nbd engine says hello on standard output.
        job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]["write"]
        cpu = (self.cpu_seconds() - before) / max(job["total_ios"], 1)
        percentile = job["clat_ns"]["percentile"]
        return {"ops/s": job["iops"], "CPU": cpu * 1e6, "p50": percentile["50.000000"] / 1e3,
                "p99": percentile["99.000000"] / 1e3}


def shown(value):
    """Four significant digits; from 1,000 on whole numbers."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def apart():
    """Words that keep other programs from disturbing: as near to a quiet machine as a busy one is."""
    return ["chrt", "--fifo", "10"] if os.geteuid() == 0 and shutil.which("chrt") else []


def beside_memory(folder, runs, seconds):
    sides = {"memory": ["memory", f"{MIB}M"],
             "ours": [PLUGIN, "profile=zero", f"size={MIB}MiB"]}
    lines = ["| depth | figure | ours | nbdkit's memory plugin | ratio | bar |",
             "|---:|---|---:|---:|---:|---|"]
    for depth in (1, 16):
        seen = {"ours": [], "memory": []}
        for turn in range(runs):
            order = ["ours", "memory"] if turn % 2 == 0 else ["memory", "ours"]
            for side in order:
                with Server(folder, sides[side], apart()) as server:
                    server.fio(16, 1)  # Its memory is there then.
                    seen[side].append(server.fio(depth, seconds))
        for figure, bar in (("ops/s", "≥ 0.9 ×"), ("CPU", ""), ("p50", ""), ("p99", "")):
            mine, theirs = (statistics.median(run[figure] for run in seen[side])
                            for side in ("ours", "memory"))
            ratio = mine / theirs
            verdict = f"{bar}: {'met' if ratio >= 0.9 else 'missed'}" if bar else ""
            name = {"CPU": "server's CPU, µs/op", "p50": "p50, µs", "p99": "p99, µs"}
            lines.append(f"| {depth if figure == 'ops/s' else ''} | {name.get(figure, figure)} | "
                         f"{shown(mine)} | {shown(theirs)} | {ratio:.2f} × | {verdict} |")
    return lines


def one_millisecond(folder, runs, seconds):
    profile = (ROOT / "profiles/zero.toml").read_text()
    profile = profile.replace('name = "zero"', 'name = "one-ms"')
    profile = re.sub(r'(?m)^write_command = \{ value = "[^"]*"', 'write_command = { value = "1ms"',
                     profile)
    path = pathlib.Path(folder) / "one-ms.toml"
    path.write_text(profile)
    words = [PLUGIN, f"profile={path}", f"size={MIB}MiB", "control=CONTROL"]
    lines = ["A device whose writes take 1 ms, one at a time: how late requests leave the server, by "
             "its own histogram, and what they take beyond 1 ms to a client (fio's nbd engine; the "
             f"socket's and both processes' time is in that); medians of {runs} runs. Bars: 30 µs "
             "at the median and 150 µs at p99 on a quiet machine, by the first two.", "",
             "| | late, p50 | late, p99 | client's p50 | client's p99 | |",
             "|---|---:|---:|---:|---:|---|"]
    ways = {"as it is": []}
    if apart():
        ways["both at real-time priority"] = apart()
    for name, before in ways.items():
        late, client = [], []
        for _ in range(runs):
            with Server(folder, words, before) as server:
                # A percentile needs ten values beyond it: 1000 requests for p99.
                client.append(server.fio(1, max(seconds, 3) * 2))
                late.append({"p99": float("nan"), **server.lateness()})
        late = [statistics.median(run[figure] for run in late) / 1e3 for figure in ("p50", "p99")]
        seen = [statistics.median(run[figure] for run in client) - 1000 for figure in ("p50", "p99")]
        verdict = "met" if late[0] <= 30 and late[1] <= 150 else "missed"
        figures = " | ".join(f"{value:,.2g} µs" if value < 1 else f"{value:,.0f} µs"
                             for value in late + seen)
        lines.append(f"| {name} | {figures} | {verdict} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="of each side (default 7)")
    parser.add_argument("--seconds", type=int, default=3, help="a run (default 3)")
    parser.add_argument("--no-write", action="store_true", help="print only")
    arguments = parser.parse_args()
    missing = [name for name in ("nbdkit", "fio") if not shutil.which(name)]
    if missing:
        print(f"skipped: the virtual device: {' and '.join(missing)} not installed")
        return
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "flashlag-nbd"], cwd=ROOT,
                   check=True)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        table = beside_memory(folder, arguments.runs, arguments.seconds)
        late = one_millisecond(folder, arguments.runs, arguments.seconds)
    text = "\n".join([
        f"Medians of {arguments.runs} runs of {arguments.seconds} s"
        f"{', all at real-time priority' if apart() else ''}. Load "
        f"average at the start, on {os.cpu_count()} CPUs: {load:.2f}.", "", *table, "", *late])
    print(text)
    if not arguments.no_write:
        marks.put(DOCUMENT, "device", text)


if __name__ == "__main__":
    main()
