//! The program on another kernel, in a guest of QEMU with the lab's kernel: within a control group of version 2 that
//! limits writes to a disk, and on a filesystem whose quota is used up. This kernel may have neither.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a failure shows the guest's console")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_lab::{Initramfs, Kernel, add_tool, guest_program};
use flashlag_schema::finding::{Explained, FindingId};
use flashlag_schema::{CheckCause, CheckId, CheckStatus, Run, RunStatus};

/// Durable writes, so few that only a limit takes their time.
const DURABLE: &str = r#"
name = "durable"
about = "Durable writes for three seconds."

[[io]]
name = "w"
operation = "write"
pattern = "random"
block = "4KiB"
span = "64KiB"
time = "3s"
durable = "fdatasync"

[[step]]
measure = ["w"]
state = "new"
"#;
/// Writes of 32 MiB in order, which a quota of 8 MiB ends.
const IN_ORDER: &str = r#"
name = "in_order"
about = "Writes in order."

[[io]]
name = "w"
operation = "write"
pattern = "sequential"
block = "64KiB"
span = "32MiB"
bytes = "32MiB"
durable = "none"

[[step]]
measure = ["w"]
state = "new"
"#;
/// Bytes a second that the group may write: an emulated processor comes near to it.
const WBPS: u64 = 100_000;
/// The longest that the guest may take, in seconds.
const PATIENCE: &str = "300";
/// Programs of the guest's script, with their packages.
const TOOLS: [(&str, &str); 10] = [
    ("sh", "dash"),
    ("cat", "coreutils"),
    ("mkdir", "coreutils"),
    ("chmod", "coreutils"),
    ("sync", "coreutils"),
    ("mount", "mount"),
    ("insmod", "kmod"),
    ("setquota", "quota"),
    ("quota", "quota"),
    ("setpriv", "util-linux"),
];
const MODULES: [&str; 5] = ["virtio_blk", "ext4", "quota_v2", "crypto-crc32c", "crypto-crc32"];

/// The guest's first process. What it found is written to the second disk as it is, a line with a name before each.
const SCRIPT: &str = r#"#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec > /dev/console 2>&1
mkdir -p /tmp /mnt/flash
mount -t tmpfs tmp /tmp
chmod 1777 /tmp
for module in $(cat /modules/order); do insmod "/modules/$module"; done
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +io +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/held
echo "$(cat /sys/block/vda/dev) wbps=WBPS" > /sys/fs/cgroup/held/io.max
mount -o usrquota /dev/vda /mnt/flash
cd /tmp
(
    sh -c 'echo $$ > /sys/fs/cgroup/held/cgroup.procs; exec "$@"' sh \
        /init run /durable.toml --yes --leave 1MB --on /mnt/flash -o /tmp/held.json 2> /tmp/progress
    status=$?
    echo "== status"
    echo $status
    /init run /durable.toml --yes --leave 1MB --on /mnt/flash -o /tmp/unheld.json > /tmp/progress 2>&1
    /init explain --json /mnt/flash > /tmp/free
) > /tmp/said
mkdir /mnt/flash/mine
chmod 777 /mnt/flash/mine
setquota -u 65534 0 8192 0 0 /mnt/flash
nobody() { setpriv --reuid 65534 --clear-groups "$@"; }
cd /mnt/flash/mine
nobody /init run /in_order.toml --yes --leave 1MB --on . -o /tmp/filled.json > /tmp/filling 2>&1
nobody /init run fill --yes --leave 1MB --set span=1MB --set time=200ms --on . -o /tmp/fill.json > /tmp/fill 2>&1
cd /tmp
{
    for name in said held.json unheld.json free filling filled.json fill fill.json; do
        echo "== $name"
        cat "/tmp/$name"
        echo
    done
    echo "== end"
} > /dev/vdb
sync
echo o > /proc/sysrq-trigger
while :; do read -r _; done < /dev/console
"#;

