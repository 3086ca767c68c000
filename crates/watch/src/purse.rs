//! What flashlag may still write today.

use flashlag_units::{Bytes, Nanos};

const DAY: Nanos = Nanos::from_secs(86_400);
/// This part of a day's bytes may be written at once.
const AT_ONCE: u64 = 8;

/// Fills evenly, so that no 24 hours take more than a day's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Purse {
    daily: Bytes,
    /// Bytes that may be written now, times a day's nanoseconds.
    left: i128,
    at: Nanos,
}

impl Purse {
    /// A purse for that many bytes a day.
    pub fn new(daily: Bytes, now: Nanos) -> Purse {
        let left = i128::from(daily.0 / AT_ONCE) * i128::from(DAY.0);
        Purse { daily, left, at: now }
    }

    /// Whether that many bytes may be written now.
    pub fn has(&mut self, bytes: Bytes, now: Nanos) -> bool {
        let passed = now.saturating_since(self.at);
        self.at = self.at.max(now);
        let most = i128::from(self.daily.0 / AT_ONCE) * i128::from(DAY.0);
        let rate = i128::from(self.daily.0 - self.daily.0 / AT_ONCE);
        self.left = (self.left + rate * i128::from(passed.0)).min(most);
        self.left >= i128::from(bytes.0) * i128::from(DAY.0)
    }

    /// Takes what was written.
    pub fn take(&mut self, bytes: Bytes) {
        self.left -= i128::from(bytes.0) * i128::from(DAY.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_day_takes_more_than_its_bytes_and_a_steady_writer_gets_nearly_all() {
        for (record, every) in [(512, 60), (4096, 60), (3000, 1), (70_000, 3600)] {
            let mut purse = Purse::new(Bytes(1_000_000), Nanos::ZERO);
            let mut written = Vec::new();
            for second in (0..3 * 86_400).step_by(every) {
                let now = Nanos::from_secs(second as u64);
                if purse.has(Bytes(record), now) {
                    purse.take(Bytes(record));
                    written.push((second, record));
                }
            }
            for day in 0..48 {
                let from = day * 3600;
                let inside = written.iter().filter(|(at, _)| (from..from + 86_400).contains(at));
                let sum: u64 = inside.map(|(_, bytes)| bytes).sum();
                assert!(sum <= 1_000_000, "{record} every {every} s: {sum} from hour {day}");
                let wanted = record * (86_400 / every as u64);
                assert!(sum >= wanted.min(800_000), "{record} every {every} s: {sum}");
            }
        }
    }
}
