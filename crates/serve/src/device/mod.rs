//! The served device: requests from many threads, each delayed as the model says.

mod answer;
mod clock;
mod core;
mod counts;
mod cut;
mod faults;
mod made_up;
mod modelled;
mod open;
mod power;
mod request;
mod slow;
mod wait;
mod zones;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use flashlag_device::{Clock, MonotonicClock, ZoneGeometry};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use crate::data::Data;
use crate::settings::Settings;

pub(crate) use modelled::ModelledFlash;
pub(crate) use open::zones_of;
pub use request::Refusal;
pub(crate) use request::Work;

use self::core::{Core, Ticket};
use counts::Counts;
use zones::{Piece, pieces};

/// Requests that wait for a stall to end check again after this time at the latest.
const LONGEST_WAIT: Nanos = Nanos::from_secs(3600);

/// A served device, for use from many threads at once.
#[derive(Debug)]
pub struct ServedDevice {
    settings: Settings,
    profile: String,
    size: Bytes,
    /// The zones, which clients find at addresses of their own.
    zones: Option<ZoneGeometry>,
    data: Data,
    counts: Counts,
    /// Without a modelled flash or a log, requests go straight to the data.
    plain: AtomicBool,
    core: Mutex<Core>,
    /// Signalled after a control command: requests that wait for a stall to end check again.
    changed: Condvar,
    /// Real time between a request's modelled completion and its actual one.
    lateness: Mutex<Histogram>,
}

