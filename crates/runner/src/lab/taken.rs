//! What power cuts took, and what repairs brought back: counted.

use flashlag_lab::protocol::CrashCheck;
use flashlag_lab::{LabError, Repair, Repaired};
use flashlag_schema::{CutRepairs, Cuts};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

/// Maximum number of failures that are described.
const MOST_LISTED: usize = 8;

/// What is missing on one image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Acknowledged saves that are not there.
    lost: u64,
    unmountable: bool,
    damaged: bool,
    empty: bool,
    /// Whether the last acknowledged save is whole in a file that a repair made.
    salvaged: bool,
    /// The worst of it in words; `None` if nothing is wrong.
    wrong: Option<String>,
}

impl Taken {
    /// What is missing of the acknowledged saves.
    pub fn of(acknowledged: u64, checked: CrashCheck) -> Taken {
        let lost = match checked.rows {
            Some(rows) => acknowledged.saturating_sub(rows),
            None => acknowledged,
        };
        let (unmountable, damaged) = (checked.unmountable.is_some(), checked.damage.is_some());
        let wrong = checked.unmountable.or(checked.damage);
        let wrong = wrong.or_else(|| checked.empty.then(|| "the file is gone or empty".to_owned()));
        let wrong = wrong.or_else(|| {
            (lost > 0).then(|| format!("{lost} of {acknowledged} acknowledged saves are missing"))
        });
        let salvaged = lost > 0 && checked.salvaged >= Some(acknowledged);
        Taken { lost, unmountable, damaged, empty: checked.empty, salvaged, wrong }
    }
}

/// The counts before the first cut.
pub(super) fn nothing(target: &str, saves: u64, repair: &Result<Repair, LabError>) -> Cuts {
    Cuts {
        target: target.to_owned(),
        cuts: 0,
        saves,
        acknowledged: 0,
        with_loss: 0,
        lost: 0,
        most_lost: 0,
        damaged: 0,
        empty: 0,
        unmountable: 0,
        failures: Vec::new(),
        repair: match repair {
            Ok(repair) => {
                Reading::Value(CutRepairs { command: repair.command(), ..CutRepairs::default() })
            }
            Err(error) => Reading::unavailable(error.to_string()),
        },
    }
}

/// Adds what one cut took.
pub(super) fn add(cuts: &mut Cuts, moment: Nanos, acknowledged: u64, taken: Taken) {
    cuts.cuts += 1;
    cuts.acknowledged += acknowledged;
    cuts.lost += taken.lost;
    cuts.most_lost = cuts.most_lost.max(taken.lost);
    cuts.with_loss += u64::from(taken.lost > 0);
    cuts.unmountable += u64::from(taken.unmountable);
    cuts.damaged += u64::from(taken.damaged);
    cuts.empty += u64::from(taken.empty);
    list(&mut cuts.failures, moment, taken.wrong);
}

/// Adds what the repair of one cut brought back of what it took.
pub(super) fn add_repaired(
    repairs: &mut CutRepairs,
    moment: Nanos,
    (before, after): (&Taken, Taken),
    repaired: Repaired,
) {
    let refused = match repaired {
        Repaired::Done => None,
        Repaired::Refused(reason) => Some(format!("{} refused: {reason}", repairs.command)),
    };
    if before.wrong.is_some() {
        repairs.hurt += 1;
        let count = match &after {
            _ if refused.is_some() => &mut repairs.refused,
            Taken { wrong: None, .. } => &mut repairs.whole,
            Taken { unmountable: true, .. } => &mut repairs.unmountable,
            _ => &mut repairs.lossy,
        };
        *count += 1;
        repairs.salvaged += u64::from(after.salvaged);
    } else {
        repairs.harmed += u64::from(after.wrong.is_some());
    }
    repairs.lost += after.lost;
    list(&mut repairs.failures, moment, refused.or(after.wrong));
}

