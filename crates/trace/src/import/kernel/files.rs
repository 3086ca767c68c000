//! Files by inode, and by path where a tracepoint has it.

use std::collections::HashMap;

use flashlag_schema::trace::TraceFile;

use super::super::making::Making;

/// The files of the tracepoints.
#[derive(Debug, Default)]
pub(super) struct Files {
    names: HashMap<u64, u32>,
}

impl Files {
    /// The file of an inode. Where a tracepoint has named an inode of that number, it is that one.
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
