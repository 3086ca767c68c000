//! Which column of a table is what: declared by the user, known from a published form, or evident
//! from the columns' names.

use super::columns::{Column, Columns, size_unit, time_unit};
use super::published::{PUBLISHED, Published, WITHOUT_REQUESTS};
use super::separator::Separator;

/// Rows at the beginning that must look alike.
const ROWS: usize = 50;

/// How a table is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) columns: Columns,
    pub(super) separator: Separator,
    /// Whether the first line names the columns.
    pub(super) has_head: bool,
    /// The source of this knowledge.
    pub(super) by: By,
}

/// How the columns are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The user.
    Option,
    /// The table has a published form.
    Published(&'static str),
    /// The columns' names, which include their units.
    Names,
}

/// Why a table can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// What the columns hold is not known.
    #[error(
        "the file is a table, and what its columns hold is not known. Its first line is `{first}`: say what \
         the {columns} are, and in which units, as in \
         --columns 'time:s,op,offset:bytes,size:bytes,latency:us'"
    )]
    Unknown { first: String, columns: String },
    #[error("--columns names {named} columns, and the file's first line has {found}: `{first}`")]
    Other { named: usize, found: usize, first: String },
    #[error("{0}")]
    NoRequests(&'static str),
}

/// The first lines of a table, without comments and empty lines. The last may be truncated.
fn lines(head: &str) -> Vec<&str> {
    let lines = head.trim_start_matches('\u{feff}').lines();
    let of_table = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    lines.filter(of_table).take(ROWS + 1).collect()
}

