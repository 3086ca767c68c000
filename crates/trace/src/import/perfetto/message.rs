//! The messages of a Perfetto trace, field by field.

/// A field of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; `None`, as the last item, for a damaged one.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Option<(u32, Value<'_>)>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_none() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<(u32, Value<'a>)> {
    use prost::encoding::{WireType, decode_key, decode_varint};
    let (number, wire) = decode_key(rest).ok()?;
    let length = match wire {
        WireType::Varint => return Some((number, Value::Number(decode_varint(rest).ok()?))),
        WireType::LengthDelimited => usize::try_from(decode_varint(rest).ok()?).ok()?,
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        // Not in Perfetto's messages.
        WireType::StartGroup | WireType::EndGroup => return None,
    };
    let whole: &'a [u8] = rest;
    let bytes = whole.get(..length)?;
    *rest = &whole[length..];
    Some((number, Value::Bytes(bytes)))
}

/// The last value of each field, by number.
pub(super) struct Message<'a>(pub(super) Vec<(u32, Value<'a>)>);

impl<'a> Message<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Option<Message<'a>> {
        fields(bytes).collect::<Option<Vec<_>>>().map(Message)
    }

    pub(super) fn number(&self, field: u32) -> Option<u64> {
        self.0.iter().rev().find_map(|(number, value)| match value {
            Value::Number(value) if *number == field => Some(*value),
            _ => None,
        })
    }

    /// The values of a repeated field, whether packed or not.
    pub(super) fn numbers(&self, field: u32) -> impl Iterator<Item = u64> + '_ {
        let of = move |(number, value): &(u32, Value<'a>)| match value {
            _ if *number != field => Vec::new(),
            Value::Number(value) => vec![*value],
            Value::Bytes(packed) => {
                let mut rest: &[u8] = packed;
                let next = || prost::encoding::decode_varint(&mut rest).ok();
                std::iter::from_fn(next).take(6).collect()
            }
        };
        self.0.iter().flat_map(of)
    }

    pub(super) fn bytes(&self, field: u32) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.0.iter().filter_map(move |(number, value)| match value {
            Value::Bytes(bytes) if *number == field => Some(*bytes),
            _ => None,
        })
    }

    pub(super) fn text(&self, field: u32) -> Option<&'a str> {
        self.bytes(field).last().and_then(|bytes| std::str::from_utf8(bytes).ok())
    }
}
