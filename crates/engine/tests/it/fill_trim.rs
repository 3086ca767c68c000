//! Trimming reaches the device: a loop image gives the space back.

use std::fs;

use crate::common::loop_mount::LoopMount;
use flashlag_engine::fill::trim;
use flashlag_units::Bytes;

#[test]
fn trimming_after_a_delete_gives_the_space_back() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(128, ""));
    let file = mount.path().join("span.dat");
    fs::write(&file, vec![0x5a; 40 << 20]).unwrap();
    rustix::fs::syncfs(fs::File::open(mount.path()).unwrap()).unwrap();
    let written = mount.image_bytes();
    fs::remove_file(&file).unwrap();
    let trimmed = trim(mount.path()).unwrap();
    assert!(trimmed >= Bytes::from_mib(40), "{trimmed}");
    let after = mount.image_bytes();
    assert!(after + (38 << 20) <= written, "the image went from {written} to {after} bytes");
}