/// A column's name without quotes, in lower case. Numbers after a name become `#`.
fn name(cell: &str) -> String {
    let words = cell.trim().trim_matches('"').split_whitespace();
    let words = words.map(|word| {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            "#".to_owned()
        } else {
            word.to_ascii_lowercase()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl Layout {
    /// The layout of a file with this beginning; `None` if it is no table of a known kind.
    pub(super) fn known(head: &str) -> Option<Layout> {
        let lines = lines(head);
        let first = lines.first()?;
        Separator::ALL.into_iter().find_map(|separator| {
            let names: Vec<String> = separator.cells(first).into_iter().map(name).collect();
            let found = |columns, by| Layout { columns, separator, has_head: true, by };
            by_head(&names)
                .map(|(columns, by)| found(columns, by))
                .or_else(|| by_rows(&lines, separator))
        })
    }

    /// The layout that the user declares.
    pub(super) fn of_option(head: &str, columns: &Columns) -> Result<Layout, TableError> {
        let lines = lines(head);
        let first = lines.first().copied().unwrap_or_default();
        let named = columns.of.len();
        let fits = |separator: &Separator| separator.cells(first).len() == named;
        // A name with spaces yields more words than columns.
        let fallback = || columns.of.contains(&Column::Process).then_some(Separator::Spaces);
        let separator = Separator::ALL.into_iter().find(fits).or_else(fallback);
        let Some(separator) = separator else {
            let counts = Separator::ALL.map(|separator| separator.cells(first).len());
            let found = counts.into_iter().max().unwrap_or_default();
            return Err(TableError::Other { named, found, first: first.to_owned() });
        };
        let is_number =
            |cell: &&str| cell.trim_matches('"').starts_with(|l: char| l.is_ascii_digit());
        let has_head = !separator.cells(first).iter().any(is_number);
        Ok(Layout { columns: columns.clone(), separator, has_head, by: By::Option })
    }
}

/// The columns by their header.
fn by_head(names: &[String]) -> Option<(Columns, By)> {
    let published = PUBLISHED.iter().find_map(|published| {
        let items: Option<Vec<&str>> = items(published, names);
        let items = items?.into_iter().chain(published.all).collect::<Vec<_>>().join(",");
        Some((items.parse().ok()?, By::Published(published.name)))
    });
    published.or_else(|| {
        let columns: Option<Vec<Column>> = names.iter().map(|name| named(name)).collect();
        Some((Columns::of(columns?, None).ok()?, By::Names))
    })
}

/// What each column holds, if these names, in any order, are those of the form. A column without a
/// name (pandas's row number) is skipped.
fn items(published: &Published, names: &[String]) -> Option<Vec<&'static str>> {
    let mut missing: Vec<_> = published.head.iter().collect();
    let mut items = Vec::new();
    for name in names {
        if name.is_empty() {
            items.push("-");
            continue;
        }
        let is = |known: &str| known == "proces" && name == "process" || known == name;
        let at = missing.iter().position(|(known, _)| is(known.trim_start_matches('?')))?;
        items.push(missing.remove(at).1);
    }
    missing.iter().all(|(known, _)| known.starts_with('?')).then_some(items)
}

/// The columns of rows that all look like those of one published form.
fn by_rows(lines: &[&str], separator: Separator) -> Option<Layout> {
    // The last line may be truncated.
    let whole = match lines {
        [one] => std::slice::from_ref(one),
        [all @ .., _] => all,
        [] => return None,
    };
    let looks = |row: &[super::published::Cell], line: &&str| {
        let cells = separator.cells(line);
        cells.len() == row.len() && row.iter().zip(cells).all(|(cell, text)| cell.is(text))
    };
    PUBLISHED.iter().find_map(|published| {
        let row = published.row?;
        let items = published.head.iter().map(|(_, item)| *item).collect::<Vec<_>>().join(",");
        whole.iter().all(|line| looks(row, line)).then_some(())?;
        let by = By::Published(published.name);
        Some(Layout { columns: items.parse().ok()?, separator, has_head: false, by })
    })
}

/// What a column with this name holds, if the name includes its unit: `submit_us`, `offset_bytes`,
/// `lat(ms)`, `sectors`. A name that could be a request's column and lacks a unit is an error; any
/// other column is skipped.
fn named(name: &str) -> Option<Column> {
    let whole = match name {
        "op" | "rw" | "rwbs" | "rw_flag" | "operation" => Column::Operation(Vec::new()),
        "step" => Column::Step,
        "device" | "dev" | "disk" => Column::Device,
        "process" | "proces" | "comm" => Column::Process,
        "pid" | "tid" => Column::Pid,
        "sector" => Column::Offset(size_unit("sectors")?),
        "sectors" | "nr_sectors" => Column::Size(size_unit("sectors")?),
        "bytes" => Column::Size(1),
        _ => return with_unit(name),
    };
    Some(whole)
}

fn with_unit(name: &str) -> Option<Column> {
    let bracketed = name.strip_suffix([')', ']']).and_then(|name| name.split_once(['(', '[']));
    let (stem, unit) = match bracketed.or_else(|| name.rsplit_once('_')) {
        Some((stem, unit)) => (stem.trim(), Some(unit.trim())),
        None => (name, None),
    };
    let time = unit.and_then(time_unit);
    let size = unit.and_then(|unit| match unit {
        "b" => Some(1),
        "bytes" | "sectors" => size_unit(unit),
        _ => None,
    });
    match stem {
        "time" | "timestamp" | "ts" | "submit" | "start" | "begin" | "issue" => {
            time.map(Column::Begun)
        }
        "finish" | "end" | "complete" | "completion" => time.map(Column::Ended),
        "latency" | "lat" | "response" | "duration" | "took" => time.map(Column::Took),
        "offset" | "lba" | "sector" | "address" => size.map(Column::Offset),
        "size" | "length" | "len" | "bytes" => size.map(Column::Size),
        _ if is_ambiguous(name) => None,
        _ => Some(Column::Skipped),
    }
}

/// Whether the name could be a request's column and lacks a unit.
fn is_ambiguous(name: &str) -> bool {
    let words = [
        "time", "stamp", "lat", "response", "offset", "lba", "block", "sector", "size", "len",
        "type", "op", "addr", "count",
    ];
    words.iter().any(|word| name.contains(word))
}

/// Why a file that looks like a table is refused; `None` if it does not look like one.
pub(in crate::import) fn refusal(head: &str) -> Option<TableError> {
    let lines = lines(head);
    let first = *lines.first()?;
    let names: Vec<String> = Separator::Spaces.cells(first).into_iter().map(name).collect();
    if let Some((_, why)) = WITHOUT_REQUESTS.iter().find(|(known, _)| *known == names.as_slice()) {
        return Some(TableError::NoRequests(why));
    }
    let count = |separator: Separator, line: &str| separator.cells(line).len();
    let separator = Separator::ALL.into_iter().find(|separator| {
        let columns = count(*separator, first);
        let alike = lines.iter().take(3).all(|line| count(*separator, line) == columns);
        let has_numbers = lines.iter().take(2).any(|line| {
            let cells = separator.cells(line);
            let is_number = |cell: &&&str| cell.parse::<f64>().is_ok();
            cells.iter().filter(is_number).count() >= 2
        });
        columns >= 3 && alike && (has_numbers || named_parts(first, *separator))
    })?;
    let columns = format!("{} columns ({})", count(separator, first), separator.name());
    let first = first.chars().take(200).collect();
    Some(TableError::Unknown { first, columns })
}

/// Whether most names of the header could be a request's columns.
fn named_parts(first: &str, separator: Separator) -> bool {
    let names: Vec<String> = separator.cells(first).into_iter().map(name).collect();
    let of_requests =
        names.iter().filter(|name| is_ambiguous(name) || named(name) != Some(Column::Skipped));
    2 * of_requests.count() > names.len()
}
