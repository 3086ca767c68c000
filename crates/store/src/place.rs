//! Places a run among the runs of a table: those of its model, those of its class, and of these
//! the ones as old and as full.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::columns::{Cell, ColumnError, Columns};
use crate::entry::{Entry, results_table};
use crate::fill::fill_class;
use crate::standing::Standing;
use crate::table::{Table, Value};

/// Fewer others than this have no percentile: one of them would be more than five points.
pub const FEWEST: usize = 20;

/// Most tests of a run that are placed: a bit each.
const MOST_TESTS: usize = 64;

/// The columns in which a test and its run must equal another to be comparable.
const SAME: [&str; 13] = [
    "title",
    "state",
    "state_run",
    "operation",
    "block_bytes",
    "span_bytes",
    "queue_depth",
    "threads",
    "durable",
    "background",
    "closed_loop",
    "no_flush",
    "above",
];

/// The others among which a figure is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    Model,
    /// Of its model, as old and as full.
    ModelAlike,
    Class,
    /// Of its class, as old and as full.
    ClassAlike,
}

impl Among {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Among; 4] = [Among::Model, Among::ModelAlike, Among::Class, Among::ClassAlike];
}

/// Others of one kind, and how a figure stands among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Runs with this figure, without the run itself.
    pub others: usize,
    /// Those that are faster.
    pub faster: usize,
    /// Those that are just as fast.
    pub equal: usize,
}

impl Rank {
    /// The percentage of others that are faster, where half of those just as fast count as
    /// faster. `None` if there are fewer than [`FEWEST`].
    pub fn slower_than_percent(&self) -> Option<f64> {
        let below = self.faster as f64 + self.equal as f64 / 2.0;
        (self.others >= FEWEST).then(|| 100.0 * below / self.others as f64)
    }

    fn count(&mut self, own: u64, other: u64) {
        self.others += 1;
        self.faster += usize::from(other < own);
        self.equal += usize::from(other == own);
    }
}

/// A figure of a test, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedFigure {
    /// `p50` or `p99`.
    pub name: &'static str,
    /// Its value; [`OVERLOADED`] where the schedule could not be kept; `None` if n is too small.
    pub own_ns: Option<u64>,
    /// Its ranks, in the order of [`Among::ALL`].
    pub ranks: [Rank; 4],
}

/// The latency of an overloaded test: it is slower than all that were not.
pub const OVERLOADED: u64 = u64::MAX;

/// A test that decides a run's verdict, with the place of its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedTest {
    /// Its name for people.
    pub title: String,
    /// `new` (as found), `filled`, …
    pub state: String,
    /// Its class of fill level; `None` if unknown.
    pub fill: Option<&'static str>,
    pub figures: [PlacedFigure; 2],
}

/// The place of a run among those of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Runs in the table that count, without the run itself.
    pub runs: usize,
    pub model: Option<String>,
    /// `emmc`, `sd`, …
    pub class: Option<String>,
    /// Its class of age; `None` if unknown.
    pub age: Option<String>,
    pub tests: Vec<PlacedTest>,
}

/// What is known of a row of the table so far.
struct Row {
    /// A bit for each test of the run that the row may be compared with.
    tests: u64,
    run: u64,
    is_model: bool,
    is_class: bool,
    is_as_old: bool,
    fill: Option<&'static str>,
    is_overloaded: bool,
}

/// The run's own rows: the tests that decide.
struct Own {
    table: Table,
}

impl Own {
    fn of(entry: &Entry) -> Own {
        let mut table = results_table([entry]);
        let decides = table.columns.iter().position(|column| column.name == "decides");
        let is_kept =
            |row: &Vec<Value>| decides.and_then(|at| row.get(at)) == Some(&Value::Boolean(true));
        let rows = table.rows.into_iter().filter(is_kept);
        table.rows = rows.take(MOST_TESTS).collect();
        Own { table }
    }

    /// The cell of each test.
    fn cells(&self, column: &str) -> impl Iterator<Item = &Value> {
        let at = self.table.columns.iter().position(|it| it.name == column);
        let cell = move |row: &'_ Vec<Value>| at.filter(|at| *at < row.len());
        self.table.rows.iter().map(move |row| cell(row).map_or(&Value::Null, |at| &row[at]))
    }

