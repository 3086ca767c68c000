//! Who moved how many bytes in a simulated machine.

use std::collections::{BTreeMap, VecDeque};

use flashlag_schema::history::{Before, ProgramBytes};
use flashlag_units::{Bytes, Nanos};

use crate::glance::{Glance, Recent};
use crate::machine::{HALF_MINUTE, PERIOD};
use crate::recorder::Scenery;
use crate::span::programs;
use crate::waits::Wait;

/// Half a minute in looks.
const LOOKS: usize = (HALF_MINUTE.0 / PERIOD.0) as usize;

/// Who moved how many bytes.
#[derive(Debug, Default)]
pub(super) struct People {
    /// Who calls.
    pub caller: &'static str,
    /// Who writes beside.
    pub beside: Option<&'static str>,
    before: Option<Glance>,
    /// The bytes of each look of half a minute, and whose they are.
    recent: VecDeque<(Nanos, &'static str, u64)>,
    /// The bytes of each program in this hour.
    sums: BTreeMap<&'static str, u64>,
}

impl People {
    /// Counts the bytes since the reading before for whoever wrote them.
    pub fn saw(&mut self, glance: &Glance) {
        let before = self.before.replace(*glance);
        let Some(before) = before else { return };
        let bytes = glance.look.since(&before.look).disk_bytes.unwrap_or_default().0;
        if bytes == 0 {
            return;
        }
        let name = self.beside.unwrap_or(self.caller);
        *self.sums.entry(name).or_default() += bytes;
        if self.recent.len() >= LOOKS {
            self.recent.pop_front();
        }
        self.recent.push_back((glance.look.at, name, bytes));
    }

    /// The bytes of each program since the last call.
    pub fn hour(&mut self) -> Vec<ProgramBytes> {
        named(std::mem::take(&mut self.sums))
    }
}

fn named(sums: BTreeMap<&'static str, u64>) -> Vec<ProgramBytes> {
    let row =
        |(name, bytes): (&str, u64)| ProgramBytes { name: name.to_owned(), bytes: Bytes(bytes) };
    programs(sums.into_iter().map(row).collect::<Vec<_>>().iter())
}

impl Scenery for People {
    fn waiting(&mut self) -> Vec<String> {
        vec![self.caller.to_owned()]
    }

    fn before(&mut self, wait: &Wait, recent: &Recent) -> Before {
        let from = wait.from.saturating_since(HALF_MINUTE);
        let mut sums: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (_, name, bytes) in self.recent.iter().filter(|(at, ..)| *at >= from) {
            *sums.entry(name).or_default() += bytes;
        }
        Before {
            window_ns: HALF_MINUTE,
            programs: named(sums),
            seconds: recent.seconds(wait.to, 30),
            ..Before::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::Look;

    use super::*;

    #[test]
    fn bytes_belong_to_whoever_writes_and_those_of_half_a_minute_stand_before_a_wait() {
        let mut people = People { caller: "app", ..People::default() };
        let at = |seconds| Nanos::from_secs(seconds);
        let mut moved = 0;
        for (second, bytes) in [(100, 0), (105, 7), (130, 20), (135, 300)] {
            people.beside = (second == 130).then_some("backup");
            moved += bytes;
            let mut look = Look { at: at(second), ..Look::default() };
            look.counts.disk_bytes = Some(Bytes(moved));
            people.saw(&Glance { look, ..Glance::default() });
        }
        let (from, to) = (at(136), at(140));
        let kind = flashlag_schema::history::WaitKind::Probe;
        let wait = Wait { from, to, length: at(4), kind, split: None, usual: None };
        let before = people.before(&wait, &Recent::default());
        let of = |rows: &[ProgramBytes]| {
            let mut rows: Vec<_> = rows.iter().map(|row| (row.name.clone(), row.bytes.0)).collect();
            rows.sort();
            rows
        };
        let named = |name: &str, bytes| (name.to_owned(), bytes);
        assert_eq!((before.window_ns, before.seconds.len()), (at(30), 30));
        assert_eq!(of(&before.programs), [named("app", 300), named("backup", 20)]);
        assert_eq!(of(&people.hour()), [named("app", 307), named("backup", 20)]);
        assert_eq!(of(&people.hour()), []);
    }
}
