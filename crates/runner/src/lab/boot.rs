//! From a target to a running guest: filesystem, devices, kernel, initramfs.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flashlag_lab::protocol::{Mount, SETUP, Setup};
use flashlag_lab::{
    Disk, Filesystem, Initramfs, Kernel, LabError, LabSpec, Layout, Machine, MachineSpec,
    accelerator, add_tool, guest_program, make_filesystem, make_options, make_program,
    zones_serial,
};
use flashlag_serve::{OwnDirectory, Running, Settings};
use flashlag_units::Bytes;

use super::watch::{DeviceWatch, load, socket, start};
use crate::request::Request;
use crate::target::LabTarget;

/// A run on a lab's target.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabRun<'a> {
    pub(super) request: &'a Request,
    pub(super) target: &'a LabTarget,
}

/// Serial number and mount point of the device under test.
pub(super) const FLASH: (&str, &str) = ("flash", "/mnt/flash");
/// Serial number and mount point of the floor: a device that takes no time, with the same filesystem,
/// on which only the software's time remains.
pub(super) const FLOOR: (&str, &str) = ("floor", "/mnt/floor");
/// File with the new filesystem.
const IMAGE: &str = "image";
/// File with every request to the device.
const RECORDING: &str = "recording";
/// The profile of a device that takes no time.
pub(super) const NO_TIME: &str = "zero";

/// Drivers that every guest needs: its disks.
const DRIVERS: [&str; 1] = ["virtio_blk"];
/// The driver of zones.
const ZONES: &str = "nvme";
/// Checksums that filesystems ask the kernel for by name.
const CHECKSUMS: [&str; 2] = ["crypto-crc32c", "crypto-crc32"];
/// Character sets of names that FAT asks the kernel for.
const NAMES: [&str; 2] = ["nls_cp437", "nls_ascii"];

/// Modules of dm-crypt, which requests its ciphers from the kernel by name.
const CIPHERS: [&str; 7] =
    ["dm_crypt", "xts", "aesni_intel", "adiantum", "chacha_generic", "nhpoly1305", "aes_generic"];

/// Default limit for a boot, in seconds: a translated guest takes 5 to 12 s, more on a busy machine.
const PATIENCE: u64 = 120;
/// The environment variable with another limit, in seconds.
const PATIENCE_VARIABLE: &str = "FLASHLAG_LAB_PATIENCE";
/// How many boots are tried: a kernel sometimes fails if two translated processors start at once.
const ATTEMPTS: u32 = 4;

/// Serial number and mount point of the device for crash images.
pub(super) const CRASH: (&str, &str) = ("crash", "/mnt/crash");

/// The purpose of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Measuring, with a floor.
    Measuring,
    /// Measuring with fills.
    Filling,
    /// Power cuts: the device is recorded from its start, and a second one takes crash images.
    Cuts,
}

/// A guest and its devices. The guest ends before them.
#[derive(Debug)]
pub(super) struct Lab {
    pub machine: Machine,
    pub flash: DeviceWatch,
    /// The floor or the device for crash images; `None` if the device under test takes no time or is zoned.
    beside: Option<Running>,
    folder: OwnDirectory,
}

impl Lab {
    /// Whether there is a device to measure the software's floor on.
    pub fn has_floor(&self) -> bool {
        self.beside.is_some()
    }

    /// Folder for files, removed with this value.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Image of the device at its start.
    pub fn base(&self) -> PathBuf {
        self.folder().join(IMAGE)
    }

    /// File with the recorded requests.
    pub fn recording(&self) -> PathBuf {
        self.folder().join(RECORDING)
    }

    /// Loads an image into the second device.
    pub fn load(&self, image: &Path) -> Result<(), LabError> {
        let beside = self.beside.as_ref();
        let device = beside.ok_or_else(|| LabError::NoSecondDevice)?;
        load(device, image)
    }
}

/// Boots a guest on the devices of a target.
pub(super) fn boot(
    target: &LabTarget,
    seed: u64,
    purpose: Purpose,
    stop: &AtomicBool,
) -> Result<Lab, LabError> {
    let patience = patience()?;
    let kernel = Kernel::find()?;
    let modules = modules(&kernel, target)?;
    let folder = folder()?;
    let image = folder.path().join(IMAGE);
    let zones = target.zones;
    let mut layout = None;
    if zones.is_none() {
        make_filesystem(&target.spec, &image, target.size)?;
        layout = Layout::read(&target.spec, &image)?;
    }
    let holding = |settings: Settings| Settings {
        // Otherwise the guest makes it: it has the key, or the zones.
        image: (!is_made_by_guest(target)).then(|| image.clone()),
        // Data of a fill does not fit into memory.
        scratch: (purpose == Purpose::Filling).then(|| folder.path().to_owned()),
        ..settings
    };
    let flash = start(holding(target.settings(seed)))?;
    let beside = match purpose {
        Purpose::Measuring | Purpose::Filling if target.profile.name == NO_TIME => None,
        // No device without zones has the software's cost on zones.
        _ if zones.is_some() => None,
        _ => {
            let instant = Settings { size: Some(target.size), seed, ..Settings::of(NO_TIME) };
            Some(start(holding(instant))?)
        }
    };
    let mut mounted = vec![FLASH];
    let mut disks = vec![Disk { serial: FLASH.0.to_owned(), socket: socket(&flash)?, zones }];
    if let Some(beside) = &beside {
        let (serial, _) = if purpose == Purpose::Cuts { CRASH } else { FLOOR };
        disks.push(Disk { serial: serial.to_owned(), socket: socket(beside)?, zones: None });
        mounted.extend((purpose != Purpose::Cuts).then_some(FLOOR));
    }
    let mut flash = DeviceWatch::new(flash, layout, folder.path())?;
    match purpose {
        // The devices have loaded the image.
        Purpose::Measuring | Purpose::Filling => drop(std::fs::remove_file(&image)),
        Purpose::Cuts => flash.record_all(folder.path().join(RECORDING))?,
    }
    let setup = setup(target, &modules, &mounted);
    let program = program()?;
    let initramfs = first_root(&kernel, &modules, (target, &setup), folder.path())?;
    let until = Instant::now() + patience;
    let spec = MachineSpec {
        kernel: &kernel.image,
        initramfs: &initramfs,
        disks: &disks,
        folder: folder.path(),
        accelerator: accelerator(&kernel, &program, folder.path(), patience, stop)?,
        patience,
        stop,
    };
    let machine = machine(&spec, until)?;
    Ok(Lab { machine, flash, beside, folder })
}

