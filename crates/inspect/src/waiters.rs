//! Who waits for storage at this moment. Format: proc(5), `/proc/PID/task/TID/stat` and `syscall`.

use std::fmt;

use flashlag_device::ProcessStat;

use crate::processes::others;
use crate::root::Root;

/// A thread in uninterruptible sleep (state `D`), which is a wait for storage nearly always.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The process's name.
    pub process: String,
    /// Which of its threads; `None` where there is one, and for the kernel's.
    pub thread: Option<String>,
    /// What it waits in, `fdatasync`; `None` where the kernel tells only root, and for its own threads.
    pub call: Option<&'static str>,
    /// The file of that call.
    pub file: Option<String>,
}

impl fmt::Display for Waiter {
    /// `sqlite3 (main thread, fdatasync of /home/app.db)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.process)?;
        let call = self.call.map(|call| match &self.file {
            Some(file) => format!("{call} of {file}"),
            None => call.to_owned(),
        });
        let known: Vec<String> = self.thread.clone().into_iter().chain(call).collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join(", ")) }
    }
}

/// The threads that wait, of other processes than this one. Each process is read as it is asked for.
pub fn waiters(root: &Root) -> impl Iterator<Item = Waiter> {
    others(root).flat_map(move |process| of_process(root, process))
}

fn of_process(root: &Root, process: u32) -> Vec<Waiter> {
    let folder = format!("/proc/{process}");
    let tasks = root.names(format!("{folder}/task"));
    let waits = |task: &String| {
        let stat = ProcessStat::parse(&root.text(format!("{folder}/task/{task}/stat")).ok()?)?;
        (stat.state == 'D').then(|| {
            let whose = if tasks.len() < 2 {
                None
            } else if *task == process.to_string() {
                Some("main thread".to_owned())
            } else {
                Some(format!("thread {}", stat.name))
            };
            let name = root.line(format!("{folder}/comm")).unwrap_or(stat.name);
            let (call, file) = call(root, &folder, task);
            Waiter { process: name, thread: whose, call, file }
        })
    };
    tasks.iter().filter_map(waits).collect()
}

/// The call that a thread waits in, and its file.
fn call(root: &Root, folder: &str, task: &str) -> (Option<&'static str>, Option<String>) {
    // Threads of the kernel have no program, and make no calls.
    if root.link(format!("{folder}/exe")).is_none() {
        return (None, None);
    }
    let text = root.text(format!("{folder}/task/{task}/syscall")).unwrap_or_default();
    let mut words = text.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<libc::c_long>().ok()) else {
        return (None, None);
    };
    // Outside of a call it waits for what it touched.
    if number == -1 {
        return (Some("page fault"), None);
    }
    let Some((name, has_file)) = name_of(number) else { return (None, None) };
    let descriptor =
        words.next().and_then(|word| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let file = descriptor.filter(|_| has_file).and_then(|descriptor| {
        // A pipe or a socket is no file on storage.
        root.link(format!("{folder}/fd/{descriptor}")).filter(|path| path.starts_with('/'))
    });
    (Some(name), file)
}

