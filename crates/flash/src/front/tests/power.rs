//! Power cuts, for random commands and times.

use proptest::prelude::*;

use super::*;
use crate::power::Undo;

const UNITS: u64 = 64;

/// A device that keeps data as one above would: a number for each unit's content.
struct Keeper {
    front: Front,
    dies: Dies,
    content: Vec<u64>,
    undo: Undo,
    /// For each unit all contents that are allowed after a cut: the durable one, then later ones.
    allowed: Vec<Vec<u64>>,
    /// The content of each unit at the submission of the command.
    number: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Write { unit: u64, count: u64, fua: bool },
    Discard { unit: u64, count: u64 },
    Flush,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || (0..UNITS).prop_flat_map(|unit| (Just(unit), 1..=(UNITS - unit).min(20)));
    let write = (range(), prop::bool::weighted(0.1)).prop_map(|((unit, count), fua)| Step::Write {
        unit,
        count,
        fua,
    });
    let discard = range().prop_map(|(unit, count)| Step::Discard { unit, count });
    let wait = (0u64..3_000_000).prop_map(Step::Wait);
    let step = prop_oneof![8 => write, 1 => discard, 2 => Just(Step::Flush), 2 => wait];
    prop::collection::vec(step, 1..40)
}

impl Keeper {
    fn new(changes: &[(&str, &str)]) -> Keeper {
        let (mut front, dies) = front(changes);
        front.keep_ledger();
        Keeper {
            front,
            dies,
            content: vec![0; UNITS as usize],
            undo: Undo::default(),
            allowed: vec![vec![0]; UNITS as usize],
            number: 0,
        }
    }

    fn change(&mut self, at: Nanos, unit: u64, count: u64, value: u64, command: Command) -> Nanos {
        let timing = self.front.submit(&mut self.dies, at, command).unwrap();
        let (sequence, oldest) = self.front.commands();
        for unit in unit..unit + count {
            let before = std::mem::replace(&mut self.content[unit as usize], value);
            self.undo.note(sequence, unit, Some(Box::from(before.to_le_bytes())));
            self.allowed[unit as usize].push(value);
        }
        self.undo.forget_before(oldest);
        timing.ended
    }

    /// The present content is durable.
    fn secure(&mut self, units: std::ops::Range<u64>) {
        for unit in units {
            self.allowed[unit as usize] = vec![self.content[unit as usize]];
        }
    }

    /// One step; only what ends by `cut` is acknowledged. `battery` makes every write
    /// that was acknowledged durable.
    fn step(&mut self, step: &Step, at: Nanos, cut: Nanos, battery: bool) -> Nanos {
        match *step {
            Step::Write { unit, count, fua } => {
                self.number += 1;
                let (offset, length) = (Bytes(unit * 4096), Bytes(count * 4096));
                let command = Command::Write { offset, length, fua };
                let end = self.change(at, unit, count, self.number, command);
                if (fua || battery) && end <= cut {
                    self.secure(unit..unit + count);
                }
                end
            }
            Step::Discard { unit, count } => {
                let (offset, length) = (Bytes(unit * 4096), Bytes(count * 4096));
                self.change(at, unit, count, 0, Command::Discard { offset, length })
            }
            Step::Flush => {
                let end = self.front.submit(&mut self.dies, at, Command::Flush).unwrap().ended;
                if end <= cut {
                    self.secure(0..UNITS);
                }
                end
            }
            Step::Wait(time) => at.plus(Nanos(time)),
        }
    }

    fn cut(&mut self, at: Nanos) -> Nanos {
        let cut = self.front.power_cut(&mut self.dies, at).unwrap();
        let lost = cut.lost.unwrap();
        let lost = lost.iter().map(|lost| (lost.offset.0 / 4096, lost.command));
        for (unit, content) in self.undo.revert(lost) {
            let bytes: [u8; 8] = (*content.unwrap()).try_into().unwrap();
            self.content[unit as usize] = u64::from_le_bytes(bytes);
        }
        at.plus(cut.recovery)
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        for unit in 0..UNITS as usize {
            let (content, allowed) = (self.content[unit], &self.allowed[unit]);
            prop_assert!(allowed.contains(&content), "unit {unit}: {content} of {allowed:?}");
        }
        self.secure(0..UNITS);
        Ok(())
    }
}

fn survive(
    changes: &[(&str, &str)],
    battery: bool,
    lives: &[(Vec<Step>, u64)],
) -> Result<(), TestCaseError> {
    let mut keeper = Keeper::new(changes);
    let mut at = Nanos::ZERO;
    for (steps, wait) in lives {
        // The cut comes some time after the last submission.
        let mut cut = Nanos::MAX;
        for (index, step) in steps.iter().enumerate() {
            if index + 1 == steps.len() {
                cut = at.plus(Nanos(*wait));
            }
            at = keeper.step(step, at, cut, battery);
        }
        at = keeper.cut(cut);
        keeper.check()?;
    }
    Ok(())
}

fn lives() -> impl Strategy<Value = Vec<(Vec<Step>, u64)>> {
    prop::collection::vec((steps(), 0u64..4_000_000), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_flushed_survives_and_the_rest_is_old_or_new(lives in lives()) {
        survive(&[("buffer.size", "\"128KiB\""), BUFFER[1]], false, &lives)?;
        survive(&[], true, &lives)?;
    }

    #[test]
    fn nothing_acknowledged_is_lost_where_the_buffer_has_a_battery(lives in lives()) {
        let changes = [("buffer.size", "\"128KiB\""), ("buffer.volatile", "false")];
        survive(&changes, true, &lives)?;
    }

    #[test]
    fn the_write_cache_keeps_what_was_flushed(lives in lives()) {
        let mut changes = write_cache::SLC.to_vec();
        changes.extend([("buffer.size", "\"128KiB\""), BUFFER[1], ("slc.full", "\"fold\""),
            ("slc.fold_after", "\"1ms\"")]);
        survive(&changes, false, &lives)?;
        let mut small = write_cache::SLC.to_vec();
        small[0] = ("slc.static", "\"128KiB\"");
        small.extend([("nand.pages_per_block", "3"), ("slc.reserve", "\"128KiB\""), BUFFER[1],
            ("buffer.size", "\"128KiB\""), ("slc.fold_after", "\"1ms\"")]);
        survive(&small, false, &lives)?;
    }
}

#[test]
fn what_only_the_buffer_held_is_lost() {
    let mut keeper = Keeper::new(&BUFFER);
    let end =
        keeper.step(&Step::Write { unit: 3, count: 2, fua: false }, Nanos(0), Nanos::MAX, false);
    let end = keeper.step(&Step::Flush, end, Nanos::MAX, false);
    let end = keeper.step(&Step::Write { unit: 4, count: 2, fua: false }, end, Nanos::MAX, false);
    assert_eq!(keeper.content[3..6], [1, 2, 2]);
    keeper.cut(end.plus(Nanos::from_secs(5)));
    assert_eq!(keeper.content[3..6], [1, 1, 0]);
    assert!(keeper.dies.mapped[4] && !keeper.dies.mapped[5]);
}

#[test]
fn after_a_cut_the_first_command_waits_until_the_map_is_found() {
    let (mut front, mut dies) = front(&[]);
    let cut = front.power_cut(&mut dies, Nanos::from_secs(1)).unwrap();
    assert_eq!((cut.lost, cut.recovery), (None, Nanos::from_millis(10)));
    let timing = front.submit(&mut dies, Nanos::from_secs(1), read(0, 4096)).unwrap();
    assert!(timing.ended > Nanos::from_millis(1010), "{timing:?}");
}
