//! When the scheduler tells the accounts what a process waits for.

use std::collections::VecDeque;

use flashlag_device::{Device, VirtualClock};
use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

use super::Scheduler;
use super::account::{Account, Accounts, Owner, Path, behind_others};
use crate::host_queue::{Moment, Oldest, Pid, Piece};

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