impl ServedDevice {
    /// The end of the clients' addresses: the capacity, and on a zoned device what lies between zones.
    pub fn size(&self) -> Bytes {
        self.zones.map_or(self.size, |zones| zones.end())
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Reads at an offset; what is between zones reads as zeros.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Refusal> {
        let Some(zones) = self.zones else {
            return self.perform(offset, Work::Read(into), false);
        };
        let mut rest = into;
        for Piece { at, length } in pieces(zones, offset, rest.len() as u64) {
            let (part, others) = std::mem::take(&mut rest).split_at_mut(length as usize);
            match at {
                Some(at) => self.perform(at, Work::Read(part), false)?,
                None => part.fill(0),
            }
            rest = others;
        }
        Ok(())
    }

    /// Writes at an offset; with `fua`, the data is durable when this returns.
    ///
    /// # Errors
    /// As [`ServedDevice::read`], and a read-only device.
    pub fn write(&self, offset: u64, from: &[u8], fua: bool) -> Result<(), Refusal> {
        let Some(zones) = self.zones else {
            return self.perform(offset, Work::Write(from), fua);
        };
        let whole = |piece: &Piece| piece.length == from.len() as u64;
        match pieces(zones, offset, from.len() as u64).find(whole).and_then(|piece| piece.at) {
            Some(at) => self.perform(at, Work::Write(from), fua),
            None => {
                let length = from.len();
                let reason = format!("write of {length} bytes at {offset}: a zone ends within it");
                Err(Refusal::new(Errno::INVAL, reason))
            }
        }
    }

    /// Where a range of the client's addresses is on the device.
    fn parts(&self, offset: u64, length: u64) -> Vec<(u64, u64)> {
        let Some(zones) = self.zones else { return vec![(offset, length)] };
        let pieces = pieces(zones, offset, length);
        pieces.filter_map(|piece| Some((piece.at?, piece.length))).collect()
    }

    /// Makes every write durable that had returned before.
    pub fn flush(&self) -> Result<(), Refusal> {
        self.perform(0, Work::Flush, false)
    }

    /// Discards a range. Mapping units wholly within it then read as zeros, if the device supports
    /// discards. Of zones it resets whole ones, and refuses parts.
    pub fn trim(&self, offset: u64, length: u64, fua: bool) -> Result<(), Refusal> {
        let mut parts = self.parts(offset, length).into_iter();
        parts.try_for_each(|(at, length)| self.perform(at, Work::Discard(length), fua))
    }

    /// Makes a range read as zeros: by a discard if allowed and supported, otherwise by writing
    /// them.
    pub fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Refusal> {
        self.counts.zero();
        let mut parts = self.parts(offset, length).into_iter();
        parts.try_for_each(|(at, length)| self.zero_part(at, length, may_trim, fua))
    }

    fn zero_part(
        &self,
        offset: u64,
        length: u64,
        may_trim: bool,
        fua: bool,
    ) -> Result<(), Refusal> {
        let unit = self.core().discard_unit().filter(|_| may_trim);
        let Some(unit) = unit else {
            return self.perform(offset, Work::Zeros(length), fua);
        };
        let end = offset.saturating_add(length);
        let (first, last) = (offset.next_multiple_of(unit), end - end % unit);
        if first >= last {
            return self.perform(offset, Work::Zeros(length), fua);
        }
        for (from, until) in [(offset, first), (last, end)] {
            if from < until {
                self.perform(from, Work::Zeros(until - from), fua)?;
            }
        }
        self.perform(first, Work::Discard(last - first), fua)
    }

    /// Whether zeroing a range is faster than writing zeros.
    pub fn zeroes_fast(&self, may_trim: bool) -> bool {
        let core = self.core();
        core.flash.is_none() || may_trim && core.discard_unit().is_some()
    }

    /// The next range at or after `offset` that may hold data, up to `end`; takes no device time.
    pub fn next_held(&self, offset: u64, end: u64) -> Result<Option<(u64, u64)>, Refusal> {
        let Some(zones) = self.zones else { return Ok(self.data.next_held(offset, end)?) };
        let mut from = offset;
        for Piece { at, length } in pieces(zones, offset, end.saturating_sub(offset)) {
            if let Some(at) = at
                && let Some((start, held)) = self.data.next_held(at, at + length)?
            {
                return Ok(Some((from + (start - at), held)));
            }
            from += length;
        }
        Ok(None)
    }

    fn perform(&self, offset: u64, mut work: Work<'_>, fua: bool) -> Result<(), Refusal> {
        let done = self.try_perform(offset, &mut work, fua);
        self.counts.count(&work, fua, done.is_ok());
        done
    }

    fn try_perform(&self, offset: u64, work: &mut Work<'_>, fua: bool) -> Result<(), Refusal> {
        let length = work.length();
        if offset.checked_add(length).is_none_or(|end| end > self.size.0) {
            return Err(Refusal::new(
                Errno::INVAL,
                format!(
                    "{} of {length} bytes at {offset}: the device has {}",
                    work.name(),
                    self.size.0
                ),
            ));
        }
        if length > u64::from(u32::MAX) {
            return Err(Refusal::new(Errno::INVAL, format!("{length} bytes are no one request")));
        }
        if length == 0 && !matches!(work, Work::Flush) {
            return Ok(());
        }
        if self.plain.load(Ordering::Acquire) {
            return Ok(work.apply(&self.data, offset)?);
        }
        let made_up = self.core().faults.made_up();
        let mut honestly = |offset: u64, work: &mut Work<'_>| {
            let due = self.unstalled()?.take(&self.data, offset, work, fua)?;
            self.deliver(&due)
        };
        match made_up {
            None => honestly(offset, work),
            Some(made_up) => made_up.perform(offset, work, &mut honestly),
        }
    }

    /// Waits until a stall ends or is cleared.
    fn unstalled(&self) -> Result<MutexGuard<'_, Core>, Refusal> {
        let mut core = self.core();
        let cuts = core.cuts.len();
        while let Some(moment) = core.stalled_until() {
            let left = core.clock.real(moment).saturating_since(MonotonicClock.now());
            let left = left.min(LONGEST_WAIT);
            let waited = self.changed.wait_timeout(core, left.into());
            core = waited.unwrap_or_else(PoisonError::into_inner).0;
            let now = core.now();
            core.cut_where_due(&self.data, now)?;
            if core.cuts.len() > cuts {
                return Err(Refusal::new(Errno::IO, "the power was cut before it was taken"));
            }
        }
        Ok(core)
    }

    /// Waits for a request's completion; fails if a power cut came before.
    fn deliver(&self, due: &Ticket) -> Result<(), Refusal> {
        if let Some(deadline) = due.deadline {
            let late = wait::until(deadline);
            self.lateness().record(late);
        }
        self.core().finish(&self.data, due)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // No panic can leave the core half changed, so a poisoned lock is as good as any.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lateness(&self) -> MutexGuard<'_, Histogram> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_plain(&self, core: &Core) {
        self.plain.store(core.is_plain(), Ordering::Release);
    }

    /// The device's own time.
    pub fn now(&self) -> Nanos {
        self.core().now()
    }
}
