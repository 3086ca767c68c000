//! A page of a column: its head, and its cells.

use super::cell::Cell;
use super::footer::Type;
use super::thrift::Thrift;

/// How cells are stored, by Parquet's numbers.
const PLAIN: i64 = 0;
const RUNS: i64 = 3;
const DICTIONARY: [i64; 2] = [2, 8];

/// What a page is, by Parquet's numbers.
const DATA: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;
const DATA_2: i64 = 3;

/// The head of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageHead {
    kind: i64,
    /// Bytes of the page without its head.
    pub length: usize,
    pub cells: usize,
    encoding: i64,
    /// Bytes of the levels, where the head says so.
    levels: Option<usize>,
}

impl PageHead {
    /// The head that the bytes begin with, and its length.
    pub fn of(bytes: &[u8]) -> Option<(PageHead, usize)> {
        let mut head = PageHead::default();
        let mut thrift = Thrift::new(bytes);
        thrift.first(&mut |thrift, number, kind| match number {
            1 => set(&mut head.kind, thrift.number(kind)),
            3 => set(&mut head.length, thrift.size(kind)),
            5 | 7 => thrift.structure(kind, &mut |thrift, number, kind| match number {
                1 => set(&mut head.cells, thrift.size(kind)),
                2 => set(&mut head.encoding, thrift.number(kind)),
                _ => thrift.skip(kind),
            }),
            8 => thrift.structure(kind, &mut |thrift, number, kind| match number {
                1 => set(&mut head.cells, thrift.size(kind)),
                4 => set(&mut head.encoding, thrift.number(kind)),
                5 => set(&mut head.levels, thrift.size(kind).map(Some)),
                _ => thrift.skip(kind),
            }),
            _ => thrift.skip(kind),
        })?;
        Some((head, bytes.len() - thrift.left()))
    }

    /// Whether it is the list of a column's different values.
    pub fn is_dictionary(&self) -> bool {
        self.kind == DICTIONARY_PAGE
    }

    /// Whether it has cells.
    pub fn is_data(&self) -> bool {
        [DATA, DATA_2].contains(&self.kind)
    }
}

fn set<T>(to: &mut T, value: Option<T>) -> Option<()> {
    *to = value?;
    Some(())
}

/// A column's different values, by their number.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
}

impl Dictionary {
    /// Reads a page of them.
    pub fn of(head: &PageHead, bytes: Vec<u8>, cells: Type) -> Option<Dictionary> {
        let (mut starts, mut rest) = (Vec::new(), bytes.as_slice());
        for _ in 0..head.cells {
            starts.push(bytes.len() - rest.len());
            plain(cells, &mut rest)?;
        }
        Some(Dictionary { bytes, starts })
    }

    fn cell(&self, number: u32, cells: Type) -> Option<Cell<'_>> {
        let start = *self.starts.get(number as usize)?;
        plain(cells, &mut self.bytes.get(start..)?)
    }
}

