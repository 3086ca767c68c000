//! The object file with the programs for the kernel, embedded in compressed form.

use std::io::Read;

use flate2::read::DeflateDecoder;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.bpf.o.deflate"));

/// The alignment that the parser needs.
const ALIGNMENT: usize = 8;

/// The object file, unpacked.
pub(super) struct Object {
    bytes: Vec<u8>,
    begin: usize,
}

impl Object {
    pub(super) fn unpack() -> Object {
        let mut file = Vec::new();
        // The build script compressed it; a test checks that it decompresses to the file.
        let _ = DeflateDecoder::new(PACKED).read_to_end(&mut file);
        let mut bytes: Vec<u8> = Vec::with_capacity(file.len() + ALIGNMENT);
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        bytes.resize(begin, 0);
        bytes.append(&mut file);
        Object { bytes, begin }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.begin..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_that_flashlag_carries_is_the_stored_file_at_an_aligned_address() {
        let object = Object::unpack();
        assert!(object.bytes() == include_bytes!("../../bpf/trace.bpf.o"));
        assert_eq!(object.bytes().as_ptr().align_offset(ALIGNMENT), 0);
    }
}
