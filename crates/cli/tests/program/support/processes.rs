//! Processes of a test, found by their command lines.

use std::path::Path;
use std::time::{Duration, Instant};

/// A process that has something of a folder in its command line.
#[derive(Debug)]
pub struct Found {
    pub id: u32,
    /// Its command line, with spaces between the words.
    pub words: String,
}

/// The processes that have something of the folder in their command line. One that is ending has
/// none any more, but may hold its files and sockets for a moment: see [`have_ended`].
pub fn processes_of(folder: &Path) -> Vec<Found> {
    let folder = folder.to_string_lossy().into_owned();
    let processes = Path::new("/proc").read_dir().unwrap().flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains(&folder).then_some(Found { id, words })
    });
    processes.collect()
}

/// Whether all of these have ended and released what they held open.
pub fn have_ended(processes: &[Found]) -> bool {
    processes.iter().all(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id));
        // The state is behind the name, which may have brackets in it. A zombie holds nothing.
        stat.map_or(true, |stat| {
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
        })
    })
}

/// Waits until it is so, however busy the machine is.
#[track_caller]
pub fn wait_until(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
