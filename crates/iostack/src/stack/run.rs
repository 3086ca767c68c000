//! Runs plans in virtual time: those of the caller, of the kernel's threads and of background jobs.

use flashlag_device::{Device, DeviceError, Errno, SyncCall, VirtualClock};
use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos, never};

use super::Inner;
use crate::background::{BackgroundJob, BackgroundTotal, DueTimes, Pending, RunningJob};
use crate::fs::{FileId, Quiet, Reason};
use crate::host_queue::Pid;
use crate::plan::{BlockRequest, Plan};
use crate::scheduler::account::Owner;

impl<D: Device<Clock = VirtualClock>> Inner<D> {
    pub(crate) fn now(&self) -> Nanos {
        self.scheduler.now()
    }

    /// Advances time to the next event, at most to `until`.
    pub(crate) fn step(&mut self, until: Nanos) {
        self.run_threads();
        // Do not schedule the journal's thread while a commit is in flight.
        let idle = self.journal_is_idle();
        let tick = if idle { self.fs.next_tick().min(self.next_rest()) } else { Nanos::MAX };
        let next = tick.min(self.next_writeback).min(self.next_background());
        let ended = self.scheduler.step(until.min(next));
        self.sample();
        for pid in ended {
            self.background_ended(pid);
        }
    }

    /// Starts work of the kernel's threads and of the background job that is due.
    fn run_threads(&mut self) {
        self.scheduler.begin_for(Owner::Kernel);
        self.start_threads();
        self.scheduler.begin_for(Owner::Caller);
        let begun = self.begin_background();
        self.keep_error(begun.err());
    }

    fn start_threads(&mut self) {
        let now = self.now();
        if self.next_writeback <= now {
            self.write_expired();
        }
        if self.fs.next_tick() <= now && self.journal_is_idle() {
            let plan = self.fs.tick(now);
            if !plan.is_empty() {
                self.thread = Some(self.spawn_sync(Plan::new(), plan));
            }
        }
        if self.next_rest() <= now && self.journal_is_idle() {
            let plan = self.quiet().map(|quiet| self.fs.rest(&quiet)).unwrap_or_default();
            if plan.is_empty() {
                self.rested = now;
            } else {
                self.thread = Some(self.scheduler.spawn(plan, &[]));
            }
        }
    }

    /// Since when the device has been idle; `None` while it is not.
    fn quiet(&self) -> Option<Quiet> {
        let used = self.scheduler.unused_since()?;
        Some(Quiet { now: self.now(), used, rested: self.rested })
    }

    /// When the idle threads' work is due.
    fn next_rest(&self) -> Nanos {
        self.quiet().map_or(Nanos::MAX, |quiet| self.fs.next_rest(&quiet))
    }

    /// Whether neither a commit nor the filesystem's own thread is running.
    fn journal_is_idle(&mut self) -> bool {
        if let Some(pid) = self.thread
            && let Some(result) = self.scheduler.take(pid)
        {
            self.rested = result.as_ref().map_or(self.now(), |ended| *ended);
            self.keep_error(result.err());
            self.thread = None;
        }
        let commits = self.commit.is_some_and(|pid| !self.scheduler.has_ended(pid));
        self.thread.is_none() && !commits
    }

    pub(super) fn keep_error(&mut self, error: Option<DeviceError>) {
        if let Some(error) = error {
            self.late_error.get_or_insert(error);
        }
    }

    /// Waits for a process to end, and then for the caller to wake.
    pub(crate) fn wait(&mut self, pid: Pid) -> Result<Nanos, DeviceError> {
        loop {
            if let Some(result) = self.scheduler.take(pid) {
                let waking = self.cpus.wake(0, self.now());
                if let Some(waited) = &mut self.waited {
                    *waited = waited.plus(&self.scheduler.taken().unwrap_or_default());
                    waited.add(Wait::Cpu, waking);
                }
                self.pass_until(self.now().plus(waking));
                return result;
            }
            self.step(Nanos::MAX);
        }
    }

    /// Starts a plan. A plan with a checkpoint waits for a commit that is in flight.
    pub(crate) fn spawn(&mut self, plan: Plan) -> Pid {
        if plan.commits {
            return self.spawn_sync(Plan::new(), plan);
        }
        self.scheduler.spawn(plan, &[])
    }

