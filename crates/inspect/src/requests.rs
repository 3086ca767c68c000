//! How many requests a disk has completed, and how long they waited.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flashlag_units::Nanos;

use crate::probe::Probe;
use crate::reason::Reason;

/// Longest `stat` of a disk.
const LONGEST: usize = 512;

/// Requests of one kind since the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    pub count: u64,
    /// The sum of their waits, in whole milliseconds.
    pub waited: Nanos,
}

impl Completed {
    /// What completed since an earlier reading; `None` if the counters went back.
    pub fn since(self, earlier: Completed) -> Option<Completed> {
        let count = self.count.checked_sub(earlier.count)?;
        Some(Completed { count, waited: Nanos(self.waited.0.checked_sub(earlier.waited.0)?) })
    }

    /// The mean wait; `None` without requests.
    pub fn mean(self) -> Option<Nanos> {
        self.waited.0.checked_div(self.count).map(Nanos)
    }

    fn plus(self, other: Completed) -> Completed {
        let count = self.count.saturating_add(other.count);
        Completed { count, waited: Nanos(self.waited.0.saturating_add(other.waited.0)) }
    }
}

/// The disks' requests at one moment. What an old kernel does not count stays at zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub reads: Completed,
    pub writes: Completed,
    pub discards: Completed,
    pub flushes: Completed,
    /// Requests that have not completed.
    pub in_flight: u64,
}

impl Requests {
    /// All requests that completed, of whatever kind.
    pub fn completed(&self) -> u64 {
        let all = [self.reads, self.writes, self.discards, self.flushes];
        all.iter().fold(0, |sum: u64, kind| sum.saturating_add(kind.count))
    }

    fn plus(&self, other: &Requests) -> Requests {
        Requests {
            reads: self.reads.plus(other.reads),
            writes: self.writes.plus(other.writes),
            discards: self.discards.plus(other.discards),
            flushes: self.flushes.plus(other.flushes),
            in_flight: self.in_flight.saturating_add(other.in_flight),
        }
    }
}

/// A reader of the requests of the disks below a directory, from files that stay open.
#[derive(Debug)]
pub struct RequestWatch(Vec<File>);

impl RequestWatch {
    /// Opens the disks' `stat`.
    ///
    /// # Errors
    /// No disk is below the directory, or its counters can't be read.
    pub fn open(probe: &Probe) -> Result<RequestWatch, Reason> {
        let stack = probe.stack().as_ref().map_err(Clone::clone)?;
        let open = |disk: &std::path::PathBuf| {
            let path = probe.real(&disk.join("stat"));
            File::open(&path).map_err(|error| Reason::call("open", Path::new(&path), error))
        };
        let files = stack.disks.iter().map(open).collect::<Result<Vec<File>, Reason>>()?;
        let watch = RequestWatch(files);
        match watch.look() {
            Some(_) => Ok(watch),
            None => Err("the disk's counters can't be read".into()),
        }
    }

    /// The counters now; `None` if a disk is gone.
    pub fn look(&self) -> Option<Requests> {
        let mut sum: Option<Requests> = None;
        for file in &self.0 {
            let mut text = [0u8; LONGEST];
            let length = file.read_at(&mut text, 0).ok()?;
            let disk = requests(std::str::from_utf8(text.get(..length)?).ok()?)?;
            sum = Some(sum.map_or(disk, |sum| sum.plus(&disk)));
        }
        sum
    }
}

/// A disk's `stat`: Documentation/block/stat.rst.
fn requests(text: &str) -> Option<Requests> {
    let mut numbers = [0u64; 17];
    let mut count = 0;
    for (number, word) in numbers.iter_mut().zip(text.split_ascii_whitespace()) {
        *number = word.parse().ok()?;
        count += 1;
    }
    let kind = |count: usize, waited: usize| Completed {
        count: numbers[count],
        waited: Nanos::from_millis(numbers[waited]),
    };
    (count >= 11).then(|| Requests {
        reads: kind(0, 3),
        writes: kind(4, 7),
        discards: kind(11, 14),
        flushes: kind(15, 16),
        in_flight: numbers[8],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_by_their_columns_and_an_old_kernel_has_fewer() {
        let seen = requests("8 1 16 5 9 2 32 7 3 40 50 4 0 800 11 6 12\n").unwrap();
        assert_eq!(seen.reads, Completed { count: 8, waited: Nanos::from_millis(5) });
        assert_eq!(seen.writes, Completed { count: 9, waited: Nanos::from_millis(7) });
        assert_eq!(seen.discards, Completed { count: 4, waited: Nanos::from_millis(11) });
        assert_eq!(seen.flushes, Completed { count: 6, waited: Nanos::from_millis(12) });
        assert_eq!((seen.in_flight, seen.completed()), (3, 27));
        let old = requests("8 1 16 5 9 2 32 7 0 40 50").unwrap();
        assert_eq!(old.flushes, Completed::default());
        assert_eq!((requests("8 1"), requests(""), requests("8 x")), (None, None, None));
    }

    #[test]
    fn what_went_back_has_no_difference() {
        let (a, b) =
            (Completed { count: 3, waited: Nanos(9) }, Completed { count: 5, waited: Nanos(4) });
        assert_eq!(b.since(a), None);
        assert_eq!(a.since(b), None);
        assert_eq!(a.since(Completed::default()).unwrap().mean(), Some(Nanos(3)));
        assert_eq!(Completed::default().mean(), None);
    }
}
