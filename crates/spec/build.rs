//! Packs the texts that the program carries (deflate): profiles, protocols, published figures, scenarios and
//! the lists of keys. Plain, they and the JSON Schema of run files would be half a megabyte of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Folders of texts, relative to this crate, and the extensions that are packed.
const FOLDERS: [(&str, &[&str]); 5] = [
    ("generated", &["txt"]),
    ("../../profiles", &["toml", "csv"]),
    ("../../profiles/protocols", &["toml"]),
    ("../../scenarios", &["toml"]),
    ("../../requirements", &["toml"]),
];

fn main() -> std::io::Result<()> {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    for (folder, extensions) in FOLDERS {
        // Without the folders above: `OUT_DIR/profiles/protocols/NAME`.
        let into = out.join(folder.trim_start_matches("../"));
        std::fs::create_dir_all(&into)?;
        println!("cargo::rerun-if-changed={folder}");
        for entry in std::fs::read_dir(crate_folder.join(folder))? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if extension.is_some_and(|extension| extensions.contains(&extension)) {
                println!("cargo::rerun-if-changed={}", path.display());
                pack(&path, &into.join(path.file_name().unwrap_or_default()))?;
            }
        }
    }
    Ok(())
}

fn pack(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&std::fs::read(from)?)?;
    std::fs::write(to, encoder.finish()?)
}
