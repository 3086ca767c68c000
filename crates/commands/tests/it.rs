//! What is refused, and in which sentences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_commands::{
    CommandError, PredictWords, Prediction, RunWords, one_paragraph, run_from,
};
use flashlag_units::Bytes;

#[test]
fn a_cause_is_said_once_and_without_its_number() {
    let error = run_from(Path::new("/nonexistent/run.json")).unwrap_err();
    let said = "cannot read /nonexistent/run.json: No such file or directory";
    assert_eq!(one_paragraph(&error), said);
    assert!(!error.is_in_words());
    let refused = RunWords::new("quick", "sim:pixel-2061", 1).target(false).unwrap_err();
    assert_eq!(one_paragraph(&refused).matches("there is no profile").count(), 1);
}

#[test]
fn what_does_not_exist_is_in_the_words_and_what_fails_is_not() {
    let words = |scenario: &str, on: &str| RunWords::new(scenario, on, 1);
    let set = |key: &str| RunWords {
        set: vec![(key.to_owned(), "1".to_owned())],
        ..words("quick", "sim:zero")
    };
    let predicted = |change: &str| {
        Prediction::of(&PredictWords {
            subject: "zero".to_owned(),
            change: vec![change.to_owned()],
            sweep: None,
            fs: None,
            daily: Bytes(0),
            seeds: None,
            force: false,
            causes: false,
        })
    };
    let misspelt: Vec<CommandError> = vec![
        words("quik", ".").scenario().unwrap_err(),
        set("spam").scenario().unwrap_err(),
        words("quick", "sim:pixel-2061").target(false).unwrap_err(),
        words("quick", "sim:zero+ntfs").target(false).unwrap_err(),
        words("quick", "other:thing").target(false).unwrap_err(),
        words("quick", "sim:zero").target(true).unwrap_err(),
        predicted("fulll=9%").unwrap_err(),
    ];
    for error in &misspelt {
        assert!(error.is_in_words(), "{error}");
    }
    assert!(!words("/nonexistent.toml", ".").scenario().unwrap_err().is_in_words());
    assert!(!CommandError::Consent.is_in_words());
}
