//! Errors as Python exceptions, with the messages of the command line. The classes are in
//! `flashlag/_errors.py`.

use flashlag_commands::{CommandError, one_paragraph};
use flashlag_runner::RunError;
use flashlag_units::sanitize;
use pyo3::prelude::*;

pyo3::import_exception!(flashlag._errors, Error);
pyo3::import_exception!(flashlag._errors, InputError);

/// A failure that is not the user's.
pub fn failed(sentence: &str) -> PyErr {
    Error::new_err(sanitize(sentence))
}

/// A word without a meaning.
pub fn misspelt(sentence: &str) -> PyErr {
    InputError::new_err(sanitize(sentence))
}

/// The exception of a command's error.
pub fn raised(error: &CommandError) -> PyErr {
    let mut sentence = one_paragraph(error);
    if let CommandError::Run(error) = error
        && let RunError::Room { fits: Some(fits), .. } = &**error
    {
        let leave = fits.leave.map(|leave| format!("--leave {}MB", leave.0 / 1_000_000));
        let span = fits.span.map(|span| format!("--set span={}MB", span.0 / 1_000_000));
        let words: Vec<String> = leave.into_iter().chain(span).collect();
        sentence = format!("{sentence}; this would work: {}", words.join(", "));
    }
    if error.is_in_words() { misspelt(&sentence) } else { failed(&sentence) }
}
