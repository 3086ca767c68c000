//! What was planted, and what of it a watch has found.

use flashlag_schema::StallCause;
use flashlag_schema::history::{Incident, Trend};
use flashlag_units::Nanos;

/// An incident may begin or end this long before or after what caused it, in milliseconds.
const BESIDE_MS: u64 = 1000;

/// Something that was planted, or that the model did by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    pub what: &'static str,
    /// The cause of its waits; `None` if none of its waits is one for storage.
    pub cause: Option<StallCause>,
    /// In milliseconds since 1970.
    pub from_ms: u64,
    pub to_ms: u64,
    /// The longest time that a program waited in a call.
    pub longest: Nanos,
    /// The longest time that a probe or a single request took, of which a watch may know.
    pub seen: Nanos,
}

impl Planted {
    fn holds(&self, incident: &Incident) -> bool {
        let end = incident.start_ms.saturating_add(incident.lasted_ns.0 / 1_000_000);
        incident.start_ms <= self.to_ms.saturating_add(BESIDE_MS)
            && end.saturating_add(BESIDE_MS) >= self.from_ms
    }
}

/// What was found of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub what: &'static str,
    /// Whether it is a wait for storage at all.
    pub is_wait: bool,
    /// How many were planted.
    pub planted: u32,
    /// In how many of them a program's call took longer than the limit.
    pub waited: u32,
    /// In how many of them a probe or a single request did, which is what a watch calls an incident.
    pub visible: u32,
    /// In how many of these an incident was found.
    pub found: u32,
    /// Found, and with the right cause.
    pub right: u32,
    /// Found, and no rule names the cause.
    pub unknown: u32,
}

/// What a watch has found of what was planted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    pub rows: Vec<Row>,
    /// Incidents that began where nothing made anyone wait for storage.
    pub false_ones: u32,
    /// How many times as long each request took at the end as at the beginning.
    pub grown: f64,
    /// What was found of that.
    pub trend: Option<Trend>,
}

/// Compares incidents with what was planted.
pub(super) fn score(planted: &[Planted], incidents: &[Incident], over: Nanos) -> Score {
    let mut rows: Vec<Row> = Vec::new();
    for one in planted {
        let index = rows.iter().position(|row| row.what == one.what).unwrap_or_else(|| {
            rows.push(Row {
                what: one.what,
                is_wait: one.cause.is_some(),
                planted: 0,
                waited: 0,
                visible: 0,
                found: 0,
                right: 0,
                unknown: 0,
            });
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.planted += 1;
        row.waited += u32::from(one.cause.is_some() && one.longest > over);
        let Some(cause) = one.cause.filter(|_| one.seen > over) else { continue };
        row.visible += 1;
        let Some(found) = incidents.iter().find(|incident| one.holds(incident)) else { continue };
        row.found += 1;
        row.right += u32::from(found.cause == cause);
        row.unknown += u32::from(found.cause == StallCause::Storage);
    }
    let is_false = |incident: &&Incident| {
        !planted.iter().any(|one| one.cause.is_some() && one.holds(incident))
    };
    let false_ones = incidents.iter().filter(is_false).count() as u32;
    Score { rows, false_ones, ..Score::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_where_nothing_was_planted_is_false_and_one_with_another_cause_not_right() {
        let plant = |what, cause, from_ms: u64, seen| Planted {
            what,
            cause,
            from_ms,
            to_ms: from_ms + 5_000,
            longest: Nanos::from_millis(900),
            seen: Nanos::from_millis(seen),
        };
        let planted = [
            plant("freeze", Some(StallCause::GarbageCollection), 10_000, 900),
            plant("freeze", Some(StallCause::GarbageCollection), 110_000, 900),
            plant("freeze", Some(StallCause::GarbageCollection), 210_000, 100),
            plant("stop", None, 310_000, 900),
        ];
        let incident = |start_ms, cause| Incident {
            start_ms,
            lasted_ns: Nanos::from_millis(900),
            cause,
            ..Incident::default()
        };
        let incidents = [
            incident(11_000, StallCause::GarbageCollection),
            incident(111_000, StallCause::OtherIo),
            incident(311_000, StallCause::Storage),
            incident(500_000, StallCause::Storage),
        ];
        let score = score(&planted, &incidents, Nanos::from_millis(250));
        let [freeze, stop] = score.rows.as_slice() else { panic!("{score:?}") };
        assert_eq!((freeze.planted, freeze.waited, freeze.visible, freeze.found), (3, 3, 2, 2));
        assert_eq!((freeze.right, freeze.unknown), (1, 0));
        assert_eq!((stop.planted, stop.found, stop.is_wait), (1, 0, false));
        assert_eq!(score.false_ones, 2);
    }
}
