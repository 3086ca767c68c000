//! What a history of months means: the answer in a sentence, its incidents, its days.

mod answer;
mod incident;
mod page;
mod started;
mod time;
mod trend;

pub use answer::{answer, causes};
pub use incident::{IncidentRow, incident_line, incident_rows, picture};
pub use page::{DayRow, calendar, day_rows, history_page};
pub use started::{daily_probes, started};
pub use time::seconds_of;
pub use trend::{runs_sentence, trend_sentences, why_no_trend};
