//! Classes of fill level.

/// The word for an unknown value.
pub const UNKNOWN: &str = "unknown";

/// The classes of fill level, emptiest first.
const FILLS: [&str; 5] =
    ["under 50% full", "50 to 80% full", "80 to 95% full", "over 95% full", UNKNOWN];

/// The class of a fill level in percent. A boundary belongs to the class above it.
pub fn fill_class(percent: Option<f64>) -> &'static str {
    match percent {
        None => UNKNOWN,
        Some(..50.0) => FILLS[0],
        Some(..80.0) => FILLS[1],
        Some(..95.0) => FILLS[2],
        Some(_) => FILLS[3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_fill_belongs_to_the_class_above_it() {
        for (percent, class) in [(0.0, 0), (49.9, 0), (50.0, 1), (80.0, 2), (95.0, 3), (100.0, 3)] {
            assert_eq!(fill_class(Some(percent)), FILLS[class], "{percent}");
        }
        assert_eq!(fill_class(None), UNKNOWN);
    }
}
