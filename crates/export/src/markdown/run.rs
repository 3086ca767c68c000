//! A run as a Markdown page.

use std::fmt::Write;

use flashlag_schema::{CheckStatus, Environment, Phase, Run};
use flashlag_units::sanitize;
use flashlag_views::{
    Figures, Lifecycle, StripRow, cost, device_name, failures_of, fill_curves, findings, format,
    headline, is_overloaded, lifecycle, overload, sizes, stage_of, strip,
};

use super::{escape, ms, table};

/// A run as Markdown: the answer, the picture's figures, the tests, saves, fill levels, findings,
/// every trust check, the environment and how to reproduce it.
pub(crate) fn run(run: &Run) -> String {
    let mut text = String::new();
    let answer = headline(run);
    let _ = writeln!(text, "# {}\n", escape(&answer.sentence));
    for paragraph in [&answer.more, &answer.believe.sentence] {
        if !paragraph.is_empty() {
            let _ = writeln!(text, "{}\n", escape(paragraph));
        }
    }
    latencies(&mut text, run);
    stages(&mut text, run);
    phases(&mut text, run);
    saves(&mut text, run);
    fills(&mut text, run);
    why(&mut text, run);
    checks(&mut text, run);
    environment(&mut text, run);
    reproduce(&mut text, run);
    text
}

fn late(figures: &Figures) -> String {
    figures.late_share().map_or_else(|| format::NONE.to_owned(), format::share)
}

fn latencies(text: &mut String, run: &Run) {
    for group in &strip(run).groups {
        let _ = writeln!(text, "## {}\n", escape(&group.title));
        let row = |row: &StripRow| {
            let figures = &row.figures;
            let values = [figures.p50, figures.p90, figures.p99, figures.p999, figures.max];
            let mut cells = vec![row.label.clone()];
            cells.extend(values.into_iter().map(ms));
            cells.extend([late(figures), format::count(figures.n)]);
            cells.push(match overload(run, &run.phases[row.phase]) {
                Some(overload) => format!("{}: {}", row.judgement.word(), overload.in_words()),
                None => row.judgement.word().to_owned(),
            });
            cells
        };
        let rows: Vec<Vec<String>> = group.rows.iter().map(row).collect();
        let head =
            ["", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "longest ms", "late", "n", "verdict"];
        table(text, &head, &rows);
    }
}

fn stages(text: &mut String, run: &Run) {
    let Some(table) = lifecycle(run) else { return };
    by_stage(text, &table);
    if let Some(table) = sizes(run) {
        by_stage(text, &table);
    }
}