/// Calls that may wait for storage, and whether the first parameter is a descriptor of the file. A program for another
/// kind of processor, as 32-bit programs are, numbers its calls otherwise: these have no name here.
fn name_of(number: libc::c_long) -> Option<(&'static str, bool)> {
    let known = [
        (libc::SYS_read, "read", true),
        (libc::SYS_pread64, "pread64", true),
        (libc::SYS_readv, "readv", true),
        (libc::SYS_preadv, "preadv", true),
        (libc::SYS_write, "write", true),
        (libc::SYS_pwrite64, "pwrite64", true),
        (libc::SYS_writev, "writev", true),
        (libc::SYS_pwritev, "pwritev", true),
        (libc::SYS_fsync, "fsync", true),
        (libc::SYS_fdatasync, "fdatasync", true),
        (libc::SYS_syncfs, "syncfs", true),
        (libc::SYS_fallocate, "fallocate", true),
        (libc::SYS_ftruncate, "ftruncate", true),
        (libc::SYS_getdents64, "getdents64", true),
        (libc::SYS_sync, "sync", false),
        (libc::SYS_msync, "msync", false),
        (libc::SYS_openat, "openat", false),
        (libc::SYS_unlinkat, "unlinkat", false),
        (libc::SYS_renameat2, "renameat2", false),
        (libc::SYS_io_uring_enter, "io_uring_enter", false),
    ];
    known
        .into_iter()
        .find(|(known, ..)| *known == number)
        .map(|(_, name, has_file)| (name, has_file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// A thread of a process: its state, and what its `syscall` says.
    fn thread(tree: &Path, process: u32, thread: u32, name: &str, state: char, syscall: &str) {
        let folder = tree.join(format!("proc/{process}/task/{thread}"));
        fs::create_dir_all(&folder).unwrap();
        let stat = format!("{thread} ({name}) {state} 1 1 1 0 -1 0 0 0 0 0 0 5 0 0 20 0 1 0 9 0 0");
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("syscall"), syscall).unwrap();
    }

    fn process(tree: &Path, number: u32, name: &str, program: Option<&str>) {
        let folder = tree.join(format!("proc/{number}"));
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        if let Some(program) = program {
            symlink(program, folder.join("exe")).unwrap();
        }
    }

    fn words(tree: &Path) -> Vec<String> {
        waiters(&Root::captured(tree)).map(|waiter| waiter.to_string()).collect()
    }

    #[test]
    fn who_waits_is_named_with_thread_call_and_file_as_far_as_they_are_known() {
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        let [sync, write, open] = [libc::SYS_fdatasync, libc::SYS_write, libc::SYS_openat];
        process(tree, 7, "app", Some("/usr/bin/app"));
        thread(tree, 7, 7, "app", 'D', &format!("{sync} 0x1a 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f12"));
        thread(
            tree,
            7,
            8,
            "worker",
            'D',
            &format!("{write} 0x3 0x55d0 0x1000 0x0 0x0 0x0 0x7ffc 0x7f12"),
        );
        thread(tree, 7, 9, "idle", 'S', &format!("{sync} 0x1a 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f12"));
        symlink("/home/app.db", tree.join("proc/7/fd/26")).unwrap();
        symlink("pipe:[12]", tree.join("proc/7/fd/3")).unwrap();
        process(tree, 20, "ls", Some("/bin/ls"));
        thread(
            tree,
            20,
            20,
            "ls",
            'D',
            &format!("{open} 0xffffff9c 0x55d0 0x0 0x0 0x0 0x0 0x7ffc 0x7f12"),
        );
        process(tree, 21, "game", Some("/bin/game"));
        thread(tree, 21, 21, "game", 'D', "-1 0x7ffc 0x7f12");
        process(tree, 22, "other", Some("/bin/other"));
        thread(tree, 22, 22, "other", 'D', "99999 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f12");
        process(tree, 30, "jbd2/vda1-8", None);
        thread(tree, 30, 30, "jbd2/vda1-8", 'D', "-1 0x0 0x0");
        let all = [
            "app (main thread, fdatasync of /home/app.db)",
            "app (thread worker, write)",
            "ls (openat)",
            "game (page fault)",
            "other",
            "jbd2/vda1-8",
        ];
        let mut found = words(tree);
        let mut expected = all.map(str::to_owned);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(waiters(&Root::captured(tree)).take(2).count(), 2);
    }

    #[test]
    fn odd_lines_name_no_call_and_no_file() {
        let tree = tempfile::tempdir().unwrap();
        process(tree.path(), 7, "app", Some("/usr/bin/app"));
        for odd in [
            "",
            "running",
            "x",
            "1",
            "1 0x",
            "1 -3",
            "1 0xzz 0x0",
            "-1",
            "99999999999999999999 0x1",
        ] {
            thread(tree.path(), 7, 7, "app", 'D', odd);
            let found = words(tree.path());
            assert!(!found.is_empty() && !found[0].contains(" of "), "{odd}: {found:?}");
        }
    }
}
