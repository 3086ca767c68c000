//! What a page consists of. Each drawing of a block, in HTML and in Markdown, takes these and no run.

use flashlag_schema::finding::CauseId;
use flashlag_schema::{CheckId, CheckStatus, StallCause, WaitPart};
use flashlag_stats::Histogram;
use flashlag_units::Nanos;

use crate::amount::RateUnit;
use crate::compare::Ratio;
use crate::doubt::Failure;
use crate::fill::FillCurve;
use crate::findings::FindingSide;
use crate::layered::Layered;
use crate::lifecycle::Lifecycle;
use crate::marks::Mark;
use crate::table::Table;
use crate::verdict::Judgement;
use crate::waits::WaitSection;
use flashlag_explain::Figures;

/// A page: what is said first, the picture, the sections.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page's name, as a browser shows it.
    pub title: String,
    /// Device, scenario and machine, most important first.
    pub meta: Vec<String>,
    pub sentence: String,
    /// The sentences that qualify the headline.
    pub ledes: Vec<Lede>,
    /// The picture, which may be without rows.
    pub picture: Picture,
    /// The sections, in order; one without data is left out.
    pub sections: Vec<Section>,
    /// The last line.
    pub footer: String,
}

/// A paragraph below the headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lede {
    /// A question or two words in front of it.
    pub lead: Option<&'static str>,
    /// The paragraph, without the text of its link.
    pub text: String,
    /// Where a reader finds more.
    pub link: Option<Link>,
}

/// The end of a paragraph, which leads to a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The section's [`Section::id`].
    pub section: &'static str,
    pub text: String,
    /// Whether the paragraph is incomplete without the link, which otherwise only offers to read
    /// on.
    pub says: bool,
}

impl Lede {
    pub(crate) fn plain(text: &str) -> Lede {
        Lede { lead: None, text: text.to_owned(), link: None }
    }
}

/// A section. Its heading states the result.
#[derive(Clone, Debug)]
pub struct Section {
    /// The anchor that links lead to.
    pub id: &'static str,
    /// The name in a table of contents.
    pub name: &'static str,
    pub heading: String,
    /// How it was measured and how to read it.
    pub side: Vec<String>,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A heading within the section.
    Title(&'static str),
    Text(String),
    /// A paragraph below a table, with a sentence in front of it that is set off.
    Note(Option<&'static str>, String),
    /// A command or a text of several lines, and what it is.
    Code(String, String),
    /// A long text that a reader opens: its title, its name, the text.
    Folded(&'static str, String, String),
    /// A long word with its name.
    Hash(&'static str, String),
    List(Vec<String>),
    /// Short values with their names.
    Facts(Vec<(&'static str, String)>),
    /// Sentences with their names.
    Terms(Vec<Term>),
    Table(FiguresTable),
    /// The table of stages, with what its cells have.
    Lifecycle(Lifecycle),
    /// One operation through all layers.
    Layers(Layered),
    /// The parts of waits.
    Waits(WaitSection),
    Checks(Vec<CheckLine>),
    Findings(Vec<FindingItem>),
    /// Changes over time, numbered from 1.
    Changes(Vec<ChangeLine>),
    /// Throughput over time.
    Rates(Vec<RateSeries>),
    /// Percentile plots on one axis.
    Distributions(Distributions),
    /// Phases over time, with stalls; then the causes of these stalls, where they are known.
    Stalls(Vec<PhaseSeries>, Vec<NamedCause>),
    /// Percentiles by fill level.
    Fill(FillCurve, Option<Flag>),
    /// Ratios of one side's figures to another's.
    Ratios(Ratios),
    /// The values of each side.
    Matrix(Matrix),
    /// Lines below a name.
    Named(Vec<(String, Vec<String>)>),
}

/// A name with the text about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub name: String,
    pub text: String,
    /// Where the text comes from, or what a reader must know with it; may be empty.
    pub aside: String,
    /// Whether the text is a word for machines.
    pub is_code: bool,
}

impl Term {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Term {
        Term { name: name.into(), text: text.into(), aside: String::new(), is_code: false }
    }
}

/// A link to the failed check of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    pub check: CheckId,
    /// What should have been true.
    pub claim: String,
}

impl Flag {
    /// The first failed check of a row, except one that covers the whole run, which the headline
    /// names.
    pub fn of(failures: &[Failure]) -> Option<Flag> {
        let failure = failures.iter().find(|failure| !failure.covers_all)?;
        Some(Flag { check: failure.id, claim: failure.claim.clone() })
    }
}

/// A table with what stands above it.
#[derive(Clone, Debug)]
pub struct FiguresTable {
    /// The table. Its notes are blocks of their own.
    pub table: Table,
    pub kind: TableKind,
    pub caption: String,
}

/// The subject of a table of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    Tests,
    /// How long saves take.
    Saves,
    /// How many saves are late.
    Late,
    /// Saves that grew a file.
    Growth,
    /// Levels of a fill.
    Levels,
    Stalls,
    /// Sides of a comparison.
    Sides,
}

/// The rows of the first screen, on one latency axis.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    pub groups: Vec<PictureGroup>,
    /// Published devices below them.
    pub marks: Vec<Mark>,
    pub caveats: Vec<String>,
    /// The same rows as a table of figures.
    pub table: Table,
}

/// Rows under one title.
#[derive(Clone, Debug)]
pub struct PictureGroup {
    /// Set off before the title; may be empty.
    pub name: String,
    pub title: String,
    pub rows: Vec<PictureRow>,
}

/// A row of the picture.
#[derive(Clone, Debug)]
pub struct PictureRow {
    pub label: String,
    /// The failed check that covers it.
    pub flag: Option<Flag>,
    pub note: Option<String>,
    pub figures: Figures,
    pub judgement: Judgement,
    /// The text in place of marks, if a schedule was not kept.
    pub overload: Option<String>,
}

/// A trust check in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckLine {
    pub id: CheckId,
    pub status: CheckStatus,
    /// What should be true.
    pub claim: String,
    pub detail: String,
    pub advice: Option<String>,
    /// The tests it covers; `None` if it covers the whole run, and if it passes.
    pub covers: Option<String>,
}

/// A finding of a run.
#[derive(Clone, Debug)]
pub struct FindingItem {
    /// The cause, where the run's own phases show it.
    pub cause: Option<CauseId>,
    /// `39 s`, or `danger`.
    pub cost: String,
    /// `per 1,000 saves`; empty without a figure.
    pub per: String,
    /// What was found, without a full stop.
    pub title: String,
    /// What the change is worth: a sentence.
    pub effect: Option<String>,
    /// What to do. Commands stand between backticks.
    pub fix: String,
    /// A command that does it.
    pub try_this: Option<String>,
    /// The price of the change.
    pub price: Option<String>,
    /// Both measured sides; the other one only where it was measured.
    pub sides: Option<(FindingSide, Option<FindingSide>)>,
    /// How it is known.
    pub evidence: String,
}

/// A change over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeLine {
    /// The change in a word or two.
    pub name: &'static str,
    /// `at 45 min, after 1.5 GB, 10.6 to 1.30 MB/s`.
    pub when: String,
    pub title: String,
    /// More; may be empty.
    pub detail: String,
}

