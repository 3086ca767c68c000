"""The package is typed: mypy agrees with it, and its stubs with what there is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import typeguard

import flashlag
from flashlag import types

PACKAGE = Path(flashlag.__file__).parent
HERE = Path(__file__).parent
TYPES_OF = HERE.parents[2] / "scripts/python_types.py"


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


def test_the_types_of_results_are_those_of_the_schema(tmp_path: Path) -> None:
    made = tmp_path / "made.py"
    subprocess.run([sys.executable, str(TYPES_OF), str(made)], check=True)
    again = f"{TYPES_OF.name} makes another flashlag/types.py: run it"
    assert made.read_text() == (PACKAGE / "types.py").read_text(), again


def test_a_misspelt_key_of_a_result_is_an_error_before_the_program_runs(tmp_path: Path) -> None:
    right = [
        "compare('a', 'b').data['tests'][0]['ratios']",
        "explain('a').data['environment']",
        "explain('a').findings[0]['severity']",
        "load('a').data['phases'][0]['latency_ns']",
        "predict('a', 'b').steps[0]['share']",
        "fit('a').parameters[0]['uncertainty']",
    ]
    wrong = [one.removesuffix("']") + "x']" for one in right]
    code = tmp_path / "caller.py"
    code.write_text("import flashlag\n" + "".join(f"flashlag.{one}\n" for one in right + wrong))
    words = [sys.executable, "-m", "mypy", "--strict", str(code)]
    done = subprocess.run(words, cwd=PACKAGE.parent, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(wrong), done.stdout
    for number, (error, line) in enumerate(zip(errors, wrong, strict=True), start=len(right) + 2):
        key = line.rpartition("['")[2].removesuffix("']")
        assert f"caller.py:{number}: " in error and f'has no key "{key}"' in error


def test_results_have_the_keys_that_their_types_have_and_no_others(
    quick: flashlag.Run, tmp_path: Path
) -> None:
    other = flashlag.run("quick", on="sim:pixel-2016+ext4", set={"span": "20MB"})
    results = [
        (quick.data, types.Run),
        (flashlag.run("fill", on="sim:zero+ext4,size=512MiB").data, types.Run),
        (flashlag.compare(quick, other, force=True).data, types.ComparisonRecord),
        (flashlag.explain(quick, forecast=False).data, types.Explained),
        (flashlag.explain(tmp_path).data, types.Explained),
        (flashlag.explain("sim:pixel-2016+f2fs").data, types.Explained),
    ]
    every = typeguard.CollectionCheckStrategy.ALL_ITEMS
    for data, kind in results:
        typeguard.check_type(data, kind, collection_check_strategy=every)
    finding = flashlag.explain(quick, forecast=False).data
    finding["findings"][0]["extra"] = 1  # type: ignore[typeddict-unknown-key]
    with pytest.raises(typeguard.TypeCheckError, match="extra"):
        typeguard.check_type(finding, types.Explained, collection_check_strategy=every)
    del finding["findings"][0]["extra"], finding["findings"][0]["severity"]  # type: ignore
    with pytest.raises(typeguard.TypeCheckError, match="severity"):
        typeguard.check_type(finding, types.Explained, collection_check_strategy=every)


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