    /// Carries a plan out.
    pub(super) fn run(&mut self, plan: Plan) -> Result<Nanos, DeviceError> {
        let pid = self.spawn(plan);
        self.wait(pid)
    }

    /// Starts the plan of a sync. It waits for a commit in flight and for `before`, the data, which
    /// itself waits for nothing. If the plan has requests, they also follow what an atomic write
    /// left in flight; a sync with nothing to do does not wait for that.
    pub(crate) fn spawn_sync(&mut self, before: Plan, plan: Plan) -> Pid {
        let unwaited = self.unwaited.filter(|_| !plan.is_empty());
        self.spawn_behind(unwaited, before, plan)
    }

    /// Starts to write the data of an atomic write. The data follows what the previous atomic write
    /// left in flight only behind a checkpoint that makes room, or if pages wait in memory
    /// (`inmem`): in a second inode they have blocks of their own.
    pub(super) fn spawn_atomic_data(&mut self, before: Plan, plan: Plan) -> Pid {
        let follows = plan.commits || self.spec.atomic_in_memory;
        let unwaited = self.unwaited.filter(|_| follows);
        self.spawn_behind(unwaited, before, plan)
    }

    fn spawn_behind(&mut self, earlier: Option<Pid>, before: Plan, plan: Plan) -> Pid {
        let commits = plan.commits;
        let before = self.scheduler.spawn(before, &[]);
        let after: Vec<Pid> = self.commit.into_iter().chain(earlier).chain([before]).collect();
        let pid = self.scheduler.spawn(plan, &after);
        self.scheduler.detach(before);
        if commits {
            self.commit = Some(pid);
        }
        pid
    }

    /// Lets time pass.
    pub(crate) fn pass_until(&mut self, time: Nanos) {
        while self.now() < time {
            self.step(time);
        }
    }

    /// Lets the caller work on its CPU, for `work` at full speed.
    pub(crate) fn compute(&mut self, work: Nanos) {
        let time = self.cpus.caller(self.now(), work);
        if let Some(waited) = &mut self.waited {
            let lost = self.cpus.preempted().min(time);
            waited.add(Wait::Cpu, lost);
            waited.add(Wait::Executing, time.since(lost));
        }
        if time > Nanos::ZERO {
            self.pass_until(self.now().plus(time));
        }
    }

    pub(super) fn start_background(
        &mut self,
        job: BackgroundJob,
        due: Option<DueTimes>,
    ) -> Result<(), DeviceError> {
        self.end_background();
        let now = self.now();
        let mut running = RunningJob::new(job, now, due);
        (0..running.job.depth.max(1)).for_each(|_| running.schedule_next(now));
        self.background = Some(running);
        self.begin_background()
    }

    /// When the background job's next request is due.
    fn next_background(&self) -> Nanos {
        let next = self.background.as_ref().and_then(RunningJob::next_start);
        next.unwrap_or(Nanos::MAX)
    }

    /// Begins the requests of the background job that are due.
    fn begin_background(&mut self) -> Result<(), DeviceError> {
        let now = self.now();
        if self.next_background() > now {
            return Ok(());
        }
        let Some(mut running) = self.background.take() else { return Ok(()) };
        self.scheduler.begin_for(Owner::Other);
        let mut begun = Ok(());
        while begun.is_ok() && running.take_due(now) {
            begun = self.begin_request(&mut running);
        }
        self.scheduler.begin_for(Owner::Caller);
        self.background = Some(running);
        begun
    }

    fn begin_request(&mut self, running: &mut RunningJob) -> Result<(), DeviceError> {
        let mut plan = Plan::new();
        let call = self.call_time(running.job.block.0, true);
        plan.then_compute(self.cpus.beside(self.now(), call));
        let (file, at) = running.place();
        let plan = self.background_plan(&running.job, file, at, plan)?;
        let pid = self.spawn(plan);
        running.under_way.push(Pending { pid, is_written: false, file });
        Ok(())
    }

