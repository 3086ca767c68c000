"""The speed of `Device.submit` beside a loop in Rust with the same operations.

    python bench_device.py target/wheel/examples/rust_loop [ROUNDS]

A device of 16 GiB (greedy.toml) is written through, then aged by as many random writes as it has pages
three times over; then four million random writes count, by CPU time. Both must end at the same time of
the device, in rounds that take turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import flashlag

GREEDY = Path(__file__).with_name("greedy.toml")
SIZE = 16 << 30
PAGE = 4096
MEASURED = 1 << 22
LENGTHS = (100, 1_000, 10_000, 100_000)


def speed(profile: Path, aging: np.ndarray, measured: np.ndarray, length: int) -> tuple[float, int]:
    """Operations a CPU second in arrays of a length, and the device's time at the end."""
    device = flashlag.Device(profile)
    device.submit(flashlag.operations(flashlag.Op.WRITE, aging.astype("u8") * PAGE))
    writes = flashlag.operations(flashlag.Op.WRITE, measured.astype("u8") * PAGE)
    before = time.process_time_ns()
    for at in range(0, len(writes), length):
        device.submit(writes[at : at + length])
    return len(writes) * 1e9 / (time.process_time_ns() - before), device.now_ns


def main() -> None:
    loop, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    random = np.random.default_rng(1)
    pages = SIZE // PAGE
    aging = np.concatenate([np.arange(pages), random.integers(0, pages, 3 * pages)])
    measured = random.integers(0, pages, MEASURED)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        profile, file = Path(folder) / "greedy.toml", Path(folder) / "pages"
        text = GREEDY.read_text().replace('"1GiB"', f'"{SIZE}B"')
        profile.write_text(text.replace('"76695844B"', f'"{SIZE // 100 * 7}B"'))
        np.concatenate([aging, measured]).astype("<u4").tofile(file)
        for _ in range(rounds):
            words = [loop, str(profile), str(file), str(len(aging))]
            said = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
            found.setdefault("Rust loop", []).append(float(said[0]))
            for length in LENGTHS:
                rate, ended = speed(profile, aging, measured, length)
                assert ended == int(said[1]), "the same operations end at the same time"
                found.setdefault(f"arrays of {length:,}", []).append(rate)
    whole = statistics.median(found["Rust loop"])
    for name, rates in found.items():
        middle = statistics.median(rates)
        low, high = min(rates) / 1e6, max(rates) / 1e6
        print(
            f"{name:18} {middle / 1e6:5.2f} M operations a CPU second ({low:.2f} to {high:.2f}), "
            f"{middle / whole:4.0%}"
        )


if __name__ == "__main__":
    main()
