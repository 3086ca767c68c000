"""Write amplification of greedy garbage collection, simulated and by a published formula."""

from math import exp
from pathlib import Path

import numpy as np

import flashlag

PROFILE = Path(__file__).with_name("greedy.toml")  # 256 pages of 4 KiB a block


def formula(over: float) -> float:
    """L. Xiang, B. M. Kurkoski: An improved analytic expression for write amplification (2012)."""
    valid = 0.5  # share of a collected block: the fixed point is their Lambert W function
    for _ in range(10_000):
        valid = exp(-(1 + over) * (1 - valid))
    return 1 / (1 - valid)


random = np.random.default_rng(1)
for over in (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5):
    device = flashlag.Device(PROFILE, set={"map.spare": f"{int(over * 2**30)}B"}, state="full")
    pages = device.size_bytes // 4096
    for before in range(8):  # the last two eighths count
        if before == 6:
            at_6 = device.stats()
        device.submit(flashlag.operations(flashlag.Op.WRITE, random.integers(0, pages, pages) * 4096))
    written, programmed = (
        getattr(device.stats(), name) - getattr(at_6, name)
        for name in ("host_written_bytes", "programmed_bytes")
    )
    print(f"{over:5.0%}  simulated {programmed / written:6.3f}  formula {formula(over):6.3f}")
