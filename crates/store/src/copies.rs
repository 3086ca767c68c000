//! Finds copies of one measurement: a file given twice, a run and its shared form, a run with
//! another label.

use std::collections::HashMap;

use flashlag_units::InOrder;

use crate::entry::Entry;
use crate::standing::Standing;

const SAME: &str = "the same measurement as";
const CLAIMS: &str = "it says that it is the run of";

/// The entry as it was before copies were searched for: reasons from this module become stale when
/// files come and go.
pub(crate) fn before_copies(mut entry: Entry) -> Entry {
    let run = &mut entry.run;
    run.copy_of = None;
    let is_ours = |reason: &str| reason.starts_with(SAME) || reason.starts_with(CLAIMS);
    if run.standing == Standing::Copy || run.reason.as_deref().is_some_and(is_ours) {
        (run.standing, run.reason) = (Standing::Good, None);
    }
    entry
}

/// Finds copies among the entries and gives each its standing. Among files with the same
/// measurement, the first one that counts stays, a shared one before others. A file that claims to
/// be a certain run (`shared.original_sha256`) but has other figures is no copy: it becomes
/// unverified, with the reason.
pub fn find_copies(entries: &mut [Entry]) {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    let rank = |at: &usize| {
        let run = &entries[*at].run;
        (run.standing, !run.shared, run.file.clone())
    };
    order.order_by_key(rank);
    // By measurement, and by the checksum of the run as it was measured.
    let mut measured: HashMap<String, String> = HashMap::new();
    let mut claimed: HashMap<String, (String, String)> = HashMap::new();
    for at in order {
        let run = &mut entries[at].run;
        let (Some(measurement), Some(id)) = (run.measurement_sha256.clone(), run.run.clone())
        else {
            continue;
        };
        if let Some(first) = measured.get(&measurement) {
            if run.standing == Standing::Good {
                run.standing = Standing::Copy;
            }
            run.copy_of = Some(first.clone());
            if run.standing == Standing::Copy {
                run.reason = Some(format!("{SAME} {first}"));
            }
            continue;
        }
        if let Some((first, _)) = claimed.get(&id).filter(|(_, other)| *other != measurement)
            && run.standing == Standing::Good
        {
            run.standing = Standing::Unverified;
            run.reason = Some(format!("{CLAIMS} {first}, but has other figures"));
            continue;
        }
        measured.insert(measurement.clone(), run.file.clone());
        claimed.entry(id).or_insert_with(|| (run.file.clone(), measurement));
    }
}
