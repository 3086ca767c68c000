//! The view model of a run: verdicts, headlines, findings and tables. Pure over run files. Every
//! view (terminal, HTML, Markdown) says what is decided here, so that they agree.
//!
//! Strings that come from a device or a scenario are passed on unchanged: views escape and strip
//! them.
#![forbid(unsafe_code)]

mod amount;
mod beside;
mod card;
mod causes;
mod compare;
mod conditions;
mod cost;
mod doubt;
pub mod fail_if;
mod fill;
mod findings;
pub mod format;
mod headline;
pub mod history;
mod layered;
mod lifecycle;
mod listed;
mod marks;
mod naming;
mod outline;
mod overload;
pub mod page;
mod place;
mod published;
mod rates;
mod repeats;
mod replayed;
mod require;
mod set_up;
mod standing;
mod story;
mod strip;
mod table;
mod trace;
mod two_times;
mod verdict;
mod waits;
mod worst;

pub use amount::RateUnit;
pub use card::{CardAnswer, cards};
pub use causes::cause_name;
pub use compare::{
    CheckDifference, CompareError, CompareOptions, CompareRow, CompareSide, Comparison, Difference,
    Gate, GateCase, GateError, GateOutcome, Group, Ratio, RatioKind, Subject, compare,
};
pub use conditions::conditions;
pub use cost::cost;
pub use doubt::{CheckCounts, Failure, failures_of, inapplicable_checks, whether};
pub use fail_if::{
    NoFigure, PhaseName, Threshold, ThresholdError, ThresholdFault, ThresholdOutcome,
};
pub use fill::{FillCurve, FillLevel, fill_curves, fill_levels};
pub use findings::{Finding, FindingSide, Findings, RuledOut, findings};
pub use flashlag_explain::{FREEZE, Figures, LagVerdict, NOTICED, SaveKind, failed, is_overloaded};
pub use headline::{Believe, Headline, NoVerdict, headline};
pub use layered::{LayerShare, Layered, layered};
pub use lifecycle::{Lifecycle, LifecycleCell, LifecycleColumn, LifecycleRow, lifecycle, sizes};
pub use listed::{FindingList, ListedFinding, in_words, listed};
pub use marks::{Mark, MarkPoint, marks};
pub use naming::{
    brief_label, busy_note, circumstances, device_name, file_save_label, filesystem_name,
    kind_name, save_label, save_title, test_name, test_title,
};
pub use outline::{
    LAG_IS_A_BUDGET, PhaseChange, PhaseStalls, Stalls, StallsOfCause, change_name, changes,
    changes_heading, distribution_heading, environment_heading, for_people, phase_title,
    saves_heading, stalls, trust_heading,
};
pub use overload::{Overload, Overloads, overload};
pub use place::{Place, places};
pub use rates::{RateRow, rates};
pub use repeats::{RepeatRow, Repeats, Spread, repeats};
pub use replayed::{ReplayedTrace, replayed_traces};
pub use require::{
    GoodEnough, OtherPurposes, Required, Requires, good_enough, no_purpose_measured, other_purposes,
};
pub use set_up::{LayerRow, layers, machine, state};
pub use standing::{Standing, standings};
pub use story::{Story, story};
pub use strip::{Strip, StripGroup, StripRow, strip};
pub use table::{
    Cell, Column, GrowthFigure, LagLimit, Missing, Table, TableGroup, TableRow, comparison_table,
    durable_writes_table, figure_cell, fill_table, late_saves_table, phases_table, stalls_table,
    tests_table,
};
pub use trace::{
    TraceColumn, TraceSummary, TraceTable, source_name, trace_stalls_heading, trace_summary,
};
pub use two_times::two_times;
pub use verdict::{Judgement, RULES};
pub use waits::{WaitGroup, WaitPart, WaitSection, waits};
pub use worst::GroupKind;
