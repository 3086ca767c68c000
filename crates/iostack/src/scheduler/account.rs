//! What processes wait for.
//!
//! A process is one group of requests after another, and the time of a group is that of the piece
//! that is done last: encrypted, queued for a tag, issued, at the device, completed, decrypted. At
//! the device and in the queue the device says what was waited for. A wait behind earlier commands
//! is one for others' I/O as long as the oldest command under way is theirs, whatever that meets
//! itself: collection, a full cache, a discard; but not a device that sleeps or throttles, which
//! does so for everyone. Behind one's own commands it counts what holds these up. What then remains
//! is the work of the group's own step: a commit, a checkpoint, cleaning, a discard, or plain I/O.
//!
//! A process that follows others begins when the last of them has ended, and has waited for what
//! that one did meanwhile.

use std::collections::VecDeque;

use flashlag_device::{Device, VirtualClock};
use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

use super::Scheduler;
use crate::host_queue::{Moment, Piece};
use crate::pid::Pid;

/// The time of one process.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// All before this is divided.
    since: Nanos,
    /// What the present group's own work counts as.
    step: Wait,
    waited: Waited,
    /// Until when the piece of the group that was freed last took, and what it waited for.
    piece: Option<(Nanos, Waited)>,
    /// The processes that it follows, with what they had waited for when it began.
    follows: Vec<(Pid, Waited)>,
    /// Whether it belongs to somebody else than the caller.
    is_others: bool,
}

/// The way of the command that a slot carried last.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    begun: Nanos,
    submitted: Nanos,
    completed: Nanos,
    /// For how long by its completion a command of others was the oldest under way.
    others: Nanos,
    waited: Option<Waited>,
    /// What of that passed behind commands before it.
    behind: Waited,
}

/// What is kept account of besides, for all processes.
#[derive(Debug)]
pub(crate) struct Accounts {
    paths: Vec<Path>,
    /// Slots of the commands under way, oldest first, and whether each is of others.
    under_way: VecDeque<(u32, bool)>,
    /// For how long the oldest was of others, up to a moment.
    others_time: Nanos,
    others_until: Nanos,
    /// Whether processes that begin belong to somebody else than the caller.
    pub(crate) for_others: bool,
    /// What the process waited for whose result was taken last.
    taken: Waited,
}

impl Accounts {
    /// For how long by now a command of others was the oldest under way.
    fn others_by(&mut self, now: Nanos) -> Nanos {
        if let Some((_, true)) = self.under_way.front() {
            let passed = now.saturating_since(self.others_until);
            self.others_time = self.others_time.plus(passed);
        }
        self.others_until = now;
        self.others_time
    }

    /// The command in a slot is no longer under way.
    fn left(&mut self, slot: u32, now: Nanos) {
        self.others_by(now);
        if let Some(index) = self.under_way.iter().position(|(one, _)| *one == slot) {
            self.under_way.remove(index);
        }
    }
}

/// What a device does for everyone, whoever's command comes first.
const FOR_EVERYONE: [Wait; 2] = [Wait::WakeUp, Wait::Throttling];

