//! Packs the JSON Schema that the program carries (deflate), as `flashlag-spec` packs its texts.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> std::io::Result<()> {
    const FROM: &str = "generated/run.schema.json";
    println!("cargo::rerun-if-changed={FROM}");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&std::fs::read(FROM)?)?;
    std::fs::write(out.join("run.schema.json"), encoder.finish()?)
}
