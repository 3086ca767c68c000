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
