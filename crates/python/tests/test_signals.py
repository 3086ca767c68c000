"""Ctrl-C ends a run as in a terminal, and other threads run meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import flashlag

LONG = """
name = "long"
[[io]]
name = "short"
operation = "write"
pattern = "random"
block = "4KiB"
span = "64KiB"
bytes = "256KiB"
[[io]]
name = "long"
operation = "write"
pattern = "random"
block = "4KiB"
span = "64KiB"
time = "60s"
[[step]]
measure = ["short", "long"]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "long.toml"
    path.write_text(LONG)
    return path


def test_ctrl_c_ends_a_run_and_keeps_what_was_measured(tmp_path: Path, scenario: Path) -> None:
    there, path = tmp_path / "there", tmp_path / "run.json"
    there.mkdir()

    def interrupt(name: str) -> None:
        if "long" in name:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as raised:
        flashlag.run(scenario, on=there, output=path, progress=interrupt, yes=True)
    assert time.monotonic() - begin < 20
    assert isinstance(raised.value, flashlag.Interrupted)
    assert raised.value.run.status == "interrupted"
    kept = json.loads(path.read_text())
    assert kept["status"]["kind"] == "interrupted"
    assert kept["phases"][0]["ops"] == 64 and not kept["phases"][0].get("cut_short", False)
    assert list(there.iterdir()) == [], "nothing of flashlag's is left"
    assert flashlag.verify(path) == []


def test_a_program_that_does_not_catch_it_ends_as_python_does(
    tmp_path: Path, scenario: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    words = f"{str(scenario)!r}, on={str(there)!r}, progress=print, yes=True"
    code = f"import flashlag; flashlag.run({words})"
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stderr is not None
    while "long" not in child.stdout.readline():
        assert child.poll() is None, child.stderr.read()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert "Interrupted: stopped; its measurements are kept in run" in errors
    assert child.returncode != 0
    assert list(there.iterdir()) == []


def test_what_a_progress_function_raises_ends_the_run(tmp_path: Path, scenario: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()

    def refuse(name: str) -> None:
        if "long" in name:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        flashlag.run(scenario, on=there, progress=refuse, yes=True)
    assert list(there.iterdir()) == []


def test_other_threads_run_while_a_run_is_made() -> None:
    counted, ends = 0, threading.Event()

    def work() -> None:
        flashlag.run(on="sim:nexus5-2013+ext4")
        ends.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not ends.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 10, f"this thread ran {counted} times: was the GIL kept?"
