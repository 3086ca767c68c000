//! Packs the texts that the program carries (deflate): profiles, protocols, published figures, scenarios and
//! the lists of keys. Plain, they and the JSON Schema of run files would be half a megabyte of it.

use std::io::{Result, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Files, relative to this crate, each packed alone.
const FILES: [&str; 3] =
    ["generated/scenario-keys.txt", "generated/profile-keys.txt", "../../profiles/published.csv"];

/// Folders of scenarios or profiles, each packed in one piece: their files are so alike that this is half of what
/// they are one by one.
const FOLDERS: [&str; 4] =
    ["../../profiles", "../../profiles/protocols", "../../scenarios", "../../requirements"];

fn main() -> Result<()> {
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
        pack(&std::fs::read(within(file))?, file)?;
    }
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        let entries = std::fs::read_dir(within(folder))?.map(|entry| Ok(entry?.path()));
        let mut paths = entries.collect::<Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.file_stem().unwrap_or_default().as_encoded_bytes();
            // No text has a zero byte.
            for part in [name, &std::fs::read(&path)?] {
                all.extend_from_slice(part);
                all.push(0);
            }
        }
        pack(&all, folder)?;
    }
    Ok(())
}

fn within(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Packs bytes into `OUT_DIR/profiles.deflate`, for one.
fn pack(bytes: &[u8], name: &str) -> Result<()> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let to = out.join(format!("{}.deflate", name.trim_start_matches("../")));
    std::fs::create_dir_all(to.parent().unwrap_or(&out))?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    std::fs::write(to, encoder.finish()?)
}
