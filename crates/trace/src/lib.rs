//! Who writes what: traces of storage, imported from files of other tools or recorded live, and
//! summed up by process, file and layer.
//!
//! Every trace is made by a [`Builder`], which numbers tasks, files and devices, and sorts events
//! by time. [`import`] reads files of other tools; [`write_trace`] and [`read_trace`] handle the
//! stored form. [`replay_stream`] turns a trace into operations to replay.
#![forbid(unsafe_code)]

mod beside;
mod builder;
mod import;
mod ledger;
mod replay;
mod saves;
mod sqlite;
mod stored;

pub use beside::{BesideError, with_frames};
pub use builder::{Builder, MOST_EVENTS};
pub use import::{
    Columns, ColumnsError, Descriptor, ImportError, ImportOptions, Imported, InputFormat, Look,
    TableError, TracepointText, import, import_by, numbers_of_calls,
};
pub use ledger::{add_up, add_up_beside};
pub use replay::{MOST_OPERATIONS, MOST_THREADS, ReplayError, replay_stream};
pub use sqlite::recognize;
pub use stored::{StoredError, TraceWriter, read_trace, write_trace};