fn list(failures: &mut Vec<String>, moment: Nanos, wrong: Option<String>) {
    if let Some(wrong) = wrong.filter(|_| failures.len() < MOST_LISTED) {
        failures.push(format!("cut at {moment} of the device's time: {wrong}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: u64) -> CrashCheck {
        CrashCheck { rows: Some(rows), ..CrashCheck::default() }
    }

    fn damaged() -> CrashCheck {
        CrashCheck { damage: Some("no file".to_owned()), ..CrashCheck::default() }
    }

    fn unmountable() -> CrashCheck {
        CrashCheck { unmountable: Some("EINVAL".to_owned()), ..CrashCheck::default() }
    }

    #[test]
    fn a_loss_is_an_acknowledged_save_that_is_not_there_and_nothing_else() {
        let mut cuts = nothing("t", 5, &Err(LabError::NoSave));
        let mut cut = |at, acknowledged, checked| {
            add(&mut cuts, Nanos(at), acknowledged, Taken::of(acknowledged, checked));
            cuts.clone()
        };
        let cuts = cut(1, 5, rows(6));
        assert_eq!((cuts.lost, cuts.with_loss, cuts.failures.len()), (0, 0, 0));
        cut(2, 5, rows(3));
        let cuts = cut(3, 4, damaged());
        assert_eq!((cuts.cuts, cuts.lost, cuts.most_lost, cuts.damaged), (3, 6, 4, 1));
        assert_eq!((cuts.failures.len(), cuts.empty), (2, 0));
        let cuts = cut(4, 4, CrashCheck { empty: true, ..rows(0) });
        assert_eq!((cuts.lost, cuts.empty, cuts.damaged, cuts.failures.len()), (10, 1, 1, 3));
        assert_eq!(cuts.repair.reason(), Some("no save was acknowledged: make more saves"));
    }

    #[test]
    fn a_cut_that_hurt_is_whole_lossy_unmountable_or_refused_after_its_repair() {
        let mut repairs = CutRepairs { command: "fix".to_owned(), ..CutRepairs::default() };
        let hurt = Taken::of(5, rows(3));
        let mut end = |checked, repaired| {
            add_repaired(&mut repairs, Nanos(1), (&hurt, Taken::of(5, checked)), repaired);
        };
        end(rows(5), Repaired::Done);
        end(rows(4), Repaired::Done);
        end(damaged(), Repaired::Done);
        end(unmountable(), Repaired::Done);
        end(rows(2), Repaired::Refused("beyond me".to_owned()));
        let CutRepairs { whole, lossy, unmountable, refused, .. } = repairs;
        assert_eq!((whole, lossy, unmountable, refused), (1, 2, 1, 1));
        assert_eq!((repairs.hurt, repairs.harmed, repairs.salvaged), (5, 0, 0));
        assert_eq!(repairs.lost, 1 + 5 + 5 + 3);
        assert_eq!(repairs.failures.len(), 4);
        assert!(repairs.failures[3].ends_with("fix refused: beyond me"), "{repairs:?}");
    }

    #[test]
    fn what_a_repair_does_to_a_whole_image_is_harm_and_no_cut_that_hurt() {
        let mut repairs = CutRepairs::default();
        let whole = Taken::of(5, rows(5));
        let refused = || Repaired::Refused("no".to_owned());
        add_repaired(&mut repairs, Nanos(1), (&whole, whole.clone()), Repaired::Done);
        assert_eq!(repairs, CutRepairs::default());
        for (checked, repaired) in [(unmountable(), Repaired::Done), (rows(4), refused())] {
            add_repaired(&mut repairs, Nanos(2), (&whole, Taken::of(5, checked)), repaired);
        }
        assert_eq!((repairs.harmed, repairs.hurt, repairs.lost), (2, 0, 6));
        assert_eq!((repairs.unmountable, repairs.refused), (0, 0));
    }

    #[test]
    fn a_file_of_lost_clusters_with_what_was_acknowledged_last_is_no_whole_cut_but_a_salvaged_one()
    {
        let mut repairs = CutRepairs::default();
        let hurt = Taken::of(5, damaged());
        for salvaged in [None, Some(4), Some(5), Some(6)] {
            let checked = CrashCheck { empty: true, salvaged, ..rows(0) };
            add_repaired(&mut repairs, Nanos(1), (&hurt, Taken::of(5, checked)), Repaired::Done);
        }
        assert_eq!((repairs.salvaged, repairs.lossy, repairs.whole), (2, 4, 0));
        // What was never missing need not be salvaged.
        let there = CrashCheck { salvaged: Some(5), ..rows(5) };
        add_repaired(&mut repairs, Nanos(1), (&hurt, Taken::of(5, there)), Repaired::Done);
        assert_eq!((repairs.salvaged, repairs.whole), (2, 1));
    }
}