/// What a piece waited for behind commands before it, with up to `theirs` of that as others' I/O.
fn behind_others(behind: Waited, theirs: Nanos) -> Waited {
    let mut shared = Waited::default();
    FOR_EVERYONE.iter().for_each(|cause| shared.add(*cause, behind.of(*cause)));
    let behind = behind.since(&shared);
    let theirs = theirs.min(behind.total());
    let own = behind.scaled_to(behind.total().since(theirs));
    let mut waited = own.moved(Wait::OtherIo, Wait::Storage, Nanos::MAX).plus(&shared);
    waited.add(Wait::OtherIo, theirs);
    waited
}

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    /// Keeps account from now on of what processes wait for.
    pub(crate) fn keep_accounts(&mut self) {
        let paths = vec![Path::default(); self.carried.len()];
        self.accounts.get_or_insert_with(|| {
            Box::new(Accounts {
                paths,
                under_way: VecDeque::new(),
                others_time: Nanos::ZERO,
                others_until: Nanos::ZERO,
                for_others: false,
                taken: Waited::default(),
            })
        });
    }

    /// What the process waited for whose result was taken last; `None` if no account is kept.
    pub(crate) fn taken(&self) -> Option<Waited> {
        self.accounts.as_ref().map(|accounts| accounts.taken)
    }

    /// Whether processes that begin from now on belong to somebody else than the caller.
    pub(crate) fn for_others(&mut self, others: bool) {
        if let Some(accounts) = &mut self.accounts {
            accounts.for_others = others;
        }
    }

    fn account(&mut self, pid: Pid) -> Option<&mut Account> {
        self.process_mut(pid)?.account.as_deref_mut()
    }

    pub(super) fn opened(&mut self, pid: Pid) {
        let Some(accounts) = &self.accounts else { return };
        let (since, is_others) = (self.now(), accounts.for_others);
        if let Some(process) = self.process_mut(pid) {
            process.account = Some(Box::new(Account { since, is_others, ..Account::default() }));
        }
    }

    pub(super) fn follows(&mut self, pid: Pid, before: Pid) {
        let Some(so_far) = self.account(before).map(|account| account.waited) else { return };
        if let Some(account) = self.account(pid) {
            account.follows.push((before, so_far));
        }
    }

    /// The process that another one has waited for has ended, as the last of several.
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
        piece.ready = Moment { at: now, others: accounts.others_by(now) };
    }

    pub(super) fn begun(&mut self, slot: u32) {
        if self.accounts.is_none() {
            return;
        }
        let (now, pid) = (self.now(), self.carried[slot as usize].first.pid);
        let is_others = self.account(pid).is_some_and(|account| account.is_others);
        let Some(accounts) = &mut self.accounts else { return };
        accounts.others_by(now);
        accounts.paths[slot as usize].begun = now;
        accounts.under_way.push_back((slot, is_others));
    }

    /// The device has refused the command in a slot.
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
            let others = accounts.others_time;
            let path = &mut accounts.paths[slot as usize];
            (path.completed, path.others) = (now, others);
            path.waited = self.device.waited(slot);
            path.behind = self.device.waited_behind(slot).unwrap_or_default();
            let took = now.saturating_since(path.begun);
            self.ledger.counted.completed(self.carried[slot as usize].first.op, took);
        }
    }

    /// The command in a slot is over, of which this is a piece.
    pub(super) fn piece_freed(&mut self, slot: u32, piece: &Piece) {
        let now = self.now();
        let Some(accounts) = &mut self.accounts else { return };
        let path = accounts.paths[slot as usize];
        let Moment { at: ready, others } = piece.ready;
        let theirs = path.others.saturating_since(others);
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
        let mut waited = alone.plus(&behind_others(behind, theirs));
        let Some(account) = self.account(piece.pid) else { return };
        waited = waited.moved(Wait::Storage, account.step, Nanos::MAX);
        // What is left is the software's: encryption, driver, interrupt.
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
        let parts = |theirs| behind_others(behind, Nanos(theirs)).parts().collect::<Vec<_>>();
        let all = [(Wait::OtherIo, Nanos(80)), (Wait::WakeUp, Nanos(10))];
        assert_eq!(parts(80), all);
        assert_eq!(parts(500), all, "no more than there is");
    }

    #[test]
    fn behind_ones_own_commands_it_is_what_holds_those_up() {
        let mut behind = Waited::all(Wait::GarbageCollection, Nanos(60));
        behind.add(Wait::OtherIo, Nanos(20));
        let own: Vec<_> = behind_others(behind, Nanos::ZERO).parts().collect();
        let expected = [(Wait::Storage, 20), (Wait::GarbageCollection, 60)];
        assert_eq!(own, expected.map(|(cause, part)| (cause, Nanos(part))));
        // Half of it behind others'.
        let half: Vec<_> = behind_others(behind, Nanos(40)).parts().collect();
        let expected = [(Wait::Storage, 10), (Wait::OtherIo, 40), (Wait::GarbageCollection, 30)];
        assert_eq!(half, expected.map(|(cause, part)| (cause, Nanos(part))));
    }
}
