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

use flashlag_device::{Device, VirtualClock};
use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

use super::Scheduler;
use crate::host_queue::Pid;
use crate::host_queue::{Moment, Oldest, Piece};

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
    since: Nanos,
    /// The cause that the present group's own work is counted under.
    step: Wait,
    waited: Waited,
    /// The piece of the group that completed last: until when it took, and what it waited for.
    piece: Option<(Nanos, Waited)>,
    /// The processes that it follows, and what they had waited for when it began.
    follows: Vec<(Pid, Waited)>,
    owner: Owner,
}

/// The times of the last command in a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    begun: Nanos,
    submitted: Nanos,
    completed: Nanos,
    /// Whose command was the oldest in flight, up to this one's completion.
    oldest: Oldest,
    waited: Option<Waited>,
    /// The part of that spent behind earlier commands.
    behind: Waited,
}

/// Accounts that concern all processes.
#[derive(Debug)]
pub(crate) struct Accounts {
    paths: Vec<Path>,
    /// Slots of the commands in flight, oldest first, and the owner of each.
    under_way: VecDeque<(u32, Owner)>,
    /// Whose command was the oldest in flight, up to a time.
    oldest: Oldest,
    oldest_until: Nanos,
    /// Whose processes are that begin.
    owner: Owner,
    /// What the process waited for whose result was taken last.
    taken: Waited,
}

