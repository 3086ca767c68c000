//! The model in a page: a question in JSON, the answer in JSON, and the page that asks.
//!
//! `scripts/page` compiles this crate to WebAssembly and puts it into one HTML file. What the page shows
//! is a run of the scenario `write`, and what `predict` forecasts: the same simulations as the program's, by
//! the same code, so that the commands that the page names give the same figures to the digit.
// Allowed only where names are exported to the page.
#![deny(unsafe_code)]

mod answer;
mod choices;
#[cfg(target_family = "wasm")]
#[allow(unsafe_code)]
mod exports;
mod forecast;
mod question;

use serde::Serialize;

pub use answer::{Answer, Row};
pub use choices::{Choices, Device, choices};
pub use forecast::Forecast;
pub use question::{Question, QuestionError};

/// What the page gets back.
#[derive(Serialize)]
#[serde(untagged)]
enum Reply {
    Choices(Choices),
    Answer(Box<Answer>),
    Forecast(Forecast),
    Refused { error: String },
}

/// The reply to a question in JSON: an answer, or why there is none. An empty question asks for the choices.
pub fn reply(question: &str) -> String {
    let reply = match question {
        "" => Reply::Choices(choices()),
        asked => match answered(asked) {
            Ok(reply) => reply,
            Err(error) => Reply::Refused { error: error.to_string() },
        },
    };
    serde_json::to_string(&reply).unwrap_or_default()
}

fn answered(question: &str) -> Result<Reply, QuestionError> {
    let question: Question = serde_json::from_slice(question.as_bytes())?;
    Ok(if question.forecast {
        Reply::Forecast(Forecast::of(&question)?)
    } else {
        Reply::Answer(Box::new(Answer::to(&question)?))
    })
}
