//! Control groups as kernels and containers show them: trees made after `/proc/self/cgroup`,
//! `/proc/self/mountinfo` and `/sys/fs/cgroup` of version 1, version 2, both, and within namespaces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use flashlag_inspect::{Probe, Root, environment};
use flashlag_schema::{LimitCount, LimitKind, Limits};

/// A disk `sda` (8:0) with ext4 on its partition `sda1`, and control groups to be added.
struct Tree(tempfile::TempDir);

const DISK: &str = "27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";
const SECOND: &str = "31 27 0:29 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

impl Tree {
    fn new(mounts: &str, groups: &str, namespace: &str) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.file("/proc/self/mountinfo", &format!("{DISK}{mounts}"));
        tree.file("/proc/self/cgroup", groups);
        tree.file("/sys/devices/sda/dev", "8:0\n");
        tree.file("/sys/devices/sda/sda1/dev", "8:1\n");
        tree.file("/sys/devices/sda/sda1/partition", "1\n");
        for (link, target) in [
            ("/proc/self/ns/cgroup", namespace),
            ("/sys/dev/block/8:1", "../../devices/sda/sda1"),
            ("/sys/dev/block/8:0", "../../devices/sda"),
            ("/sys/class/block/sda1", "../../devices/sda/sda1"),
        ] {
            let link = tree.real(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, link).unwrap();
        }
        tree
    }

    fn real(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn file(&self, path: &str, text: &str) {
        let real = self.real(path);
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, text).unwrap();
    }

    /// A group of version 2 below the root, with the files that every such group has.
    fn second(&self, path: &str, files: &[(&str, &str)]) {
        for (name, text) in [("cgroup.controllers", "cpu io memory\n"), ("cgroup.type", "domain\n")]
        {
            self.file(&format!("/sys/fs/cgroup{path}/{name}"), text);
        }
        for (name, text) in files {
            self.file(&format!("/sys/fs/cgroup{path}/{name}"), text);
        }
    }

    fn root(&self) -> Root {
        Root::captured(self.0.path())
    }

    fn limits(&self) -> Limits {
        environment(&self.root(), Path::new("/home")).limits.unwrap()
    }

    fn counts(&self) -> Vec<LimitCount> {
        Probe::open(&self.root(), Path::new("/home")).counters().limits
    }
}

/// Kind, value and file of each limit.
fn set(limits: &Limits) -> Vec<(LimitKind, u64, &str)> {
    limits.set.iter().map(|limit| (limit.kind, limit.value, limit.file.as_str())).collect()
}

