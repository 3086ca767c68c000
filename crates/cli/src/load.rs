//! Reading run files, fio files and scenarios: see `flashlag_commands`.

pub use flashlag_commands::{name_of, run_from, scenario_text};
