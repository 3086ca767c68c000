"""Tables: what is in them is the run file's, and every library takes them."""

from __future__ import annotations

import duckdb
import pandas
import polars
import pyarrow

import flashlag


def test_every_library_sees_the_same_table(quick: flashlag.Run) -> None:
    table = quick.frame()
    arrow = pyarrow.table(table)
    rows = arrow.to_pylist()
    assert polars.DataFrame(table).to_dicts() == rows
    assert arrow.column_names == table.column_names and len(rows) == len(table)
    frame = pandas.DataFrame.from_arrow(table)
    assert frame["ops"].to_list() == [row["ops"] for row in rows]
    query = "select phase, latency_p99_ns from figures order by began_ns"
    figures = table
    found = duckdb.sql(query).fetchall()
    assert found == [(row["phase"], row["latency_p99_ns"]) for row in rows]


def test_a_table_is_handed_over_without_a_copy(quick: flashlag.Run) -> None:
    table = quick.histogram()
    one, other = pyarrow.table(table), pyarrow.table(table)
    address = [taken["count"].chunk(0).buffers()[1].address for taken in (one, other)]
    assert address[0] == address[1]
    assert polars.DataFrame(table)["count"].sum() == pyarrow.compute.sum(one["count"]).as_py()


def test_figures_are_those_of_the_run_file(quick: flashlag.Run) -> None:
    rows = pyarrow.table(quick.frame()).to_pylist()
    assert len(rows) == len(quick["phases"])
    for row, phase in zip(rows, quick["phases"], strict=True):
        assert row["name"] == phase["name"] and row["operation"] == phase["operation"]
        for figure in ("p50", "p90", "p99", "p999", "max", "mean"):
            assert row[f"latency_{figure}_ns"] == phase["latency_ns"].get(figure)
        for name in ("ops", "bytes", "elapsed_ns", "ops_per_sec", "block_bytes", "queue_depth"):
            assert row[name] == phase[name]
        assert abs(row["ops_per_sec"] - row["ops"] * 1e9 / row["elapsed_ns"]) < 1e-3


def test_percentiles_follow_from_the_buckets(quick: flashlag.Run) -> None:
    buckets = polars.DataFrame(quick.histogram())
    for row in pyarrow.table(quick.frame()).to_pylist():
        of_phase = buckets.filter(polars.col("phase") == row["phase"]).sort("from_ns")
        assert of_phase["count"].sum() == row["ops"]
        widths = (of_phase["to_ns"] - of_phase["from_ns"] + 1) / of_phase["from_ns"]
        assert widths.max() <= 1 / 64 or of_phase["to_ns"].max() < 128
        if row["latency_p99_ns"] is None:
            continue
        rank = -(-row["ops"] * 99 // 100)
        passed = of_phase.filter(of_phase["count"].cum_sum() >= rank).row(0, named=True)
        assert passed["from_ns"] <= row["latency_p99_ns"] <= passed["to_ns"]


def test_intervals_add_up_to_their_phase(quick: flashlag.Run) -> None:
    intervals = polars.DataFrame(quick.intervals())
    for phase in quick["phases"]:
        if phase.get("intervals"):
            of_phase = intervals.filter(
                (polars.col("name") == phase["name"]) & (polars.col("state") == phase["state"])
            )
            assert of_phase["ops"].sum() == sum(one["ops"] for one in phase["intervals"])


def test_every_column_says_what_it_means(quick: flashlag.Run) -> None:
    for table in (quick.frame(), quick.histogram(), quick.intervals()):
        about = dict(table.about)
        assert list(about) == table.column_names
        assert all(about.values())
        field = pyarrow.table(table).schema.field(0)
        assert field.metadata[b"about"].decode() == about[field.name]
