//! Follows what is done to each file, and tells the saves among it.

use std::collections::HashMap;

use flashlag_schema::trace::{Trace, TraceAction, TraceEvent, TraceSaveKind};
use flashlag_spec::TraceFileKind;
use flashlag_units::InOrder;

use super::kinds::{kept, replaced, tell_logs};
use super::save::{Pending, Save};

/// The saves of a trace by time. The kinds of the files are those of [`crate::recognize`].
pub(crate) fn saves(trace: &Trace) -> Vec<Save> {
    let mut following = Following::new(trace);
    for event in &trace.events {
        following.event(&event);
    }
    let mut pending: Vec<(u32, Pending)> = following.pending.drain().collect();
    pending.retain(|(_, pending)| pending.syncs > 0);
    let last =
        pending.into_iter().map(|(file, pending)| pending.ends(file, TraceSaveKind::InPlace));
    let mut saves = following.over;
    saves.extend(last);
    saves.order_by_key(|save| (save.begun, save.file));
    tell_logs(trace, &mut saves);
    saves
}

/// The saves under way.
struct Following<'a> {
    trace: &'a Trace,
    pending: HashMap<u32, Pending>,
    /// Where the last write to each file ended.
    ends: HashMap<u32, u64>,
    /// The renames whose old name may be written anew: what the file is called since, and that save so far.
    moved: HashMap<u32, Pending>,
    /// The file whose predecessor each of these is.
    kept_of: HashMap<u32, u32>,
    /// The file that a thread wrote last, and that thread's last save that is over.
    written: HashMap<Option<u32>, u32>,
    last: HashMap<Option<u32>, usize>,
    over: Vec<Save>,
}

impl<'a> Following<'a> {
    fn new(trace: &'a Trace) -> Following<'a> {
        Following {
            trace,
            pending: HashMap::new(),
            ends: HashMap::new(),
            moved: HashMap::new(),
            kept_of: HashMap::new(),
            written: HashMap::new(),
            last: HashMap::new(),
            over: Vec::new(),
        }
    }

    fn event(&mut self, event: &TraceEvent) {
        match event.action {
            TraceAction::Open { file, truncated, created } if truncated || created => {
                self.opened(file, truncated, event);
            }
            TraceAction::Write { file, offset, bytes } if self.is_plain(file) => {
                self.written(file, offset, bytes.0, event);
            }
            TraceAction::Sync { file, .. } => self.synced(file, event),
            TraceAction::Close { file } => {
                if let Some(pending) = self.pending.get_mut(&file) {
                    pending.closes(event);
                }
            }
            TraceAction::Truncate { file, bytes } if bytes.0 == 0 => {
                self.ends.remove(&file);
            }
            TraceAction::Rename { file, to } => self.renamed(file, to, event),
            TraceAction::Unlink { file } => self.unlinked(file, event),
            _ => {}
        }
    }

    fn kind(&self, file: u32) -> TraceFileKind {
        self.trace.files.get(file as usize).map_or(TraceFileKind::Other, |file| file.kind)
    }

    /// Whether the file is neither SQLite's nor a directory, a pipe or a device.
    fn is_plain(&self, file: u32) -> bool {
        self.kind(file) == TraceFileKind::Other
    }

    fn path(&self, file: u32) -> &'a str {
        let file = self.trace.files.get(file as usize);
        file.and_then(|file| file.path.as_deref()).unwrap_or_default()
    }

    fn is_over(&mut self, save: Save) {
        self.last.insert(save.task, self.over.len());
        self.over.push(save);
    }

    /// Ends a save in place, if it was synced; what was written without a sync is none.
    fn ends_in_place(&mut self, file: u32) {
        if let Some(pending) = self.pending.remove(&file).filter(|pending| pending.syncs > 0) {
            self.is_over(pending.ends(file, TraceSaveKind::InPlace));
        }
    }

    fn opened(&mut self, file: u32, truncated: bool, event: &TraceEvent) {
        if !self.is_plain(file) {
            return;
        }
        if !truncated && self.pending.get(&file).is_some_and(|pending| pending.writes > 0) {
            return;
        }
        self.ends_in_place(file);
        // A file that is there already may be opened with O_CREAT to append to it: where its first write is tells.
        let fresh = truncated || !self.ends.contains_key(&file);
        let mut pending = self.moved.remove(&file).unwrap_or_else(|| Pending::begins(event));
        pending.takes(event);
        (pending.is_emptied, pending.is_whole) = (truncated, fresh);
        if truncated {
            self.ends.remove(&file);
        }
        self.pending.insert(file, pending);
    }

