//! Which tests of another run answer what a purpose asks.

use super::types::{Io, Save, Test};
use super::{EngineKind, FileSave};

impl Test {
    /// Whether the other test does the same, however it is called and however long it lasts: then its figures are
    /// this one's too.
    pub fn measures_the_same(&self, other: &Test) -> bool {
        match (self, other) {
            (Test::Io(one), Test::Io(other)) => endless_io(one) == endless_io(other),
            (Test::Save(one), Test::Save(other)) => endless_save(one) == endless_save(other),
            (Test::FileSave(one), Test::FileSave(other)) => {
                endless_file_save(one) == endless_file_save(other)
            }
            _ => false,
        }
    }
}

fn endless_io(io: &Io) -> Io {
    let engine = EngineKind::Auto;
    Io { name: String::new(), bytes: None, time: None, min_ops: None, engine, ..io.clone() }
}

fn endless_save(save: &Save) -> Save {
    Save { name: String::new(), saves: None, time: None, min_saves: None, ..save.clone() }
}

fn endless_file_save(save: &FileSave) -> FileSave {
    FileSave { name: String::new(), saves: None, time: None, min_saves: None, ..save.clone() }
}
