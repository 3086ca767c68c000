use flashlag_flash::{Command, Flash, FlashError, Undo};
use flashlag_schema::CutReport;
use flashlag_schema::profile::TrimKind;
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use super::clock::DeviceClock;
use super::faults::Faults;
use super::power::Plan;
use super::record::Recorder;
use super::{Refusal, Work};
use crate::data::Data;

const SECTOR: u64 = 512;

/// What one request at a time goes through: time, flash, faults, power.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) clock: DeviceClock,
    /// Absent where nothing is modelled: then everything takes no time and is durable at once.
    pub(super) flash: Option<Modelled>,
    pub(super) faults: Faults,
    pub(super) plan: Option<Plan>,
    pub(super) powered: bool,
    /// When each power cut was.
    pub(super) cuts: Vec<Nanos>,
    pub(super) last_cut: Option<CutReport>,
    pub(super) read_only: Option<String>,
    pub(super) recorder: Option<Recorder>,
}

/// A modelled flash and what a power cut would bring back.
#[derive(Debug)]
pub(crate) struct Modelled {
    pub(super) flash: Flash,
    pub(super) undo: Undo,
    /// The last change that the flash has numbered.
    changes: u64,
    trim: TrimKind,
}

/// A request that was taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// When it ends, in the device's time.
    pub(super) ended: Nanos,
    /// And in real time; absent where nothing is modelled.
    pub(super) deadline: Option<Nanos>,
    /// Power cuts before it.
    pub(super) cuts: usize,
}

impl Modelled {
    /// A flash that keeps count, from now on, of what a power cut would lose.
    pub(crate) fn new(mut flash: Flash, trim: TrimKind) -> Modelled {
        flash.keep_ledger();
        Modelled { flash, undo: Undo::default(), changes: 0, trim }
    }

    /// Writes down what the command that the flash has just taken is about to change.
    fn note(&mut self, data: &Data, offset: u64, length: u64) -> std::io::Result<bool> {
        let (changes, oldest) = self.flash.changes();
        // A discard that the flash ignores has no number, and changes nothing.
        let changed = std::mem::replace(&mut self.changes, changes) != changes;
        self.undo.forget_before(oldest);
        if !changed {
            return Ok(false);
        }
        let (unit, capacity) = (self.flash.mapping_unit().0, self.flash.capacity().0);
        for number in offset / unit..(offset + length).div_ceil(unit) {
            let start = number * unit;
            let size = unit.min(capacity - start);
            let held = match data.next_held(start, start + size)? {
                None => None,
                Some(_) => {
                    let mut held = vec![0; size as usize];
                    data.read(start, &mut held)?;
                    Some(held.into())
                }
            };
            self.undo.note(changes, number, held);
        }
        Ok(true)
    }
}

impl Core {
    pub(crate) fn new(clock: DeviceClock, flash: Option<Modelled>) -> Core {
        Core {
            clock,
            flash,
            faults: Faults::default(),
            plan: None,
            powered: true,
            cuts: Vec::new(),
            last_cut: None,
            read_only: None,
            recorder: None,
        }
    }

    /// Whether requests may pass it by.
    pub(super) fn is_plain(&self) -> bool {
        self.flash.is_none()
            && self.faults.is_empty()
            && self.plan.is_none()
            && self.powered
            && self.read_only.is_none()
            && self.recorder.is_none()
    }

    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// What a discard forgets whole ones of; `None` where the device does not know discards.
    pub(super) fn discard_unit(&self) -> Option<u64> {
        match &self.flash {
            None => Some(SECTOR),
            Some(modelled) if modelled.trim == TrimKind::Ignored => None,
            Some(modelled) => Some(modelled.flash.mapping_unit().0),
        }
    }

    /// Hands a request over to the device, which does it at once and says when it will have ended.
    pub(super) fn take(
        &mut self,
        data: &Data,
        offset: u64,
        work: &mut Work<'_>,
        fua: bool,
    ) -> Result<Due, Refusal> {
        let now = self.now();
        self.cut_where_due(data, now)?;
        self.check(offset, work)?;
        let at = now.max(self.faults.stalled_until());
        let (started, ended) = self.submit(data, at, offset, work, fua)?;
        let cuts = self.cuts.len();
        if let Some(recorder) = &mut self.recorder {
            recorder.note(at, ended, offset, work, fua);
        }
        if let Some(plan) = &mut self.plan {
            plan.passed(started, ended);
        }
        let waits = self.flash.is_some() || ended > now;
        Ok(Due { ended, deadline: waits.then(|| self.clock.real(ended)), cuts })
    }

    /// Whether the device takes such a request now.
    fn check(&mut self, offset: u64, work: &Work<'_>) -> Result<(), Refusal> {
        if !self.powered {
            return Err(Refusal::new(Errno::IO, "the device has no power"));
        }
        let changes = matches!(work, Work::Write(_) | Work::Zeros(_) | Work::Discard(_));
        if changes && let Some(reason) = &self.read_only {
            return Err(Refusal::new(Errno::ROFS, reason.clone()));
        }
        self.faults.check(offset, work)
    }

    fn submit(
        &mut self,
        data: &Data,
        at: Nanos,
        offset: u64,
        work: &mut Work<'_>,
        fua: bool,
    ) -> Result<(Nanos, Nanos), Refusal> {
        let Some(modelled) = &mut self.flash else {
            work.apply(data, offset)?;
            return Ok((at, at));
        };
        let timing = match modelled.flash.submit(at, command(offset, work, fua)) {
            Ok(timing) => timing,
            Err(FlashError::WornOut { cycles }) => {
                let reason = FlashError::WornOut { cycles }.to_string();
                self.read_only = Some(reason.clone());
                return Err(Refusal::new(Errno::ROFS, reason));
            }
            Err(error) => return Err(Refusal::new(Errno::IO, error.to_string())),
        };
        match work {
            Work::Read(into) => data.read(offset, into)?,
            Work::Flush => {}
            Work::Write(_) | Work::Zeros(_) => {
                modelled.note(data, offset, work.length())?;
                work.apply(data, offset)?;
            }
            Work::Discard(length) => {
                // Units that are not wholly in the range keep what they hold.
                let unit = modelled.flash.mapping_unit().0;
                let (first, end) =
                    (offset.next_multiple_of(unit), (offset + *length) / unit * unit);
                let whole = end.saturating_sub(first);
                if modelled.note(data, first, whole)? && whole > 0 {
                    data.clear(first, whole)?;
                }
            }
        }
        Ok((timing.started, timing.ended))
    }

    /// Says whether a request has ended, whose time is over.
    pub(super) fn finish(&mut self, data: &Data, due: &Due) -> Result<(), Refusal> {
        self.cut_where_due(data, self.now())?;
        match self.cuts.get(due.cuts) {
            Some(cut) if *cut < due.ended => {
                Err(Refusal::new(Errno::IO, "the power was cut before it ended"))
            }
            _ => Ok(()),
        }
    }
}

/// What the flash is asked to do. It knows sectors only: of a part of one, all of it.
fn command(offset: u64, work: &Work<'_>, fua: bool) -> Command {
    let end = (offset + work.length()).next_multiple_of(SECTOR);
    let start = offset - offset % SECTOR;
    let (offset, length) = (Bytes(start), Bytes(end - start));
    match work {
        Work::Read(_) => Command::Read { offset, length },
        Work::Write(_) | Work::Zeros(_) => Command::Write { offset, length, fua },
        Work::Flush => Command::Flush,
        Work::Discard(_) => Command::Discard { offset, length },
    }
}
