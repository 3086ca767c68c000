//! A profile's published rows as a fit sees them.

use flashlag_spec::State;
use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use super::cells::{is_fitted_to, rows, value};
use super::protocol::{Pair, Protocol};

/// A published row with its state and test.
pub(crate) struct Row<'a> {
    pub published: &'a Published,
    place: Option<(State, u32)>,
    test: &'a str,
}

impl Row<'_> {
    /// `filled/rand_write_4k`, in the notation of a parameter's fitted rows.
    pub fn label(&self) -> String {
        let state = self.place.map_or(self.published.condition.as_str(), |(state, _)| state.name());
        format!("{state}/{}", self.test)
    }

    /// Whether a parameter of the profile was fitted to it.
    pub fn is_fitted(&self, profile: &Profile) -> bool {
        let Some(place) = self.place else { return false };
        let mut all = profile.parameters.values();
        all.any(|parameter| is_fitted_to(parameter, place, self.test))
    }

    /// Its figure in the runs of one seed; `None` if they lack it.
    pub fn figure(&self, protocol: &Protocol<'_>, pair: &Pair) -> Option<f64> {
        value(protocol, self.published, pair).ok()
    }
}

/// The published rows of a check, with their states and tests.
pub(crate) fn rows_of<'a>(protocol: &'a Protocol<'_>, published: &'a [Published]) -> Vec<Row<'a>> {
    let workloads = &protocol.check.workloads;
    let row = |row: &'a Published| Row {
        published: row,
        place: protocol.check.place_of(&row.condition),
        test: workloads.get(&row.workload).unwrap_or(&row.workload),
    };
    rows(protocol, published).map(row).collect()
}
