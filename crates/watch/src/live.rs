//! What a watch has seen since it began, for who asks while it goes on.

use std::sync::{Mutex, PoisonError};

use flashlag_schema::history::Sums;

/// The sums, renewed every other second.
#[derive(Debug, Default)]
pub struct Live(Mutex<Sums>);

impl Live {
    /// The sums now.
    pub fn sums(&self) -> Sums {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them.
    pub(crate) fn renew(&self, sums: Sums) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sums;
    }
}
