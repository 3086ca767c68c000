#!/usr/bin/env python3
"""What `flashlag trace` costs: fio at 20,000 writes a second without and with it, beside a line a request
by bpftrace (what biosnoop does, on tracepoints) and bcc's biosnoop where it runs.

Runs alternate, so that a change of the machine's load meets all alike; each ratio is between runs that
followed each other. Needs root and fio. bpftrace and biosnoop need tracefs, which is mounted in a
namespace of mounts of their own.

    scripts/bench_trace.py [--flashlag PROGRAM] [--rounds N] [--seconds S] [--folder DIR]
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

SNOOP = """
tracepoint:block:block_rq_issue { @at[args->dev, args->sector] = nsecs; @who[args->dev, args->sector] = comm; }
tracepoint:block:block_rq_complete /@at[args->dev, args->sector]/ {
  printf("%llu %s %d %s %llu %d %llu\\n", nsecs, @who[args->dev, args->sector], args->dev, args->rwbs,
    args->sector, args->nr_sector, nsecs - @at[args->dev, args->sector]);
  delete(@at[args->dev, args->sector]); delete(@who[args->dev, args->sector]);
}
"""

# Each load by name: what is given to fio.
LOADS = {
    # System calls into the page cache, at a given pace: the cost shows in CPU time.
    "20,000 buffered writes/s": ["--rw=randwrite", "--rate_iops=20000"],
    # As many as there are: the cost shows in the throughput.
    "buffered writes, flat out": ["--rw=randwrite"],
    "O_DIRECT writes, 4 at a time": ["--rw=randwrite", "--direct=1", "--ioengine=libaio", "--iodepth=4"],
}


def with_tracefs(words):
    script = "mount --make-rprivate / && mount -t tracefs t /sys/kernel/tracing && " \
        "mount -t debugfs d /sys/kernel/debug && exec \"$@\""
    return ["unshare", "-m", "sh", "-c", script, "sh", *words]


def tracers(flashlag, folder):
    found = {"nothing": None, "flashlag trace": [flashlag, "-q", "trace", folder]}
    if shutil.which("bpftrace"):
        found["bpftrace, a line a request"] = with_tracefs(["bpftrace", "-e", SNOOP])
    biosnoop = shutil.which("biosnoop-bpfcc") or shutil.which("biosnoop")
    if biosnoop:
        tried = subprocess.run(["timeout", "-s", "INT", "4", *with_tracefs([biosnoop])],
                               capture_output=True, check=False)
        if b"Traceback" in tried.stderr:
            print("biosnoop of bcc does not run here:", tried.stderr.decode().strip().split("\n")[-1])
        else:
            found["biosnoop"] = with_tracefs([biosnoop])
    return found


def cpu_of_machine():
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def fio(load, folder, seconds):
    words = ["fio", "--name=load", f"--directory={folder}", "--size=256M", "--bs=4k", "--time_based",
             f"--runtime={seconds}", "--ioengine=psync", "--output-format=json", *LOADS[load]]
    began = cpu_of_machine()
    done = subprocess.run(words, capture_output=True, check=True)
    job = json.loads(done.stdout)["jobs"][0]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    writes = job["write"]["total_ios"]
    return {
        "rate": job["write"]["iops"],
        "cpu_ns": cpu / writes * 1e9,
        "machine_ns": (cpu_of_machine() - began) / writes * 1e9,
    }


def measured(load, tracer, folder, seconds):
    running = None
    if tracer:
        with open(os.devnull, "w", encoding="ascii") as nothing:
            running = subprocess.Popen(tracer, stdout=nothing, stderr=nothing)
        time.sleep(2.5)
        if running.poll() is not None:
            raise SystemExit(f"{tracer[0]} ended before the load began")
    found = fio(load, folder, seconds)
    if running:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=120)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flashlag", default="target/release/flashlag")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="flashlag-bench-") as folder:
        # A process that mounts has the folder's whole path.
        folder = os.path.realpath(folder)
        found = tracers(os.path.realpath(options.flashlag), folder)
        print(f"{options.rounds} rounds of {options.seconds} s; medians, and medians of the ratios "
              "to the run without a tracer of the same round\n")
        print("| load | tracer | writes/s | throughput | fio's CPU a write | machine's CPU a write |")
        print("|---|---|---|---|---|---|")
        for load in LOADS:
            fio(load, folder, 1)
            runs = {name: [] for name in found}
            for round_ in range(options.rounds):
                names = list(found)
                # Who is first changes from round to round.
                for name in names[round_ % len(names):] + names[:round_ % len(names)]:
                    runs[name].append(measured(load, found[name], folder, options.seconds))
            base = runs["nothing"]
            for name, own in runs.items():
                ratio = statistics.median(a["rate"] / b["rate"] for a, b in zip(own, base))
                middle = {key: statistics.median(run[key] for run in own) for key in own[0]}
                print(f"| {load} | {name} | {middle['rate']:,.0f} | {ratio:.3f} "
                      f"| {middle['cpu_ns'] / 1000:.2f} µs | {middle['machine_ns'] / 1000:.2f} µs |", flush=True)


if __name__ == "__main__":
    main()
