//! What profiles forecast of published rows that they were not fitted to: each test is left out once, and the
//! others alone decide the fitted parameters.
//!
//! The parameters that only the left-out test determines fall back to the middle of their plausible
//! ranges. So a profile with as many parameters as rows does not get its own values back. In a family,
//! all profiles are fitted at once, and such a parameter is near to what the others have.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_stats::change::median;

use super::family::{Family, Member, OwnRow};
use super::rows::{OfRows, POINTS};
use crate::check::{Protocol, protocols, rows_of};
use crate::{PredictError, Simulator, parallel};

/// A published row, as forecast by the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOutRow {
    pub published: Published,
    /// `filled/rand_write_4k`: all rows of that test were left out together.
    pub label: String,
    /// The error of the profile's own figure, in percent, or in points for a change.
    pub own: f64,
    /// The error of the forecast without the test's rows.
    pub error: f64,
}

/// The rows that a profile was fitted to, each forecast without its test.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The profile's name.
    pub profile: String,
    /// The parameters that were fitted anew each time.
    pub parameters: Vec<String>,
    pub rows: Vec<LeftOutRow>,
}

impl LeftOut {
    /// The median and the largest size of all errors; `None` without rows.
    pub fn median_and_worst(&self) -> Option<(f64, f64)> {
        let sizes: Vec<f64> = self.rows.iter().map(|row| row.error.abs()).collect();
        let worst = sizes.iter().copied().max_by(f64::total_cmp)?;
        Some((median(&sizes), worst))
    }
}

/// Forecasts each test of the profiles' published rows from the others, with one seed. The profiles are
/// one family: a parameter that was fitted in several of them is about the same in all.
///
/// # Errors
/// A profile has no check, a protocol can't be parsed, or a run can't be simulated.
pub fn left_out(
    profiles: &[Profile],
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
    simulator: &dyn Simulator,
) -> Result<Vec<LeftOut>, PredictError> {
    let all = profiles
        .iter()
        .map(|profile| fitted_protocols(profile, published, scenario_text))
        .collect::<Result<Vec<_>, _>>()?;
    let objectives: Vec<OfRows<'_>> = all
        .iter()
        .map(|protocols| OfRows { protocols, published, seeds: &[1], simulator })
        .collect();
    let members = profiles.iter().zip(&objectives);
    let members =
        members.map(|(profile, rows)| Member::new(profile, rows)).collect::<Result<_, _>>()?;
    let family = Family::new(members);
    let each = (0..profiles.len()).map(|of| rows_left_out(&family, of, simulator.threads()));
    each.collect()
}

/// Each fitted row of a member, as forecast without its test.
fn rows_left_out(family: &Family<'_>, of: usize, threads: usize) -> Result<LeftOut, PredictError> {
    let member = &family.members[of];
    let rows = parallel::try_map(threads, &member.labels(), |label| {
        let residuals = family.without(of, label)?;
        let numbered = member.rows.iter().enumerate().filter(|(_, row)| row.label == *label);
        let row = |(index, row): (usize, &OwnRow<'_>)| LeftOutRow {
            published: row.published.clone(),
            label: row.label.clone(),
            own: error(row.published, member.residuals[index]),
            error: error(row.published, residuals[index]),
        };
        Ok::<Vec<LeftOutRow>, PredictError>(numbered.map(row).collect())
    })?;
    Ok(LeftOut {
        profile: member.profile.name.clone(),
        parameters: member.axes.iter().map(|axis| axis.key.clone()).collect(),
        rows: rows.into_iter().flatten().collect(),
    })
}

/// The checks of a profile with a row that a parameter was fitted to.
fn fitted_protocols<'a>(
    profile: &'a Profile,
    published: &[Published],
    scenario_text: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Protocol<'a>>, PredictError> {
    let mut protocols = protocols(profile, scenario_text)?;
    protocols
        .retain(|protocol| rows_of(protocol, published).iter().any(|row| row.is_fitted(profile)));
    Ok(protocols)
}

/// A residual as an error in percent, or in points for a change.
fn error(published: &Published, residual: f64) -> f64 {
    if published.unit == "%" { residual * POINTS } else { residual.exp_m1() * 100.0 }
}