impl Accounts {
    /// Whose command was the oldest in flight, up to now.
    fn oldest_by(&mut self, now: Nanos) -> Oldest {
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
    fn left(&mut self, slot: u32, now: Nanos) {
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
fn behind_others(behind: Waited, oldest: Oldest) -> Waited {
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

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    /// Accounts from now on for what processes wait for.
    pub(crate) fn keep_accounts(&mut self) {
        let paths = vec![Path::default(); self.carried.len()];
        self.accounts.get_or_insert_with(|| {
            Box::new(Accounts {
                paths,
                under_way: VecDeque::new(),
                oldest: Oldest::default(),
                oldest_until: Nanos::ZERO,
                owner: Owner::Caller,
                taken: Waited::default(),
            })
        });
    }

    /// What the process waited for whose result was taken last; `None` if waits are not accounted.
    pub(crate) fn taken(&self) -> Option<Waited> {
        self.accounts.as_ref().map(|accounts| accounts.taken)
    }

    /// Sets the owner of the processes that begin from now on.
    pub(crate) fn begin_for(&mut self, owner: Owner) {
        if let Some(accounts) = &mut self.accounts {
            accounts.owner = owner;
        }
    }

    fn account(&mut self, pid: Pid) -> Option<&mut Account> {
        self.process_mut(pid)?.account.as_deref_mut()
    }

    pub(super) fn opened(&mut self, pid: Pid) {
        let Some(accounts) = &self.accounts else { return };
        let (since, owner) = (self.now(), accounts.owner);
        if let Some(process) = self.process_mut(pid) {
            process.account = Some(Box::new(Account { since, owner, ..Account::default() }));
        }
    }

    pub(super) fn follows(&mut self, pid: Pid, before: Pid) {
        let Some(so_far) = self.account(before).map(|account| account.waited) else { return };
        if let Some(account) = self.account(pid) {
            account.follows.push((before, so_far));
        }
    }

    /// Called when the last process has ended that another one waited for.
    pub(super) fn may_begin(&mut self, pid: Pid, after: Pid, waited: Option<Waited>) {
        let now = self.now();
        let (Some(account), Some(waited)) = (self.account(pid), waited) else { return };
        let known = account.follows.iter().find(|(before, _)| *before == after);
        let since = known.map_or(waited, |(_, before)| waited.since(before));
        let time = now.saturating_since(account.since);
        account.waited = account.waited.plus(&since.scaled_to(time));
        (account.since, account.follows) = (now, Vec::new());
    }

    pub(super) fn waited_of(&mut self, pid: Pid) -> Option<Waited> {
        self.account(pid).map(|account| account.waited)
    }

    pub(super) fn begins(&mut self, pid: Pid, step: Wait) {
        let Some(account) = self.account(pid) else { return };
        let before = std::mem::replace(&mut account.step, step);
        account.piece = None;
        if before != step {
            self.ledger.counted.begins(step);
        }
    }

    /// A piece is ready for the driver.
    pub(super) fn ready(&mut self, piece: &mut Piece) {
        if self.accounts.is_none() {
            return;
        }
        let now = self.now();
        let Some(accounts) = &mut self.accounts else { return };
        piece.ready = Moment { at: now, oldest: accounts.oldest_by(now) };
    }

    pub(super) fn begun(&mut self, slot: u32) {
        if self.accounts.is_none() {
            return;
        }
        let (now, pid) = (self.now(), self.carried[slot as usize].first.pid);
        let owner = self.account(pid).map(|account| account.owner).unwrap_or_default();
        let Some(accounts) = &mut self.accounts else { return };
        accounts.oldest_by(now);
        accounts.paths[slot as usize].begun = now;
        accounts.under_way.push_back((slot, owner));
    }

    /// The device refused the command in a slot.
    pub(super) fn was_refused(&mut self, slot: u32) {
        let now = self.now();
        if let Some(accounts) = &mut self.accounts {
            accounts.left(slot, now);
        }
    }

    pub(super) fn submitted(&mut self, slot: u32) {
        let now = self.now();
        if let Some(accounts) = &mut self.accounts {
            accounts.paths[slot as usize].submitted = now;
        }
    }

    pub(super) fn has_completed(&mut self, slot: u32) {
        let now = self.now();
        if let Some(accounts) = &mut self.accounts {
            accounts.left(slot, now);
            let oldest = accounts.oldest;
            let path = &mut accounts.paths[slot as usize];
            (path.completed, path.oldest) = (now, oldest);
            path.waited = self.device.waited(slot);
            path.behind = self.device.waited_behind(slot).unwrap_or_default();
            let took = now.saturating_since(path.begun);
            self.ledger.counted.completed(self.carried[slot as usize].first.op, took);
        }
    }

    /// Called for each piece of a command in a slot when the command is over.
    pub(super) fn piece_freed(&mut self, slot: u32, piece: &Piece) {
        let now = self.now();
        let Some(accounts) = &mut self.accounts else { return };
        let path = accounts.paths[slot as usize];
        let Moment { at: ready, oldest } = piece.ready;
        let oldest = path.oldest.since(oldest);
        let queued = path.begun.saturating_since(ready);
        let held = match queued {
            Nanos::ZERO => Waited::default(),
            _ => {
                let held = self.device.held_up(ready, path.begun);
                held.unwrap_or_default().scaled_to(queued)
            }
        };
        let there = path.completed.saturating_since(path.submitted);
        let at_device = path.waited.unwrap_or_default().scaled_to(there);
        let alone = at_device.since(&path.behind);
        let behind = held.plus(&at_device.since(&alone));
        let mut waited = alone.plus(&behind_others(behind, oldest));
        let Some(account) = self.account(piece.pid) else { return };
        waited = waited.moved(Wait::Storage, account.step, Nanos::MAX);
        // The rest is the software's: encryption, driver, interrupt handler.
        let time = now.saturating_since(account.since);
        waited.add(Wait::Executing, time.saturating_since(waited.total()));
        account.piece = Some((now, waited));
    }

    /// A group is done.
    pub(super) fn step_done(&mut self, pid: Pid) {
        let now = self.now();
        let Some(account) = self.account(pid) else { return };
        let time = now.saturating_since(account.since);
        let mut waited = account.piece.take().map_or_else(Waited::default, |(_, waited)| waited);
        waited.add(Wait::Executing, time.saturating_since(waited.total()));
        account.waited = account.waited.plus(&waited.scaled_to(time));
        account.since = now;
    }

    pub(super) fn was_taken(&mut self, waited: Option<Waited>) {
        if let Some(accounts) = &mut self.accounts {
            accounts.taken = waited.unwrap_or_default();
        }
    }
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
