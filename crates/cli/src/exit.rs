//! Exit statuses. After a signal the status is 128 plus its number: 130 after Ctrl-C.

use std::io;
use std::process::ExitCode;

/// The exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: a `--fail-if` threshold was crossed, `verify` found a changed figure, `store trend` a slower device,
    /// or `site --check` a file that may not go in.
    Crossed,
    /// 2: it could not run.
    CouldNotRun,
    /// 3: it ran, but a trust check failed.
    Untrusted,
    /// The exit status of the recorded command.
    Passed(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Crossed => 1,
            Exit::CouldNotRun => 2,
            Exit::Untrusted => 3,
            Exit::Passed(status) => status,
        })
    }
}

/// Whether the error is a closed pipe: the reader of the output has ended, as `head` does.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}
