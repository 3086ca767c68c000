//! Packs the pages' scripts (deflate), as `flashlag-spec` packs its texts.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> std::io::Result<()> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    for name in ["index.js", "compare.js"] {
        let from = format!("templates/{name}");
        println!("cargo::rerun-if-changed={from}");
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&std::fs::read(from)?)?;
        std::fs::write(out.join(name), encoder.finish()?)?;
    }
    Ok(())
}
