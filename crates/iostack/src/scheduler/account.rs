//! What processes wait for.
//!
//! A process is one group of requests after another, and the time of a group is that of the piece
//! that is done last: encrypted, queued for a tag, issued, at the device, completed, decrypted. At
//! the device and in the queue the device says what was waited for; what it was busy with for
//! others counts as theirs only while others had requests under way. What then remains is the work
//! of the group's own step: a commit, a checkpoint, cleaning, a discard, or plain I/O.
//!
//! A process that follows others begins when the last of them has ended, and has waited for what
//! that one did meanwhile.

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
    waited: Option<Waited>,
}

/// What is kept account of besides, for all processes.
#[derive(Debug)]
pub(crate) struct Accounts {
    paths: Vec<Path>,
    /// Pieces of others under way, since when there are any, and for how long there were before.
    others: u32,
    others_since: Nanos,
    others_time: Nanos,
    /// Whether processes that begin belong to somebody else than the caller.
    pub(crate) for_others: bool,
    /// What the process waited for whose result was taken last.
    taken: Waited,
}

impl Accounts {
    fn others_by(&self, now: Nanos) -> Nanos {
        match self.others {
            0 => self.others_time,
            _ => self.others_time.plus(now.saturating_since(self.others_since)),
        }
    }
}

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    /// Keeps account from now on of what processes wait for.
    pub(crate) fn keep_accounts(&mut self) {
        let paths = vec![Path::default(); self.carried.len()];
        self.accounts.get_or_insert_with(|| {
            Box::new(Accounts {
                paths,
                others: 0,
                others_since: Nanos::ZERO,
                others_time: Nanos::ZERO,
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
        let is_others = self.account(piece.pid).is_some_and(|account| account.is_others);
        let Some(accounts) = &mut self.accounts else { return };
        piece.ready = Moment { at: now, others: accounts.others_by(now) };
        if is_others {
            if accounts.others == 0 {
                accounts.others_since = now;
            }
            accounts.others += 1;
        }
    }

    pub(super) fn begun(&mut self, slot: u32) {
        let now = self.now();
        if let Some(accounts) = &mut self.accounts {
            accounts.paths[slot as usize].begun = now;
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
            let path = &mut accounts.paths[slot as usize];
            (path.completed, path.waited) = (now, self.device.waited(slot));
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
        let others = accounts.others_by(path.completed.min(now)).saturating_since(others);
        let queued = path.begun.saturating_since(ready);
        let mut waited = match queued {
            Nanos::ZERO => Waited::default(),
            _ => {
                let held = self.device.held_up(ready, path.begun);
                held.unwrap_or_default().scaled_to(queued)
            }
        };
        let there = path.completed.saturating_since(path.submitted);
        waited = waited.plus(&path.waited.unwrap_or_default().scaled_to(there));
        let theirs = waited.of(Wait::OtherIo).min(others);
        let own = waited.of(Wait::OtherIo).since(theirs);
        waited = waited.moved(Wait::OtherIo, Wait::Storage, own);
        let Some(account) = self.account(piece.pid) else { return };
        waited = waited.moved(Wait::Storage, account.step, Nanos::MAX);
        // What is left is the software's: encryption, driver, interrupt.
        let time = now.saturating_since(account.since);
        waited.add(Wait::Executing, time.saturating_since(waited.total()));
        account.piece = Some((now, waited));
        if account.is_others
            && let Some(accounts) = &mut self.accounts
        {
            accounts.others = accounts.others.saturating_sub(1);
            if accounts.others == 0 {
                let time = now.saturating_since(accounts.others_since);
                accounts.others_time = accounts.others_time.plus(time);
            }
        }
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
