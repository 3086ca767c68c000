"""compare, explain, predict, fit and profiles: the program's words and sentences."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars
import pytest
import typeguard

import flashlag
from flashlag._predict import _FitData, _ForecastData
from flashlag._words import in_python


def said_by(program: Path, *words: str) -> str:
    """What the program prints in a pipe."""
    done = subprocess.run([str(program), *words], capture_output=True, text=True)
    return done.stdout


def refused_by(program: Path, *words: str) -> str:
    """The sentence of the program's error, without its name and line breaks."""
    done = subprocess.run([str(program), *words], capture_output=True, text=True)
    assert done.returncode == 2, done.stdout
    return " ".join(done.stderr.split()).removeprefix("flashlag: ").removeprefix("error: ")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pair")
    paths = [folder / "f2fs.json", folder / "ext4.json"]
    for path in paths:
        flashlag.run(on=f"sim:pixel-2016+{path.stem}", output=path)
    return paths


def test_a_comparison_says_what_the_program_says(pair: list[Path], program: Path) -> None:
    comparison = flashlag.compare(*pair)
    assert comparison.summary() == said_by(program, "compare", *map(str, pair))
    frame = polars.DataFrame(comparison.frame())
    of_test = frame.filter(polars.col("name") == "save_wal")
    first, second = of_test.to_dicts()
    assert first["p99_ratio"] is None
    assert second["p99_ratio"] == pytest.approx(second["p99_ns"] / first["p99_ns"], rel=0.02)
    assert second["p99_low"] <= second["p99_ratio"] <= second["p99_high"]


def test_sides_are_named_by_their_files_or_by_labels(pair: list[Path]) -> None:
    after, before = flashlag.load(pair[0]), pair[1]
    named = flashlag.compare(after, against=[before], labels=["old", "new"])
    assert [side["name"] for side in named.data["sides"]] == ["old", "new"]
    by_file = flashlag.compare(pair[0], against=[before])
    for alone in (before, str(before)):
        assert flashlag.compare(pair[0], against=alone).summary() == by_file.summary()
    assert [side["name"] for side in by_file.data["sides"]] == ["ext4", "f2fs"]
    assert "<pre" in named._repr_html_() and named.html().startswith("<!doctype html>")


def test_runs_that_can_not_be_compared_are_refused(pair: list[Path]) -> None:
    with pytest.raises(flashlag.InputError, match="two runs or more"):
        flashlag.compare(pair[0])
    with pytest.raises(flashlag.Error, match="are the same run"):
        flashlag.compare(pair[0], flashlag.load(pair[0]))


def test_an_explanation_is_the_programs(pair: list[Path], program: Path) -> None:
    explained = flashlag.explain(pair[0], forecast=False)
    expected = said_by(program, "explain", str(pair[0]), "--no-forecast")
    assert explained.summary() == expected
    assert [finding["id"] for finding in explained.findings]
    of_run = flashlag.explain(flashlag.load(pair[0]), forecast=False)
    assert of_run.findings == explained.findings


def test_a_directory_is_explained_without_being_measured(tmp_path: Path) -> None:
    explained = flashlag.explain(tmp_path)
    assert explained.data["subject"] == str(tmp_path.resolve())
    assert "run" not in explained.data and list(tmp_path.iterdir()) == []


def test_a_forecast_is_the_programs_and_its_table_has_its_figures(program: Path) -> None:
    forecast = flashlag.predict("nexus5-2013", {"nobarrier": True}, causes=False)
    words = ["predict", "nexus5-2013", "--change", "nobarrier=on", "-q"]
    assert str(forecast) == said_by(program, *words)
    frame = polars.DataFrame(forecast.frame())
    assert frame["change"].unique(maintain_order=True).to_list() == ["as it is", "nobarrier=on"]
    writes = frame.filter(polars.col("name") == "rand_write_4k")["p50_ns"].to_list()
    assert writes[1] < writes[0], "nothing waits for a flush"
    assert forecast.steps[0]["reasons"]
    every = typeguard.CollectionCheckStrategy.ALL_ITEMS
    typeguard.check_type(forecast._data, _ForecastData, collection_check_strategy=every)
    with pytest.raises(flashlag.InputError, match="sweep"):
        forecast.levels()


