//! On the host: the machine's first root and QEMU.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_lab::protocol::{Mount, SETUP, Setup};
use flashlag_lab::{Initramfs, Kernel};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::{ADB, DATA, MODEL, Outcome, READY};

const QEMU: &str = "qemu-system-aarch64";
/// Disks, the network, the filesystem, and the checksum that it asks the kernel for by name.
const MODULES: [&str; 4] = ["virtio_blk", "virtio_net", "crypto-crc32", "f2fs"];
/// Mount options of the phone of this model.
const OPTIONS: &str = "background_gc=on,discard,active_logs=6,fsync_mode=posix";
/// The phone's model: the year, the maker and the filesystem of the profile `pixel-2016`.
const PHONE: &str = "pixel-android9";
/// Limit for a boot of a translated machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Boots the machine and keeps it until a signal.
pub fn boot([kernel, program, socket, port]: [&str; 4]) -> Outcome {
    let folder = tempfile::Builder::new().prefix("flashlag-phone-guest").tempdir()?;
    let kernel = Kernel::in_folder(Path::new(kernel))?;
    let root = first_root(&kernel, Path::new(program), &folder)?;
    let console = folder.path().join("console");
    let mut command = Command::new(QEMU);
    command.args(arguments(&kernel, &root, &console, socket, port));
    let mut machine = Machine(command.stdin(Stdio::null()).spawn()?);
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ends))?;
    }
    let begin = Instant::now();
    let said =
        || String::from_utf8_lossy(&std::fs::read(&console).unwrap_or_default()).into_owned();
    let mut ready = false;
    while !ends.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        if machine.0.try_wait()?.is_some() || (!ready && begin.elapsed() > PATIENCE) {
            return Err(format!("the machine ended or did not come up:\n{}", said()).into());
        }
        if !ready && said().contains(READY) {
            println!("adb connect 127.0.0.1:{port}");
            ready = true;
        }
    }
    Ok(())
}

/// A machine that ends with the value.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn first_root(
    kernel: &Kernel,
    program: &Path,
    folder: &TempDir,
) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let mut archive = Initramfs::create(&folder.path().join("root.cpio"))?;
    archive.add_file(Path::new("/init"), program)?;
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/android").join(PHONE);
    archive.add_tree(Path::new(MODEL), &model)?;
    archive.add_tree(Path::new("/"), &kernel.folder.join("root"))?;
    // The tool that `/bin/sh` is by installing the package.
    archive.add_file(Path::new("/bin/sh"), &kernel.folder.join("root/bin/dash"))?;
    let modules = kernel.modules.in_order(&MODULES)?;
    let mut setup = Setup { modules: Vec::new(), mounts: vec![data()], atomic: false };
    for module in modules {
        let at = Path::new("/modules").join(module.file_name().unwrap_or_default());
        archive.add_file(&at, &kernel.modules.path(&module))?;
        setup.modules.push(at.to_string_lossy().into_owned());
    }
    archive.add_text(Path::new(SETUP), &serde_json::to_string(&setup)?)?;
    Ok(archive.finish()?)
}

fn data() -> Mount {
    Mount {
        serial: DATA.to_owned(),
        zones: None,
        filesystem: "f2fs".to_owned(),
        options: OPTIONS.to_owned(),
        at: "/mnt/data".to_owned(),
        above: Vec::new(),
        encrypt: None,
        make: Vec::new(),
    }
}

fn arguments(
    kernel: &Kernel,
    root: &Path,
    console: &Path,
    socket: &str,
    port: &str,
) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    add(&["-machine", "virt", "-cpu", "cortex-a72", "-accel", "tcg,thread=multi"]);
    add(&["-smp", "2", "-m", "1536"]);
    add(&["-kernel", &kernel.image.to_string_lossy(), "-initrd", &root.to_string_lossy()]);
    // A name that the kernel does not know becomes a variable of its first process.
    add(&[
        "-append",
        "console=ttyAMA0 rdinit=/init panic=-1 quiet loglevel=4 PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    ]);
    add(&["-serial", &format!("file:{}", console.display())]);
    add(&["-netdev", &format!("user,id=net,hostfwd=tcp:127.0.0.1:{port}-:{ADB}")]);
    add(&["-device", "virtio-net-pci,netdev=net,romfile="]);
    // Nothing changes requests between the kernel and the device.
    let disk = "cache.direct=on,discard=unmap,detect-zeroes=off";
    add(&[
        "-blockdev",
        &format!("driver=nbd,node-name=data,server.type=unix,server.path={socket},{disk}"),
    ]);
    let device = "virtio-blk-pci,drive=data,write-cache=on,request-merging=off,num-queues=1";
    add(&["-device", &format!("{device},serial={DATA}")]);
    arguments
}
