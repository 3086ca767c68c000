//! Thrift's compact protocol, in which a Parquet file describes itself, as far as that needs it.

/// Structures within structures; a Parquet file has six.
const DEEPEST: usize = 16;

/// The type of a field or of a list's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(u8);

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const NUMBERS: std::ops::RangeInclusive<u8> = 4..=6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LISTS: std::ops::RangeInclusive<u8> = 9..=10;
const MAP: u8 = 11;
const STRUCTURE: u8 = 12;

/// Bytes that are read from their beginning. What is damaged is `None`.
#[derive(Clone, Debug)]
pub struct Thrift<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Thrift<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { rest: bytes, depth: 0 }
    }

    /// The number of bytes that were not read yet.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A whole number.
    pub fn number(&mut self, kind: Kind) -> Option<i64> {
        let value = self.varint().filter(|_| NUMBERS.contains(&kind.0))?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number that is not negative.
    pub fn size(&mut self, kind: Kind) -> Option<usize> {
        usize::try_from(self.number(kind)?).ok()
    }

    /// Bytes, or a text.
    pub fn binary(&mut self, kind: Kind) -> Option<&'a [u8]> {
        let length = self.varint().filter(|_| kind.0 == BINARY)?;
        self.bytes(usize::try_from(length).ok()?)
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads a structure: `field` is given each field's number, and must read the field or skip it.
    pub fn structure(
        &mut self,
        kind: Kind,
        field: &mut dyn FnMut(&mut Thrift<'a>, i64, Kind) -> Option<()>,
    ) -> Option<()> {
        if kind.0 != STRUCTURE || self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                self.depth -= 1;
                return Some(());
            }
            number = match head >> 4 {
                0 => self.number(Kind(*NUMBERS.start()))?,
                more => number.checked_add(i64::from(more))?,
            };
            field(self, number, Kind(head & 0xf))?;
        }
    }

    /// Reads the structure that the bytes begin with.
    pub fn first(
        &mut self,
        field: &mut dyn FnMut(&mut Thrift<'a>, i64, Kind) -> Option<()>,
    ) -> Option<()> {
        self.structure(Kind(STRUCTURE), field)
    }

    /// Reads a list: `element` must read each element or skip it.
    pub fn list(
        &mut self,
        kind: Kind,
        element: &mut dyn FnMut(&mut Thrift<'a>, Kind) -> Option<()>,
    ) -> Option<()> {
        let head = self.byte().filter(|_| LISTS.contains(&kind.0))?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        for _ in 0..count {
            let before = self.left();
            element(self, Kind(head & 0xf))?;
            // A damaged list of elements without bytes would have no end.
            if self.left() == before {
                return None;
            }
        }
        Some(())
    }

    /// Passes over a field.
    pub fn skip(&mut self, kind: Kind) -> Option<()> {
        match kind.0 {
            TRUE | FALSE => Some(()),
            BYTE => self.byte().map(drop),
            DOUBLE => self.bytes(8).map(drop),
            BINARY => self.binary(kind).map(drop),
            STRUCTURE => self.structure(kind, &mut |thrift, _, kind| thrift.skip(kind)),
            // An element that is true or false has a byte.
            kind if LISTS.contains(&kind) => {
                self.list(Kind(kind), &mut |thrift, kind| match kind.0 {
                    TRUE | FALSE => thrift.byte().map(drop),
                    _ => thrift.skip(kind),
                })
            }
            MAP => self.map(),
            _ => self.number(kind).map(drop),
        }
    }

    fn map(&mut self) -> Option<()> {
        let count = self.varint()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        for _ in 0..count {
            let before = self.left();
            self.skip(Kind(kinds >> 4))?;
            self.skip(Kind(kinds & 0xf))?;
            if self.left() == before {
                return None;
            }
        }
        Some(())
    }
}
