//! Decodes the text of a results file, whatever its compression and encoding.

use std::io::Read;

use thiserror::Error;

/// The longest text that is unpacked: no results of fio are as long, and a small file can claim to be.
const LONGEST: u64 = 1 << 30;

/// Why a file has no text.
#[derive(Debug, Error)]
pub enum TextError {
    /// Packed by a program that flashlag does not unpack.
    #[error("packed by {program}: unpack it first, with `{unpack}`")]
    Packed {
        /// The program that packed it.
        program: &'static str,
        /// The command that unpacks it.
        unpack: &'static str,
    },
    /// A gzip file that is damaged or cut off.
    #[error("packed by gzip, and damaged or cut off: {0}; test it with `gzip -t FILE`")]
    Gzip(#[source] std::io::Error),
    /// More than can be unpacked.
    #[error("longer than 1 GiB when unpacked: that is no results file")]
    Long,
    /// No encoding of text.
    #[error(
        "neither UTF-8 nor UTF-16 (the first byte that fits neither is number {at}): save it as UTF-8, as \
         with `iconv -f LATIN1 -t UTF-8 FILE`"
    )]
    Encoding {
        /// The place of the first byte that is not UTF-8, from 1.
        at: usize,
    },
}

/// The first bytes of files that are packed otherwise, the program that packs them, and the command
/// that unpacks them.
const PACKED: [(&[u8], &str, &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstd -d FILE"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xz -d FILE"),
    (b"BZh", "bzip2", "bzip2 -d FILE"),
    (b"PK\x03\x04", "zip", "unzip FILE"),
];

/// The text of a file's bytes: unpacked if gzip packed it, from UTF-8 or UTF-16 (PowerShell's `>` writes that), with
/// or without a byte order mark.
///
/// # Errors
/// Another packer, another encoding, damage.
pub fn text_of(bytes: Vec<u8>) -> Result<String, TextError> {
    if let Some((_, program, unpack)) = PACKED.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return Err(TextError::Packed { program, unpack });
    }
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return decoded(bytes);
    }
    let mut unpacked = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    reader.take(LONGEST + 1).read_to_end(&mut unpacked).map_err(TextError::Gzip)?;
    if unpacked.len() as u64 > LONGEST {
        return Err(TextError::Long);
    }
    decoded(unpacked)
}

fn decoded(bytes: Vec<u8>) -> Result<String, TextError> {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        // Results begin with ASCII, so in UTF-16 every second byte is 0.
        [first, 0, ..] if *first != 0 => utf16(&bytes, u16::from_le_bytes),
        [0, second, ..] if *second != 0 => utf16(&bytes, u16::from_be_bytes),
        _ => None,
    };
    let text = match text {
        Some(text) => text,
        None => String::from_utf8(bytes)
            .map_err(|error| TextError::Encoding { at: error.utf8_error().valid_up_to() + 1 })?,
    };
    Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty())
}
