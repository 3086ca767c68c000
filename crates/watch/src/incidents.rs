//! Joins waits to incidents: waits of one cause in a row are one.

use flashlag_schema::history::Incident;
use flashlag_schema::{CauseBasis, StallCause};
use flashlag_units::Nanos;

use crate::waits::Wait;

/// A wait of the same cause within this time belongs to the same incident.
const TOGETHER: Nanos = Nanos::from_secs(60);
/// An incident that goes on is written again after this time.
const RENEWED: Nanos = Nanos::from_secs(600);

/// The incident that is going on.
#[derive(Debug, Default)]
pub struct Incidents {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    incident: Incident,
    from: Nanos,
    to: Nanos,
    /// What was reported of it, and when.
    reported: Option<(Nanos, u32)>,
}

/// What a wait did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It began an incident.
    Began,
    /// It is part of one.
    Continued,
}

impl Incidents {
    /// Adds a wait. `described` is asked for the incident where one begins.
    pub fn add(
        &mut self,
        wait: &Wait,
        cause: StallCause,
        described: impl FnOnce() -> Incident,
    ) -> (Joined, Option<Incident>) {
        if let Some(open) = &mut self.open
            && open.takes(wait, cause)
        {
            open.join(wait, cause);
            return (Joined::Continued, None);
        }
        let mut incident = described();
        incident.waits = 1;
        incident.longest_ns = wait.length;
        incident.kind = wait.kind;
        incident.usual_ns = wait.usual;
        incident.lasted_ns = wait.length;
        incident.cause = cause;
        let ended = self.end();
        self.open = Some(Open { incident, from: wait.from, to: wait.to, reported: None });
        (Joined::Began, ended)
    }

    /// What is to be written now: the incident that is over, or one that has begun or goes on.
    pub fn due(&mut self, now: Nanos) -> Option<Incident> {
        let open = self.open.as_mut()?;
        if now.saturating_since(open.to) > TOGETHER {
            return self.end();
        }
        let is_due = open.reported.is_none_or(|(at, waits)| {
            now.saturating_since(at) >= RENEWED && waits < open.incident.waits
        });
        is_due.then(|| {
            open.reported = Some((now, open.incident.waits));
            open.incident.clone()
        })
    }

    /// What goes on has another cause than it was said to have: unknown, and it is written again.
    pub fn withdraw(&mut self, cause: StallCause) {
        if let Some(open) = self.open.as_mut().filter(|open| open.incident.cause == cause) {
            open.incident.cause = StallCause::Storage;
            open.incident.cause_basis = CauseBasis::Measured;
            open.reported = None;
        }
    }

    /// Ends the open incident; returns it if that was not reported yet.
    pub fn end(&mut self) -> Option<Incident> {
        let open = self.open.take()?;
        let is_known = open.reported.is_some_and(|(_, waits)| waits == open.incident.waits);
        (!is_known).then_some(open.incident)
    }
}

impl Open {
    fn takes(&self, wait: &Wait, cause: StallCause) -> bool {
        let near = wait.from.saturating_since(self.to) <= TOGETHER;
        // Waits that overlap are one event seen twice, whatever each of them shows.
        let overlaps = wait.from < self.to && wait.to > self.from;
        near && (overlaps || cause == self.incident.cause)
    }

