"""Runs: the same as the program's, whole, and with its words."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

import flashlag

SIMULATED = "sim:pixel-2016+f2fs"


def test_a_simulated_run_is_byte_for_byte_the_programs_run_file(
    tmp_path: Path, program: Path, quick: flashlag.Run
) -> None:
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    words = [str(program), "run", "quick", "--on", SIMULATED, "-o", str(theirs), "-q"]
    subprocess.run(words, check=True, capture_output=True)
    flashlag.run("quick", on=SIMULATED, output=ours)
    one, other = json.loads(ours.read_text()), json.loads(theirs.read_text())
    # The commit is the program's alone, and the checksum covers it.
    for run in (one, other):
        del run["flashlag"]["commit"], run["integrity"]
    assert one == other
    assert quick["phases"] == one["phases"]


def test_settings_label_and_seed_are_those_that_were_given() -> None:
    run = flashlag.run(
        on="sim:zero+ext4", set={"span": "20MB", "durable": "fsync"}, seed=7, label="Card A"
    )
    assert run["scenario"]["settings"]["span"] == "20MB"
    assert run["scenario"]["seed"] == 7
    assert run["label"] == "Card A"
    assert "--set span=20MB" in " ".join(run["command"])
    assert {phase["durable"] for phase in run["phases"] if "write_4k" in phase["name"]} == {"fsync"}


def test_a_directory_is_measured_and_left_as_it_was(tmp_path: Path) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(
        'name = "short"\n[[io]]\nname = "writes"\noperation = "write"\npattern = "random"\n'
        'block = "4KiB"\nspan = "64KiB"\nbytes = "256KiB"\n[[step]]\nmeasure = ["writes"]\n'
    )
    there = tmp_path / "there"
    there.mkdir()
    names: list[str] = []
    run = flashlag.run(scenario, on=there, progress=names.append)
    assert run.status == "complete" and list(there.iterdir()) == []
    assert [phase["ops"] for phase in run["phases"]] == [64]
    assert "new: writes" in names
    # Everything of the measured histogram is in the table.
    counts = flashlag_counts(run)
    assert sum(counts) == 64


def flashlag_counts(run: flashlag.Run) -> list[int]:
    import polars

    return polars.DataFrame(run.histogram())["count"].to_list()


def test_a_run_is_stored_once_and_over_another_file_by_force_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    first = flashlag.run(on="sim:zero+ext4", output=path)
    assert flashlag.load(path).data == first.data
    with pytest.raises(flashlag.Error, match="cannot write"):
        flashlag.run(on="sim:zero+ext4", output=path)
    path.write_text("somebody's own")
    with pytest.raises(flashlag.Error, match="cannot write"):
        first.save(path)
    assert path.read_text() == "somebody's own"
    first.save(path, force=True)
    assert flashlag.verify(path) == []


def test_a_changed_figure_is_found(tmp_path: Path, quick: flashlag.Run) -> None:
    path = tmp_path / "run.json"
    text = quick.to_json()
    p99 = quick["phases"][3]["latency_ns"]["p99"]
    path.write_text(text.replace(f'"p99": {p99}', f'"p99": {p99 - 1}', 1))
    found = flashlag.verify(path)
    assert any("phases[3].latency_ns.p99" in sentence for sentence in found), found


def test_a_run_survives_pickle_and_its_own_text(quick: flashlag.Run) -> None:
    assert pickle.loads(pickle.dumps(quick)).to_json() == quick.to_json()
    assert flashlag.Run.from_json(quick.to_json()).data == quick.data


def test_a_notebook_shows_the_headline_and_the_picture_and_no_script(quick: flashlag.Run) -> None:
    page = quick._repr_html_()
    assert quick.headline.split(";")[0] in page
    assert page.count("data:image/svg+xml") == 1
    assert "<script" not in page and "<style" not in page
    hostile = quick.to_json().replace("SQLite", "<b>SQLite")
    with pytest.raises(flashlag.Error):
        flashlag.Run.from_json(hostile + "}")


def test_a_label_is_escaped_in_a_notebook() -> None:
    run = flashlag.run(on="sim:zero+ext4", label="<b>x</b>")
    assert "<b>x</b>" not in run._repr_html_() and "&#60;b&#62;x" in run._repr_html_()


def test_the_report_is_the_programs_page(tmp_path: Path, program: Path, quick: flashlag.Run) -> None:
    run, page = tmp_path / "run.json", tmp_path / "run.html"
    quick.save(run)
    subprocess.run([str(program), "report", str(run), "-o", str(page)], check=True)
    ours = tmp_path / "ours.html"
    quick.save_report(ours)
    assert ours.read_text().startswith("<!doctype html>")
    # Only the name of the run file is not known here.
    assert len(set(page.read_text().split("\n")) ^ set(ours.read_text().split("\n"))) <= 6


def test_a_run_that_fails_on_its_way_has_what_was_measured_before(tmp_path: Path) -> None:
    scenario = tmp_path / "two.toml"
    one = (
        'operation = "write"\npattern = "random"\nblock = "4KiB"\nspan = "64KiB"\nbytes = "256KiB"\n'
    )
    scenario.write_text(
        f'name = "two"\n[[io]]\nname = "first"\n{one}[[io]]\nname = "second"\n{one}'
        '[[step]]\nmeasure = ["first"]\n[[step]]\nmeasure = ["second"]\n'
    )
    there = tmp_path / "there"
    there.mkdir()

    def remove(name: str) -> None:
        if "second" in name or "first" not in name:
            return
        # The directory of the run goes while the first test is under way.
        shutil.rmtree(there)

    with pytest.raises(flashlag.Error) as raised:
        flashlag.run(scenario, on=there, progress=remove)
    print(raised.value)
    assert raised.value.run is not None and raised.value.run.status == "failed"
    assert [phase["name"] for phase in raised.value.run["phases"]] == ["first"]
