//! The result of power cuts during saves.

use flashlag_schema::{CutRepairs, Cuts};
use flashlag_spec::Reading;
use flashlag_units::{counted, printable_line};

use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Maximum number of failures that are listed again after a repair: most are those from before it.
const MOST_AFTER_REPAIR: usize = 2;

/// Power cuts during saves: how many lost acknowledged saves, damaged the database or left a
/// filesystem that does not mount, what a repair brought back, and the first failures of both.
pub fn power_cuts(cuts: &Cuts, style: Style) -> String {
    let mut page = Page::new(style);
    let Cuts { target, cuts: all, saves, with_loss, lost, acknowledged, .. } = cuts;
    let (cut, saved) = (counted(*all, "power cut", "power cuts"), counted(*saves, "save", "saves"));
    page.paragraph(Role::Strong, &format!("{cut} during {saved} on {target}"));
    let lines = [
        format!(
            "{with_loss} lost acknowledged saves, {lost} of {acknowledged} in all, {} at most in \
             one",
            cuts.most_lost
        ),
        format!(
            "{} left a damaged database, {} a filesystem that does not mount",
            cuts.damaged, cuts.unmountable
        ),
        format!("{} left a file that is gone or empty", cuts.empty),
    ];
    let mut add = |text: &str| {
        let mut head = Line::new(style);
        head.add(Role::Ink, " ");
        page.hanging(&head, 2, Role::Ink, text);
    };
    lines.iter().for_each(|line| add(line));
    cuts.failures.iter().for_each(|failure| add(&printable_line(failure)));
    match &cuts.repair {
        Reading::Value(repairs) => {
            add(&repaired(repairs));
            for failure in repairs.failures.iter().take(MOST_AFTER_REPAIR) {
                add(&format!("after the repair, {}", printable_line(failure)));
            }
        }
        Reading::Unavailable { unavailable } => {
            add(&format!("no repair was tried: {}", printable_line(unavailable)));
        }
    }
    page.finish()
}

fn repaired(repairs: &CutRepairs) -> String {
    let CutRepairs {
        command,
        hurt,
        whole,
        lossy,
        unmountable,
        refused,
        salvaged,
        harmed,
        lost,
        ..
    } = repairs;
    let all = match hurt {
        0 => format!("{command} ran after each cut and had nothing to bring back"),
        _ => format!(
            "{command} after each cut: of {hurt} that hurt, {whole} are whole then, {lossy} still \
             lack something, {unmountable} do not mount, and {refused} it refused; {lost} \
             acknowledged saves are missing"
        ),
    };
    let salvaged = match salvaged {
        0 => String::new(),
        _ => format!(
            "; after {salvaged} cuts the last save is in a file that it made of lost clusters"
        ),
    };
    match harmed {
        0 => all + &salvaged,
        _ => format!("{all}{salvaged}; it harmed {harmed} that were whole"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(repair: Reading<CutRepairs>) -> String {
        let cuts = Cuts {
            target: "lab:zero+vfat".to_owned(),
            cuts: 30,
            saves: 100,
            acknowledged: 1500,
            with_loss: 9,
            lost: 400,
            most_lost: 98,
            damaged: 9,
            empty: 0,
            unmountable: 0,
            failures: vec!["cut at 1 s: disk I/O error".to_owned()],
            repair,
        };
        power_cuts(&cuts, Style::PLAIN.with_width(1000))
    }

    #[test]
    fn a_repair_is_beside_what_the_cuts_took_and_so_is_why_there_was_none() {
        let repairs = CutRepairs {
            command: "fsck.vfat -a".to_owned(),
            hurt: 9,
            whole: 5,
            lossy: 2,
            unmountable: 1,
            refused: 1,
            salvaged: 2,
            lost: 60,
            failures: vec!["cut at 2 s: gone".to_owned(); 3],
            ..CutRepairs::default()
        };
        let page = shown(Reading::Value(repairs.clone()));
        for said in [
            "of 9 that hurt, 5 are whole then, 2 still lack something, 1 do not mount, and 1 it refused",
            "60 acknowledged saves are missing",
            "after 2 cuts the last save is in a file",
        ] {
            assert!(page.contains(said), "{page}");
        }
        assert_eq!(page.matches("after the repair, cut at 2 s").count(), 2, "{page}");
        assert!(!page.contains("harmed"), "{page}");
        let harmed = CutRepairs { harmed: 3, ..repairs };
        assert!(shown(Reading::Value(harmed)).contains("it harmed 3 that were whole"));
        let nothing = CutRepairs { command: "e2fsck -p".to_owned(), ..CutRepairs::default() };
        assert!(shown(Reading::Value(nothing)).contains("e2fsck -p ran after each cut"));
        let without = shown(Reading::unavailable("there is no fsck.vfat"));
        assert!(without.contains("no repair was tried: there is no fsck.vfat"), "{without}");
    }
}