    fn join(&mut self, wait: &Wait, cause: StallCause) {
        self.to = self.to.max(wait.to);
        let incident = &mut self.incident;
        incident.waits = incident.waits.saturating_add(1);
        if incident.cause == StallCause::Storage && cause != StallCause::Storage {
            (incident.cause, incident.cause_basis) = (cause, CauseBasis::Inferred);
        }
        incident.lasted_ns = self.to.saturating_since(self.from).max(incident.lasted_ns);
        if wait.length > incident.longest_ns {
            incident.longest_ns = wait.length;
            incident.kind = wait.kind;
            incident.usual_ns = wait.usual;
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::history::WaitKind;

    use super::*;

    const CLEANING: StallCause = StallCause::Cleaning;
    const UNKNOWN: StallCause = StallCause::Storage;

    /// A wait from one millisecond to another.
    fn wait(from: u64, to: u64) -> Wait {
        let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
        Wait { from, to, length: to.since(from), kind: WaitKind::Write, split: None, usual: None }
    }

    /// What each wait did, and the incidents that were over with it or at the end: waits, cause, length in
    /// milliseconds.
    fn joined(waits: &[(Wait, StallCause)]) -> (Vec<Joined>, Vec<(u32, StallCause, u64)>) {
        let mut incidents = Incidents::default();
        let (mut did, mut over) = (Vec::new(), Vec::new());
        for (wait, cause) in waits {
            let (one, ended) = incidents.add(wait, *cause, Incident::default);
            did.push(one);
            over.extend(ended);
        }
        over.extend(incidents.end());
        let shown = |one: &Incident| (one.waits, one.cause, one.lasted_ns.0 / 1_000_000);
        (did, over.iter().map(shown).collect())
    }

    #[test]
    fn waits_of_one_cause_within_a_minute_are_one_incident() {
        let waits = [wait(0, 300), wait(60_300, 60_700), wait(120_701, 121_000)];
        let (did, over) = joined(&waits.map(|wait| (wait, CLEANING)));
        assert_eq!(did, [Joined::Began, Joined::Continued, Joined::Began]);
        assert_eq!(over, [(2, CLEANING, 60_700), (1, CLEANING, 299)]);
    }

    #[test]
    fn a_wait_of_another_cause_is_another_incident_unless_both_overlap() {
        let (did, over) = joined(&[(wait(0, 300), CLEANING), (wait(300, 700), UNKNOWN)]);
        assert_eq!(did, [Joined::Began, Joined::Began]);
        assert_eq!(over, [(1, CLEANING, 300), (1, UNKNOWN, 400)]);
        // One event that two sources saw: what one of them knows holds for it, whichever came first.
        for causes in [[CLEANING, UNKNOWN], [UNKNOWN, CLEANING]] {
            let (did, over) = joined(&[(wait(0, 300), causes[0]), (wait(299, 700), causes[1])]);
            assert_eq!(did, [Joined::Began, Joined::Continued]);
            assert_eq!(over, [(2, CLEANING, 700)]);
        }
        // The second ended before the first began.
        let (did, _) = joined(&[(wait(400, 700), CLEANING), (wait(0, 400), UNKNOWN)]);
        assert_eq!(did, [Joined::Began, Joined::Began]);
    }

    #[test]
    fn an_incident_is_written_at_once_then_every_ten_minutes_with_news_and_when_it_is_over() {
        let mut incidents = Incidents::default();
        let waits = |incidents: &mut Incidents, at: u64| {
            incidents.add(&wait(at, at + 300), CLEANING, Incident::default);
        };
        let due = |incidents: &mut Incidents, millis| {
            incidents.due(Nanos::from_millis(millis)).map(|incident| incident.waits)
        };
        waits(&mut incidents, 0);
        assert_eq!(due(&mut incidents, 300), Some(1));
        assert_eq!(due(&mut incidents, 301), None);
        (1..=12).for_each(|minute| waits(&mut incidents, minute * 50_000));
        assert_eq!(due(&mut incidents, 600_299), None);
        assert_eq!(due(&mut incidents, 600_300), Some(13));
        // No news, then the end: it is known already.
        assert_eq!(due(&mut incidents, 660_300), None);
        assert_eq!(due(&mut incidents, 660_301), None);
        assert_eq!(due(&mut incidents, 1_300_000), None);
        waits(&mut incidents, 1_400_000);
        assert_eq!(due(&mut incidents, 1_400_300), Some(1));
        waits(&mut incidents, 1_410_000);
        assert_eq!(due(&mut incidents, 1_470_300), None);
        assert_eq!(due(&mut incidents, 1_470_301), Some(2));
    }

    #[test]
    fn a_cause_that_is_withdrawn_is_unknown_and_written_again() {
        let mut incidents = Incidents::default();
        incidents.add(&wait(0, 300), CLEANING, Incident::default);
        incidents.due(Nanos::from_millis(300));
        incidents.withdraw(StallCause::Discard);
        assert_eq!(incidents.due(Nanos::from_millis(400)), None);
        incidents.withdraw(CLEANING);
        let again = incidents.due(Nanos::from_millis(500)).map(|incident| incident.cause);
        assert_eq!(again, Some(UNKNOWN));
    }
}
