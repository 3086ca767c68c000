//! Whether both ends have the same version: the messages of a run are not meant for another one.

use std::path::Path;

use crate::error::PhoneError;
use crate::identity::printable;
use crate::protocol::FORMAT;

/// Checks that a program for phones, which has reported its version and message format, is of this
/// version.
///
/// # Errors
/// [`PhoneError::OtherProgram`] if not.
pub(crate) fn same(program: &Path, there: &str, format: u32, here: &str) -> Result<(), PhoneError> {
    if format == FORMAT && is_same(there, here) {
        return Ok(());
    }
    Err(PhoneError::OtherProgram {
        program: program.to_owned(),
        there: printable(there),
        here: here.to_owned(),
        formats: [format, FORMAT],
    })
}

/// Whether two texts such as `flashlag 0.1.0 (94e4be19d868)` mean the same version. An unknown
/// commit, or uncommitted changes, can't be compared: then only the message format decides.
fn is_same(one: &str, other: &str) -> bool {
    let ((one, of_one), (other, of_other)) = (parts(one), parts(other));
    one == other && of_one.zip(of_other).is_none_or(|(one, other)| one == other)
}

/// Name with version, and commit.
fn parts(text: &str) -> (&str, Option<&str>) {
    let parts = text.strip_suffix(')').and_then(|text| text.split_once(" ("));
    parts.map_or((text, None), |(name, commit)| {
        (name, Some(commit.strip_suffix("-dirty").unwrap_or(commit)))
    })
}

/// The version and commit in an order that this version can't read; `None` if the text is not an
/// order.
pub(crate) fn of_order(line: &str) -> Option<String> {
    let order: serde_json::Value = serde_json::from_slice(line.as_bytes()).ok()?;
    Some(printable(order.get("program")?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "flashlag 0.1.0 (94e4be19d868)";

    fn refused(there: &str, format: u32) -> Option<String> {
        let checked = same(Path::new("dist/flashlag-aarch64"), there, format, HERE);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn another_version_commit_or_form_of_messages_is_refused_by_both_names() {
        for there in ["flashlag 0.2.0 (94e4be19d868)", "flashlag 0.1.0 (000000000000)", "", ")"] {
            let said = refused(there, FORMAT).unwrap();
            assert!(said.contains(there) && said.contains(HERE), "{said}");
            assert!(said.contains("make dist") && said.contains("flashlag-aarch64"), "{said}");
        }
        let said = refused(HERE, FORMAT + 1).unwrap();
        assert!(said.contains(&format!("form {}", FORMAT + 1)), "{said}");
        assert!(refused(HERE, 0).is_some(), "a program from before there was a number");
        assert!(!refused("flashlag 9 (\u{1b}[31m)", FORMAT).unwrap().contains('\u{1b}'));
    }

    #[test]
    fn what_can_not_be_compared_is_left_to_the_form_of_the_messages() {
        assert_eq!(refused(HERE, FORMAT), None);
        assert_eq!(refused("flashlag 0.1.0", FORMAT), None);
        assert_eq!(refused("flashlag 0.1.0 (94e4be19d868-dirty)", FORMAT), None);
    }

    #[test]
    fn an_order_of_another_version_is_known_by_its_program() {
        let order = r#"{"program":"flashlag 9.0.0 (abc)","unheard":"of"}"#;
        assert_eq!(of_order(order).as_deref(), Some("flashlag 9.0.0 (abc)"));
        for none in ["", "cat: no such file", "{}", "{\"program\":5}", &order[..20]] {
            assert_eq!(of_order(none), None, "{none}");
        }
    }
}
