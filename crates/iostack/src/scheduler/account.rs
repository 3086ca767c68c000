//! What processes wait for.
//!
//! A process sends one group of requests after another. A group takes as long as its last piece,
//! which is encrypted, queued for a tag, issued, at the device, completed and decrypted. For the
//! time at the device and in its queue, the device reports the causes. Waiting behind earlier
//! commands counts as others' I/O while the oldest command in flight belongs to another process,
//! whatever delays that command (collection, a full cache, a discard); a device that sleeps or
//! throttles delays everyone and is counted as such. While the oldest command is one's own, or one
//! of the kernel's threads that write on one's behalf, the wait counts under what delays that
//! command. The rest is the work of the group's own step: a commit, a checkpoint, cleaning, a
//! discard, or plain I/O.
//!
//! A process that follows others begins when the last of them has ended, and inherits what that one
//! waited for.

use std::collections::VecDeque;

use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

use crate::host_queue::{Oldest, Pid};

/// Whose a process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The caller's: what is measured.
    #[default]
    Caller,
    /// A thread's of the kernel.
    Kernel,
    /// Another process's: a background job's.
    Other,
}

/// The time of one process.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// All before this is divided.
    pub(super) since: Nanos,
    /// The cause that the present group's own work is counted under.
    pub(super) step: Wait,
    pub(super) waited: Waited,
    /// The piece of the group that completed last: until when it took, and what it waited for.
    pub(super) piece: Option<(Nanos, Waited)>,
    /// The processes that it follows, and what they had waited for when it began.
    pub(super) follows: Vec<(Pid, Waited)>,
    pub(super) owner: Owner,
}

/// The times of the last command in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub(super) begun: Nanos,
    pub(super) submitted: Nanos,
    pub(super) completed: Nanos,
    /// Whose command was the oldest in flight, up to this one's completion.
    pub(super) oldest: Oldest,
    pub(super) waited: Option<Waited>,
    /// The part of that spent behind earlier commands.
    pub(super) behind: Waited,
}

/// Accounts that concern all processes.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(super) paths: Vec<Path>,
    /// Slots of the commands in flight, oldest first, and the owner of each.
    pub(super) under_way: VecDeque<(u32, Owner)>,
    /// Whose command was the oldest in flight, up to a time.
    pub(super) oldest: Oldest,
    pub(super) oldest_until: Nanos,
    /// Whose processes are that begin.
    pub(super) owner: Owner,
    /// What the process waited for whose result was taken last.
    pub(super) taken: Waited,
}

impl Accounts {
    /// Whose command was the oldest in flight, up to now.
    pub(super) fn oldest_by(&mut self, now: Nanos) -> Oldest {
        let passed = now.saturating_since(self.oldest_until);
        match self.under_way.front() {
            Some((_, Owner::Kernel)) => self.oldest.kernel = self.oldest.kernel.plus(passed),
            Some((_, Owner::Other)) => self.oldest.other = self.oldest.other.plus(passed),
            Some((_, Owner::Caller)) | None => {}
        }
        self.oldest_until = now;
        self.oldest
    }

    /// Removes the command in a slot from those in flight.
    pub(super) fn left(&mut self, slot: u32, now: Nanos) {
        self.oldest_by(now);
        if let Some(index) = self.under_way.iter().position(|(one, _)| *one == slot) {
            self.under_way.remove(index);
        }
    }
}

/// Causes that delay every command, whichever comes first.
const FOR_EVERYONE: [Wait; 2] = [Wait::WakeUp, Wait::Throttling];

/// What a piece waited for behind earlier commands. For as long as another process's command was
/// the oldest, that is others' I/O. Of the rest, what the device did for others is others' I/O only
/// for as long as the oldest command was the kernel's; beyond that it is plain storage.
pub(super) fn behind_others(behind: Waited, oldest: Oldest) -> Waited {
    let mut shared = Waited::default();
    FOR_EVERYONE.iter().for_each(|cause| shared.add(*cause, behind.of(*cause)));
    let behind = behind.since(&shared);
    let theirs = oldest.other.min(behind.total());
    let rest = behind.scaled_to(behind.total().since(theirs));
    let own = rest.of(Wait::OtherIo).saturating_since(oldest.kernel);
    let mut waited = rest.moved(Wait::OtherIo, Wait::Storage, own).plus(&shared);
    waited.add(Wait::OtherIo, theirs);
    waited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_others_it_is_their_io_whatever_they_meet_but_not_a_device_that_sleeps() {
        let mut behind = Waited::all(Wait::WriteCacheFull, Nanos(60));
        behind.add(Wait::OtherIo, Nanos(20));
        behind.add(Wait::WakeUp, Nanos(10));
        let parts = |other| {
            let oldest = Oldest { other: Nanos(other), ..Oldest::default() };
            behind_others(behind, oldest).parts().collect::<Vec<_>>()
        };
        let all = [(Wait::OtherIo, Nanos(80)), (Wait::WakeUp, Nanos(10))];
        assert_eq!(parts(80), all);
        assert_eq!(parts(500), all, "no more than there is");
    }

    #[test]
    fn behind_ones_own_commands_it_is_what_holds_those_up() {
        let mut behind = Waited::all(Wait::GarbageCollection, Nanos(60));
        behind.add(Wait::OtherIo, Nanos(20));
        let own: Vec<_> = behind_others(behind, Oldest::default()).parts().collect();
        let expected = [(Wait::Storage, 20), (Wait::GarbageCollection, 60)];
        assert_eq!(own, expected.map(|(cause, part)| (cause, Nanos(part))));
        // Half of it behind others'.
        let oldest = Oldest { other: Nanos(40), ..Oldest::default() };
        let half: Vec<_> = behind_others(behind, oldest).parts().collect();
        let expected = [(Wait::Storage, 10), (Wait::OtherIo, 40), (Wait::GarbageCollection, 30)];
        assert_eq!(half, expected.map(|(cause, part)| (cause, Nanos(part))));
        // Plain work of the kernel's threads counts as others' I/O; what delays them counts as the
        // flash's.
        let oldest = Oldest { kernel: Nanos(40), ..Oldest::default() };
        let kernels: Vec<_> = behind_others(behind, oldest).parts().collect();
        let expected = [(Wait::OtherIo, 20), (Wait::GarbageCollection, 60)];
        assert_eq!(kernels, expected.map(|(cause, part)| (cause, Nanos(part))));
    }
}