/// The cells of a page.
enum Cells<'a> {
    Plain(&'a [u8]),
    Bits(Runs<'a>),
    Numbers(Runs<'a>),
}

/// Visits the cells of a page with data. What is damaged, or stored as flashlag does not, is `None`.
pub fn visit(
    head: &PageHead,
    bytes: &[u8],
    column: (Type, bool),
    dictionary: &Dictionary,
    visit: &mut dyn FnMut(Cell<'_>),
) -> Option<()> {
    let (kind, is_optional) = column;
    let (mut levels, mut rest) = (None, bytes);
    match head.levels {
        Some(length) => {
            let (bytes, after) = rest.split_at_checked(length)?;
            rest = after;
            levels = is_optional.then(|| Runs::new(bytes, 1));
        }
        None if is_optional => {
            let bytes = counted(&mut rest)?;
            levels = Some(Runs::new(bytes, 1));
        }
        None => {}
    }
    let mut cells = match (head.encoding, kind) {
        (PLAIN, Type::Boolean) => Cells::Bits(Runs::of_bits(rest)),
        (PLAIN, _) => Cells::Plain(rest),
        (RUNS, Type::Boolean) => Cells::Bits(Runs::new(counted(&mut rest)?, 1)),
        (encoding, _) if DICTIONARY.contains(&encoding) => match rest.split_first() {
            Some((width, rest)) => Cells::Numbers(Runs::new(rest, u32::from(*width))),
            // All cells are null.
            None => Cells::Plain(rest),
        },
        _ => return None,
    };
    for _ in 0..head.cells {
        if let Some(levels) = &mut levels
            && levels.next()? == 0
        {
            visit(Cell::Null);
            continue;
        }
        visit(match &mut cells {
            Cells::Plain(rest) => plain(kind, rest)?,
            Cells::Bits(bits) => Cell::Boolean(bits.next()? != 0),
            Cells::Numbers(numbers) => dictionary.cell(numbers.next()?, kind)?,
        });
    }
    Some(())
}

/// Bytes with their number before them.
fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (bytes, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(bytes)
}

/// The cell that the bytes begin with.
fn plain<'a>(cells: Type, rest: &mut &'a [u8]) -> Option<Cell<'a>> {
    if cells == Type::Text {
        return counted(rest).map(Cell::Text);
    }
    let (bytes, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    match cells {
        Type::Integer => Some(Cell::Integer(i64::from_le_bytes(*bytes))),
        Type::Double => Some(Cell::Real(f64::from_le_bytes(*bytes))),
        Type::Boolean | Type::Text | Type::Other => None,
    }
}

/// Numbers of a few bits each, stored as runs of equal ones and as packed ones.
struct Runs<'a> {
    rest: &'a [u8],
    width: u32,
    /// The number that is repeated, and how often yet.
    repeated: (u32, u64),
    /// The packed ones, and the next bit among them.
    packed: (&'a [u8], usize),
}

impl<'a> Runs<'a> {
    fn new(rest: &'a [u8], width: u32) -> Runs<'a> {
        Runs { rest, width, repeated: (0, 0), packed: (&[], 0) }
    }

    /// Single bits without runs.
    fn of_bits(packed: &'a [u8]) -> Runs<'a> {
        Runs { rest: &[], width: 1, repeated: (0, 0), packed: (packed, 0) }
    }

    fn next(&mut self) -> Option<u32> {
        loop {
            if self.repeated.1 > 0 {
                self.repeated.1 -= 1;
                return Some(self.repeated.0);
            }
            let (bytes, bit) = self.packed;
            if bit < bytes.len() * 8 {
                self.packed.1 += self.width as usize;
                let mut word = 0_u64;
                for (place, byte) in bytes.get(bit / 8..)?.iter().take(5).enumerate() {
                    word |= u64::from(*byte) << (8 * place);
                }
                return Some((word >> (bit % 8) & ((1 << self.width) - 1)) as u32);
            }
            self.begin_run()?;
        }
    }

    fn begin_run(&mut self) -> Option<()> {
        if self.width > 32 {
            return None;
        }
        let mut head = 0_u64;
        let mut shift = 0;
        loop {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            head |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            if shift > 28 {
                return None;
            }
        }
        if head & 1 == 1 && self.width > 0 {
            // Eight numbers have as many bytes as one has bits. The last ones may be left out.
            let length = ((head >> 1) as usize * self.width as usize).min(self.rest.len());
            let (bytes, rest) = self.rest.split_at_checked(length)?;
            (self.rest, self.packed) = (rest, (bytes, 0));
            return Some(());
        }
        let (bytes, rest) = self.rest.split_at_checked(self.width.div_ceil(8) as usize)?;
        let mut value = 0_u32;
        for (place, byte) in bytes.iter().enumerate() {
            value |= u32::from(*byte) << (8 * place);
        }
        let numbers = if head & 1 == 1 { (head >> 1) * 8 } else { head >> 1 };
        (self.rest, self.repeated) = (rest, (value, numbers));
        Some(())
    }
}
