use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};

use flashlag_spec::scenario::FileKind;

/// The prefix of the name of every flashlag directory; 16 hexadecimal digits follow.
pub const WORKSPACE_PREFIX: &str = "flashlag-work-";
/// The manifest's name.
pub(crate) const MANIFEST: &str = "flashlag-manifest.json";
/// Where a new manifest is written before it takes the old one's place.
pub(crate) const MANIFEST_TEMPORARY: &str = "flashlag-manifest.json.tmp";

/// The ending of the name of a temporary file outside flashlag's directories, which is renamed onto
/// a result.
pub const TEMPORARY_ENDING: &str = ".flashlag-tmp";
const TEMPORARY_PREFIX: &str = "flashlag-";

const ID_DIGITS: usize = 16;
const LONGEST_STEM: usize = 64;
/// Endings of data files, and of the files that SQLite creates next to a database.
const ENDINGS: &[&str] = &[".dat", ".db", ".db-journal", ".db-wal", ".db-shm"];

/// Whether a file of this name, inside a subdirectory of ours, can be one that we made: a stem of
/// lower-case letters, digits, `_` and `-` (1 to 64 of them), then `.dat`, `.db`, `.db-journal`,
/// `.db-wal`, `.db-shm`, or SQLite's super-journal `.db-mj` and hexadecimal digits; or the name of a file of saves
/// without SQLite.
///
/// Every file of a run must have such a name, or it is left behind by [`crate::guard::clean`].
pub fn is_ours(name: &str) -> bool {
    let Some((stem, _)) = name.split_once('.') else { return false };
    let ending = &name[stem.len()..];
    // The files of saves without SQLite, by their whole names: others have such endings, too.
    FileKind::ALL.iter().any(|kind| kind.names().contains(&name))
        || is_plain(stem) && (ENDINGS.contains(&ending) || is_super_journal(ending))
}

/// `.db-mj` and hexadecimal digits, as `sqlite3PagerOpen`'s caller `vdbeCommit` makes them.
fn is_super_journal(ending: &str) -> bool {
    let Some(digits) = ending.strip_prefix(".db-mj") else { return false };
    (1..=16).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a subdirectory may have this name.
pub(crate) fn is_plain(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (1..=LONGEST_STEM).contains(&name.len()) && name.bytes().all(allowed)
}

/// The id in a directory's name, if the name fits the scheme.
pub(crate) fn id_of(name: &str) -> Option<&str> {
    let id = name.strip_prefix(WORKSPACE_PREFIX)?;
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (id.len() == ID_DIGITS && id.bytes().all(hexadecimal)).then_some(id)
}

/// `flashlag-0123456789abcdef-89abcdef.flashlag-tmp`: an id and its check digits, so that no file
/// of the user is ever mistaken for one.
pub(crate) fn temporary_name(id: &str) -> String {
    format!("{TEMPORARY_PREFIX}{id}-{:08x}{TEMPORARY_ENDING}", check_digits(id))
}

/// Whether a file outside may be removed by its name.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let id = |name: &str| {
        let inner = name.strip_prefix(TEMPORARY_PREFIX)?.strip_suffix(TEMPORARY_ENDING)?;
        Some(inner.split_once('-')?.0.to_owned())
    };
    let Some(name) = name.to_str() else { return false };
    id(name).is_some_and(|id| id.len() == ID_DIGITS && temporary_name(&id) == name)
}

/// FNV-1a of 32 bits: against accidents, not against attackers.
fn check_digits(id: &str) -> u32 {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    id.bytes().fold(0x811c_9dc5, fold)
}

/// A new id. It must be unique, not secret: the standard library's hasher has random keys from the
/// operating system, and `mkdir` finds a collision anyway.
pub(crate) fn new_id() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_we_make_are_ours_and_others_are_not() {
        for name in ["span.dat", "fill-0001.dat", "save_wal.db", "a.db-wal", "a.db-shm"] {
            assert!(is_ours(name), "{name}");
        }
        assert!(is_ours("a.db-journal") && is_ours("save-2.db-mj0A1B2C3D4"));
        assert!(is_ours("save-0.xml.bak") && !is_ours("a.xml") && !is_ours("save-0.txt"));
        for name in ["", ".", "..", ".dat", "a", "a.dat.bak", "Photo.dat", "a.txt", "a b.dat"] {
            assert!(!is_ours(name), "{name}");
        }
        assert!(!is_ours("a.db-mj") && !is_ours("a.db-mjXYZ") && !is_ours("ü.dat"));
        assert!(!is_ours(&format!("{}.dat", "a".repeat(65))));
    }

    #[test]
    fn a_workspace_name_is_the_prefix_and_sixteen_hexadecimal_digits() {
        let id = new_id();
        assert_eq!(id_of(&format!("{WORKSPACE_PREFIX}{id}")), Some(id.as_str()));
        for name in ["flashlag-work-", "flashlag-work-0123456789ABCDEF", "flashlag-work-01234567"] {
            assert_eq!(id_of(name), None, "{name}");
        }
        assert_eq!(id_of("flashlag-work-0123456789abcdef0"), None);
    }

    #[test]
    fn a_temporary_is_known_by_its_check_digits_and_no_user_has_such_a_name() {
        let name = temporary_name(&new_id());
        assert!(is_temporary(OsStr::new(&name)), "{name}");
        let other = temporary_name("0123456789abcdef").replacen("0123", "0124", 1);
        for name in [&other, "", ".flashlag-tmp", "run.json.flashlag-tmp", "flashlag-.flashlag-tmp"]
        {
            assert!(!is_temporary(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn ids_differ() {
        assert_ne!(new_id(), new_id());
    }
}
