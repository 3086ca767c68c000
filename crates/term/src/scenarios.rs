use flashlag_spec::replay::ReplayPace;
use flashlag_spec::scenario::{
    Card, FileSave, Io, IoOperation, Pattern, Replay, Save, Scenario, Step, Test,
};
use flashlag_units::{Bytes, sanitize};
use flashlag_views::{file_save_label, format};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::table::Table;

/// A list of scenarios with their descriptions.
pub fn scenarios(scenarios: &[Scenario], style: Style) -> String {
    let mut page = Page::new(style);
    let names = scenarios.iter().map(|scenario| sanitize(&scenario.name));
    let widest = names.map(|name| crate::text::width(&name)).max().unwrap_or(0).min(20);
    for scenario in scenarios {
        let mut head = Line::new(style);
        head.left(Role::Strong, &sanitize(&scenario.name), widest);
        page.hanging(&head, widest + 2, Role::Ink, &sanitize(&scenario.about));
    }
    page.finish()
}

/// One scenario: its settings, tests, steps and assumptions.
pub fn scenario(scenario: &Scenario, style: Style) -> String {
    let mut page = Page::new(style);
    let mut head = Line::new(style);
    head.add(Role::Strong, &sanitize(&scenario.name)).add(Role::Ink, "  ");
    let indent = head.used();
    page.hanging(&head, indent, Role::Ink, &sanitize(&scenario.about));
    if !scenario.settings.is_empty() {
        page.gap();
        page.paragraph(Role::Muted, "Settings, for --set KEY=VALUE");
        for (key, value) in &scenario.settings {
            let mut head = Line::new(style);
            head.add(Role::Ink, "  ").left(Role::Strong, &sanitize(key), 14);
            let value = if value.is_empty() { "\"\"" } else { value };
            page.hanging(&head, 17, Role::Ink, &sanitize(value));
        }
    }
    page.gap();
    tests(&mut page, scenario);
    page.gap();
    page.paragraph(Role::Muted, "Steps");
    for (index, step) in scenario.steps.iter().enumerate() {
        let mut head = Line::new(style);
        head.right(Role::Muted, &(index + 1).to_string(), 4);
        page.hanging(&head, 6, Role::Ink, &sanitize(&in_words(step)));
    }
    if !scenario.assumptions.is_empty() {
        page.gap();
        page.paragraph(Role::Muted, "Assumptions");
        for assumption in &scenario.assumptions {
            page.hanging(&Line::new(style), 2, Role::Ink, &sanitize(assumption));
        }
    }
    page.finish()
}

fn tests(page: &mut Page, scenario: &Scenario) {
    let mut table = Table::new("Test")
        .column("what", 0)
        .column("block", 1)
        .column("depth", 3)
        .column("durable", 1)
        .column("span", 2)
        .column("until", 0);
    for test in scenario.tests.values() {
        let cells = match test {
            Test::Io(io) => io_cells(io),
            Test::Save(save) => save_cells(save),
            Test::FileSave(save) => file_cells(save),
            Test::Replay(replay) => replay_cells(replay),
            Test::Card(card) => card_cells(card),
        };
        let cells = cells.into_iter().map(|cell| (Role::Ink, cell)).collect();
        table.row((Role::Strong, &sanitize(test.name())), cells);
    }
    table.print(page);
}

fn card_cells(card: &Card) -> Vec<String> {
    let span =
        if card.quick { format!("{} places", card.places) } else { "all free space".to_owned() };
    let none = String::new;
    vec!["write, read back".to_owned(), "1 MiB".to_owned(), "1".to_owned(), none(), span, none()]
}

fn replay_cells(replay: &Replay) -> Vec<String> {
    let pace = match replay.pace {
        ReplayPace::Own => "own times",
        ReplayPace::Flat => "flat out",
    };
    let until = replay.time.map(|time| time.0.to_string());
    let ops = replay.ops.map(|ops| format!("{ops} operations"));
    vec![
        format!("trace, {pace}"),
        String::new(),
        replay.queue_depth.to_string(),
        String::new(),
        replay.span.0.to_string(),
        until.or(ops).unwrap_or_else(|| "its end".to_owned()),
    ]
}

fn io_cells(io: &Io) -> Vec<String> {
    let what = match (io.pattern, io.operation) {
        (Pattern::Sequential, IoOperation::Read) => "seq read",
        (Pattern::Sequential, IoOperation::Write) => "seq write",
        (Pattern::Random, IoOperation::Read) => "rand read",
        (Pattern::Random, IoOperation::Write) => "rand write",
        (Pattern::Sequential, IoOperation::Mixed) => "seq mixed",
        (Pattern::Random, IoOperation::Mixed) => "rand mixed",
    };
    let what = match io.read_percent {
        Some(reads) => format!("{what} {reads}/{}", 100 - reads.min(100)),
        None => what.to_owned(),
    };
    let depth = match io.threads {
        1 => io.queue_depth.to_string(),
        threads => format!("{} x {threads}", io.queue_depth),
    };
    let time = io.time.map(|time| time.0.to_string());
    let bytes = io.bytes.map(|bytes| bytes.0.to_string());
    vec![
        what,
        block(io.block.0),
        depth,
        io.durable.name().to_owned(),
        io.span.map_or_else(none, |span| span.0.to_string()),
        limits(&[time, bytes]),
    ]
}

fn save_cells(save: &Save) -> Vec<String> {
    let journal = format!("{:?}", save.journal).to_lowercase();
    let synchronous = format!("{:?}", save.synchronous).to_lowercase();
    let time = save.time.map(|time| time.0.to_string());
    let saves = save.saves.map(|saves| format!("{} saves", format::count(saves)));
    vec![
        format!("{:?}", save.statement).to_lowercase(),
        none(),
        none(),
        format!("{journal} {synchronous}"),
        none(),
        limits(&[time, saves]),
    ]
}

fn file_cells(save: &FileSave) -> Vec<String> {
    let time = save.time.map(|time| time.0.to_string());
    let saves = save.saves.map(|saves| format!("{} saves", format::count(saves)));
    vec![
        file_save_label(save),
        none(),
        none(),
        save.kind.durability().name().to_owned(),
        none(),
        limits(&[time, saves]),
    ]
}

fn block(bytes: Bytes) -> String {
    match bytes.0 {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

fn none() -> String {
    "-".to_owned()
}

fn limits(limits: &[Option<String>]) -> String {
    let known: Vec<&str> = limits.iter().flatten().map(String::as_str).collect();
    if known.is_empty() { "the storage is full".to_owned() } else { known.join(" or ") }
}

fn in_words(step: &Step) -> String {
    match step {
        Step::Measure { tests, state, repeat } => {
            let times = if *repeat > 1 { format!(", {repeat} times") } else { String::new() };
            format!("measure ({}{times}): {}", state.name(), tests.join(", "))
        }
        Step::Fill { test, directory: None } => format!("fill the storage: {test}"),
        Step::Fill { test, directory: Some(directory) } => {
            format!("fill the storage at {directory}: {test}")
        }
        Step::Delete => "delete what the fill wrote".to_owned(),
        Step::Trim => "trim the free space".to_owned(),
        Step::Idle { time } => format!("wait {}", time.0),
    }
}
