//! The program within limits that the machine sets: control groups of version 1 on this kernel, the limits of a
//! shell, and quotas. Version 2 is in guest_limits.rs, and read from trees in crates/inspect/tests/it/limits.rs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::engine_common::loop_mount::LoopMount;
use flashlag_schema::finding::{Explained, FindingId, Severity};
use flashlag_schema::{Check, CheckCause, CheckId, CheckStatus, Run};

/// Durable writes, so few that only a limit takes their time.
const DURABLE: &str = r#"
name = "durable"
about = "Durable writes for two seconds."

[[io]]
name = "w"
operation = "write"
pattern = "random"
block = "4KiB"
span = "64KiB"
time = "2s"
durable = "fdatasync"

[[step]]
measure = ["w"]
state = "new"
"#;

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_flashlag")
}

/// A control group of version 1, removed when dropped.
struct Group(PathBuf);

impl Group {
    /// `None`, with a skip, where this kernel's hierarchy has no such controller in version 1.
    fn of(controller: &str) -> Option<Group> {
        let above = Path::new("/sys/fs/cgroup").join(controller);
        if !flashlag_need::root("a control group") {
            return None;
        }
        if !above.join("release_agent").is_file() {
            flashlag_need::skip(format!("{controller} is no hierarchy of version 1 here"));
            return None;
        }
        let group = above.join(format!("flashlag-test-{}-{controller}", std::process::id()));
        fs::create_dir(&group).unwrap();
        Some(Group(group))
    }

    fn set(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }

    /// The program with these words, within the group.
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"/cgroup.procs; exec \"$@\""]);
        command.arg(&self.0).arg(program()).args(words).output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be in it.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn judged(run: &Run) -> &Check {
    run.trust.checks.iter().find(|check| check.id == CheckId::MachineLimits).unwrap()
}

