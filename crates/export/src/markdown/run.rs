//! A run as a Markdown page.

use std::fmt::Write;

use flashlag_schema::{CheckStatus, Environment, Run};
use flashlag_units::sanitize;
use flashlag_views::{
    Column, Lifecycle, Table, cost, device_name, fill_curves, fill_table, findings, format,
    headline, late_saves_table, lifecycle, phases_table, sizes, stalls, stalls_table,
    verdicts_table,
};

use super::{escape, figures, figures_headed, table};

/// A run as Markdown: the answer, the picture's figures, the tests, saves, fill levels, stalls,
/// findings, every trust check, the environment and how to reproduce it.
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
    stalled(&mut text, run);
    why(&mut text, run);
    checks(&mut text, run);
    environment(&mut text, run);
    reproduce(&mut text, run);
    text
}

fn latencies(text: &mut String, run: &Run) {
    let model = verdicts_table(run);
    for group in &model.groups {
        let _ = writeln!(text, "## {}\n", escape(&group.title));
        figures(text, &model, &group.rows);
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
                    let text = |column: Column| cell.cell(column).text();
                    let published = cell.published.map(|_| text(Column::Published));
                    let published = published.map(|rate| format!(", published {rate}"));
                    let (speed, p50, p99) =
                        (text(Column::Speed), text(Column::P50), text(Column::P99));
                    format!("{speed} ({p50} / {p99}){}", published.unwrap_or_default())
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
    titled(text, "Every phase", &phases_table(run));
}

fn saves(text: &mut String, run: &Run) {
    titled(text, "Saves longer than a frame", &late_saves_table(run, false));
}

/// A table with a title for each group; nothing without rows.
fn titled(text: &mut String, title: &str, model: &Table) {
    for group in model.groups.iter().filter(|group| !group.rows.is_empty()) {
        let _ = writeln!(text, "## {title}\n");
        figures(text, model, &group.rows);
    }
}

fn fills(text: &mut String, run: &Run) {
    for curve in fill_curves(run) {
        let model = fill_table(run, &curve);
        titled(text, &escape(&curve.heading), &model);
        for note in &model.notes {
            let _ = writeln!(text, "{}\n", escape(note));
        }
    }
}

/// Every phase with stalls, their causes, and how these are known.
fn stalled(text: &mut String, run: &Run) {
    let Some(stalls) = stalls(run) else { return };
    let model = stalls_table(&stalls.phases).without(&[Column::Cause]);
    for group in model.groups.iter().filter(|group| !group.rows.is_empty()) {
        let _ = writeln!(text, "## {}\n", escape(&stalls.heading));
        // Times have their units in their cells.
        let head = |column: Column| column.title().to_owned();
        figures_headed(text, &model, &group.rows, head);
    }
    for note in &model.notes {
        let _ = writeln!(text, "{}\n", escape(note));
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

/// `text` as a code span, whatever backticks are in it.
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
    let words = |reading: &flashlag_spec::Reading<String>| {
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
