use flashlag_flash::{FlashError, SECTOR};
use flashlag_schema::CutReport;
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use super::clock::DeviceClock;
use super::faults::Faults;
use super::modelled::ModelledFlash;
use super::power::Plan;
use super::request::{Refusal, Work};
use crate::data::Data;
use crate::record::{Record, RecordKind, Recorder};
use crate::store::Store;

/// The state that requests use one at a time: clock, flash, faults, power.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) clock: DeviceClock,
    /// The modelled flash; with `None`, every request takes no time and is durable at once.
    pub(super) flash: Option<ModelledFlash>,
    pub(super) faults: Faults,
    pub(super) plan: Option<Plan>,
    pub(super) powered: bool,
    /// Whether the device is closed: its state is stored, and it refuses requests.
    pub(super) closed: bool,
    /// Moments of the power cuts.
    pub(super) cuts: Vec<Nanos>,
    pub(super) last_cut: Option<CutReport>,
    pub(super) read_only: Option<String>,
    pub(super) recorder: Option<Recorder>,
    /// Where the flash's state is stored.
    pub(super) store: Option<Store>,
    /// Slow requests, if they are listed.
    pub(super) slow: Option<super::slow::SlowRequests>,
}

/// An accepted request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// Its completion, in the device's time.
    pub(super) ended: Nanos,
    /// Its completion in real time; `None` if no flash is modelled.
    pub(super) deadline: Option<Nanos>,
    /// Number of power cuts before the request.
    pub(super) cuts: usize,
}

impl Core {
    pub(crate) fn new(
        clock: DeviceClock,
        flash: Option<ModelledFlash>,
        store: Option<Store>,
    ) -> Core {
        Core {
            clock,
            flash,
            faults: Faults::default(),
            plan: None,
            powered: true,
            closed: false,
            cuts: Vec::new(),
            last_cut: None,
            read_only: None,
            recorder: None,
            store,
            slow: None,
        }
    }

    /// Whether requests may go straight to the data.
    pub(super) fn is_plain(&self) -> bool {
        self.flash.is_none()
            && self.faults.is_empty()
            && self.plan.is_none()
            && self.powered
            && !self.closed
            && self.read_only.is_none()
            && self.recorder.is_none()
    }

    /// Whether nothing was ever written to the flash.
    pub(super) fn is_fresh(&self) -> bool {
        let written = self.flash.as_ref().map(|modelled| modelled.flash.stats().host_written);
        written == Some(Bytes::ZERO)
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// From now on, lists the requests that take longer than `over`.
    pub(super) fn keep_slow(&mut self, over: Nanos) {
        if let Some(modelled) = &mut self.flash {
            modelled.flash.keep_waits();
            self.slow = Some(super::slow::SlowRequests::over(over));
        }
    }

    /// Until when a stall delays requests: its end, or a power cut before that. `None` if requests
    /// are taken, or refused, now.
    pub(super) fn stalled_until(&self) -> Option<Nanos> {
        let stalled = self.faults.stalled_until();
        let waits = self.powered && !self.closed && self.now() < stalled;
        let cut = self.plan.as_ref().and_then(Plan::moment).unwrap_or(stalled);
        waits.then_some(stalled.min(cut))
    }

    /// Size of the units that a discard forgets; `None` if the device does not support discards.
    pub(super) fn discard_unit(&self) -> Option<u64> {
        match &self.flash {
            None => Some(SECTOR.0),
            Some(modelled) => modelled.discard_unit(),
        }
    }

    /// Submits a request to the flash, which carries it out at once and computes when it completes.
    pub(super) fn take(
        &mut self,
        data: &Data,
        offset: u64,
        work: &mut Work<'_>,
        fua: bool,
    ) -> Result<Ticket, Refusal> {
        let now = self.now();
        self.cut_where_due(data, now)?;
        self.check(offset, work)?;
        let has_room = self.make_room(work)?;
        let mut record = record_of(now, offset, work, fua);
        let started = self.submit(data, &mut record, work)?;
        self.write_down(&record, work, has_room)?;
        if let Some(plan) = &mut self.plan {
            plan.passed(started, record.ended);
        }
        let deadline = self.flash.is_some().then(|| self.clock.real(record.ended));
        Ok(Ticket { ended: record.ended, deadline, cuts: self.cuts.len() })
    }

    /// Checks whether the device takes this request now.
    fn check(&mut self, offset: u64, work: &Work<'_>) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::new(Errno::SHUTDOWN, "the device is shutting down"));
        }
        if !self.powered {
            return Err(Refusal::new(Errno::IO, "the device has no power"));
        }
        let changes = matches!(work, Work::Write(_) | Work::Zeros(_) | Work::Discard(_));
        let writes = matches!(work, Work::Write(_) | Work::Zeros(_));
        if writes && self.read_only.is_none() && !self.faults.take_write(work.length()) {
            self.read_only = Some("the device was set to read only after some writes".to_owned());
        }
        if changes && let Some(reason) = &self.read_only {
            return Err(Refusal::new(Errno::ROFS, reason.clone()));
        }
        self.faults.check(offset, work)
    }