fn stored(path: &Path) -> Run {
    Run::from_json(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Requests a second of the writes that were timed, each a write and a flush: another way to the rate than the
/// group's counters.
fn rate_of_writes(run: &Run) -> f64 {
    let phase = &run.phases[0];
    2.0 * phase.ops as f64 / phase.elapsed_ns.as_secs_f64()
}

/// The first of five runs that its limit held back, or the last one: a machine so busy that it gives the run less than
/// the limit allows is the one that holds it back.
fn at_the_limit(
    mut is_held: impl FnMut(&Run) -> bool,
    run: impl Fn() -> (Output, Run),
) -> (Output, Run) {
    let mut last = run();
    for _ in 0..4 {
        if is_held(&last.1) {
            break;
        }
        last = run();
    }
    last
}

#[test]
fn a_limit_of_requests_in_version_1_is_named_and_the_run_is_not_trusted() {
    let Some(group) = Group::of("blkio") else { return };
    let mount = match LoopMount::ext4(32, "") {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let device = mount.device();
    let numbers = fs::read_to_string(format!("/sys/class/block/{device}/dev")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (scenario, output) = (folder.path().join("durable.toml"), folder.path().join("run.json"));
    // Long enough that one request more or less is a fortieth. Of four threads one always waits for the limit,
    // however late a busy machine lets the others go on.
    let four = DURABLE.replace("2s", "4s").replace("durable =", "threads = 4\ndurable =");
    fs::write(&scenario, four).unwrap();
    let words = |output: &Path| {
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        [
            "run",
            &path(&scenario),
            "--yes",
            "--force",
            "--on",
            &path(mount.path()),
            "-o",
            &path(output),
        ]
        .map(str::to_owned)
    };
    let run = |group: &Group| {
        let words = words(&output);
        let done = group.run(&words.each_ref().map(String::as_str));
        (done, stored(&output))
    };
    group.set("blkio.throttle.write_iops_device", &format!("{} 10", numbers.trim()));
    // Nine tenths of the ten requests that it may make.
    let (done, limited) = at_the_limit(|run| rate_of_writes(run) >= 9.0, || run(&group));
    let check = judged(&limited);
    assert_eq!(
        (check.status, check.cause),
        (CheckStatus::Fail, Some(CheckCause::IoLimit)),
        "{check:?}"
    );
    let file = group.0.join("blkio.throttle.write_iops_device").display().to_string();
    assert!(
        check.detail.contains(&format!("`{file}` allows 10 writes a second to {device}")),
        "{}",
        check.detail
    );
    assert!(check.advice.as_ref().unwrap().contains(&file), "{check:?}");
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("No verdict: these waits came from a limit on I/O"), "{said}");
    let rate = rate_of_writes(&limited);
    assert!((5.0..15.0).contains(&rate), "{rate} requests a second");
    let found = &limited.findings.as_ref().unwrap().list;
    assert!(found.iter().any(|one| one.id == FindingId::IoLimit), "{found:?}");
    // A directory alone.
    let explained = group.run(&["explain", mount.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&explained.stdout).replace("\n          ", " ");
    assert!(said.contains("One thing to change"), "{said}");
    assert!(said.contains(&format!("It allows 10 writes a second to {device}")), "{said}");
    // A limit that nothing comes near to is a fact, and no cause.
    group.set("blkio.throttle.write_iops_device", &format!("{} 50000000", numbers.trim()));
    let (_, free) = run(&group);
    assert_eq!(judged(&free).status, CheckStatus::Pass, "{:?}", judged(&free));
    assert_eq!(free.environment.limits.as_ref().unwrap().set.len(), 1);
    assert!(free.findings.unwrap().list.iter().all(|one| one.id != FindingId::IoLimit));
}

/// Time for which the kernel held the group back so far.
fn throttled(group: &Group) -> u64 {
    let text = fs::read_to_string(group.0.join("cpu.stat")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_time ")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_quota_of_cpus_in_version_1_is_what_to_change() {
    let Some(group) = Group::of("cpu") else { return };
    group.set("cpu.cfs_quota_us", "10000");
    // However busy the machine is, it gets what the quota allows: only the quota takes its time.
    group.set("cpu.shares", "200000");
    let folder = tempfile::tempdir().unwrap();
    let (scenario, output) = (folder.path().join("busy.toml"), folder.path().join("run.json"));
    // Writes into the page cache: nothing but the processor takes their time.
    let busy = DURABLE.replace("durable = \"fdatasync\"", "direct = false").replace("2s", "1s");
    fs::write(&scenario, busy).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (on, scenario, out) = (path(folder.path()), path(&scenario), path(&output));
    let words = ["run", &scenario, "--yes", "--force", "--leave", "1MB", "--on", &on, "-o", &out];
    let mut before = throttled(&group);
    // For twice as long as its phase took: its preparation is held back too.
    let is_held = |run: &Run| {
        let held = throttled(&group) - before;
        before += held;
        held > 2 * run.phases[0].elapsed_ns.0
    };
    let (done, run) = at_the_limit(is_held, || (group.run(&words), stored(&output)));
    let check = judged(&run);
    assert_eq!(
        (check.status, check.cause),
        (CheckStatus::Fail, Some(CheckCause::CpuQuota)),
        "{check:?}"
    );
    assert!(check.detail.contains("cpu.cfs_quota_us` allows 0.10 CPUs"), "{}", check.detail);
    assert_eq!(done.status.code(), Some(3), "{done:?}");
    let cpu = run.trust.checks.iter().find(|check| check.id == CheckId::CpuContention).unwrap();
    assert!(cpu.advice.as_ref().unwrap().contains("cpu.cfs_quota_us"), "{cpu:?}");
    // Another way: the thread was on a CPU for about a tenth of the time, and able to run for the rest.
    let time = run.phases[0].time.value().unwrap();
    assert!(time.on_cpu_ns.0 < time.total().0 / 3, "{time:?}");
}

#[test]
fn a_limit_of_the_shell_on_files_is_named_as_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("durable.toml");
    fs::write(&scenario, DURABLE.replace("span = \"64KiB\"", "span = \"1MiB\"")).unwrap();
    let mut command = Command::new("bash");
    // In units of 1,024 bytes.
    command.args(["-c", "ulimit -f 100; exec \"$@\"", "sh", program(), "run"]);
    command.arg(&scenario).args(["--yes", "--leave", "1MB", "--on"]).arg(folder.path());
    let done = command.current_dir(folder.path()).output().unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(said.contains("102,400 bytes a file (`ulimit -f`"), "{said}");
    assert_eq!(done.status.signal_or_none(), None, "SIGXFSZ kills nothing");
}

/// The finding of a quota in what `explain --json` prints of a directory: how costly it is, and what is known of it.
fn quota_of(directory: &Path) -> Option<(Severity, String)> {
    let done = Command::new(program()).args(["explain", "--json"]).arg(directory).output().unwrap();
    let explained: Explained = serde_json::from_slice(&done.stdout).unwrap();
    let mut quotas = explained.findings.iter().filter(|one| one.id == FindingId::StorageQuota);
    quotas.next().map(|one| (one.severity, one.evidence[0].value.clone()))
}

#[test]
fn a_quota_of_a_btrfs_subvolume_is_found_with_what_is_left_of_it() {
    let mount = flashlag_need::or_skip!(LoopMount::btrfs_with_quota(256, 40));
    let (severity, said) = quota_of(mount.path()).unwrap();
    assert_eq!(severity, Severity::Minor, "{said}");
    assert!(said.contains("of 42 MB in use, 42 MB left"), "{said}");
    fs::write(mount.path().join("data"), vec![7; 39 << 20]).unwrap();
    // Btrfs counts when it commits.
    mount.used_bytes();
    let (severity, said) = quota_of(mount.path()).unwrap();
    assert_eq!(severity, Severity::Costly, "{said}");
    assert!(said.starts_with("subvolume: 41 MB of 42 MB in use, 1.0 MB left"), "{said}");
    let done = Command::new(program()).arg("explain").arg(mount.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("A quota limits what may be stored here"), "{said}");
}

#[test]
fn a_quota_by_a_mount_option_is_found_with_the_command_that_shows_what_is_left() {
    let mount = flashlag_need::or_skip!(LoopMount::ext4(64, "usrquota"));
    let (severity, said) = quota_of(mount.path()).unwrap();
    assert_eq!(severity, Severity::Minor);
    assert_eq!(said, "user: what is left is not known here, `quota -s` shows it");
    let plain = flashlag_need::or_skip!(LoopMount::ext4(64, ""));
    assert_eq!(quota_of(plain.path()), None);
}

trait Signalled {
    fn signal_or_none(&self) -> Option<i32>;
}

impl Signalled for std::process::ExitStatus {
    fn signal_or_none(&self) -> Option<i32> {
        std::os::unix::process::ExitStatusExt::signal(self)
    }
}