/// The limit for a boot.
fn patience() -> Result<Duration, LabError> {
    let Some(given) = std::env::var_os(PATIENCE_VARIABLE) else {
        return Ok(Duration::from_secs(PATIENCE));
    };
    let given = given.to_string_lossy();
    match given.parse() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err(LabError::Patience {
            variable: PATIENCE_VARIABLE,
            value: given.into_owned(),
            usual: PATIENCE,
        }),
    }
}

/// Boots a machine, in several attempts if the guest fails, all of them within one limit. A guest that
/// hangs is not tried again.
fn machine(spec: &MachineSpec<'_>, until: Instant) -> Result<Machine, LabError> {
    let mut attempt = 1;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match Machine::boot(&MachineSpec { patience: left, ..*spec }) {
            Err(LabError::Guest { .. }) if attempt < ATTEMPTS && Instant::now() < until => {
                attempt += 1;
            }
            Err(LabError::Guest { what, console }) => {
                let limit = spec.patience.as_secs();
                let what = format!(
                    "{what} (attempt {attempt}, {limit} s for all; {PATIENCE_VARIABLE} says another \
                     limit)"
                );
                return Err(LabError::Guest { what, console });
            }
            other => return other,
        }
    }
}

pub(super) fn folder() -> Result<OwnDirectory, LabError> {
    OwnDirectory::for_lab().map_err(|error| LabError::Folder(error.into()))
}

/// The modules that the filesystem needs, in the order in which they load.
fn modules(kernel: &Kernel, target: &LabTarget) -> Result<Vec<PathBuf>, LabError> {
    let spec = &target.spec;
    let mut wanted = DRIVERS.to_vec();
    if target.zones.is_some() {
        wanted.push(ZONES);
    }
    wanted.push(spec.filesystem.name());
    if spec.filesystem == Filesystem::Vfat {
        wanted.extend(NAMES);
    }
    wanted.extend(CHECKSUMS);
    if spec.encrypt.is_some() {
        wanted.extend(CIPHERS);
    }
    wanted.extend(spec.above.iter().filter_map(|layer| layer.module()));
    kernel.modules.in_order(&wanted).map_err(|module| LabError::NoModule {
        version: kernel.version.clone(),
        what: format!("driver for {}", spec.filesystem),
        module,
    })
}

fn setup(target: &LabTarget, modules: &[PathBuf], mounted: &[(&str, &str)]) -> Setup {
    let (spec, size) = (&target.spec, target.size);
    let mounts = mounted.iter().map(|(serial, at)| Mount {
        serial: (*serial).to_owned(),
        filesystem: spec.filesystem.name().to_owned(),
        options: spec.mount_options().join(","),
        at: (*at).to_owned(),
        above: spec.above.clone(),
        encrypt: spec.encrypt,
        zones: target.zones.map(|_| zones_serial(serial)),
        make: if is_made_by_guest(target) { make_words(spec, size) } else { Vec::new() },
    });
    let modules = modules.iter().map(|module| in_guest(module).to_string_lossy().into_owned());
    Setup { modules: modules.collect(), mounts: mounts.collect(), atomic: spec.atomic }
}

/// Whether the guest makes the filesystem.
fn is_made_by_guest(target: &LabTarget) -> bool {
    target.spec.encrypt.is_some() || target.zones.is_some()
}

fn make_words(spec: &LabSpec, size: Bytes) -> Vec<String> {
    let (program, _) = make_program(spec);
    std::iter::once(format!("/bin/{program}")).chain(make_options(spec, size)).collect()
}

fn in_guest(module: &Path) -> PathBuf {
    Path::new("/modules").join(module)
}

/// This program's file, which is the guest's first process too.
fn program() -> Result<PathBuf, LabError> {
    std::env::current_exe().map_err(|source| LabError::File {
        action: "find",
        path: "/proc/self/exe".into(),
        source,
    })
}

fn first_root(
    kernel: &Kernel,
    modules: &[PathBuf],
    (target, setup): (&LabTarget, &Setup),
    folder: &Path,
) -> Result<PathBuf, LabError> {
    let spec = &target.spec;
    let mut archive = Initramfs::create(&folder.join("initramfs"))?;
    guest_program(&program()?, &mut archive)?;
    if spec.encrypt.is_some() {
        add_tool("cryptsetup", "cryptsetup-bin", &mut archive)?;
    }
    if is_made_by_guest(target) {
        let (make, package) = make_program(spec);
        add_tool(&make, package, &mut archive)?;
    }
    for (program, package) in spec.above.iter().filter_map(|layer| layer.program()) {
        add_tool(program, package, &mut archive)?;
    }
    for module in modules {
        archive.add_file(&in_guest(module), &kernel.modules.path(module))?;
    }
    let text = serde_json::to_string(setup).map_err(LabError::from)?;
    archive.add_text(Path::new(SETUP), &text)?;
    archive.finish()
}
