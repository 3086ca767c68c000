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