/// systemd: a service below a slice two levels up, with limits in the service and in the outer slice.
fn systemd() -> Tree {
    let tree = Tree::new(SECOND, "0::/outer.slice/inner.slice/db.service\n", FIRST_NAMESPACE);
    tree.file("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
    let quiet = [("cpu.max", "max 100000\n"), ("memory.high", "max\n"), ("io.max", "")];
    tree.second("/outer.slice/inner.slice", &quiet);
    tree.second(
        "/outer.slice",
        &[
            ("io.max", "253:0 rbps=5 wbps=5 riops=5 wiops=5\n8:0 rbps=max wbps=max riops=max wiops=200\n"),
            ("io.stat", "8:0 rbytes=4096 wbytes=8192 rios=1 wios=77 dbytes=0 dios=0\n"),
            ("memory.max", "268435456\n"),
            ("memory.current", "260000000\n"),
            ("memory.events", "low 0\nhigh 0\nmax 31\noom 0\n"),
            ("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"),
        ],
    );
    tree.second(
        "/outer.slice/inner.slice/db.service",
        &[
            ("io.max", "8:0 rbps=2097152 wbps=max riops=max wiops=max\n"),
            ("io.stat", "8:16 rbytes=1 wbytes=1\n"),
            ("cpu.max", "20000 100000\n"),
            ("cpu.stat", "usage_usec 5\nnr_periods 9\nnr_throttled 4\nthrottled_usec 250000\n"),
        ],
    );
    tree
}

#[test]
fn limits_of_every_group_up_to_the_root_are_read_and_those_of_other_disks_are_not() {
    let limits = systemd().limits();
    let service = "/sys/fs/cgroup/outer.slice/inner.slice/db.service";
    let expected = [
        (LimitKind::ReadBytes, 2_097_152, format!("{service}/io.max")),
        (LimitKind::Cpu, 200, format!("{service}/cpu.max")),
        (LimitKind::WriteOps, 200, "/sys/fs/cgroup/outer.slice/io.max".to_owned()),
        (LimitKind::MemoryMax, 268_435_456, "/sys/fs/cgroup/outer.slice/memory.max".to_owned()),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(kind, value, file)| (*kind, *value, file.as_str())).collect();
    assert_eq!(set(&limits), expected);
    assert_eq!(limits.set[0].device.as_deref(), Some("sda"), "a limit holds for the whole disk");
    assert_eq!(limits.set[3].used, Some(260_000_000));
    assert_eq!(limits.unseen, Vec::<String>::new());
}

#[test]
fn limits_of_groups_that_this_process_is_not_in_are_found_for_the_same_disk() {
    let files = |tree: &Tree| Probe::open(&tree.root(), Path::new("/home")).io_limits();
    let tree = systemd();
    tree.second(
        "/backup.slice",
        &[("io.max", "8:16 wbps=1 rbps=1\n"), ("io.latency", "8:0 target=75000\n")],
    );
    tree.second("/backup.slice/tar.service", &[("io.max", "8:0 wbps=1048576\nodd\n")]);
    let group = |path: &str| format!("/sys/fs/cgroup/{path}");
    let expected = [
        "backup.slice/io.latency",
        "outer.slice/io.max",
        "backup.slice/tar.service/io.max",
        "outer.slice/inner.slice/db.service/io.max",
    ];
    assert_eq!(files(&tree), expected.map(group));
    // In version 1 too, of whichever group.
    let expected = ["blkio/box", "blkio/box/one"]
        .map(|path| group(&format!("{path}/blkio.throttle.write_iops_device")));
    assert_eq!(files(&first()), expected);
    assert!(files(&Tree::new("", "0::/\n", FIRST_NAMESPACE)).is_empty());
}

#[test]
fn what_each_group_used_is_counted_in_that_group() {
    let counts = systemd().counts();
    let read: Vec<_> = counts
        .iter()
        .map(|one| (one.amount.value().copied(), one.times.value().copied()))
        .collect();
    let expected = [
        (Some(0), None),              // The service read nothing from sda.
        (Some(250_000_000), Some(4)), // Microseconds.
        (Some(77), None),
        (Some(1_234_000), Some(31)),
    ];
    assert_eq!(read, expected);
}

#[test]
fn a_service_without_limits_below_a_root_that_is_seen_has_none() {
    let tree = Tree::new(SECOND, "0::/user.slice\n", FIRST_NAMESPACE);
    tree.file("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
    tree.second(
        "/user.slice",
        &[("io.max", ""), ("cpu.max", "max 100000\n"), ("memory.max", "max\n")],
    );
    assert_eq!(tree.limits(), Limits::default());
}

#[test]
fn in_a_container_the_groups_above_its_own_are_not_known_to_have_no_limit() {
    // A namespace of control groups: the container's own group looks like the root.
    let namespaced = Tree::new(SECOND, "0::/\n", "cgroup:[4026532500]");
    namespaced.second("", &[("io.max", "8:0 rbps=max wbps=400000 riops=max wiops=max\n")]);
    let limits = namespaced.limits();
    assert_eq!(set(&limits), [(LimitKind::WriteBytes, 400_000, "/sys/fs/cgroup/io.max")]);
    assert!(limits.unseen[0].contains("above /sys/fs/cgroup"), "{:?}", limits.unseen);
    // Outside of its namespace: not even its own.
    let outside = Tree::new(SECOND, "0::/../../other\n", "cgroup:[4026532500]");
    outside.second("", &[("io.max", "8:0 rbps=max wbps=400000 riops=max wiops=max\n")]);
    let limits = outside.limits();
    assert!(limits.set.is_empty() && limits.unseen[0].contains("/../../other"), "{limits:?}");
    // Only its own group is mounted, without a namespace.
    let mount = SECOND.replace(" / /sys/fs/cgroup ", " /docker/abc /sys/fs/cgroup ");
    let docker = Tree::new(&mount, "0::/docker/abc\n", FIRST_NAMESPACE);
    docker.second("", &[("cpu.max", "50000 100000\n")]);
    let limits = docker.limits();
    assert_eq!(set(&limits), [(LimitKind::Cpu, 500, "/sys/fs/cgroup/cpu.max")]);
    assert_eq!(limits.unseen.len(), 1, "{limits:?}");
    // Nothing is mounted: known only of the true root.
    let bare = Tree::new("", "0::/\n", FIRST_NAMESPACE);
    assert_eq!(bare.limits(), Limits::default());
    for (groups, namespace) in [("0::/a\n", FIRST_NAMESPACE), ("0::/\n", "cgroup:[4026532500]")] {
        let limits = Tree::new("", groups, namespace).limits();
        assert!(limits.unseen[0].contains("not mounted"), "{groups}: {limits:?}");
    }
}

const FIRST: &str = "\
32 27 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 27 0:30 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
34 27 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
35 27 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

/// Version 1, with an empty hierarchy of version 2 beside it.
fn first() -> Tree {
    let groups =
        "9:name=systemd:/x\n4:memory:/box/one\n3:blkio:/box/one\n2:cpu,cpuacct:/box\n0::/x\n";
    let tree = Tree::new(FIRST, groups, FIRST_NAMESPACE);
    for controller in ["cpu,cpuacct", "blkio", "memory"] {
        tree.file(&format!("/sys/fs/cgroup/{controller}/release_agent"), "");
    }
    let at = |path: &str, text: &str| tree.file(&format!("/sys/fs/cgroup/{path}"), text);
    at("cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n");
    at("cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    at("cpu,cpuacct/box/cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time 44\n");
    at("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    at("blkio/box/blkio.throttle.write_iops_device", "8:0 5\n");
    at("blkio/box/one/blkio.throttle.write_iops_device", "8:0 200\n8:16 1\n");
    at("blkio/box/one/blkio.throttle.read_bps_device", "");
    let serviced = "8:0 Read 5\n8:0 Write 160\n8:0 Sync 165\n8:0 Total 165\nTotal 165\n";
    at("blkio/box/one/blkio.throttle.io_serviced", serviced);
    at("memory/box/one/memory.limit_in_bytes", "9223372036854771712\n");
    at("memory/box/memory.limit_in_bytes", "1048576\n");
    at("memory/box/memory.usage_in_bytes", "1000000\n");
    at("memory/box/memory.failcnt", "12\n");
    tree
}

#[test]
fn of_version_1_a_parents_quota_holds_and_its_limit_of_requests_does_not() {
    let tree = first();
    let limits = tree.limits();
    let expected = [
        (LimitKind::MemoryMax, 1 << 20, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes"),
        (LimitKind::WriteOps, 200, "/sys/fs/cgroup/blkio/box/one/blkio.throttle.write_iops_device"),
        (LimitKind::Cpu, 1500, "/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us"),
    ];
    assert_eq!(set(&limits), expected);
    assert_eq!(limits.unseen, Vec::<String>::new(), "version 2 has no controller here");
    let read: Vec<_> = tree
        .counts()
        .iter()
        .map(|one| (one.amount.value().copied(), one.times.value().copied()))
        .collect();
    assert_eq!(read, [(None, Some(12)), (Some(160), None), (Some(44), Some(3))]);
}

#[test]
fn a_container_of_version_1_that_shows_its_own_groups_knows_its_limits_of_requests() {
    let groups = "3:blkio:/docker/abc\n4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n";
    let mounts = FIRST.replace(" / /sys", " /docker/abc /sys");
    let tree = Tree::new(&mounts, groups, FIRST_NAMESPACE);
    tree.file("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "8:0 400000\n");
    tree.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "20000\n");
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    let limits = tree.limits();
    let of: Vec<_> = set(&limits).into_iter().map(|(kind, value, _)| (kind, value)).collect();
    assert_eq!(of, [(LimitKind::WriteBytes, 400_000), (LimitKind::Cpu, 200)]);
    // Parents' limits of CPUs and memory hold, and can't be seen; of requests they do not hold.
    let unseen = |what: &str| limits.unseen.iter().any(|reason| reason.contains(what));
    assert!(unseen("(memory)") && unseen("(cpu,cpuacct)") && !unseen("blkio"), "{limits:?}");
}

#[test]
fn both_versions_at_once_are_read_each_for_its_controllers() {
    // The controller of I/O is version 2's, that of CPUs version 1's.
    let mounts = "32 27 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                  35 27 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    let tree = Tree::new(mounts, "2:cpu:/a\n0::/b\n", FIRST_NAMESPACE);
    tree.file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "20000\n");
    tree.file("/sys/fs/cgroup/unified/b/io.max", "8:0 wiops=10\n");
    let limits = tree.limits();
    let of: Vec<_> = set(&limits).into_iter().map(|(kind, value, _)| (kind, value)).collect();
    assert_eq!(of, [(LimitKind::Cpu, 200), (LimitKind::WriteOps, 10)]);
    assert!(limits.unseen.is_empty(), "{limits:?}");
}

#[test]
fn control_by_latency_and_by_cost_is_seen_where_it_is_on() {
    let tree = Tree::new(SECOND, "0::/a\n", FIRST_NAMESPACE);
    tree.file("/sys/fs/cgroup/cgroup.controllers", "io\n");
    tree.file(
        "/sys/fs/cgroup/io.cost.qos",
        "8:16 enable=1 ctrl=auto min=1.00 max=50.00\n\
         8:0 enable=1 ctrl=user rpct=95.00 rlat=75000 wpct=95.00 wlat=150000 min=50.00 max=62.50\n",
    );
    tree.second(
        "/a",
        &[
            ("io.latency", "8:0 target=75000\n"),
            ("io.stat", "8:0 rbytes=1 cost.usage=3 cost.wait=7\n"),
        ],
    );
    let limits = tree.limits();
    let of: Vec<_> = set(&limits).into_iter().map(|(kind, value, _)| (kind, value)).collect();
    assert_eq!(of, [(LimitKind::Latency, 75_000), (LimitKind::Cost, 6250)]);
    let counts = tree.counts();
    assert!(counts[0].amount.value().is_none());
    assert_eq!(counts[1].amount.value(), Some(&7000));
    tree.file("/sys/fs/cgroup/io.cost.qos", "8:0 enable=0 ctrl=auto max=10000.00\n");
    tree.file("/sys/fs/cgroup/a/io.latency", "");
    assert_eq!(tree.limits(), Limits::default());
}

#[test]
fn odd_files_are_named_and_are_no_limit() {
    let odd = [
        "8:0",
        "8:0 wiops=many",
        "wiops=3",
        "8:0 \u{0} wiops=-3",
        "8:0 wiops=99999999999999999999999",
    ];
    for text in odd {
        let tree = Tree::new(SECOND, "0::/a\n", FIRST_NAMESPACE);
        tree.second("/a", &[("io.max", text), ("cpu.max", "x y\n"), ("memory.max", "lots\n")]);
        let limits = tree.limits();
        assert!(limits.set.is_empty(), "{text}: {limits:?}");
        let named = |file: &str| limits.unseen.iter().any(|reason| reason.contains(file));
        assert!(named("cpu.max") && named("memory.max"), "{limits:?}");
        assert!(named("io.max") || text == "8:0", "{text}: {limits:?}");
    }
}

#[test]
fn files_in_memory_have_no_limit_of_requests_and_an_unseen_disk_may_have_any() {
    let mounts = format!(
        "{SECOND}40 27 0:40 / /run rw - tmpfs tmpfs rw\n41 27 0:41 / /o rw - overlay overlay rw\n"
    );
    let tree = Tree::new(&mounts, "0::/a\n", FIRST_NAMESPACE);
    tree.second("/a", &[("io.max", "8:0 wiops=10\n259:7 wiops=11\n"), ("memory.max", "1000\n")]);
    let at = |directory: &str| {
        let limits = environment(&tree.root(), Path::new(directory)).limits.unwrap();
        let of = limits.set.into_iter().map(|limit| (limit.device, limit.value));
        of.collect::<Vec<_>>()
    };
    assert_eq!(at("/run"), [(None, 1000)]);
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(at("/o"), [(named("sda"), 10), (named("259:7"), 11), (None, 1000)]);
    assert_eq!(at("/home"), [(named("sda"), 10), (None, 1000)]);
}
