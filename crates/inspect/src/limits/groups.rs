//! The control groups of this process, up to the root as far as they are visible. Formats:
//! cgroups(7), Documentation/admin-guide/cgroup-v2.rst, proc(5) for mountinfo.

use std::path::{Component, Path, PathBuf};

use flashlag_units::InOrder;

use crate::mount::{Mount, mounts};
use crate::reason::Reason;
use crate::root::Root;

/// The inode number of the initial cgroup namespace on every kernel (`PROC_CGROUP_INIT_INO`).
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// The controllers that can throttle storage, by their names in version 1.
const CONTROLLERS: [&str; 3] = ["blkio", "cpu", "memory"];

/// The groups of one hierarchy that hold this process.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    /// The controllers of a version 1 hierarchy; `None` for version 2, which has all in one.
    pub controllers: Option<Vec<String>>,
    /// The directories of the groups, the process's own first.
    pub groups: Vec<PathBuf>,
    /// Why some groups below the root are not in the list; `None` if all are.
    pub unseen: Option<String>,
}

impl Hierarchy {
    /// Whether the hierarchy has this version 1 controller.
    pub fn has(&self, controller: &str) -> bool {
        self.controllers.as_ref().is_some_and(|all| all.iter().any(|one| one == controller))
    }

    /// The directory of the root group, if it is visible.
    pub fn root(&self) -> Option<&Path> {
        self.groups.last().filter(|_| self.unseen.is_none()).map(PathBuf::as_path)
    }
}

/// The hierarchies with controllers of I/O, CPU or memory.
pub(super) fn hierarchies(root: &Root) -> Result<Vec<Hierarchy>, Reason> {
    let text = root.text("/proc/self/cgroup")?;
    let mounts = mounts(root)?;
    // `4:memory:/a/b`, or in version 2 `0::/a/b`.
    let lines = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((parts.next()?, Path::new(parts.next()?)))
    });
    let lines: Vec<(&str, &Path)> = lines.collect();
    let in_first = |controller: &&str| {
        lines.iter().any(|(all, _)| all.split(',').any(|one| one == *controller))
    };
    // Version 2 has those controllers that are not in version 1.
    let second_has_any = !CONTROLLERS.iter().all(in_first);
    let mut found = Vec::new();
    for (controllers, path) in &lines {
        let named: Vec<String> = controllers.split(',').map(str::to_owned).collect();
        let is_second = controllers.is_empty();
        let counts = if is_second {
            second_has_any
        } else {
            named.iter().any(|one| CONTROLLERS.contains(&one.as_str()))
        };
        if counts {
            let controllers = (!is_second).then_some(named);
            found.push(hierarchy(root, &mounts, controllers, path));
        }
    }
    Ok(found)
}

fn hierarchy(
    root: &Root,
    mounts: &[Mount],
    controllers: Option<Vec<String>>,
    path: &Path,
) -> Hierarchy {
    let is_of = |mount: &&Mount| match &controllers {
        None => mount.kind == "cgroup2",
        Some(all) => mount.kind == "cgroup" && all.iter().all(|one| mount.options.contains(one)),
    };
    let mut candidates: Vec<(&Mount, PathBuf)> = mounts
        .iter()
        .filter(is_of)
        .filter_map(|mount| Some((mount, below(&mount.root, path)?)))
        .filter(|(mount, below)| root.has(mount.mount_point.join(below)))
        .collect();
    // If there are several, take the one that shows most.
    candidates.order_by_key(|(_, below)| std::cmp::Reverse(below.components().count()));
    let what = controllers.as_ref().map_or("version 2".to_owned(), |all| all.join(","));
    let Some((mount, below)) = candidates.first() else {
        let is_root = path == Path::new("/") && is_in_first_namespace(root);
        let unseen = if mounts.iter().any(|mount| is_of(&mount)) {
            format!("the control group {} ({what}) can't be seen from here", path.display())
        } else {
            format!("the control groups ({what}) are not mounted")
        };
        return Hierarchy { controllers, groups: Vec::new(), unseen: (!is_root).then_some(unseen) };
    };
    let own = mount.mount_point.join(below);
    let count = below.components().count() + 1;
    let groups: Vec<PathBuf> = own.ancestors().take(count).map(Path::to_owned).collect();
    let top = groups.last().unwrap_or(&own);
    let whole = mount.root == Path::new("/") && is_in_first_namespace(root);
    let unseen = !whole && !is_root(root, top, controllers.is_none());
    let unseen = unseen.then(|| {
        format!("the control groups above {} ({what}) can't be seen from here", top.display())
    });
    Hierarchy { controllers, groups, unseen }
}

/// The path of a group below what a mount shows; `None` if the mount does not show it.
fn below(shown: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(shown).ok()?;
    // A group outside of the process's namespace has a path like `/../other`.
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| below.to_owned())
}

/// Whether a directory is the root group: some files exist in all groups but the root, others only
/// in the root.
fn is_root(root: &Root, group: &Path, is_second: bool) -> bool {
    let has = |name: &str| root.has(group.join(name));
    if is_second {
        has("cgroup.controllers") && !has("cgroup.type") && !has("cgroup.events")
    } else {
        has("release_agent") || has("cgroup.sane_behavior")
    }
}

fn is_in_first_namespace(root: &Root) -> bool {
    root.link("/proc/self/ns/cgroup").is_some_and(|target| target == FIRST_NAMESPACE)
}