/// What the guest has written to its second disk, by name.
struct Found(String);

impl Found {
    fn of(&self, name: &str) -> &str {
        let (_, rest) =
            self.0.split_once(&format!("\n== {name}\n")).unwrap_or_else(|| panic!("{}", self.0));
        rest.split("\n== ").next().unwrap().trim_end()
    }

    fn run(&self, name: &str) -> Run {
        Run::from_json(self.of(name)).unwrap_or_else(|error| panic!("{name}: {error}: {}", self.0))
    }
}

/// The first root: the program, the tools of the script with their libraries, and the modules.
fn first_root(kernel: &Kernel, folder: &Path) -> PathBuf {
    let mut archive = Initramfs::create(&folder.join("initramfs")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_flashlag"));
    let tools = TOOLS.map(|(name, package)| add_tool(name, package, &mut archive).unwrap());
    assert!(tools.iter().all(|tool| tool.starts_with("/bin")));
    // As /init, which is not what the kernel starts.
    guest_program(program, &mut archive).unwrap();
    let modules = kernel.modules.in_order(&MODULES).unwrap();
    let mut order = String::new();
    for module in &modules {
        // insmod may have no library to unpack them with.
        let packed = kernel.modules.path(module);
        let name = module.file_name().unwrap().to_str().unwrap();
        let (name, packer) = match name.rsplit_once('.') {
            Some((name, "xz")) => (name, Some("xz")),
            Some((name, "zst")) => (name, Some("zstd")),
            _ => (name, None),
        };
        let plain = match packer {
            Some(packer) => {
                let output = Command::new(packer).arg("-dc").arg(&packed).output().unwrap();
                assert!(output.status.success(), "{packer} {}", packed.display());
                let plain = folder.join(name);
                fs::write(&plain, output.stdout).unwrap();
                plain
            }
            None => packed,
        };
        archive.add_file(&Path::new("/modules").join(name), &plain).unwrap();
        order.push_str(name);
        order.push('\n');
    }
    for (at, text) in [
        ("/modules/order", order.as_str()),
        ("/durable.toml", DURABLE),
        ("/in_order.toml", IN_ORDER),
        ("/start", &SCRIPT.replace("WBPS", &WBPS.to_string())),
        ("/etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"),
        ("/sys/.keep", ""),
        ("/proc/.keep", ""),
        ("/dev/.keep", ""),
    ] {
        archive.add_text(Path::new(at), text).unwrap();
    }
    archive.finish().unwrap()
}

/// Boots the guest on an ext4 with quotas, and returns what it has found. `None`, with a skip, where something that
/// it needs is missing.
fn found_in_a_guest() -> Option<Found> {
    let programs =
        TOOLS.iter().map(|(name, _)| *name).chain(["qemu-system-x86_64", "mkfs.ext4", "xz", "ldd"]);
    let missing: Vec<&str> = programs.filter(|name| !crate::support::program::has(name)).collect();
    if !missing.is_empty() {
        flashlag_need::skip(format!("there is no {}", missing.join(", no ")));
        return None;
    }
    let kernel = match Kernel::find() {
        Ok(kernel) => kernel,
        Err(error) => {
            flashlag_need::skip(error.to_string());
            return None;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (flash, taken, console) = (at("flash"), at("taken"), at("console"));
    for (file, bytes) in [(&flash, 64 << 20), (&taken, 16 << 20)] {
        fs::File::create(file).unwrap().set_len(bytes).unwrap();
    }
    let mut mkfs = Command::new("mkfs.ext4");
    mkfs.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()));
    let made = mkfs.args(["-q", "-F", "-O", "quota"]).arg(&flash).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let initramfs = first_root(&kernel, folder.path());
    let mut qemu = Command::new("timeout");
    qemu.args(["-s", "KILL", PATIENCE, "qemu-system-x86_64", "-nodefaults", "-no-user-config"]);
    qemu.args(["-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg"]);
    // One processor, as the lab has it.
    qemu.args(["-cpu", "max", "-smp", "1", "-m", "1024"]);
    qemu.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(&initramfs);
    qemu.args([
        "-append",
        "console=ttyS0 rdinit=/start panic=-1 nokaslr mitigations=off quiet tsc=reliable",
    ]);
    qemu.arg("-serial").arg(format!("file:{}", console.display()));
    for disk in [&flash, &taken] {
        qemu.arg("-drive")
            .arg(format!("file={},format=raw,if=virtio,cache=unsafe", disk.display()));
    }
    let ended = qemu.output().unwrap();
    let said = fs::read_to_string(&taken).unwrap_or_default();
    let said = format!("\n{}", said.trim_end_matches('\0'));
    let console = fs::read_to_string(&console).unwrap_or_default();
    assert!(said.contains("\n== end\n"), "{ended:?}\n{console}\n{said}");
    println!("{console}");
    Some(Found(said))
}

#[test]
fn in_a_guest_a_control_group_of_version_2_and_a_quota_are_named_as_what_holds_writes_back() {
    let Some(found) = found_in_a_guest() else { return };
    a_limit_of_bytes_is_named_with_its_file_and_its_value(&found);
    a_quota_is_named_where_writes_end_by_it(&found);
}

fn a_limit_of_bytes_is_named_with_its_file_and_its_value(found: &Found) {
    let run = found.run("held.json");
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits).unwrap();
    assert_eq!(
        (check.status, check.cause),
        (CheckStatus::Fail, Some(CheckCause::IoLimit)),
        "{check:?}"
    );
    let said = "`/sys/fs/cgroup/held/io.max` allows 100 kB/s of writes to vda";
    assert!(check.detail.contains(said), "{}", check.detail);
    let list = &run.findings.as_ref().unwrap().list;
    let limit =
        list.iter().find(|one| one.id == FindingId::IoLimit).unwrap_or_else(|| panic!("{list:?}"));
    let evidence = format!("{:?}", limit.evidence);
    assert!(evidence.contains("io.max") && evidence.contains("100 kB"), "{evidence}");
    // Another way to the rate: what was written in the time that it took.
    let phase = &run.phases[0];
    let rate = phase.ops as f64 * 4096.0 / phase.elapsed_ns.as_secs_f64();
    assert!(rate < 1.1 * WBPS as f64, "{rate} bytes a second");
    assert_eq!(found.of("status"), "3", "a trust check failed");
    // Outside of the group nothing holds it back.
    let run = found.run("unheld.json");
    let check = run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits).unwrap();
    assert_eq!(check.status, CheckStatus::Pass, "{check:?}");
    assert!(run.findings.unwrap().list.iter().all(|one| one.id != FindingId::IoLimit));
    assert!(run.phases[0].ops > 2 * phase.ops, "{} and {}", run.phases[0].ops, phase.ops);
}

fn a_quota_is_named_where_writes_end_by_it(found: &Found) {
    let explained: Explained = serde_json::from_str(found.of("free")).unwrap();
    let quota = explained.findings.iter().find(|one| one.id == FindingId::StorageQuota).unwrap();
    assert!(quota.evidence[0].value.contains("`quota -s` shows it"), "{quota:?}");
    let said = found.of("filling");
    assert!(said.contains("Disk quota exceeded") && !said.contains("No space"), "{said}");
    let ended = found.run("filled.json").status;
    assert!(
        matches!(&ended, RunStatus::Failed { error, .. } if error.contains("the quota is used up")),
        "{ended:?}"
    );
    // A fill ends by it as it ends on a full disk, and what follows says nothing of a full one.
    let filled = found.run("fill.json");
    let space = filled.trust.checks.iter().find(|check| check.id == CheckId::FreeSpace).unwrap();
    assert_eq!(space.status, CheckStatus::Fail, "{space:?}");
    assert!(space.detail.contains("A quota ended it"), "{space:?}");
}
