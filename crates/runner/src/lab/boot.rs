//! From a target to a guest that is up: filesystem, devices, kernel, first root.

use std::path::{Path, PathBuf};

use flashlag_lab::protocol::{Mount, SETUP, Setup};
use flashlag_lab::{
    Disk, Initramfs, Kernel, LabError, LabSpec, Machine, MachineSpec, ZeroDevice, guest_program,
    make_filesystem,
};

use super::target::LabTarget;

/// The device under test, and where the guest mounts it.
pub(super) const FLASH: (&str, &str) = ("flash", "/mnt/flash");
/// A device that takes no time, with the same filesystem: what is left on it is software.
#[allow(dead_code)]
pub(super) const FLOOR: (&str, &str) = ("floor", "/mnt/floor");

/// Whatever a guest needs beside its filesystem: disks.
const DRIVERS: [&str; 1] = ["virtio_blk"];

/// A guest and its devices. The guest ends before them.
#[derive(Debug)]
pub(super) struct Lab {
    pub machine: Machine,
    _devices: Vec<ZeroDevice>,
    _folder: tempfile::TempDir,
}

/// Boots it.
pub(super) fn boot(target: &LabTarget, disks: &[(&str, &str)]) -> Result<Lab, LabError> {
    let kernel = Kernel::find()?;
    let modules = modules(&kernel, &target.spec)?;
    let made = tempfile::Builder::new().prefix("flashlag-lab-").tempdir();
    let folder = made.map_err(|error| LabError::File {
        action: "create a folder in",
        path: std::env::temp_dir(),
        reason: error.to_string(),
    })?;
    let image = folder.path().join("image");
    make_filesystem(&target.spec, &image, target.size)?;
    let mut devices = Vec::new();
    for (serial, _) in disks {
        devices.push(ZeroDevice::start(&folder.path().join(serial), target.size, &image)?);
    }
    let _ = std::fs::remove_file(&image);
    let setup = setup(&target.spec, &modules, disks);
    let initramfs = first_root(&kernel, &modules, &setup, folder.path())?;
    let attached = disks.iter().zip(&devices).map(|((serial, _), device)| Disk {
        serial: (*serial).to_owned(),
        socket: device.socket().to_owned(),
    });
    let machine = Machine::boot(&MachineSpec {
        kernel: &kernel.image,
        initramfs: &initramfs,
        disks: &attached.collect::<Vec<_>>(),
        folder: folder.path(),
        accelerator: "tcg,thread=multi",
    })?;
    Ok(Lab { machine, _devices: devices, _folder: folder })
}

/// The modules that the filesystem needs, in the order in which they load.
fn modules(kernel: &Kernel, spec: &LabSpec) -> Result<Vec<PathBuf>, LabError> {
    let mut wanted = DRIVERS.to_vec();
    wanted.push(spec.filesystem.name());
    wanted.extend(["crypto-crc32c", "crypto-crc32"]);
    kernel.modules.in_order(&wanted).map_err(|module| LabError::NoModule {
        version: kernel.version.clone(),
        what: format!("driver for {}", spec.filesystem),
        module,
    })
}

fn setup(spec: &LabSpec, modules: &[PathBuf], disks: &[(&str, &str)]) -> Setup {
    let mounts = disks.iter().map(|(serial, at)| Mount {
        serial: (*serial).to_owned(),
        filesystem: spec.filesystem.name().to_owned(),
        options: spec.mount_options().join(","),
        at: (*at).to_owned(),
        encrypt: spec.encrypt,
    });
    let modules = modules.iter().map(|module| in_guest(module).to_string_lossy().into_owned());
    Setup { modules: modules.collect(), mounts: mounts.collect() }
}

fn in_guest(module: &Path) -> PathBuf {
    Path::new("/modules").join(module)
}

fn first_root(
    kernel: &Kernel,
    modules: &[PathBuf],
    setup: &Setup,
    folder: &Path,
) -> Result<PathBuf, LabError> {
    let mut archive = Initramfs::create(&folder.join("initramfs"))?;
    let program = std::env::current_exe();
    let program = program.map_err(|error| LabError::File {
        action: "find",
        path: "/proc/self/exe".into(),
        reason: error.to_string(),
    })?;
    guest_program(&program, &mut archive)?;
    for module in modules {
        archive.add_file(&in_guest(module), &kernel.modules.path(module))?;
    }
    let text = serde_json::to_string(setup).map_err(|error| LabError::Said(error.to_string()))?;
    archive.add_text(Path::new(SETUP), &text)?;
    archive.finish()
}
