//! The command line as a user sees it: help, lists and errors, word for word. Run with
//! `TRYCMD=overwrite` to accept a change.

#[test]
fn help_lists_and_errors_read_as_documented() {
    trycmd::TestCases::new().case("tests/cmd/*.toml").case("tests/cmd/*.trycmd");
}
