//! Kernel, distribution or Android build, machine, hypervisor.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_schema::Software;
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::internals::meminfo;
use crate::reason::Reason;
use crate::root::Root;

const BUILD_PROPERTIES: &[&str] =
    &["/system/build.prop", "/vendor/build.prop", "/default.prop", "/vendor/default.prop"];

pub(crate) fn software(root: &Root) -> Software {
    Software {
        kernel: kernel(root).into(),
        system: system(root).into(),
        machine: machine(root).into(),
        virtualized: virtualized(root).into(),
    }
}

fn kernel(root: &Root) -> Result<String, Reason> {
    if root.is_live() {
        let uname = rustix::system::uname();
        let parts = [uname.sysname(), uname.release(), uname.machine()];
        return Ok(parts.map(|part| part.to_string_lossy().into_owned()).join(" "));
    }
    let files = ["ostype", "osrelease", "arch"].map(|file| format!("/proc/sys/kernel/{file}"));
    let [system, release, machine] = files.map(|file| root.line(file));
    Ok([system?, release?, machine.unwrap_or_default()].join(" ").trim().to_owned())
}

fn system(root: &Root) -> Result<String, Reason> {
    if let Some(release) = property(root, "ro.build.version.release") {
        let build = property(root, "ro.build.id").map(|build| format!(" ({build})"));
        return Ok(format!("Android {release}{}", build.unwrap_or_default()));
    }
    let text = root.line("/etc/os-release").or_else(|_| root.line("/usr/lib/os-release"))?;
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key));
        let value = lines.find_map(|rest| rest.strip_prefix('='))?;
        Some(value.trim_matches(['"', '\'']).to_owned())
    };
    value("PRETTY_NAME")
        .or_else(|| value("NAME"))
        .ok_or_else(|| Reason::content("/etc/os-release", "names no system"))
}

fn machine(root: &Root) -> Result<String, Reason> {
    if let Some(model) = property(root, "ro.product.model") {
        let maker = property(root, "ro.product.manufacturer");
        return Ok(maker.map(|maker| format!("{maker} ")).unwrap_or_default() + &model);
    }
    let tree = ["/proc/device-tree/model", "/sys/firmware/devicetree/base/model"];
    if let Some(model) = tree.iter().find_map(|file| root.line(file).ok()) {
        return Ok(model);
    }
    let product = root.line("/sys/class/dmi/id/product_name").map_err(|reason| {
        Reason::none(format!("neither a device tree nor DMI names the machine ({reason})"))
    })?;
    let vendor = root.line("/sys/class/dmi/id/sys_vendor").ok();
    // On a Lenovo, the version is the well-known model name.
    let version = root.line("/sys/class/dmi/id/product_version").ok();
    let version = version.filter(|_| vendor.as_deref() == Some("LENOVO"));
    let version = version.map(|version| format!(" ({version})")).unwrap_or_default();
    Ok(vendor.map(|vendor| format!("{vendor} ")).unwrap_or_default() + &product + &version)
}

/// Vendors of virtual machines in DMI's `sys_vendor`.
const HYPERVISORS: &[&str] = &[
    "QEMU",
    "VMware",
    "innotek",
    "Xen",
    "Amazon EC2",
    "Google",
    "Parallels",
    "KVM",
    "Bochs",
    "OpenStack",
    "DigitalOcean",
    "Hetzner",
];

/// Signs of a hypervisor: on x86 the CPU's flags, for Xen `/sys/hypervisor`, for virtual boards the
/// device tree. An ARM machine without a sign counts as real only if its device tree names a board.
fn virtualized(root: &Root) -> Result<bool, Reason> {
    if let Some(emulated) = emulated_phone(root) {
        return Ok(emulated);
    }
    if root.line("/sys/hypervisor/type").is_ok() || root.has("/proc/device-tree/hypervisor") {
        return Ok(true);
    }
    let vendor = root.line("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = root.line("/sys/class/dmi/id/product_name").unwrap_or_default();
    let vendor_known = HYPERVISORS.iter().any(|name| vendor.starts_with(name));
    if vendor_known || product == "Virtual Machine" || product.starts_with("KVM") {
        return Ok(true);
    }
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    if let Some(flags) = cpuinfo.lines().find(|line| line.starts_with("flags")) {
        return Ok(flags.split_whitespace().any(|flag| flag == "hypervisor"));
    }
    match root.line("/proc/device-tree/model") {
        Ok(model) => Ok(model.contains("dummy-virt") || model.contains("virtual")),
        Err(_) => Err("no sign of a hypervisor, and nothing that names a real board".into()),
    }
}

/// Whether an Android on ARM is an emulator, by the properties that emulators set; `None`
/// elsewhere. On x86 the general signs apply.
fn emulated_phone(root: &Root) -> Option<bool> {
    property(root, "ro.build.version.release")?;
    let marked = ["ro.kernel.qemu", "ro.boot.qemu"];
    if marked.iter().any(|key| property(root, key).as_deref() == Some("1")) {
        return Some(true);
    }
    let abi = property(root, "ro.product.cpu.abi")
        .or_else(|| property(root, "ro.product.cpu.abilist"))?;
    abi.starts_with("arm").then_some(false)
}

/// An Android property: from the build's files, which older releases let everyone read, or by
/// `getprop`, whose output a captured tree keeps as `/getprop`.
pub(crate) fn property(root: &Root, key: &str) -> Option<String> {
    let in_file = |file: &&str| {
        let text = root.text(file).ok()?;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(key));
        values.find_map(|rest| rest.strip_prefix('=')).map(|value| value.trim().to_owned())
    };
    let value = BUILD_PROPERTIES.iter().find_map(in_file).or_else(|| asked(root, key));
    value.filter(|value| !value.is_empty())
}

fn asked(root: &Root, key: &str) -> Option<String> {
    const PROGRAM: &str = "/system/bin/getprop";
    if !root.is_live() {
        // As `adb shell getprop` prints it: `[key]: [value]`.
        let text = root.text("/getprop").ok()?;
        let mut pairs = text
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')?.split_once("]: ["));
        return pairs.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned());
    }
    if !root.has(PROGRAM) || can_start().is_err() {
        return None;
    }
    let asked = Command::new(PROGRAM).arg(key).stdin(Stdio::null()).stderr(Stdio::null()).output();
    Some(String::from_utf8_lossy(&asked.ok()?.stdout).trim().to_owned())
}

/// `MemTotal`.
pub(crate) fn memory(root: &Root) -> Reading<Bytes> {
    meminfo(root, "MemTotal").into()
}

static MAY_START: AtomicBool = AtomicBool::new(true);

/// From now on, starts no program of the system; what only those report is then absent. For apps:
/// Android's system-call filter would kill such programs before they begin, and perhaps this
/// process with them.
pub fn start_no_programs() {
    MAY_START.store(false, Ordering::Relaxed);
}

/// Why no program can be started, in words, if so.
pub(crate) fn can_start() -> Result<(), Reason> {
    if MAY_START.load(Ordering::Relaxed) {
        Ok(())
    } else {
        Err("Android's filter of system calls kills what a program for x86_64 starts".into())
    }
}
