//! Commands to a running device.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flashlag_schema::{DeviceStats, LatencySummary, Lateness, StoredHistogram};
use flashlag_spec::FlashState;
use flashlag_units::Bytes;

use super::core::Core;
use super::made_up::MadeUp;
use super::power::Plan;
use super::slow::SlowRequests;
use super::{ModelledFlash, ServedDevice};
use crate::control::{Answer, Command, CutMoment, Fault, FaultKind};
use crate::error::CommandError;
use crate::record::{Head, Recorder, SCHEMA};
use crate::store::PRIVATE;
use flashlag_spec::target::TimeScale;

impl ServedDevice {
    /// Runs a command of the control socket.
    pub fn tell(&self, command: &Command) -> Result<Answer, CommandError> {
        let mut core = self.core();
        let now = core.now();
        core.cut_where_due(&self.data, now).map_err(CommandError::Store)?;
        let answer = match command {
            Command::Stat => Ok(Answer::Stats(Box::new(self.stats(&core)))),
            Command::Cut { moment, stay_off } => self.cut(&mut core, *moment, *stay_off),
            Command::On => done(core.switch_on(&self.data)),
            Command::Fault(fault) => set_fault(&mut core, fault).map(|()| Answer::Done),
            Command::Repair => {
                core.faults.clear();
                core.read_only = None;
                Ok(Answer::Done)
            }
            Command::Record { path, data, limit } => self
                .record(&mut core, path, *data, *limit)
                .map(|()| Answer::Done)
                .map_err(|source| match source.kind() {
                    io::ErrorKind::AlreadyExists => {
                        CommandError::RecordExists { path: path.clone() }
                    }
                    _ => CommandError::Record { path: path.clone(), source },
                }),
            Command::RecordStop => stop_recording(&mut core),
            Command::Load { image } => {
                self.load(&mut core, image).map(|()| Answer::Done).map_err(CommandError::Serve)
            }
            Command::TimeScale { times } => {
                core.clock.set_scale(TimeScale::of(*times)?);
                Ok(Answer::Done)
            }
            Command::KeepSlow { over_ns } => {
                core.keep_slow(*over_ns);
                Ok(Answer::Done)
            }
            Command::Slow => {
                Ok(Answer::Slow(core.slow.as_mut().map(SlowRequests::take).unwrap_or_default()))
            }
            Command::Quit => {
                self.shut(&mut core).map(|()| Answer::Done).map_err(CommandError::Serve)
            }
        };
        self.set_plain(&core);
        drop(core);
        self.changed.notify_all();
        answer
    }

    fn record(&self, core: &mut Core, path: &Path, data: bool, limit: Bytes) -> io::Result<()> {
        let modelled = core.flash.as_ref();
        let flash = modelled.map(|modelled| postcard::to_allocvec(&modelled.flash));
        let flash = flash.transpose().map_err(io::Error::other)?.unwrap_or_default();
        let head = Head {
            schema: SCHEMA.to_owned(),
            profile: self.profile.clone(),
            size_bytes: self.size,
            seed: self.settings.seed,
            began: core.now(),
            data,
            trim: modelled.map(ModelledFlash::trim).unwrap_or_default(),
            flash_bytes: flash.len() as u64,
        };
        // Create only new files: an existing one may be the store itself, a pipe that nobody reads,
        // or a link to somebody's file.
        let mut options = File::options();
        let file = options.write(true).create_new(true).mode(PRIVATE).open(path)?;
        core.recorder = Some(Recorder::new(file, &head, &flash, data, limit)?);
        Ok(())
    }

    fn cut(
        &self,
        core: &mut Core,
        moment: CutMoment,
        stay_off: bool,
    ) -> Result<Answer, CommandError> {
        let now = core.now();
        match Plan::new(moment, now, stay_off) {
            Some(plan) => {
                core.plan = Some(plan);
                Ok(Answer::Done)
            }
            None => {
                let report = core.cut(&self.data, now, stay_off);
                report.map(Answer::Cut).map_err(CommandError::Store)
            }
        }
    }

    fn stats(&self, core: &Core) -> DeviceStats {
        let lateness = core.flash.is_some().then(|| {
            let histogram = self.lateness();
            Lateness {
                summary: LatencySummary::from(&*histogram),
                histogram: StoredHistogram::from(&*histogram),
            }
        });
        DeviceStats {
            profile: self.profile.clone(),
            size_bytes: self.size,
            seed: self.settings.seed,
            time_scale: core.clock.scale().factor(),
            virtual_ns: core.now(),
            powered: core.powered,
            read_only: core.read_only.clone(),
            host: self.counts.requests(),
            flash: core.flash.as_ref().map(|modelled| state(&modelled.flash)),
            lateness_ns: lateness,
            power_cuts: core.cuts.len() as u64,
            last_cut: core.last_cut,
            faults: core.faults.len() as u64,
            recorded: core.recorder.as_ref().map(Recorder::requests),
        }
    }
}

fn stop_recording(core: &mut Core) -> Result<Answer, CommandError> {
    let recorder = core.recorder.take().ok_or(CommandError::NotRecording)?;
    match recorder.finish() {
        Ok((requests, complete)) => Ok(Answer::Recorded { requests, complete }),
        Err(error) => Err(CommandError::Recording(error)),
    }
}

fn done(result: io::Result<()>) -> Result<Answer, CommandError> {
    result.map(|()| Answer::Done).map_err(CommandError::Store)
}

fn set_fault(core: &mut Core, fault: &Fault) -> Result<(), CommandError> {
    match fault.kind {
        FaultKind::Error => core.faults.add(fault),
        FaultKind::StallNs(time) => {
            let until = core.now().plus(time);
            core.faults.stall_until(until);
            Ok(())
        }
        FaultKind::ReadOnlyAfter(bytes) => {
            core.faults.limit_writes(bytes.0);
            Ok(())
        }
        FaultKind::Wrap if fault.offset == Bytes::ZERO => Err(CommandError::NothingLeft),
        FaultKind::Wrap | FaultKind::Lose(_) | FaultKind::Flip => {
            let to = fault.length.map_or(u64::MAX, |length| fault.offset.plus(length).0);
            if let Some(made_up) = MadeUp::of(fault.kind, fault.offset.0, to) {
                core.faults.lose(made_up);
            }
            Ok(())
        }
        FaultKind::ReadOnly => {
            core.read_only = Some("the device was set to read only".to_owned());
            Ok(())
        }
    }
}

fn state(flash: &flashlag_flash::Flash) -> FlashState {
    FlashState::from(&flash.stats())
}
