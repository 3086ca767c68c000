//! Processes with their threads and open files.

use std::collections::HashMap;

use flashlag_schema::trace::TraceFile;
use flashlag_spec::TraceFileKind;

use super::super::making::Making;
use super::line::{Call, descriptor, path_in, string};

/// The processes that strace followed.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// The process of each thread other than a process's first.
    process_of: HashMap<u32, u32>,
    /// Threads whose start was seen, and the thread that strace started with.
    known: HashMap<u32, ()>,
    names: HashMap<u32, String>,
    /// The working directory of each process, where strace has shown it.
    working: HashMap<u32, String>,
    open: HashMap<(u32, u32), Descriptor>,
    unknown: bool,
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    file: u32,
    position: Option<u64>,
}

impl Processes {
    /// The process of a thread.
    pub(super) fn process(&self, tid: u32) -> u32 {
        self.process_of.get(&tid).copied().unwrap_or(tid)
    }

    /// The process of a thread and its name. The process is known if its start, or the thread's,
    /// was seen.
    pub(super) fn of(&self, tid: u32) -> (Option<u32>, Option<String>) {
        let process = self.process(tid);
        let is_known = self.known.contains_key(&tid);
        (is_known.then_some(process), self.names.get(&process).cloned())
    }

    /// Whether the path of some file is not known.
    pub(super) fn has_unknown(&self) -> bool {
        self.unknown
    }

    /// The path that a call means by a name: a relative one begins at the process's working directory.
    pub(super) fn path(&self, tid: u32, name: String) -> String {
        match self.working.get(&self.process(tid)) {
            Some(working) if !name.starts_with('/') => {
                let name = name.strip_prefix("./").unwrap_or(&name);
                format!("{}/{name}", working.trim_end_matches('/'))
            }
            _ => name,
        }
    }

    /// Remembers the working directory that a call shows: `AT_FDCWD</data>`, or `getcwd` and `chdir`.
    pub(super) fn works_in(&mut self, tid: u32, call: &Call) {
        let process = self.process(tid);
        if matches!(call.name.as_str(), "chdir" | "getcwd" | "fchdir") {
            let named = match call.name.as_str() {
                "fchdir" => descriptor(call.argument(0)).and_then(|(_, path)| path),
                _ => string(call.argument(0)),
            };
            match named.map(|name| self.path(tid, name)).filter(|path| path.starts_with('/')) {
                Some(path) => self.working.insert(process, path),
                None => self.working.remove(&process),
            };
            return;
        }
        let shown = call.arguments.iter().find(|argument| argument.starts_with("AT_FDCWD<"));
        if let Some(path) = shown.and_then(|argument| path_in(&argument["AT_FDCWD".len()..])) {
            self.working.insert(process, path);
        }
    }

    /// Takes a call that changes processes, descriptors or positions; returns whether it was one.
    pub(super) fn changes(&mut self, tid: u32, call: &Call, making: &mut Making) -> bool {
        let returned = call.returned.and_then(|returned| u32::try_from(returned).ok());
        match (call.name.as_str(), returned) {
            ("execve" | "execveat", _) => {
                let at = usize::from(call.name == "execveat");
                if let Some(path) = string(call.argument(at)) {
                    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                    self.names.insert(self.process(tid), name);
                    self.known.insert(tid, ());
                }
            }
            ("clone" | "clone3" | "fork" | "vfork", Some(child)) => self.begins(tid, child, call),
            ("dup" | "dup2" | "dup3" | "fcntl" | "fcntl64", Some(new)) => {
                let is_copy =
                    call.name.starts_with("dup") || call.argument(1).starts_with("F_DUPFD");
                if let Some((old, path)) = descriptor(call.argument(0)).filter(|_| is_copy) {
                    self.file(tid, old, path, making);
                    let process = self.process(tid);
                    if let Some(known) = self.open.get(&(process, old)).copied() {
                        // Both descriptors share a position, which can't be tracked per descriptor.
                        self.open.insert((process, new), Descriptor { position: None, ..known });
                    }
                }
            }
            ("lseek" | "_llseek", _) => {
                let at = call.returned.and_then(|at| u64::try_from(at).ok());
                let is_plain = call.name == "lseek";
                if let Some((fd, _)) = descriptor(call.argument(0))
                    && let Some(known) = self.open.get_mut(&(self.process(tid), fd))
                {
                    known.position = at.filter(|_| is_plain);
                }
            }
            _ => return false,
        }
        true
    }

    /// A thread or a process starts: a thread shares the open files, a process gets copies.
    fn begins(&mut self, tid: u32, child: u32, call: &Call) {
        let parent = self.process(tid);
        self.known.insert(child, ());
        if call.arguments.iter().any(|argument| argument.contains("CLONE_THREAD")) {
            self.process_of.insert(child, parent);
            return;
        }
        self.process_of.remove(&child);
        if let Some(name) = self.names.get(&parent).cloned() {
            self.names.insert(child, name);
        }
        if let Some(working) = self.working.get(&parent).cloned() {
            self.working.insert(child, working);
        }
        let of_parent = self.open.iter().filter(|((process, _), _)| *process == parent);
        let copies: Vec<_> = of_parent.map(|((_, fd), known)| ((child, *fd), *known)).collect();
        self.open.extend(copies);
    }

    /// A file was opened.
    pub(super) fn open(
        &mut self,
        tid: u32,
        fd: u32,
        path: &str,
        flags: &str,
        making: &mut Making,
    ) -> u32 {
        let file = making.file(path);
        if flags.contains("O_DIRECTORY") {
            making.kind(file, TraceFileKind::Directory);
        }
        let position = (!flags.contains("O_APPEND")).then_some(0);
        self.open.insert((self.process(tid), fd), Descriptor { file, position });
        file
    }

    /// The file of a descriptor, with its path if strace has printed one.
    pub(super) fn file(
        &mut self,
        tid: u32,
        fd: u32,
        path: Option<String>,
        making: &mut Making,
    ) -> u32 {
        let key = (self.process(tid), fd);
        if let Some(path) = path {
            let file = making.file(&path);
            let known = self.open.entry(key).or_insert(Descriptor { file, position: None });
            if known.file != file {
                // A call that is not tracked has reopened this descriptor.
                *known = Descriptor { file, position: None };
            }
            return file;
        }
        if let Some(known) = self.open.get(&key) {
            return known.file;
        }
        let (kind, descriptor) = match fd {
            0..=2 => (TraceFileKind::NotStorage, Some(fd)),
            _ => (TraceFileKind::Other, Some(fd)),
        };
        self.unknown |= fd > 2;
        let file = TraceFile { descriptor, kind, ..TraceFile::default() };
        let file = making.builder.another_file(file);
        self.open.insert(key, Descriptor { file, position: None });
        file
    }

    /// Where a read or write of this length was, and where the next one will be.
    pub(super) fn moved(
        &mut self,
        tid: u32,
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
    ) -> Option<u64> {
        let end = |at: u64| at.checked_add(bytes);
        if offset.is_some() {
            return offset.filter(|at| end(*at).is_some());
        }
        let known = self.open.get_mut(&(self.process(tid), fd))?;
        let at = known.position.filter(|at| end(*at).is_some());
        known.position = at.and_then(end);
        at
    }

    /// A descriptor is free again.
    pub(super) fn close(&mut self, tid: u32, fd: u32) {
        self.open.remove(&(self.process(tid), fd));
    }
}
