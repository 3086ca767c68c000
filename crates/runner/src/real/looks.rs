//! Reads counters around stalls, in a thread, ten times a second.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flashlag_inspect::{CounterWatch, Probe};
use flashlag_schema::Looks;

/// Interval between two readings, each of which takes a tenth of a millisecond.
const PERIOD: Duration = Duration::from_millis(100);

/// The thread that reads the counters; it ends when this value is dropped.
#[derive(Debug)]
pub(super) struct LooksThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    watch: CounterWatch,
    probe: Probe,
    looks: Looks,
}

impl Kept {
    fn look(&mut self) {
        let hottest = self.probe.storage_temperature().value().copied();
        let look = self.watch.look(hottest);
        self.looks.push(look);
    }
}

impl LooksThread {
    /// Starts it.
    pub fn start(probe: &Probe) -> io::Result<LooksThread> {
        let watch = CounterWatch::open(probe);
        let looks = Looks::lacking(watch.missing().to_vec());
        let kept = Mutex::new(Kept { watch, probe: probe.clone(), looks });
        let shared = Arc::new(Shared { ends: AtomicBool::new(false), kept });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("looks".to_owned()).spawn(move || {
            while !of_thread.ends.load(Ordering::Relaxed) {
                of_thread.kept().look();
                std::thread::park_timeout(PERIOD);
            }
        })?;
        Ok(LooksThread { shared, thread: Some(thread) })
    }

    /// Discards earlier readings, and reads once.
    pub fn begin(&self) {
        let mut kept = self.shared.kept();
        let missing = std::mem::take(&mut kept.looks.missing);
        kept.looks = Looks::lacking(missing);
        kept.look();
    }

    /// All readings since the last call of `begin`, and one taken now.
    pub fn all(&self) -> Looks {
        let mut kept = self.shared.kept();
        kept.look();
        kept.looks.clone()
    }
}

impl Shared {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LooksThread {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_inspect::Root;

    use super::*;

    #[test]
    fn readings_begin_anew_with_a_phase_and_end_with_one_of_the_moment() {
        let home = tempfile::tempdir().unwrap();
        let looks = LooksThread::start(&Probe::open(&Root::system(), home.path())).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        let before = looks.all();
        looks.begin();
        let all = looks.all();
        let first = all.as_slice().first().unwrap().at;
        assert!(first >= before.as_slice().last().unwrap().at);
        assert!(all.as_slice().len() >= 2);
        assert_eq!(all.missing, before.missing);
    }
}