fn by_stage(text: &mut String, lifecycle: &Lifecycle) {
    let _ = writeln!(text, "## {}\n", escape(&lifecycle.heading));
    let titles = lifecycle.columns.iter().map(|column| escape(&column.title));
    let titles: Vec<String> = titles.map(|title| format!("{title}: MB/s (p50 / p99 ms)")).collect();
    let head: Vec<&str> = [""].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let rows = lifecycle.rows.iter().map(|row| {
        let mark = if row.failures.is_empty() { "" } else { " ✕" };
        let mut cells = vec![format!("{}{mark}", row.label)];
        match &row.skipped {
            Some(reason) => cells.push(format!("not run: {reason}")),
            None => cells.extend(row.cells.iter().map(|cell| match cell {
                Some(cell) => {
                    let rate = format::mb_per_s(cell.bytes_per_sec);
                    let published = cell.published.map(format::mb_per_s);
                    let published = published.map(|rate| format!(", published {rate}"));
                    let published = published.unwrap_or_default();
                    format!("{rate} ({} / {}){published}", ms(cell.p50), ms(cell.p99))
                }
                None => format::NONE.to_owned(),
            })),
        }
        cells.resize(head.len(), String::new());
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    table(text, &head, &rows);
    if let Some(note) = &lifecycle.published {
        let _ = writeln!(text, "{}\n", escape(note));
    }
}

fn phases(text: &mut String, run: &Run) {
    let row = |phase: &Phase| {
        let figures = Figures::of_phase(phase);
        let judged = failures_of(run, phase).is_empty();
        let mark = if judged { "" } else { " ✕" };
        vec![
            format!("{}{mark}", phase.name),
            stage_of(run, phase),
            format::mb_per_s(phase.bytes_per_sec),
            format::per_second(phase.ops_per_sec),
            ms(figures.p50),
            ms(figures.p90),
            ms(figures.p99),
            ms(figures.p999),
            ms(figures.max),
            format::count(figures.n),
        ]
    };
    let rows: Vec<Vec<String>> = run.phases.iter().map(row).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Every phase\n");
    let head = [
        "phase",
        "stage",
        "MB/s",
        "per s",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "p99.9 ms",
        "longest ms",
        "n",
    ];
    table(text, &head, &rows);
}

fn saves(text: &mut String, run: &Run) {
    let rows = run.phases.iter().filter_map(|phase| {
        let lag = phase.lag.as_ref()?;
        let mut cells =
            vec![phase.name.clone(), stage_of(run, phase), format::per_second(phase.ops_per_sec)];
        let counts = [
            lag.over_120hz,
            lag.over_90hz,
            lag.over_60hz,
            lag.over_100ms,
            lag.over_700ms,
            lag.over_5s,
        ];
        match is_overloaded(phase) {
            true => cells.extend(vec![format::NONE.to_owned(); counts.len()]),
            false => cells.extend(counts.into_iter().map(format::count)),
        }
        cells.push(format::count(lag.saves));
        Some(cells)
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Saves longer than a frame\n");
    let head = [
        "save", "stage", "saves/s", "8.3 ms", "11.1 ms", "16.7 ms", "100 ms", "700 ms", "5 s", "of",
    ];
    table(text, &head, &rows);
}

fn fills(text: &mut String, run: &Run) {
    for curve in fill_curves(run) {
        let _ = writeln!(text, "## {}\n", escape(&curve.heading));
        let mark = if curve.failures.is_empty() { "" } else { " ✕" };
        let rows = curve.levels.iter().map(|level| {
            let figures = &level.figures;
            let values = [figures.p50, figures.p99, figures.p999, figures.max];
            let full = format!("{}{mark}", format::share(level.full));
            let mut cells = vec![full, format::mb_per_s(level.bytes_per_sec)];
            cells.extend(values.into_iter().map(ms));
            cells.extend([late(figures), format::count(figures.n)]);
            cells
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let head = ["full", "MB/s", "p50 ms", "p99 ms", "p99.9 ms", "longest ms", "late", "n"];
        table(text, &head, &rows);
        if let Some(flush) = curve.flush_note() {
            let _ = writeln!(text, "{}\n", escape(&flush));
        }
    }
}

fn why(text: &mut String, run: &Run) {
    let findings = findings(run);
    if findings.causes.is_empty() {
        return;
    }
    let _ = writeln!(text, "## {}\n", escape(&findings.heading));
    for finding in &findings.causes {
        let cost = format::ratio_bare(finding.cost_s_per_1000);
        let mut item = format!(
            "- **{cost} s of waiting for 1,000 {}.** {}: {}. {}",
            finding.per,
            escape(&finding.cause),
            escape(&finding.would),
            escape(&finding.fix)
        );
        if let Some(command) = &finding.try_this {
            let _ = write!(item, " Try: {}", code(command));
        }
        let _ = writeln!(text, "{item} {}", escape(&finding.evidence));
    }
    text.push('\n');
}

/// A code span that nothing in `text` can end.
fn code(text: &str) -> String {
    let text = sanitize(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn checks(text: &mut String, run: &Run) {
    if run.trust.checks.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Trust checks\n\n| | check | evidence |\n|---|---|---|");
    let mut checks: Vec<_> = run.trust.checks.iter().collect();
    checks.sort_by_key(|check| check.status);
    for check in checks {
        let status = match check.status {
            CheckStatus::Fail => "✕ fail",
            CheckStatus::Unknown => "? unknown",
            CheckStatus::Pass => "✓ pass",
        };
        let advice = check.advice.as_deref().map(|advice| format!(" Fix: {advice}"));
        let evidence = format!("{}{}", check.detail, advice.unwrap_or_default());
        let _ = writeln!(text, "| {status} | {} | {} |", escape(&check.claim), escape(&evidence));
    }
    text.push('\n');
}

fn environment(text: &mut String, run: &Run) {
    let Environment { software, cpu, filesystem, device, encryption, .. } = &run.environment;
    let words = |reading: &flashlag_schema::Reading<String>| {
        reading.value().cloned().ok_or_else(|| reason(reading.reason()))
    };
    let rows = [
        ("Name", Ok(device_name(run))),
        ("Machine", words(&software.machine)),
        ("System", words(&software.system)),
        ("Kernel", words(&software.kernel)),
        ("CPU", words(&cpu.model)),
        ("Filesystem", words(&filesystem.kind)),
        (
            "Mount options",
            match filesystem.options.value() {
                Some(options) => Ok(options.join(",")),
                None => Err(reason(filesystem.options.reason())),
            },
        ),
        ("Device", words(&device.model)),
        ("Device kind", words(&device.kind)),
        ("Firmware", words(&device.firmware)),
        ("Write cache", words(&device.queue.write_cache)),
        ("Scheduler", words(&device.queue.scheduler)),
        (
            "Encryption",
            match encryption.value() {
                Some(encryption) => Ok(encryption.kind.clone()),
                None => Err(reason(encryption.reason())),
            },
        ),
    ];
    let _ = writeln!(text, "## Environment\n\n| | |\n|---|---|");
    for (name, value) in rows {
        let value = value.map_or_else(|why| format!("*{}*", escape(&why)), |value| escape(&value));
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text.push('\n');
}

fn reason(reason: Option<&str>) -> String {
    format!("unknown: {}", reason.unwrap_or("not looked for"))
}

fn reproduce(text: &mut String, run: &Run) {
    let _ = writeln!(text, "## How to reproduce\n");
    if !run.command.is_empty() {
        let _ = writeln!(text, "{}\n", code(&run.command.join(" ")));
    }
    let _ = writeln!(
        text,
        "flashlag {}, scenario {} ({}), seed {}. {}.",
        escape(&run.flashlag.version),
        escape(&run.scenario.name),
        code(&run.scenario.hash),
        run.scenario.seed,
        escape(&cost(run))
    );
}
