//! The other processes of the machine, and their use of it.

use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

/// One process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its name: `cc1plus`. Chosen by the program's user: data, never markup.
    pub name: String,
    /// Its start, in clock ticks since boot: tells two processes with one id apart.
    pub started: u64,
    /// CPU time since its start.
    pub cpu: Nanos,
    /// Bytes read from and written to storage. Only root can see those of other users' processes.
    pub io: Option<Bytes>,
}

/// The processes of the machine at one moment, by process id, without this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes(pub BTreeMap<u32, Process>);

/// The use of the machine by all processes of one name between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Their name: `cc1plus`. Chosen by the program's user: data, never markup.
    pub name: String,
    pub processes: u32,
    /// CPU time.
    pub cpu: Nanos,
    /// Bytes read from and written to storage by those whose I/O is visible.
    pub io_bytes: Bytes,
}

impl Processes {
    /// The use of the machine since `earlier`, by name, in no order. A process that ended in
    /// between is not counted.
    pub fn since(&self, earlier: &Processes) -> Vec<Neighbour> {
        let mut by_name: BTreeMap<&str, Neighbour> = BTreeMap::new();
        for (number, process) in &self.0 {
            let before = earlier.0.get(number);
            let before = before.filter(|before| before.started == process.started);
            let io = |process: Option<&Process>| process.and_then(|p| p.io).unwrap_or_default();
            let neighbour = by_name.entry(&process.name).or_default();
            neighbour.processes += 1;
            let cpu = process.cpu.saturating_since(before.map_or(Nanos::ZERO, |before| before.cpu));
            neighbour.cpu = neighbour.cpu.plus(cpu);
            let moved = io(Some(process)).saturating_minus(io(before));
            neighbour.io_bytes = neighbour.io_bytes.plus(moved);
        }
        let named = by_name.into_iter();
        named.map(|(name, neighbour)| Neighbour { name: name.to_owned(), ..neighbour }).collect()
    }
}