    fn written(&mut self, file: u32, offset: Option<u64>, bytes: u64, event: &TraceEvent) {
        if self.pending.get(&file).is_some_and(|known| known.syncs > 0 && known.backup.is_none()) {
            self.ends_in_place(file);
        }
        let end = self.ends.get(&file).copied();
        let continues = offset.and_then(|offset| Some(offset == end?));
        let pending = self.pending.entry(file).or_insert_with(|| Pending::begins(event));
        if pending.writes == 0 {
            pending.continues = continues;
            pending.is_whole &= pending.is_emptied || offset == Some(0);
        } else if continues == Some(false) && pending.continues == Some(true) {
            pending.continues = Some(false);
        }
        pending.writes(event, bytes);
        match offset.and_then(|offset| offset.checked_add(bytes)) {
            Some(end) => self.ends.insert(file, end),
            None => self.ends.remove(&file),
        };
        self.written.insert(event.task, file);
    }

    fn synced(&mut self, file: u32, event: &TraceEvent) {
        if self.kind(file) == TraceFileKind::Directory {
            return self.directory_synced(file, event);
        }
        match self.pending.get_mut(&file) {
            Some(pending) if pending.writes > 0 => pending.syncs(event),
            Some(_) => {}
            // It was renamed before it was synced.
            None => {
                let last = self.last.get(&event.task).and_then(|at| self.over.get_mut(*at));
                if let Some(save) = last.filter(|save| save.file == file && save.syncs == 0) {
                    save.syncs(event);
                }
            }
        }
    }

    /// A directory was synced: with it the thread makes durable the name of what it wrote last.
    fn directory_synced(&mut self, directory: u32, event: &TraceEvent) {
        let directory = self.path(directory).trim_end_matches('/');
        let is_in =
            |path: &str| path.rsplit_once('/').is_some_and(|(parent, _)| parent == directory);
        if let Some(file) = self.written.get(&event.task)
            && let Some(pending) = self.pending.get_mut(file)
        {
            let path = self.trace.files.get(*file as usize).and_then(|file| file.path.as_deref());
            if pending.syncs > 0 && path.is_some_and(is_in) {
                pending.syncs(event);
            }
            return;
        }
        let Some(at) = self.last.get(&event.task).copied() else { return };
        let path = self.over.get(at).map_or("", |save| self.path(save.file));
        if is_in(path)
            && let Some(save) = self.over.get_mut(at)
            && save.syncs > 0
        {
            save.syncs(event);
        }
    }

    fn renamed(&mut self, file: u32, to: u32, event: &TraceEvent) {
        self.ends_in_place(to);
        // `x.bak` of `x`: the file is kept aside, and its own last save is over.
        let (old, new) = (self.path(file), self.path(to));
        let is_aside = !old.is_empty() && new.len() > old.len() && new.starts_with(old);
        let pending = self.pending.get(&file).copied().filter(|known| known.writes > 0);
        if let Some(mut pending) = pending.filter(|known| known.is_whole && !is_aside) {
            self.pending.remove(&file);
            pending.takes(event);
            let end = self.ends.remove(&file);
            end.and_then(|end| self.ends.insert(to, end));
            let kind = replaced(self.path(file), self.path(to));
            return self.is_over(pending.ends(to, kind));
        }
        // A log that makes way for the next one, or the old file of a save that begins.
        self.ends_in_place(file);
        self.ends.remove(&file);
        let mut moved = Pending::begins(event);
        moved.takes(event);
        moved.backup = Some(to);
        self.moved.insert(file, moved);
        self.kept_of.insert(to, file);
    }

    fn unlinked(&mut self, file: u32, event: &TraceEvent) {
        if let Some(saved) = self.kept_of.remove(&file) {
            self.moved.remove(&saved);
            let pending = self.pending.get(&saved).copied();
            let is_kept = |known: &Pending| known.backup == Some(file) && known.writes > 0;
            if let Some(mut pending) = pending.filter(is_kept) {
                self.pending.remove(&saved);
                pending.takes(event);
                let kind = kept(self.path(saved), self.path(file));
                self.is_over(pending.ends(saved, kind));
            }
            return;
        }
        self.ends_in_place(file);
        self.ends.remove(&file);
        // DataStore removes the file before it renames the new one.
        if let Some(beside) = self.written.get(&event.task)
            && !self.path(file).is_empty()
            && self.path(*beside).starts_with(self.path(file))
            && let Some(pending) = self.pending.get_mut(beside)
        {
            pending.takes(event);
        }
    }
}