/// Throughput of a phase over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSeries {
    pub title: String,
    pub words: String,
    /// The end of each interval, and bytes, or operations, a second in it.
    pub steps: Vec<(Nanos, f64)>,
    /// The unit of the axis.
    pub unit: RateUnit,
    /// Moments of changes, with their numbers.
    pub changes: Vec<(Nanos, usize)>,
}

/// Percentile plots.
#[derive(Clone, Debug, Default)]
pub struct Distributions {
    pub panels: Vec<Panel>,
    /// The shortest and the longest latency of each test of the run: one axis covers them all.
    pub ends: Vec<Nanos>,
}

/// One percentile plot.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    pub words: String,
    /// The largest number of operations of any curve.
    pub most: u64,
    pub curves: Vec<Curve>,
    /// Names of curves that there was no room for.
    pub left_out: Vec<String>,
}

/// A curve of a percentile plot.
#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    /// Its mark: the same in every plot for the same state.
    pub mark: usize,
    pub histogram: Histogram,
}

/// Maximum number of curves that a reader can distinguish in one plot.
pub const CURVES: usize = 5;

/// A phase over time, with its stalls.
#[derive(Clone, Debug)]
pub struct PhaseSeries {
    pub title: String,
    /// The failed check that covers it.
    pub flag: Option<Flag>,
    pub words: String,
    /// The medians in order; there is a gap where the next one does not begin at the end of the last.
    pub medians: Vec<SeriesMedian>,
    pub points: Vec<SeriesPoint>,
    pub stalls: Vec<SeriesStall>,
    /// Moments of changes, with their numbers.
    pub changes: Vec<(Nanos, usize)>,
    /// `4.6 s at 3 min (blocked on storage)`: the longest stalls.
    pub longest: Vec<String>,
    /// What its operations waited for.
    pub waited: Waited,
}

/// An interval, drawn at its end.
#[derive(Clone, Copy, Debug)]
pub struct SeriesPoint {
    pub ends: Nanos,
    /// Its longest wait, unless that is a stall with a mark of its own.
    pub longest: Option<Nanos>,
}

/// The median of a stretch of time with enough operations for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesMedian {
    pub from: Nanos,
    pub ends: Nanos,
    pub median: Nanos,
}

/// One long wait.
#[derive(Clone, Copy, Debug)]
pub struct SeriesStall {
    pub at: Nanos,
    pub length: Nanos,
    pub cause: StallCause,
}

/// A cause of waits with its name in its phase.
pub type NamedCause = (StallCause, &'static str);

/// What operations waited for over time.
#[derive(Clone, Debug, Default)]
pub struct Waited {
    /// The operations and how their waits are known: the beginning of a sentence.
    pub words: String,
    /// The end of each interval, with its waits by cause.
    pub parts: Vec<(Nanos, Vec<WaitPart>)>,
    pub causes: Vec<NamedCause>,
}

/// Ratios of sides by test.
#[derive(Clone, Debug)]
pub struct Ratios {
    /// The side that they refer to.
    pub against: String,
    /// The title of each test, with a row for each side.
    pub groups: Vec<(String, Vec<RatioRow>)>,
}

/// The ratios of one side.
#[derive(Clone, Debug)]
pub struct RatioRow {
    pub label: String,
    /// The operations that the median is of.
    pub words: String,
    /// The ratio of medians.
    pub median: Option<Ratio>,
    /// Each figure, its ratio with the interval, and whether that differs.
    pub figures: Vec<(&'static str, String, bool)>,
}

/// For all that differs between sides, the value of each.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub caption: &'static str,
    /// The title of the rows.
    pub corner: &'static str,
    pub names: Vec<String>,
    /// Each row with a cell for each side.
    pub rows: Vec<(String, Vec<MatrixCell>)>,
}

/// The value of one side.
#[derive(Clone, Debug)]
pub struct MatrixCell {
    /// The outcome of a check.
    pub status: Option<CheckStatus>,
    /// The value or the evidence.
    pub text: String,
}
