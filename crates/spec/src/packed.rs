//! Texts that the program contains, compressed by the build script.

use std::io::Read;
use std::ops::Deref;
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;

/// A text that is packed in the program (deflate) and unpacked when it is first read.
#[derive(Debug)]
pub struct PackedText {
    packed: &'static [u8],
    text: OnceLock<String>,
}

impl PackedText {
    /// A text from its deflate stream.
    pub const fn new(packed: &'static [u8]) -> PackedText {
        PackedText { packed, text: OnceLock::new() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let mut text = String::new();
            // The build script packed it: tests verify that each text equals its file.
            let _ = DeflateDecoder::new(self.packed).read_to_string(&mut text);
            text
        })
    }
}

impl Deref for PackedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.text()
    }
}

/// The texts of a folder, packed in one piece: each behind its name, with a zero byte behind both.
#[derive(Debug)]
pub struct PackedFolder(pub PackedText);

impl PackedFolder {
    /// The text of that name.
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut parts = self.0.text().split('\0');
        loop {
            let (found, text) = (parts.next()?, parts.next()?);
            if found == name {
                return Some(text);
            }
        }
    }
}

/// What the build script packed of this path: a file's text, or a folder's.
macro_rules! packed {
    ($path:literal) => {
        $crate::packed::PackedText::new(include_bytes!(concat!(
            env!("OUT_DIR"),
            "/",
            $path,
            ".deflate"
        )))
    };
}
pub(crate) use packed;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::profile::{builtin_profile, builtin_protocol, names, protocol_names};
    use crate::scenario::{BUILTINS, PURPOSES};

    #[test]
    fn each_text_that_the_program_carries_is_its_file_and_no_file_is_left_out() {
        let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let files = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.extension().is_some_and(|one| one == "toml")).count()
        };
        for name in names() {
            let path = profiles.join(format!("{name}.toml"));
            assert!(builtin_profile(name) == Some(&*read(&path)), "{name}");
        }
        for name in protocol_names() {
            let path = profiles.join(format!("protocols/{name}.toml"));
            assert!(builtin_protocol(name) == Some(&*read(&path)), "{name}");
        }
        for (scenarios, folder) in [(&BUILTINS[..], "scenarios"), (&PURPOSES[..], "requirements")] {
            let folder = profiles.with_file_name(folder);
            for scenario in scenarios {
                let path = folder.join(format!("{}.toml", scenario.name));
                assert!(scenario.text() == read(&path), "{}", scenario.name);
            }
            assert_eq!(scenarios.len(), files(&folder));
        }
        assert_eq!(names().count(), files(&profiles));
        assert_eq!(protocol_names().count(), files(&profiles.join("protocols")));
    }

    #[test]
    fn a_stream_that_is_no_deflate_is_an_empty_text() {
        static NONE: PackedText = PackedText::new(&[0xff; 8]);
        assert_eq!(&*NONE, "");
    }
}
