//! Things that are a user's: they must be the same, byte for byte and inode for inode, whatever we
//! make and remove beside them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// One thing: its inode, mode, modification time and contents (or where it leads).
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    inode: u64,
    mode: u32,
    modified: (i64, i64),
    contents: Vec<u8>,
}

/// Everything below `directory`, by path.
pub fn snapshot(directory: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = BTreeMap::new();
    collect(directory, &mut all);
    all
}

fn collect(directory: &Path, all: &mut BTreeMap<PathBuf, Seen>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let contents = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        let seen = Seen { inode: metadata.ino(), mode: metadata.mode(), modified, contents };
        if metadata.is_dir() {
            collect(&path, all);
        }
        all.insert(path, seen);
    }
}

/// Puts a user's things into `directory`, some of them with names that are nearly ours.
pub fn plant(directory: &Path) {
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
    write("canary.txt", "a user's letter");
    write("span.dat", "a user's data, with a name that we use");
    write("flashlag-manifest.json", "{}");
    write("flashlag-work-0123456789abcdee", "a file with our kind of name");
    let photos = directory.join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("holiday.dat"), vec![7u8; 70_000]).unwrap();
    symlink(&photos, directory.join("flashlag-work-0123456789abcdef")).unwrap();
    // Our kind of name, but nothing proves it ours.
    for (name, manifest) in [
        ("flashlag-work-1111111111111111", None),
        ("flashlag-work-2222222222222222", Some("{}")),
        ("flashlag-work-3333333333333333", Some("not JSON at all")),
        ("flashlag-work-4444444444444444", Some(OTHER_ID)),
        ("flashlag-work-5555555555555555", Some(OTHER_VERSION)),
        ("flashlag-work-6666666666666666", Some(ESCAPING)),
    ] {
        let ours = directory.join(name);
        fs::create_dir_all(ours.join("test")).unwrap();
        fs::write(ours.join("test/span.dat"), "kept").unwrap();
        if let Some(text) = manifest {
            fs::write(ours.join("flashlag-manifest.json"), text).unwrap();
        }
    }
    // A directory whose "manifest" leads elsewhere.
    let tricky = directory.join("flashlag-work-7777777777777777");
    fs::create_dir(&tricky).unwrap();
    symlink(directory.join("canary.txt"), tricky.join("flashlag-manifest.json")).unwrap();
    // Something else under the temporary manifest's name.
    let begun = directory.join("flashlag-work-8888888888888888");
    fs::create_dir(&begun).unwrap();
    fs::write(begun.join("flashlag-manifest.json.tmp"), "a user's notes").unwrap();
}

const OTHER_ID: &str = r#"{"schema":"flashlag.workspace/1","id":"0000000000000000",
    "owner":{"pid":1},"created_unix_seconds":0,"subdirectories":["test"]}"#;
const OTHER_VERSION: &str = r#"{"schema":"flashlag.workspace/9","id":"5555555555555555",
    "owner":{"pid":1},"created_unix_seconds":0,"subdirectories":["test"]}"#;
const ESCAPING: &str = r#"{"schema":"flashlag.workspace/1","id":"6666666666666666",
    "owner":{"pid":4194305},"created_unix_seconds":0,"subdirectories":["../photos"]}"#;