def test_a_fit_finds_a_parameter_that_was_changed(tmp_path: Path) -> None:
    plain = next(one for one in flashlag.profiles() if one.name == "nexus5-2013")
    path, slow = tmp_path / "slow.toml", tmp_path / "device.toml"
    changed = plain.toml.replace('program = { value = "580us"', 'program = { value = "680us"')
    assert changed != plain.toml
    slow.write_text(changed)
    run = flashlag.run(on=f"sim:{slow}+ext4", set={"span": "20MB"})
    fitted = flashlag.fit(
        run, path, start=plain.name, only=["nand.program"], simulations=40, starts=1
    )
    assert fitted.misfit < fitted.misfit_before / 2
    found = next(one for one in fitted.parameters if one["key"] == "nand.program")
    assert 660 < float(found["after"].removesuffix("us")) < 700, found
    assert path.read_text() == fitted.profile and 'name = "slow"' in fitted.profile
    assert {one["key"] for one in fitted.parameters if one["held"] is None} == {"nand.program"}
    every = typeguard.CollectionCheckStrategy.ALL_ITEMS
    typeguard.check_type(fitted._data, _FitData, collection_check_strategy=every)
    assert flashlag.Device(path, size="512MiB").profile == "slow"


def test_a_run_in_the_lab_is_left_to_the_program() -> None:
    with pytest.raises(flashlag.Error, match=r"flashlag run quick --on lab:zero\+ext4 -o RUN"):
        flashlag.run(on="lab:zero+ext4")


def test_profiles_are_those_that_the_program_lists(program: Path) -> None:
    for profile in flashlag.profiles():
        assert said_by(program, "profiles", "show", profile.name).strip() == profile.toml.strip()
        assert profile.size_bytes > 0 and profile.about


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flashlag.run("quik"), ["run", "quik"]),
        (lambda: flashlag.run(on="sim:pixel-2061"), ["run", "--on", "sim:pixel-2061"]),
        (
            lambda: flashlag.run(on="sim:pixel-2016+ntfs"),
            ["run", "--on", "sim:pixel-2016+ntfs"],
        ),
        (
            lambda: flashlag.run(on="sim:zero", set={"spam": 1}),
            ["run", "--on", "sim:zero", "--set", "spam=1"],
        ),
        (
            lambda: flashlag.run(on="sim:zero", budget="1GB"),
            ["run", "--on", "sim:zero", "--budget", "1GB"],
        ),
        (
            lambda: flashlag.predict("pixel-2016", "fulll=9%"),
            ["predict", "pixel-2016", "--change", "fulll=9%"],
        ),
        (lambda: flashlag.predict("pixel-2016", fs="x", sweep="full=10%..20%"),
            ["predict", "pixel-2016", "--fs", "x", "--sweep", "full=10%..20%"]),
    ],
)
def test_a_misspelt_word_is_a_value_error_in_the_programs_sentence(
    program: Path, call: object, words: list[str]
) -> None:
    with pytest.raises(ValueError) as raised:
        call()  # type: ignore[operator]
    assert isinstance(raised.value, flashlag.InputError)
    assert " ".join(str(raised.value).split()) == in_python(refused_by(program, *words))


@pytest.mark.parametrize("path", ["/nonexistent/x.json", "/etc/passwd", "/"])
def test_what_is_no_run_file_is_an_error_in_the_programs_sentence(path: str, program: Path) -> None:
    with pytest.raises(flashlag.Error) as raised:
        flashlag.load(path)
    assert not isinstance(raised.value, ValueError)
    assert " ".join(str(raised.value).split()) == refused_by(program, "report", path)


def test_the_package_run_as_a_module_is_the_program(tmp_path: Path, program: Path) -> None:
    def said(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "flashlag", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout

    assert said("--version") == (0, said_by(program, "--version"))
    assert said("verify", str(tmp_path / "absent.json"))[0] == 2
