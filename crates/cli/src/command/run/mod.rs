//! `flashlag run`: a scenario, once or several times.

mod once;
#[cfg(feature = "lab")]
mod own_mounts;
mod phones;
mod repeats;
mod shared;

use anyhow::Result;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::terminal::Terminal;

pub use phones::plain as plain_serial;

/// Runs a scenario, once or several times.
pub fn run(args: &RunArgs, terminal: &Terminal) -> Result<Exit> {
    let args = &args.for_its_purpose();
    if let Some(every) = phones::every(&args.on) {
        return phones::side_by_side(args, &every, terminal);
    }
    if let Some(both) = shared::both(args)? {
        return shared::pair(&both, terminal);
    }
    let filling = shared::filling(args);
    let args = filling.as_ref().unwrap_or(args);
    if args.runs > 1 { repeats::repeats(args, terminal) } else { once::once(args, terminal) }
}
