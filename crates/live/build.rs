//! Packs the programs for the kernel (deflate): they have 93 kB, most of it type information.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const OBJECT: &str = "bpf/trace.bpf.o";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed={OBJECT}");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let object = std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(OBJECT))?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&object)?;
    std::fs::write(out.join("trace.bpf.o.deflate"), encoder.finish()?)
}
