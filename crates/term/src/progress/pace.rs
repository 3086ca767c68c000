use std::collections::VecDeque;
use std::time::Instant;

use flashlag_units::{Bytes, Nanos};

/// The current pace of a fill. Its average would mislead: storage slows down as it fills.
#[derive(Debug)]
pub(super) struct Pace {
    /// Times and bytes written, a fiftieth of the whole apart, oldest first.
    marks: VecDeque<(Instant, Bytes)>,
}

/// Number of kept marks: the latest tenth of the fill.
const MARKS: usize = 6;
/// Marks in a whole fill.
const STEPS: u64 = 50;

impl Pace {
    pub(super) fn new(began: Instant) -> Pace {
        Pace { marks: VecDeque::from([(began, Bytes::ZERO)]) }
    }

    /// Notes that `written` of `limit` bytes are written at `now`.
    pub(super) fn observe(&mut self, written: Bytes, limit: Bytes, now: Instant) {
        let step = Bytes((limit.0 / STEPS).max(1));
        let due = self.marks.back().is_none_or(|(_, last)| written >= last.plus(step));
        if due {
            self.marks.push_back((now, written));
            while self.marks.len() > MARKS {
                self.marks.pop_front();
            }
        }
    }

    /// The remaining time; `None` before anything was written.
    pub(super) fn left(&self, written: Bytes, limit: Bytes, now: Instant) -> Option<Nanos> {
        let (from, before) = self.marks.front()?;
        let done = written.saturating_minus(*before);
        if done == Bytes::ZERO {
            return None;
        }
        let took = now.saturating_duration_since(*from).as_secs_f64();
        let left = limit.saturating_minus(written).0 as f64 / done.0 as f64 * took;
        Some(Nanos((left * 1e9) as u64))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fill_that_slows_down_is_judged_by_its_latest_tenth() {
        let (began, limit) = (Instant::now(), Bytes(1_000));
        let at = |seconds: f64| began + Duration::from_secs_f64(seconds);
        let mut pace = Pace::new(began);
        assert_eq!(pace.left(Bytes::ZERO, limit, at(1.0)), None);
        // 100 B/s up to 800, then 10 B/s.
        for written in 1..=900u64 {
            let now = if written <= 800 {
                at(written as f64 / 100.0)
            } else {
                at(8.0 + (written - 800) as f64 / 10.0)
            };
            pace.observe(Bytes(written), limit, now);
        }
        let left = pace.left(Bytes(900), limit, at(18.0)).unwrap().as_secs_f64();
        assert!((9.0..=11.0).contains(&left), "{left} s for 100 B at 10 B/s");
        assert_eq!(pace.left(limit, limit, at(28.0)), Some(Nanos::ZERO));
    }
}
