//! Files by inode, with a path if a tracepoint has one.

use std::collections::HashMap;

use flashlag_schema::trace::TraceFile;

use super::super::making::Making;
use super::look::Look;

/// Most files of a running machine to remember; beyond that, all are forgotten and looked up again.
const MOST_SEEN: usize = 1 << 16;

/// The files of the tracepoints.
#[derive(Debug, Default)]
pub(super) struct Files {
    names: HashMap<u64, u32>,
    seen: HashMap<(String, u64), u32>,
}

impl Files {
    /// The file of an inode on a running machine, with its path if it can be found.
    pub(super) fn looked_up(
        &mut self,
        device: String,
        inode: u64,
        look: &mut dyn Look,
        making: &mut Making,
    ) -> u32 {
        if let Some(file) = self.seen.get(&(device.clone(), inode)) {
            return *file;
        }
        let path = look.path(&device, inode);
        let name = look.filesystem(&device).unwrap_or_else(|| device.clone());
        let number = Some(making.builder.device(&name));
        let file = TraceFile { path, inode: Some(inode), device: number, ..TraceFile::default() };
        // Without a path, a reused inode number must not be taken for the earlier file.
        let file = if file.path.is_some() {
            making.builder.file(file)
        } else {
            making.builder.another_file(file)
        };
        if self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        self.seen.insert((device, inode), file);
        file
    }

    /// Forgets an inode number, which may be reused for another file from now on.
    pub(super) fn forget(&mut self, device: String, inode: u64) {
        self.seen.remove(&(device, inode));
    }

    /// The file of an inode; if a tracepoint has named the path of that inode number, that file.
    pub(super) fn of_inode(&self, device: &str, inode: u64, making: &mut Making) -> u32 {
        if let Some(file) = self.names.get(&inode) {
            return *file;
        }
        let device = Some(making.builder.device(device));
        making.builder.file(TraceFile { inode: Some(inode), device, ..TraceFile::default() })
    }

    /// The file of a path.
    pub(super) fn of_name(&mut self, path: &str, inode: u64, making: &mut Making) -> u32 {
        let (path, inode_of) = (Some(path.to_owned()), Some(inode));
        let file = making.builder.file(TraceFile { path, inode: inode_of, ..TraceFile::default() });
        self.names.insert(inode, file);
        file
    }
}
