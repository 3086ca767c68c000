//! The heading of a list of findings: how many, and whether there is nothing to change.

use flashlag_explain::Calm;
use flashlag_spec::Operation;

use crate::format;

/// Made of the numbers of things to change, that may help a little, and to know; `calm` is that of
/// the run, absent if nothing was measured.
pub(super) fn heading([changes, small, notes]: [usize; 3], calm: Option<Calm>) -> String {
    // Late operations need an answer, and a change that helps each a little is one.
    let answered = changes == 0 && small > 0 && matches!(calm, Some(Calm::Late(_)));
    let lead = match changes {
        0 if answered && small == 1 => format!("One thing may help ({})", why(calm)),
        0 if answered => format!("{} things may help ({})", format::counted(small), why(calm)),
        0 => nothing(calm),
        1 => "One thing to change".to_owned(),
        many => format!("{} things to change", format::counted(many)),
    };
    let small = if answered { 0 } else { small };
    let counted = |n: usize| match n {
        1 => "one".to_owned(),
        many => format::counted(many).to_lowercase(),
    };
    let small = (small > 0).then(|| format!("{} that may help a little", counted(small)));
    let notes = (notes > 0).then(|| format!("{} to know", counted(notes)));
    match (small, notes) {
        (None, None) => lead,
        (Some(one), None) | (None, Some(one)) => format!("{lead}, and {one}"),
        (Some(one), Some(other)) => format!("{lead}, {one}, and {other}"),
    }
}

/// The heading if nothing to change was found. It says that there is nothing only if the run shows
/// that.
fn nothing(calm: Option<Calm>) -> String {
    match calm {
        None => "Nothing to change in the set-up".to_owned(),
        Some(Calm::Calm) => "Nothing to change".to_owned(),
        Some(_) => format!("Nothing found to change ({})", why(calm)),
    }
}

/// Why a run is not calm.
fn why(calm: Option<Calm>) -> &'static str {
    match calm {
        None | Some(Calm::Calm) => "nothing is late",
        Some(Calm::Late(Operation::Save)) => "some saves are late",
        Some(Calm::Late(_)) => "some durable writes are late",
        Some(Calm::Doubted) => "a failed check covers saves or writes",
        Some(Calm::Incomplete) => "the run ended early",
        Some(Calm::Unmeasured) => "no save and no durable write was measured",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_nothing_to_change_only_where_a_run_shows_that() {
        let every = [
            None,
            Some(Calm::Late(Operation::Save)),
            Some(Calm::Late(Operation::RandomWrite)),
            Some(Calm::Doubted),
            Some(Calm::Incomplete),
            Some(Calm::Unmeasured),
        ];
        for calm in every {
            let said = heading([0, 0, 0], calm);
            assert!(said != "Nothing to change", "{calm:?}: {said}");
        }
        assert_eq!(heading([0, 0, 0], Some(Calm::Calm)), "Nothing to change");
        let with = heading([0, 2, 1], Some(Calm::Calm));
        assert_eq!(with, "Nothing to change, two that may help a little, and one to know");
        assert_eq!(heading([1, 0, 1], None), "One thing to change, and one to know");
        let late = Some(Calm::Late(Operation::Save));
        assert_eq!(heading([0, 0, 0], late), "Nothing found to change (some saves are late)");
        assert_eq!(heading([0, 1, 0], late), "One thing may help (some saves are late)");
        let said = heading([0, 5, 2], late);
        assert_eq!(said, "Five things may help (some saves are late), and two to know");
    }
}
