#!/usr/bin/env python3
"""Prints the figures of a simulated run and of a simulated device, by which two builds of the Python package are compared."""

import json

import flashlag
from flashlag import Op

run = flashlag.run("micro", on="sim:pixel-2016+f2fs,size=512MiB")
assert flashlag.Run.from_json(run.to_json()).data == run.data
device = flashlag.Device("nexus5-2013", size="512MiB", state="full")
pages = [page * 7919 % 100_000 * 4096 for page in range(2000)]
latencies = device.submit(flashlag.operations(Op.WRITE, pages))
figures = {
    "phases": run.data["phases"],
    "findings": flashlag.explain(run, forecast=False).findings,
    "latencies_ns": latencies.tolist(),
    "programmed_bytes": device.stats().programmed_bytes,
}
print(json.dumps(figures, indent=1))
