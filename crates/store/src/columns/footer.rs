//! What a Parquet file says of itself at its end: its columns, and where their cells are.

use super::thrift::{Kind, Thrift};

/// The bytes that a file begins and ends with.
pub const MAGIC: &[u8; 4] = b"PAR1";

/// The types of cells, by their numbers in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Boolean,
    Integer,
    Double,
    Text,
    /// One that flashlag does not write.
    Other,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub name: Vec<u8>,
    pub cells: Type,
    /// Whether a cell may be null.
    pub is_optional: bool,
}

/// The cells of a column in one group of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Where its first page begins.
    pub start: u64,
    /// Bytes of all its pages.
    pub length: u64,
    pub cells: usize,
    pub is_compressed: bool,
}

/// The columns, and the groups of rows with a chunk for each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    pub columns: Vec<Head>,
    pub groups: Vec<Vec<Chunk>>,
    /// Whether there are lists or columns within columns, of which flashlag writes none.
    pub is_nested: bool,
}

impl Footer {
    /// Reads a footer; `None` if it is damaged.
    pub fn of(bytes: &[u8]) -> Option<Footer> {
        let mut footer = Footer::default();
        let mut is_root = true;
        Thrift::new(bytes).first(&mut |thrift, number, kind| match number {
            2 => thrift.list(kind, &mut |thrift, kind| {
                let (head, is_nested) = head(thrift, kind)?;
                if is_root {
                    is_root = false;
                    return Some(());
                }
                footer.is_nested |= is_nested;
                footer.columns.push(head);
                Some(())
            }),
            4 => thrift.list(kind, &mut |thrift, kind| {
                let mut chunks = Vec::new();
                thrift.structure(kind, &mut |thrift, number, kind| match number {
                    1 => thrift.list(kind, &mut |thrift, kind| {
                        chunks.push(chunk(thrift, kind)?);
                        Some(())
                    }),
                    _ => thrift.skip(kind),
                })?;
                footer.groups.push(chunks);
                Some(())
            }),
            _ => thrift.skip(kind),
        })?;
        let is_whole = footer.groups.iter().all(|chunks| chunks.len() == footer.columns.len());
        (is_whole || footer.is_nested).then_some(footer)
    }
}

/// An element of the schema, and whether it is a group of others or a list.
fn head(thrift: &mut Thrift<'_>, kind: Kind) -> Option<(Head, bool)> {
    let mut head = Head { name: Vec::new(), cells: Type::Other, is_optional: false };
    let mut is_nested = false;
    thrift.structure(kind, &mut |thrift, number, kind| {
        match number {
            1 => {
                head.cells = match thrift.number(kind)? {
                    0 => Type::Boolean,
                    2 => Type::Integer,
                    5 => Type::Double,
                    6 => Type::Text,
                    _ => Type::Other,
                }
            }
            3 => {
                let repetition = thrift.number(kind)?;
                head.is_optional = repetition == 1;
                is_nested |= repetition == 2;
            }
            4 => head.name = thrift.binary(kind)?.to_vec(),
            5 => is_nested |= thrift.number(kind)? > 0,
            _ => thrift.skip(kind)?,
        }
        Some(())
    })?;
    Some((head, is_nested))
}

fn chunk(thrift: &mut Thrift<'_>, kind: Kind) -> Option<Chunk> {
    let mut chunk = Chunk::default();
    let (mut data, mut dictionary) = (None, None);
    thrift.structure(kind, &mut |thrift, number, kind| match number {
        3 => thrift.structure(kind, &mut |thrift, number, kind| {
            match number {
                4 => chunk.is_compressed = thrift.number(kind)? != 0,
                5 => chunk.cells = thrift.size(kind)?,
                7 => chunk.length = thrift.size(kind)? as u64,
                9 => data = Some(thrift.size(kind)? as u64),
                11 => dictionary = Some(thrift.size(kind)? as u64),
                _ => thrift.skip(kind)?,
            }
            Some(())
        }),
        _ => thrift.skip(kind),
    })?;
    // Some writers say 0 where there is no dictionary.
    let dictionary = dictionary.filter(|at| *at > 0);
    chunk.start = dictionary.map_or(data, |at| data.map(|data| data.min(at)))?;
    Some(chunk)
}
