"""What several tests use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import flashlag

SIMULATED = "sim:pixel-2016+f2fs"


@pytest.fixture(scope="session")
def quick() -> flashlag.Run:
    """A simulated run, which takes a second."""
    return flashlag.run("quick", on=SIMULATED)


@pytest.fixture(scope="session")
def program() -> Path:
    """The `flashlag` program of the same build."""
    path = os.environ.get("FLASHLAG_TEST_PROGRAM")
    if path is None:
        pytest.fail("FLASHLAG_TEST_PROGRAM names no program: run `cargo test -p flashlag-python`")
    return Path(path)
