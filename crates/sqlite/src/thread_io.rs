use std::fs::File;

use flashlag_spec::Reading;

use crate::writes::Writes;

/// `/proc/thread-self/io` of the thread that opened it (`CONFIG_TASK_IO_ACCOUNTING`). Writes
/// through mappings are not counted: of SQLite's files that concerns only `-shm`, which is never
/// made durable.
#[derive(Debug)]
pub(crate) struct ThreadIo(Reading<File>);

impl ThreadIo {
    pub(crate) fn open() -> ThreadIo {
        let file = File::open("/proc/thread-self/io");
        ThreadIo(file.map_err(|error| format!("/proc/thread-self/io: {error}")).into())
    }

    pub(crate) fn read(&self) -> Reading<Writes> {
        let file = match &self.0 {
            Reading::Value(file) => file,
            Reading::Unavailable { unavailable } => {
                return Reading::unavailable(unavailable.as_str());
            }
        };
        let mut text = [0u8; 512];
        match rustix::io::pread(file, &mut text, 0) {
            Err(errno) => Reading::unavailable(format!("/proc/thread-self/io: {errno}")),
            Ok(length) => match parse(&String::from_utf8_lossy(&text[..length])) {
                Some(writes) => Reading::Value(writes),
                None => Reading::unavailable("/proc/thread-self/io has no wchar and syscw"),
            },
        }
    }
}

fn parse(text: &str) -> Option<Writes> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Writes { bytes: field("wchar:")?, calls: field("syscw:")? })
}
