//! How much is printed: the answer first, and no more than is needed.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::Run;
use flashlag_term::{Style, summary, summary_in_full, verdict};
use flashlag_testing::sample;

const WIDTHS: [usize; 3] = [60, 80, 120];

fn lines(text: &str) -> usize {
    text.lines().count()
}

fn all() -> Vec<Run> {
    sample::all().into_iter().map(|(_, run)| run).collect()
}

#[test]
fn quick_takes_45_lines_and_a_lifecycle_70() {
    for (run, most) in [(sample::quick(), 45), (sample::memory(), 45), (sample::lifecycle(), 70)] {
        for width in WIDTHS {
            // A narrow terminal breaks sentences more often.
            let most = if width < 80 { most * 4 / 3 } else { most };
            let text = summary(&run, Style::PLAIN.with_width(width));
            assert!(lines(&text) <= most, "{} of {most} at {width}:\n{text}", lines(&text));
        }
    }
}

#[test]
fn quiet_is_one_paragraph_that_begins_with_the_verdict() {
    for run in all() {
        let text = verdict(&run, Style::PLAIN);
        assert!(!text.trim_end().contains("\n\n"), "{text}");
        let sentence = flashlag_views::headline(&run).sentence;
        assert!(text.replace('\n', " ").starts_with(&sentence), "{text}");
    }
}

#[test]
fn what_to_do_stands_above_the_picture_where_it_lags() {
    let text = summary(&sample::lifecycle(), Style::PLAIN);
    let place = |what: &str| text.lines().position(|line| line.contains(what)).unwrap();
    assert!(place("What to do") < place("60 Hz frame, 16.67 ms"), "{text}");
    assert!(place("What to do") < 24, "{text}");
}

#[test]
fn steady_states_and_passed_checks_are_for_verbose() {
    for run in all() {
        let (short, full) = (summary(&run, Style::PLAIN), summary_in_full(&run, Style::PLAIN));
        assert!(!short.contains("steady state:") && !short.contains("✓ pass"), "{short}");
        assert!(full.contains("✓ pass") || run.trust.checks.is_empty(), "{full}");
        assert!(lines(&full) >= lines(&short));
    }
}

#[test]
fn no_line_is_printed_twice() {
    for run in all() {
        for width in WIDTHS {
            let text = summary(&run, Style::PLAIN.with_width(width));
            let mut seen: Vec<&str> = Vec::new();
            for line in text.lines().filter(|line| line.len() > 40) {
                assert!(!seen.contains(&line), "{line}\n{text}");
                seen.push(line);
            }
        }
    }
}

#[test]
fn no_number_is_parted_from_its_unit_and_no_name_of_a_file_is_printed() {
    for run in all() {
        for width in (40..130).step_by(7) {
            let text = summary(&run, Style::PLAIN.with_width(width));
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let first = pair[1].split_whitespace().next().unwrap_or("");
                let unit = matches!(
                    first.trim_end_matches([',', '.', ';', ':']),
                    "ms" | "s" | "µs" | "MB/s" | "KiB" | "Hz" | "MB" | "GB"
                );
                let number = pair[0].ends_with(|c: char| c.is_ascii_digit());
                assert!(!(unit && number), "{width}: {pair:?}");
            }
            for name in ["rand_write_4k", "fill_seq_1m", "fill_rand_4k", "save_wal", "`"] {
                assert!(!text.contains(name), "{name} at {width}:\n{text}");
            }
        }
    }
}

#[test]
fn a_narrow_terminal_keeps_every_verdict_and_every_name() {
    let run = sample::lifecycle();
    for width in (40..74).step_by(3) {
        let text = summary(&run, Style::PLAIN.with_width(width));
        for group in flashlag_views::strip(&run).groups {
            for row in &group.rows {
                let shown = text.lines().any(|line| {
                    // `Rollback journal` is `Rollback` where it is narrow.
                    let label = row.label.strip_suffix(" journal").unwrap_or(&row.label);
                    line.starts_with(label) && line.contains(row.judgement.word())
                });
                assert!(shown, "{} at {width}:\n{text}", row.label);
            }
        }
    }
}