    /// A cell that all tests share.
    fn shared(&self, column: &str) -> Value {
        self.cells(column).next().cloned().unwrap_or(Value::Null)
    }

    /// Its class of age; `None` if unknown.
    fn age(&self) -> Option<String> {
        self.text("age").map(|age| age_class(&age))
    }

    fn text(&self, column: &str) -> Option<String> {
        let cell = self.shared(column);
        (cell != Value::Null).then(|| cell.plain())
    }
}

/// Places what decides a run's verdict among the runs of a table that count. Only the columns that
/// are compared are read.
pub fn place(mine: &Entry, columns: &mut Columns) -> Result<Placed, ColumnError> {
    let own = Own::of(mine);
    let rows = comparable(columns, &own, mine)?;
    let counted: HashSet<u64> = rows.iter().filter(|row| row.run != 0).map(|row| row.run).collect();
    let tests = own.cells("title").zip(own.cells("state")).zip(own.cells("filled_percent"));
    let mut tests: Vec<PlacedTest> = tests
        .map(|((title, state), filled)| PlacedTest {
            title: title.plain(),
            state: state.plain(),
            fill: own_fill(filled),
            figures: ["p50", "p99"].map(|name| PlacedFigure {
                name,
                own_ns: None,
                ranks: <[Rank; 4]>::default(),
            }),
        })
        .collect();
    for (figure, column) in ["p50_ns", "p99_ns"].into_iter().enumerate() {
        for ((test, own), overloaded) in
            tests.iter_mut().zip(own.cells(column)).zip(own.cells("overloaded"))
        {
            test.figures[figure].own_ns = match (own, overloaded) {
                (_, Value::Boolean(true)) => Some(OVERLOADED),
                (Value::Integer(own), _) => u64::try_from(*own).ok(),
                _ => None,
            };
        }
        rank(columns, column, &rows, figure, &mut tests)?;
    }
    Ok(Placed {
        runs: counted.len(),
        model: own.text("model"),
        class: own.text("kind"),
        age: own.age(),
        tests,
    })
}

/// The rows of the table, with what they may be compared with.
fn comparable(columns: &mut Columns, own: &Own, mine: &Entry) -> Result<Vec<Row>, ColumnError> {
    let mut rows: Vec<Row> = Vec::new();
    let all = match own.table.rows.len() {
        0 => 0,
        tests => u64::MAX >> (MOST_TESTS - tests),
    };
    columns.each("standing", &mut |_, cell| {
        let counts = cell.is(&Standing::Good.name().into());
        rows.push(Row { tests: if counts { all } else { 0 }, ..Row::NONE });
    })?;
    let length = rows.len();
    let mut each = |column: &'static str, set: &mut dyn FnMut(&mut Row, Cell<'_>)| {
        let read = columns.each(column, &mut |at, cell| {
            if let Some(row) = rows.get_mut(at).filter(|row| row.tests != 0) {
                set(row, cell);
            }
        })?;
        if read == length { Ok(()) } else { Err(columns.uneven(column)) }
    };
    let (run, world) = (Value::from(mine.run.run.as_ref()), own.shared("target"));
    let world = world_of(&world.plain());
    let (model, class) = (own.shared("model"), own.shared("kind"));
    let age = own.age();
    each("target", &mut |row, cell| {
        let other = if let Cell::Text(target) = cell { world_of(target) } else { None };
        if other != world {
            row.tests = 0;
        }
    })?;
    each("run", &mut |row, cell| {
        row.run = hash(cell);
        if cell.is(&run) {
            (row.tests, row.run) = (0, 0);
        }
    })?;
    each("model", &mut |row, cell| row.is_model = model != Value::Null && cell.is(&model))?;
    each("kind", &mut |row, cell| {
        row.is_class = class != Value::Null && cell.is(&class);
        if !row.is_class && !row.is_model {
            row.tests = 0;
        }
    })?;
    each("age", &mut |row, cell| row.is_as_old = age.as_ref().is_none_or(|age| is_age(cell, age)))?;
    for column in SAME {
        let cells: Vec<&Value> = own.cells(column).collect();
        // The span of a save is its database, which grows with every save.
        let saves = own.cells("operation").map(|it| it.plain() == "save" && column == "span_bytes");
        let saves: Vec<bool> = saves.collect();
        each(column, &mut |row, cell| {
            for (test, (own, is_save)) in cells.iter().zip(&saves).enumerate() {
                if !is_save && !cell.is(own) {
                    row.tests &= !(1 << test);
                }
            }
        })?;
    }
    each("filled_percent", &mut |row, cell| {
        row.fill =
            if let Cell::Real(filled) = cell { Some(fill_class(Some(filled))) } else { None };
    })?;
    each("overloaded", &mut |row, cell| row.is_overloaded = cell.is(&Value::Boolean(true)))?;
    Ok(rows)
}

