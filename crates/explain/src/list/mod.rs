//! One list of what makes a run lag: what a comparison of its phases shows, what single phases,
//! checks and promises show, and what the set-up shows.

mod course;
mod of_cause;
mod order;
mod phases;
mod promise;
mod seen;
mod waited;

pub use order::ordered;

use flashlag_schema::finding::{Cause, Finding, FindingId};
use flashlag_schema::{CheckId, CheckStatus, Run};

use crate::candidate::Context;
use crate::remedy::finding;
use crate::set_up;

/// The findings of a run, with the causes that its phases show.
pub fn list(context: &Context<'_>, causes: &[Cause]) -> Vec<Finding> {
    let run = context.run;
    let mut found: Vec<Finding> =
        causes.iter().filter_map(|cause| of_cause::finding_of(context, cause)).collect();
    found.extend(waited::all(context));
    found.extend(course::all(context));
    found.extend(promise::all(context));
    found.extend(seen::all(context));
    let limit = seen::limit_of(context);
    found.extend(set_up(&run.environment).into_iter().filter(|one| matters(run, limit, one.id)));
    if limit == Some(FindingId::CpuQuota) {
        // The quota is the reason why no CPU was free.
        for one in found.iter_mut().filter(|one| one.id == FindingId::CpuWait) {
            let renamed =
                finding(FindingId::CpuQuota, one.severity, "", Vec::new(), one.effect.clone());
            (one.id, one.action, one.risk) = (renamed.id, renamed.action, renamed.risk);
        }
    }
    order::ordered(run, order::merged(found))
}

/// Whether a finding of the set-up matters to a run: a control group's limit matters if it held the
/// run back, or if that is unknown. A limit far above the measured rates changes nothing.
fn matters(run: &Run, held_back: Option<FindingId>, id: FindingId) -> bool {
    if !matches!(id, FindingId::IoLimit | FindingId::CpuQuota | FindingId::MemoryLimit) {
        return true;
    }
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits);
    match check.map(|check| check.status) {
        Some(CheckStatus::Pass) => false,
        Some(CheckStatus::Fail) => held_back == Some(id),
        Some(CheckStatus::Unknown) | None => true,
    }
}