    /// Submits a request to the flash; sets the completion time in its record.
    fn submit(
        &mut self,
        data: &Data,
        record: &mut Record,
        work: &mut Work<'_>,
    ) -> Result<Nanos, Refusal> {
        let Some(modelled) = &mut self.flash else {
            work.apply(data, record.offset.0)?;
            return Ok(record.at);
        };
        let timing = match modelled.submit(record) {
            Ok(timing) => timing,
            Err(FlashError::WornOut { cycles }) => {
                let reason = FlashError::WornOut { cycles }.to_string();
                self.read_only = Some(reason.clone());
                return Err(Refusal::new(Errno::ROFS, reason));
            }
            Err(error) => return Err(Refusal::new(Errno::IO, error.to_string())),
        };
        record.ended = timing.ended;
        if let Some(slow) = &mut self.slow {
            let waited = modelled.flash.waited().unwrap_or_default();
            slow.note(record.at, record.ended, &waited);
        }
        if let Err(error) = modelled.apply(data, record, work) {
            // The flash has carried it out, but the log lacks it.
            if let Some(store) = &mut self.store {
                store.miss();
            }
            return Err(error.into());
        }
        Ok(timing.started)
    }

    /// Ensures that the request can be logged before the flash carries it out. If the host's disk
    /// is full, reads continue without a log; a state stored later includes what they did to the
    /// flash.
    fn make_room(&mut self, work: &Work<'_>) -> Result<bool, Refusal> {
        let Some(store) = &mut self.store else { return Ok(true) };
        match store.reserve() {
            Ok(()) => Ok(true),
            Err(_) if matches!(work, Work::Read(_)) => {
                store.miss();
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Logs a request, if requests are recorded or the flash's state is stored.
    fn write_down(
        &mut self,
        record: &Record,
        work: &Work<'_>,
        has_room: bool,
    ) -> Result<(), Refusal> {
        if let Some(recorder) = &mut self.recorder {
            let data = if let Work::Write(from) = work { Some(*from) } else { None };
            recorder.note(record, data);
        }
        let Some(store) = self.store.as_mut().filter(|_| has_room) else { return Ok(()) };
        match store.note(record) {
            Err(_) if record.kind == RecordKind::Read => return Ok(()),
            noted => noted?,
        }
        let (is_due, is_overdue) = (store.is_due(), store.is_overdue());
        if is_due && record.kind == RecordKind::Flush {
            let saved = self.save();
            // The previous state and its log stay valid, but the log must not grow forever.
            if is_overdue {
                saved.map_err(|error| Refusal::new(Errno::IO, error.to_string()))?;
            }
        }
        Ok(())
    }

    /// Stores the flash's state, if the device has a store.
    pub(super) fn save(&mut self) -> Result<(), crate::error::ServeError> {
        let now = self.clock.now();
        match (&mut self.store, &self.flash) {
            (Some(store), Some(modelled)) => store.save(&modelled.flash, now),
            _ => Ok(()),
        }
    }

    /// Whether a request succeeded, once its completion time has come.
    pub(super) fn finish(&mut self, data: &Data, due: &Ticket) -> Result<(), Refusal> {
        self.cut_where_due(data, self.now())?;
        match self.cuts.get(due.cuts) {
            Some(cut) if *cut < due.ended => {
                Err(Refusal::new(Errno::IO, "the power was cut before it ended"))
            }
            _ => Ok(()),
        }
    }
}

fn record_of(at: Nanos, offset: u64, work: &Work<'_>, fua: bool) -> Record {
    let kind = match work {
        Work::Read(_) => RecordKind::Read,
        Work::Write(_) => RecordKind::Write,
        Work::Zeros(_) => RecordKind::Zeros,
        Work::Flush => RecordKind::Flush,
        Work::Discard(_) => RecordKind::Discard,
    };
    let (offset, length) = (Bytes(offset), Bytes(work.length()));
    Record { at, ended: at, offset, length, kind, fua, has_data: false }
}