impl Row {
    const NONE: Row = Row {
        tests: 0,
        run: 0,
        is_model: false,
        is_class: false,
        is_as_old: false,
        fill: None,
        is_overloaded: false,
    };

    fn is_among(&self, among: Among, test: &PlacedTest) -> bool {
        let is_alike = self.is_as_old && (test.fill.is_none() || self.fill == test.fill);
        match among {
            Among::Model => self.is_model,
            Among::ModelAlike => self.is_model && is_alike,
            Among::Class => self.is_class,
            Among::ClassAlike => self.is_class && is_alike,
        }
    }
}

/// Reads one figure of all rows, and ranks that of each test among them. A run counts once.
fn rank(
    columns: &mut Columns,
    column: &'static str,
    rows: &[Row],
    figure: usize,
    tests: &mut [PlacedTest],
) -> Result<(), ColumnError> {
    let mut seen: Vec<HashSet<u64>> = vec![HashSet::new(); tests.len()];
    let read = columns.each(column, &mut |at, cell| {
        let Some(row) = rows.get(at).filter(|row| row.tests != 0) else { return };
        let other = if row.is_overloaded { Some(OVERLOADED) } else { cell.nanos() };
        let Some(other) = other else { return };
        for (place, (test, seen)) in tests.iter_mut().zip(&mut seen).enumerate() {
            let Some(own) = test.figures[figure].own_ns else { continue };
            if row.tests & (1 << place) == 0 || !seen.insert(row.run) {
                continue;
            }
            for (at, among) in Among::ALL.into_iter().enumerate() {
                if row.is_among(among, test) {
                    test.figures[figure].ranks[at].count(own, other);
                }
            }
        }
    })?;
    if read == rows.len() { Ok(()) } else { Err(columns.uneven(column)) }
}

/// Simulated, a kernel on a virtual device, or else real hardware: figures of one say nothing about
/// those of another.
fn world_of(target: &str) -> Option<&'static str> {
    match target {
        "simulated" => Some("simulated"),
        "lab" => Some("lab"),
        "" => None,
        _ => Some("real"),
    }
}

fn hash(cell: Cell<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Cell::Text(text) = cell {
        text.hash(&mut hasher);
    }
    // 0 is the run itself.
    hasher.finish().max(1)
}

fn own_fill(filled: &Value) -> Option<&'static str> {
    if let Value::Real(filled) = filled { Some(fill_class(Some(*filled))) } else { None }
}

/// An age in tens of percent of rated life, since some devices report it in tens and others in ones;
/// of a virtual device as asked for.
fn age_class(age: &str) -> String {
    let percent = age.strip_prefix("up to ").and_then(|rest| rest.strip_suffix("% of life used"));
    match percent.and_then(|percent| percent.parse::<u32>().ok()) {
        Some(percent) => {
            format!("up to {}% of life used", percent.max(1).div_ceil(10).saturating_mul(10))
        }
        None => age.to_owned(),
    }
}

fn is_age(cell: Cell<'_>, class: &str) -> bool {
    let Cell::Text(age) = cell else { return false };
    age == class || age_class(age) == class
}