    fn background_plan(
        &mut self,
        job: &BackgroundJob,
        file: FileId,
        at: u64,
        mut plan: Plan,
    ) -> Result<Plan, DeviceError> {
        let now = self.now();
        if !job.writes {
            let runs = self.fs.locate(file, at, job.block.0);
            if runs.is_empty() {
                let name = self.named.get(&file).map_or("a file", String::as_str);
                return Err(DeviceError::os("read", name, Some(Bytes(at)), Errno::NXIO));
            }
            plan.then(runs.into_iter().map(BlockRequest::Read).collect());
            return Ok(plan);
        }
        let written = self.fs.write(now, file, &[(at, job.block.0)], Reason::Direct);
        plan.then_plan(written.map_err(|_| self.no_room("write", file))?);
        self.fs.touch(now, file);
        Ok(plan)
    }

    fn background_ended(&mut self, pid: Pid) {
        let Some(running) = &mut self.background else { return };
        let Some(index) = running.under_way.iter().position(|one| one.pid == pid) else { return };
        let (one, block, think) = (running.under_way[index], running.job.block, running.job.think);
        if let Some(call) = running.job.durable.filter(|_| running.job.writes)
            && !one.is_written
        {
            self.background_sync(index, one.file, call);
            return;
        }
        running.under_way.swap_remove(index);
        if let Some(Err(error)) = self.scheduler.take(pid) {
            // End the job: a device that refuses at once would be called forever.
            self.keep_error(Some(error));
            return;
        }
        running.total.ops += 1;
        running.total.bytes = running.total.bytes.plus(block);
        running.schedule_next(self.scheduler.now().plus(think));
        let begun = self.begin_background();
        self.keep_error(begun.err());
    }

    /// Begins the sync of a background write once its data is written: a commit holds only what
    /// changed before it.
    fn background_sync(&mut self, index: usize, file: FileId, call: SyncCall) {
        let now = self.now();
        let plan = self.fs.sync(now, Some(file), call == SyncCall::Data);
        let mut before = Plan::new();
        before.then_compute(self.cpus.beside(now, self.sync_time()));
        self.scheduler.begin_for(Owner::Other);
        let pid = self.spawn_sync(before, plan);
        self.scheduler.begin_for(Owner::Caller);
        let Some(one) = self.background.as_mut().and_then(|job| job.under_way.get_mut(index))
        else {
            never!("a background job lost a request while that was made durable");
            return;
        };
        let written = std::mem::replace(one, Pending { pid, is_written: true, file });
        let result = self.scheduler.take(written.pid);
        self.keep_error(result.and_then(Result::err));
    }

    pub(super) fn end_background(&mut self) -> Option<BackgroundTotal> {
        let mut running = self.background.take()?;
        let elapsed = self.now().since(running.began);
        for Pending { pid, .. } in running.under_way.drain(..) {
            let result = self.wait(pid);
            self.keep_error(result.err());
        }
        Some(BackgroundTotal { elapsed, ..running.total })
    }

    /// CPU time of a call that moves `bytes`, direct or through the page cache.
    pub(crate) fn call_time(&self, bytes: u64, direct: bool) -> Nanos {
        let per_kib = |cost: Nanos| Nanos((cost.0 * bytes).div_ceil(1024));
        let pinned = self.model.per_kib_direct.filter(|_| direct);
        let moved = pinned.unwrap_or(self.model.per_kib).0;
        let mut time = self.model.call.0.plus(per_kib(moved));
        if self.spec.fuse {
            time = time.plus(self.fuse_time(bytes)).plus(per_kib(self.model.fuse_per_kib.0));
        }
        time
    }

    /// CPU time of an fsync.
    pub(crate) fn sync_time(&self) -> Nanos {
        let fuse = if self.spec.fuse { self.fuse_time(0) } else { Nanos::ZERO };
        self.model.sync_call.0.plus(fuse)
    }

    /// One request to the FUSE daemon per 128 KiB (`FUSE_MAX_PAGES_PER_REQ`).
    fn fuse_time(&self, bytes: u64) -> Nanos {
        let requests = Bytes(bytes).0.div_ceil(128 << 10).max(1);
        Nanos(self.model.fuse_call.0.0 * requests)
    }
}
