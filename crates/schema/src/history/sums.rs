//! What a watch has seen so far, for programs that ask again and again.

use super::{Span, Subject};
use crate::stall::StallCause;

/// The sums of a watch since it began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// What is watched.
    pub subject: Option<Subject>,
    /// Everything since the beginning, in one span.
    pub span: Span,
    /// Incidents by cause.
    pub incidents: Vec<(StallCause, u64)>,
}

impl Sums {
    /// Counts an incident.
    pub fn count(&mut self, cause: StallCause) {
        match self.incidents.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.incidents.push((cause, 1)),
        }
    }
}
