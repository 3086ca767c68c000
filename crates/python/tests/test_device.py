"""The simulated flash as a library."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import flashlag
from flashlag import Op

SMALL = {"profile": "nexus5-2013", "size": "512MiB"}


def device(**more: object) -> flashlag.Device:
    return flashlag.Device("nexus5-2013", size="512MiB", **more)  # type: ignore[arg-type]


def random_writes(of: flashlag.Device, count: int, seed: int = 1) -> np.ndarray:
    pages = np.random.default_rng(seed).integers(0, of.size_bytes // 4096, count)
    return flashlag.operations(Op.WRITE, pages * 4096)


def test_the_same_operations_take_the_same_time_in_one_array_or_one_by_one() -> None:
    one, other = device(), device()
    writes = random_writes(one, 3000)
    together = one.submit(writes)
    apart = np.concatenate([other.submit(writes[at : at + 1]) for at in range(len(writes))])
    assert together.dtype == np.int64 and (together == apart).all()
    assert one.now_ns == other.now_ns == together.sum()
    assert one.stats() == other.stats()


def test_statistics_count_what_was_submitted() -> None:
    it = device()
    it.submit(random_writes(it, 1000))
    it.submit(flashlag.operations(Op.READ, np.arange(10) * 8192, 8192))
    it.submit(flashlag.operations([Op.FLUSH, Op.FLUSH, Op.DISCARD], [0, 0, 4096]))
    stats = it.stats()
    assert stats.host_written_bytes == 1000 * 4096 and stats.host_read_bytes == 10 * 8192
    assert (stats.flushes, stats.discards) == (2, 1)
    assert stats.now_ns == it.now_ns
    assert stats.programmed_bytes is not None and stats.programmed_bytes >= 1000 * 4096
    ratio = stats.programmed_bytes / stats.host_written_bytes
    assert stats.write_amplification == pytest.approx(ratio)


def test_deeper_queues_end_sooner_and_each_operation_later() -> None:
    reads = np.random.default_rng(3).integers(0, 100_000, 4000) * 4096
    ends, means = [], []
    for depth in (1, 4, 16):
        it = flashlag.Device("pixel4-2019", size="8GB")
        it.submit(flashlag.operations(Op.WRITE, np.arange(800) * 524288, 524288))
        begin = it.now_ns
        latencies = it.submit(flashlag.operations(Op.READ, reads), queue_depth=depth)
        ends.append(it.now_ns - begin)
        means.append(latencies.mean())
    assert ends == sorted(ends, reverse=True) and ends[0] > 1.5 * ends[2]
    assert means[0] < means[2]


def test_operations_of_a_schedule_come_at_their_times() -> None:
    it = device()
    at = np.arange(100) * 50_000_000
    writes = flashlag.operations(Op.WRITE, np.arange(100) * 4096, at_ns=at)
    apart = it.submit(writes)
    assert it.now_ns == at[-1] + apart[-1]
    crowded = device().submit(flashlag.operations(Op.WRITE, np.arange(100) * 4096, at_ns=0))
    assert crowded[-1] > 10 * apart[-1], "each waits for those before it"


def test_a_snapshot_brings_back_time_statistics_and_what_comes_next() -> None:
    it = device()
    it.submit(random_writes(it, 2000))
    kept, stats = it.snapshot(), it.stats()
    after = it.submit(random_writes(it, 500, seed=2))
    it.restore(kept)
    assert it.stats() == stats
    assert (it.submit(random_writes(it, 500, seed=2)) == after).all()
    other = device()
    other.restore(kept)
    assert (other.submit(random_writes(it, 500, seed=2)) == after).all()


def test_a_snapshot_of_another_device_or_a_damaged_one_is_refused() -> None:
    kept = device().snapshot()
    with pytest.raises(flashlag.InputError, match="another device"):
        device(seed=2).restore(kept)
    with pytest.raises(flashlag.InputError, match="without a ledger"):
        device(ledger=True).restore(kept)
    middle = len(kept) // 2
    with pytest.raises(flashlag.InputError, match="damaged"):
        device().restore(kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1 :])
    for odd in (b"", b"{}", b"\n\n", kept[:100]):
        with pytest.raises(flashlag.InputError, match="no snapshot"):
            device().restore(odd)


def test_a_power_cut_loses_writes_that_were_not_flushed_and_no_others() -> None:
    it = device(ledger=True)
    it.submit(random_writes(it, 200))
    it.submit(flashlag.operations([Op.FLUSH]))
    it.submit(flashlag.operations(Op.WRITE, [4096, 409600]))
    cut = it.cut_power()
    assert cut.lost is not None and cut.recovery_ns > 0
    assert all(unit.change > 200 for unit in cut.lost)
    it.submit(flashlag.operations([Op.FLUSH]))
    assert it.cut_power().lost == []
    assert device().cut_power().lost is None


def test_operations_are_taken_by_the_names_of_their_fields() -> None:
    kind = np.dtype(
        [("length_bytes", "i4"), ("op", "i8"), ("offset_bytes", "i4"), ("fua", "u1")]
    )
    odd = np.zeros(3, dtype=kind)
    odd["op"], odd["length_bytes"], odd["offset_bytes"] = Op.WRITE, 4096, [0, 4096, 8192]
    plain = flashlag.operations(Op.WRITE, [0, 4096, 8192])
    assert (device().submit(odd) == device().submit(plain)).all()
    strided = np.repeat(plain, 2)[::2]
    assert (device().submit(strided) == device().submit(plain)).all()
    assert len(device().submit(plain[:0])) == 0


def test_what_is_no_operation_is_refused_and_what_fails_says_which() -> None:
    it = device()
    for odd in (np.zeros(3), np.zeros((2, 2), dtype=flashlag.OPERATION), np.zeros(2, dtype="u1")):
        with pytest.raises(flashlag.InputError, match=r"flashlag\.operations"):
            it.submit(odd)
    with pytest.raises(ValueError, match="operation 1: no operation has the code 9"):
        it.submit(flashlag.operations([0, 9]))
    with pytest.raises(ValueError, match="queue_depth"):
        it.submit(flashlag.operations([Op.FLUSH]), queue_depth=0)
    past = flashlag.operations(Op.WRITE, [0, it.size_bytes, 0])
    with pytest.raises(flashlag.Error, match="operation 1: write of 4096 bytes"):
        it.submit(past)
    assert it.stats().host_written_bytes == 4096, "the one before it is done"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"profile": "nexus5-2031"}, "did you mean `nexus5-2013`"),
        ({"profile": "nexus5-2013", "size": "8XB"}, "not a size"),
        ({"profile": "nexus5-2013", "size": 1000}, "no multiple of 512"),
        ({"profile": "nexus5-2013", "size": "1MiB"}, "too small"),
        ({"profile": "nexus5-2013", "state": "old"}, "new, full or aged"),
    ],
)
def test_a_word_that_does_not_exist_is_a_value_error(
    words: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as raised:
        flashlag.Device(**words)  # type: ignore[arg-type]
    assert isinstance(raised.value, flashlag.Error)


def test_a_full_device_has_no_room_and_an_aged_one_is_worn() -> None:
    full = device(state="full")
    mapped = full.stats().mapped_bytes
    assert mapped >= 0.99 * full.size_bytes
    aged = flashlag.Device("pixel4-2019", size="8GB", state="aged:2mo")
    assert aged.stats().mean_cycles > 0 and device().stats().mean_cycles == 0
    with pytest.raises(flashlag.Error, match="worn out"):
        device(state="aged:2mo")


def test_other_threads_run_while_a_device_works() -> None:
    it = device()
    writes = random_writes(it, 300_000)
    counted, ends = 0, threading.Event()

    def work() -> None:
        it.submit(writes)
        ends.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not ends.is_set():
        counted += 1
        time.sleep(0)
    thread.join()
    assert counted > 50, f"this thread ran {counted} times: was the GIL kept?"
