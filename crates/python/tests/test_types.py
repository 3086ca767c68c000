"""The package is typed: mypy agrees with it, and its stubs with what there is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import flashlag

PACKAGE = Path(flashlag.__file__).parent
HERE = Path(__file__).parent


def checked(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=PACKAGE.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_nothing_in_the_package() -> None:
    checked("mypy", "--config-file", str(HERE.parent / "pyproject.toml"), "-p", "flashlag")


def test_the_stubs_have_what_the_library_has() -> None:
    checked("mypy.stubtest", "flashlag._flashlag")


def test_mypy_knows_the_types_that_a_caller_sees(tmp_path: Path) -> None:
    code = tmp_path / "caller.py"
    code.write_text(
        "import flashlag\n"
        "reveal_type(flashlag.run().frame())\n"
        "reveal_type(flashlag.Device('zero').submit(flashlag.operations(1)))\n"
        "reveal_type(flashlag.run().status)\n"
        "flashlag.run(scenaro='quick')\n"
        "flashlag.run(seed='one')\n"
    )
    words = [sys.executable, "-m", "mypy", "--strict", str(code)]
    done = subprocess.run(words, cwd=PACKAGE.parent, capture_output=True, text=True)
    assert 'Revealed type is "flashlag._flashlag.Table"' in done.stdout
    assert "signedinteger" in done.stdout or "int64" in done.stdout
    assert 'Revealed type is "str"' in done.stdout or "builtins.str" in done.stdout
    assert "[call-arg]" in done.stdout and "[arg-type]" in done.stdout


def test_everything_public_says_what_it_is() -> None:
    silent = []
    for name in flashlag.__all__:
        it = getattr(flashlag, name)
        if inspect.isclass(it) or inspect.isfunction(it):
            silent += [name] if not inspect.getdoc(it) else []
            for member, value in vars(it).items() if inspect.isclass(it) else ():
                public = not member.startswith("_") and (
                    inspect.isfunction(value) or isinstance(value, property)
                )
                silent += [f"{name}.{member}"] if public and not inspect.getdoc(value) else []
    assert silent == []
