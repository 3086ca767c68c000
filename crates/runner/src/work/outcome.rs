//! The outcome of a task.

use flashlag_device::DeviceError;
use flashlag_schema::Phase;

/// The outcome of a task.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A phase was measured.
    Measured(Box<Phase>),
    /// A test of several phases was measured, such as the reads and writes of a mixed one; with the
    /// error that ended it, if one did.
    Several(Vec<Phase>, Option<String>),
    /// The user is to do something before the task goes on.
    Paused,
    /// The task was done; there is nothing to store.
    Done,
    /// The task could not be done here, and why; the run goes on.
    Skipped(String),
    /// The task began, then failed. Holds the phase until then and the error, which says what
    /// failed, where, why, and what to try. The run ends.
    Failed(Option<Box<Phase>>, String),
}

impl Outcome {
    /// The phases of one test, and the error that ended it, if one did.
    pub(super) fn of(measured: Vec<Phase>, error: Option<String>) -> Outcome {
        if measured.len() > 1 {
            return Outcome::Several(measured, error);
        }
        match (measured.into_iter().next().map(Box::new), error) {
            (phase, Some(error)) => Outcome::Failed(phase, error),
            (Some(phase), None) => Outcome::Measured(phase),
            (None, None) => Outcome::Done,
        }
    }

    /// The same outcome with more notes for the reader of its phase.
    pub(super) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Outcome {
        let mut notes = notes.into_iter();
        match &mut self {
            Outcome::Measured(phase) | Outcome::Failed(Some(phase), _) => phase.notes.extend(notes),
            Outcome::Several(phases, _) => {
                phases
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|phase| phase.notes.extend(notes.by_ref()));
            }
            Outcome::Paused | Outcome::Done | Outcome::Skipped(_) | Outcome::Failed(None, _) => {}
        }
        self
    }

    /// The same outcome if everything of the run is still in its place, otherwise a failure: a
    /// phase on files that are gone did not measure the requested storage.
    pub(super) fn unless_gone(self, present: Result<(), DeviceError>) -> Outcome {
        let Err(gone) = present else { return self };
        match self {
            Outcome::Measured(mut phase) => {
                // This makes a continued run measure the phase again.
                phase.cut_short = true;
                Outcome::Failed(Some(phase), gone.to_string())
            }
            Outcome::Several(mut phases, error) => {
                phases.iter_mut().for_each(|phase| phase.cut_short = true);
                let error = error.filter(|error| !error.contains(&gone.reason));
                let then = error.map(|error| format!("; then {error}")).unwrap_or_default();
                Outcome::Several(phases, Some(format!("{gone}{then}")))
            }
            Outcome::Failed(phase, error) if error.contains(&gone.reason) => {
                Outcome::Failed(phase, gone.to_string())
            }
            // Both errors, the root cause first.
            Outcome::Failed(phase, error) => {
                Outcome::Failed(phase, format!("{gone}; then {error}"))
            }
            Outcome::Paused | Outcome::Done | Outcome::Skipped(_) => {
                Outcome::Failed(None, gone.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn files_that_are_gone_are_the_root_cause_of_an_error_and_named_once() {
        let gone = || DeviceError::os("find", "a/test.dat", None, Errno::NOENT);
        let failed = |error: &str| {
            let outcome = Outcome::Failed(None, error.to_owned()).unless_gone(Err(gone()));
            let Outcome::Failed(None, error) = outcome else { panic!("{outcome:?}") };
            error
        };
        let same = DeviceError::os("open", "a/test.dat", None, Errno::NOENT);
        assert_eq!(failed(&same.to_string()), gone().to_string());
        assert_eq!(failed("write: no space"), format!("{}; then write: no space", gone()));
        let Outcome::Failed(None, error) = Outcome::Done.unless_gone(Err(gone())) else { panic!() };
        assert_eq!(error, gone().to_string());
        assert!(matches!(Outcome::Done.unless_gone(Ok(())), Outcome::Done));
    }

    #[test]
    fn an_error_of_two_phases_that_names_what_is_gone_is_said_once_and_another_is_kept() {
        let gone = || DeviceError::os("find", "a/test.dat", None, Errno::NOENT);
        let both = |error: &str| {
            let phase = flashlag_testing::small_run().phases.remove(0);
            let phases = vec![phase.clone(), phase];
            let outcome = Outcome::Several(phases, Some(error.to_owned()));
            match outcome.unless_gone(Err(gone())) {
                Outcome::Several(_, Some(error)) => error,
                other => panic!("{other:?}"),
            }
        };
        let same = DeviceError::os("open", "a/test.dat", None, Errno::NOENT);
        assert_eq!(both(&same.to_string()), gone().to_string());
        assert_eq!(both("write: no space"), format!("{}; then write: no space", gone()));
    }
}
