use flashlag_units::Nanos;

/// A logarithmic latency axis in columns: always 0.1 ms to 10 s, so that pictures can be compared;
/// extended by whole decades only for data beyond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Powers of ten of nanoseconds.
    first: u32,
    last: u32,
    columns: usize,
}

/// 0.1 ms and 10 s.
const FIRST: u32 = 5;
const LAST: u32 = 10;

impl Axis {
    /// An axis that covers all of `values`.
    pub(crate) fn over(values: impl Iterator<Item = Nanos>, columns: usize) -> Axis {
        let mut axis = Axis { first: FIRST, last: LAST, columns: columns.max(2) };
        for value in values {
            let decade = value.0.max(1).ilog10();
            axis.first = axis.first.min(decade);
            if value.0 > 10u64.pow(axis.last) {
                axis.last = (decade + 1).min(19);
            }
        }
        axis
    }

    /// The column nearest to a value.
    pub(crate) fn place(&self, value: Nanos) -> usize {
        let decades = (self.last - self.first).max(1);
        let along = ((value.0.max(1) as f64).log10() - f64::from(self.first)) / f64::from(decades);
        let last = self.columns - 1;
        ((along * last as f64).round().max(0.0) as usize).min(last)
    }

    /// Width in columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// The labels of the decades with their columns; a bare number is milliseconds. Where not all have
    /// room, every second decade has one, or every third: at equal distances.
    pub(crate) fn labels(&self) -> String {
        let every = (1..=self.last - self.first).find_map(|step| self.labelled(step));
        every.unwrap_or_else(|| name(self.first))
    }

    /// A label for each `step`th decade; `None` where two of them touch.
    fn labelled(&self, step: u32) -> Option<String> {
        let mut text = String::new();
        for power in (self.first..=self.last).step_by(step as usize) {
            let label = name(power);
            let place = self.place(Nanos(10u64.pow(power)));
            let length = label.chars().count();
            // The first label begins at its column, the last ends at it, the others are centred.
            let start = match power {
                p if p == self.first => place,
                p if p == self.last => (place + 1).saturating_sub(length),
                _ => place.saturating_sub(length / 2),
            };
            let used = text.chars().count();
            if used > 0 && start <= used {
                return None;
            }
            text.extend(std::iter::repeat_n(' ', start.saturating_sub(used)));
            text.push_str(&label);
        }
        Some(text)
    }
}

fn name(power: u32) -> String {
    match power {
        0..=2 => format!("{} ns", 10u64.pow(power)),
        3 => "0.001".to_owned(),
        4 => "0.01".to_owned(),
        5 => "0.1".to_owned(),
        6..=8 => 10u64.pow(power - 6).to_string(),
        _ => format!("{} s", 10u64.pow(power.min(19) - 9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_are_evenly_spaced_and_the_ends_are_the_ends() {
        let axis = Axis::over(std::iter::empty(), 51);
        let decades = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];
        assert_eq!(decades.map(|nanos| axis.place(Nanos(nanos))), [0, 10, 20, 30, 40, 50]);
        assert_eq!(axis.place(Nanos::ZERO), 0);
        assert_eq!(axis.place(Nanos::MAX), 50);
    }

    #[test]
    fn the_axis_grows_only_where_the_data_is_beyond_it() {
        let axis = Axis::over([Nanos(99_999), Nanos(10_000_000_000)].into_iter(), 40);
        assert_eq!((axis.first, axis.last), (4, 10));
        assert_eq!(Axis::over([Nanos::MAX].into_iter(), 40).last, 19);
    }

    #[test]
    fn labels_are_evenly_apart_and_of_one_unit_up_to_a_second() {
        let wide = Axis::over([Nanos(42_000)].into_iter(), 20);
        assert_eq!(wide.labels(), "0.01  1     100 10 s");
        for columns in 2..120 {
            for least in [42_000, 4_200, 42] {
                let labels = Axis::over([Nanos(least)].into_iter(), columns).labels();
                assert!(!labels.contains("µs"), "{labels}");
            }
        }
    }

    #[test]
    fn labels_stay_within_the_axis_and_apart() {
        for columns in 2..120 {
            let labels = Axis::over(std::iter::empty(), columns).labels();
            assert!(labels.chars().count() <= columns.max(6), "{columns}: {labels}");
        }
        assert_eq!(
            Axis::over(std::iter::empty(), 41).labels(),
            "0.1     1      10      100     1 s   10 s"
        );
    }
}
