//! Markdown with GitHub's tables: the same page as the HTML report, without its pictures.

use std::fmt::Write;

use flashlag_schema::{CheckStatus, Run};
use flashlag_units::{Bytes, sanitize};
use flashlag_views::page::{
    Block, ChangeLine, CheckLine, FiguresTable, FindingItem, Lede, MatrixCell, Page, TableKind,
    Term, comparison_page, run_page, status_name,
};
use flashlag_views::{
    Cell, Column, Comparison, Gate, LayerShare, Lifecycle, LifecycleCell, LifecycleRow, RatioKind,
    Table, TableGroup, TableRow, WaitGroup, WaitPart, format,
};

/// A run as a Markdown page.
pub(crate) fn run(run: &Run) -> String {
    page(&run_page(run, &[]))
}

/// A history as a Markdown page.
pub(crate) fn history(history: &flashlag_schema::history::History) -> String {
    page(&flashlag_views::history::history_page(history))
}

/// A comparison as a Markdown page, after a gate's judgement where there is a gate.
pub(crate) fn comparison(comparison: &Comparison, gate: Option<&Gate>) -> String {
    gate.map(judgement).unwrap_or_default() + &page(&comparison_page(comparison, &[], &[]))
}

/// The outcome of a gate, for a reader who looks at nothing else: figures that are slower as a
/// list.
fn judgement(gate: &Gate) -> String {
    let words = gate.to_string();
    let mut lines = words.lines();
    let mut text = format!("**{}**\n\n", escape(lines.next().unwrap_or_default()));
    for line in lines {
        let _ = writeln!(text, "- {}", escape(line.trim()));
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}

fn page(page: &Page) -> String {
    let mut text = format!("# {}\n\n", escape(&page.sentence));
    page.ledes.iter().for_each(|one| paragraph(&mut text, &lede(one)));
    paragraph(&mut text, &escape(&page.meta.join(" · ")));
    for group in &page.picture.table.groups {
        let _ = writeln!(text, "## {}\n", escape(&group.title));
        figures(&mut text, &page.picture.table, &group.rows, Column::title_with_unit);
    }
    page.picture.caveats.iter().for_each(|caveat| paragraph(&mut text, &escape(caveat)));
    for section in &page.sections {
        let mut body = String::new();
        section.blocks.iter().for_each(|one| block(&mut body, one));
        if !body.is_empty() {
            let (name, heading) = (section.name, escape(&section.heading));
            let _ = write!(text, "## {name}: {heading}\n\n{body}");
        }
    }
    paragraph(&mut text, &escape(&page.footer));
    text
}

fn paragraph(text: &mut String, line: &str) {
    if !line.is_empty() {
        let _ = writeln!(text, "{line}\n");
    }
}

fn lede(lede: &Lede) -> String {
    let lead = lede.lead.map(|lead| format!("**{lead}** ")).unwrap_or_default();
    let rest = lede.link.as_ref().filter(|link| link.says);
    let rest = rest.map(|link| format!(" {}", escape(&link.text))).unwrap_or_default();
    format!("{lead}{}{rest}", escape(&lede.text))
}

/// A block; empty for one that only draws what tables have.
fn block(text: &mut String, block: &Block) {
    match block {
        Block::Title(title) => paragraph(text, &format!("### {title}")),
        Block::Text(line) => paragraph(text, &escape(line)),
        Block::Note(None, line) => paragraph(text, &escape(line)),
        Block::Note(Some(lead), line) => paragraph(text, &format!("**{lead}** {}", escape(line))),
        Block::Code(_, line) => paragraph(text, &code(line)),
        Block::Hash(name, hash) => paragraph(text, &format!("{name}: {}", code(hash))),
        Block::List(lines) => list(text, lines, |line| escape(line)),
        Block::Facts(facts) => {
            let rows = facts.iter().map(|(name, value)| vec![(*name).to_owned(), escape(value)]);
            words(text, &["", ""], rows.collect());
        }
        Block::Terms(terms) => list(text, terms, term),
        Block::Named(rows) => list(text, rows, |(name, facts)| {
            format!("**{}**: {}", escape(name), escape(&facts.join("; ")))
        }),
        Block::Table(drawn) => figures_table(text, drawn),
        Block::Lifecycle(stages) => by_stage(text, stages),
        Block::Layers(layered) => {
            paragraph(text, &escape(&layered.caption()));
            let rows = layered.rows.iter().map(layer);
            numbers(text, &["layer", "bytes", "time", "of it"], rows.collect());
        }
        Block::Waits(waits) => {
            let head = ["", "mean wait", "on CPU", "waiting for CPU", "blocked on storage"];
            paragraph(text, &escape(&format!("{}.", waits.what)));
            numbers(text, &head, waits.groups.iter().map(wait).collect());
        }
        Block::Checks(checks) => {
            words(text, &["", "check", "evidence"], checks.iter().map(check).collect());
        }
        Block::Findings(found) => list(text, found, finding),
        Block::Changes(changes) => list(text, changes, change),
        Block::Stalls(series, _) => {
            let stalled = series.iter().filter(|one| !one.longest.is_empty());
            list(text, stalled, |one| {
                escape(&format!("{}, longest: {}.", one.title, one.longest.join("; ")))
            });
        }
        Block::Fill(curve, _) => {
            let of = format::size(curve.total_bytes);
            paragraph(text, &escape(&format!("{}, share of {of} in use.", curve.what)));
        }
        Block::Matrix(matrix) => {
            let names: Vec<String> = matrix.names.iter().map(|name| escape(name)).collect();
            let head: Vec<&str> =
                [matrix.corner].into_iter().chain(names.iter().map(String::as_str)).collect();
            let row = |(field, cells): &(String, Vec<MatrixCell>)| {
                [escape(field)].into_iter().chain(cells.iter().map(matrix_cell)).collect()
            };
            words(text, &head, matrix.rows.iter().map(row).collect());
        }
        Block::Folded(..) | Block::Rates(_) | Block::Distributions(_) | Block::Ratios(_) => {}
    }
}

fn list<T>(text: &mut String, lines: impl IntoIterator<Item = T>, of: impl Fn(T) -> String) {
    let begin = text.len();
    lines.into_iter().for_each(|line| {
        let _ = writeln!(text, "- {}", of(line));
    });
    if text.len() > begin {
        text.push('\n');
    }
}

fn term(term: &Term) -> String {
    let said = if term.is_code { code(&term.text) } else { escape(&term.text) };
    let aside = if term.aside.is_empty() { "" } else { " " };
    format!("**{}**: {said}{aside}{}", escape(&term.name), escape(&term.aside))
}

fn finding(found: &FindingItem) -> String {
    let per = if found.per.is_empty() { "" } else { " " };
    let mut line = format!(
        "**{}{per}{}.** {}. {}",
        escape(&found.cost),
        escape(&found.per),
        with_code(&found.title),
        found.effect.iter().map(|effect| escape(effect) + " ").collect::<String>()
    );
    line += &with_code(&found.fix);
    if let Some(command) = &found.try_this {
        let _ = write!(line, " Try: {}", code(command));
    }
    if let Some(price) = &found.price {
        let _ = write!(line, " The price: {}", with_code(price));
    }
    format!("{line} {}", escape(&found.evidence))
}

fn change(change: &ChangeLine) -> String {
    let ChangeLine { name, when, title, detail } = change;
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    format!("**{name}** {}", escape(&format!("{when} ({title}){detail}")))
}

fn check(check: &CheckLine) -> Vec<String> {
    let status = match check.status {
        CheckStatus::Fail => "✕ fail",
        CheckStatus::Unknown => "? unknown",
        CheckStatus::Pass => "✓ pass",
    };
    let advice = check.advice.as_ref().map(|advice| format!(" Fix: {advice}"));
    let covers = check.covers.as_ref().map(|tests| format!(" Covers {tests}."));
    let evidence = [Some(check.detail.clone()), advice, covers];
    let evidence: String = evidence.into_iter().flatten().collect();
    vec![status.to_owned(), escape(&check.claim), escape(&evidence)]
}

fn matrix_cell(cell: &MatrixCell) -> String {
    let status = cell.status.map(|status| format!("{}: ", status_name(status)));
    status.unwrap_or_default() + &escape(&cell.text)
}

fn layer(row: &LayerShare) -> Vec<String> {
    let bytes = row.bytes.map(|bytes| Bytes(bytes.round() as u64).to_string());
    let known = |value: Option<String>| value.unwrap_or_else(|| format::NONE.to_owned());
    let time = known(row.time.map(format::time));
    vec![row.name.to_owned(), known(bytes), time, escape(&row.detail())]
}

fn wait(group: &WaitGroup) -> Vec<String> {
    let mark = if group.failures.is_empty() { "" } else { " ✕" };
    let stage = group.stage.to_lowercase();
    let label = format!("{}, {stage}{mark} ({})", group.label, group.range);
    let part =
        |part: WaitPart| format!("{} ({})", format::time(part.time), format::share(part.share));
    let parts = [group.on_cpu, group.waiting_for_cpu, group.blocked].map(part);
    [escape(&label), format::time(group.mean)].into_iter().chain(parts).collect()
}

fn by_stage(text: &mut String, stages: &Lifecycle) {
    let titles = stages.columns.iter().map(|column| escape(&column.title));
    let titles: Vec<String> = titles.map(|title| format!("{title}: MB/s (p50 / p99 ms)")).collect();
    let head: Vec<&str> = [""].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let row = |row: &LifecycleRow| {
        let mark = if row.failures.is_empty() { "" } else { " ✕" };
        let mut cells = vec![escape(&format!("{}{mark}", row.label))];
        match &row.skipped {
            Some(reason) => cells.push(escape(&format!("not run: {reason}"))),
            None => cells.extend(row.cells.iter().map(|cell| match cell {
                Some(cell) => of_stage(cell),
                None => format::NONE.to_owned(),
            })),
        }
        cells.resize(head.len(), String::new());
        cells
    };
    numbers(text, &head, stages.rows.iter().map(row).collect());
    paragraph(text, &stages.published.as_deref().map(escape).unwrap_or_default());
}

fn of_stage(cell: &LifecycleCell) -> String {
    let text = |column: Column| cell.cell(column).text();
    let published = cell.published.map(|_| format!(", published {}", text(Column::Published)));
    let (speed, p50, p99) = (text(Column::Speed), text(Column::P50), text(Column::P99));
    format!("{speed} ({p50} / {p99}){}", published.unwrap_or_default())
}

const RATIOS: &str = "×: how many times the figure of the side in the column “against”, with the \
                      ends of its 95% interval.";

fn figures_table(text: &mut String, drawn: &FiguresTable) {
    let FiguresTable { table, kind, caption } = drawn;
    // Times of stalls have their units in their cells.
    let head = match kind {
        TableKind::Stalls => |column: Column| column.title().to_owned(),
        _ => Column::title_with_unit,
    };
    paragraph(text, &escape(caption));
    // Rows without a title go on with those before them.
    for groups in table.groups.chunk_by(|_, next| next.title.is_empty()) {
        let rows = groups.iter().flat_map(|group| group.rows.clone()).collect();
        let title = groups.first().map(|group| group.title.clone()).unwrap_or_default();
        if !title.is_empty() {
            paragraph(text, &format!("### {}", escape(&title)));
        }
        let groups = vec![TableGroup { title, rows }];
        let mut one = Table { groups, ..table.clone() };
        if *kind == TableKind::Sides {
            one = one.without_empty_columns();
        }
        one.groups.iter().for_each(|group| figures(text, &one, &group.rows, head));
    }
    let against = table.columns.iter().position(|it| *it == Column::Ratio(RatioKind::P50));
    let is_ratio = |row: &TableRow| {
        against.and_then(|at| row.cells.get(at)).is_some_and(|cell| !cell.is_empty())
    };
    if table.rows().any(is_ratio) {
        paragraph(text, RATIOS);
    }
}

/// Rows of figures under the titles of their columns.
fn figures(text: &mut String, model: &Table, rows: &[TableRow], head: fn(Column) -> String) {
    let titles: Vec<String> = model.columns.iter().map(|column| head(*column)).collect();
    let head: Vec<&str> =
        [model.title].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let row = |row: &TableRow| {
        let mark = if row.trusted() { "" } else { " ✕" };
        let remark = row.remark.as_ref().map(|remark| format!(" ({remark})"));
        let label = escape(&format!("{}{mark}{}", row.label, remark.unwrap_or_default()));
        [label].into_iter().chain(row.cells.iter().map(|cell| escape(&figure(cell)))).collect()
    };
    numbers(text, &head, rows.iter().map(row).collect());
}

fn figure(cell: &Cell) -> String {
    match cell {
        Cell::Part { count, of } => {
            format!("{} ({})", format::share_of(*count, *of), format::count(*count))
        }
        other => other.text(),
    }
}

/// A table of words: every column to the left.
fn words(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    aligned(text, head, "---|", rows);
}

/// A table of numbers: the first column to the left, the others to the right.
fn numbers(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    aligned(text, head, "---:|", rows);
}

fn aligned(text: &mut String, head: &[&str], rule: &str, rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "| {} |", head.join(" | "));
    let _ = writeln!(text, "|---|{}", rule.repeat(head.len().saturating_sub(1)));
    for cells in rows {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

/// Text of flashlag's own in which commands stand between backticks.
fn with_code(text: &str) -> String {
    let text = sanitize(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escape(&text);
    }
    let of = |(index, part): (usize, &&str)| if index % 2 == 1 { code(part) } else { plain(part) };
    parts.iter().enumerate().map(of).collect()
}

/// `text` as a code span, whatever backticks are in it.
fn code(text: &str) -> String {
    let text = sanitize(text);
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text escaped for Markdown.
fn escape(text: &str) -> String {
    plain(&sanitize(text))
}

/// A harmless text, so that none of it is markup.
fn plain(text: &str) -> String {
    const SPECIAL: &str = "\\`*_[]<>|~&#!$@";
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if SPECIAL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
