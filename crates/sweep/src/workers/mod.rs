//! A sweep in worker processes: a point that ends its process becomes a row that says so, and
//! nothing else is lost.

mod frame;
mod process;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_units::Bytes;

use crate::chunk::{Chunks, results_of};
use crate::error::SweepError;
use crate::measure::Stopped;
use crate::row::{Measured, Row};
use crate::side_by_side::{Given, Progress, Until, side_by_side};
use crate::sweep::Sweep;
use crate::table::Finished;
use frame::{Said, Task};
use process::{Place, Process, Program};

pub use work::be_a_worker;

/// The hidden command of `flashlag` that runs a worker.
pub const WORKER: &str = "sweep-worker";

/// How often to try a point whose process ends.
const TRIES: u32 = 3;

/// Worker processes on this machine.
#[derive(Clone, Debug)]
pub struct Workers {
    program: Program,
    count: usize,
    tries: u32,
}

impl Workers {
    /// `count` processes of a program that calls [`be_a_worker`] if it gets these arguments.
    pub fn new(program: PathBuf, arguments: Vec<OsString>, count: usize) -> Workers {
        let program = Program { path: program, arguments };
        Workers { program, count: count.max(1), tries: TRIES }
    }

    /// The same with another number of tries for a point whose process ends.
    #[must_use]
    pub fn with_tries(self, tries: u32) -> Workers {
        Workers { tries: tries.max(1), ..self }
    }

    /// Measures what is missing in these processes, and writes the table: the same bytes as
    /// [`run`](crate::run), except for points whose process ended each time. None of the processes
    /// is left when it returns.
    ///
    /// # Errors
    /// Fails as [`run`](crate::run) does, or if a program can't be started or is of another
    /// version.
    pub fn run(
        &self,
        sweep: Sweep,
        stop: &Arc<AtomicBool>,
        progress: Progress<'_>,
    ) -> Result<Finished, SweepError> {
        let places: Vec<Place> = (0..self.count).map(|_| Place::default()).collect();
        let until = Until { stop, error: &AtomicBool::new(false) };
        let worker = |at: usize| {
            let place = places.get(at);
            let mut worker = place.map(|place| Worker { workers: self, place, process: None });
            move |chunks: &Chunks, index: u64| match &mut worker {
                Some(worker) => worker.measure(chunks, index, until),
                None => Ok(Err(Stopped)),
            }
        };
        let kill = || places.iter().for_each(Place::kill);
        side_by_side(sweep, self.count, until, progress, &worker, &kill)
    }
}

/// A process, and its successor if it ends.
struct Worker<'a> {
    workers: &'a Workers,
    place: &'a Place,
    process: Option<Process>,
}

/// The points of a chunk that are measured so far.
#[derive(Default)]
struct Progressed {
    points: Vec<Measured>,
    /// How much the fill of the present point leaves free.
    leave: Option<Bytes>,
    /// How often the present point has ended its process.
    ends: u32,
}

impl Worker<'_> {
    fn measure(
        &mut self,
        chunks: &Chunks,
        index: u64,
        until: Until<'_>,
    ) -> Result<Given, SweepError> {
        let chunk = chunks.bytes(index)?;
        let all = chunks.points_of(index);
        let mut done = Progressed::default();
        while (done.points.len() as u64) < all {
            if until.is_over() {
                return Ok(Err(Stopped));
            }
            let process = match self.process.take() {
                Some(process) => Ok(process),
                None => self.started(until)?,
            };
            let Ok(mut process) = process else { return Ok(Err(Stopped)) };
            let task = Task { chunk: chunk.clone(), skip: done.points.len() as u64 };
            if process.send(&task).is_ok() && self.hear(&mut process, all, &mut done)? {
                self.process = Some(process);
                continue;
            }
            let how = process.end(self.place);
            if until.is_over() {
                return Ok(Err(Stopped));
            }
            done.ends += 1;
            if done.ends >= self.workers.tries {
                let times = done.ends;
                let error = format!("its process was ended {times} times, the last time {how}");
                let rows = vec![Row::failed(error)];
                done.points.push(Measured { leave: done.leave.take(), rows });
                done.ends = 0;
            }
        }
        results_of(chunks, index, done.points).map(Ok)
    }

    /// Receives the points that a process measures; `false` if the process ends before the last
    /// one.
    fn hear(
        &self,
        process: &mut Process,
        all: u64,
        done: &mut Progressed,
    ) -> Result<bool, SweepError> {
        while (done.points.len() as u64) < all {
            match process.receive() {
                Some(Said::Begun(leave)) => done.leave = leave,
                Some(Said::Measured(point)) => {
                    done.points.push(point);
                    (done.leave, done.ends) = (None, 0);
                }
                Some(Said::Refused(reason)) => {
                    self.place.kill();
                    return Err(SweepError::Worker { reason });
                }
                Some(Said::Hello(_)) | None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// A process that has reported this version, unless the sweep is stopped before.
    fn started(&self, until: Until<'_>) -> Result<Result<Process, Stopped>, SweepError> {
        let mut how = String::new();
        for _ in 0..self.workers.tries {
            let program = &self.workers.program;
            let mut process = Process::start(program, self.place).map_err(|error| {
                let reason = format!("cannot start {}: {error}", program.path.display());
                SweepError::Worker { reason }
            })?;
            if until.is_over() {
                self.place.kill();
            }
            match process.receive() {
                Some(Said::Hello(version)) => {
                    version.check("the worker's program")?;
                    return Ok(Ok(process));
                }
                _ => how = process.end(self.place),
            }
            // A sweep that ends kills this process, which is no fault of the program.
            if until.is_over() {
                return Ok(Err(Stopped));
            }
        }
        let program = self.workers.program.path.display();
        let reason = format!("{program} ends before it begins to measure, {how}");
        Err(SweepError::Worker { reason })
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(self.place);
        }
    }
}
