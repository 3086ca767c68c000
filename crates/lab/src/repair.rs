//! Repairs a filesystem in an image, on the host, as a machine does by itself before it mounts a drive.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::error::LabError;
use crate::mkfs::package;
use crate::program::{BINDER, bounded, find_program};
use crate::spec::Filesystem;

/// Limit for the repair of an image.
const PATIENCE: &str = "120";
/// Most characters of what a tool said that are kept.
const MOST_SAID: usize = 200;

/// A tool's name, its options, and the exit statuses with which it says that the filesystem is in order now.
type Tool = (&'static str, &'static [&'static str], &'static [i32]);

/// The tool that repairs a filesystem without asking, with the options of `systemd-fsck` and udisks.
fn tool(filesystem: Filesystem) -> Option<Tool> {
    match filesystem {
        // fsck(8): 1 is "errors corrected", 2 "and the machine should be rebooted", which a filesystem
        // that is not mounted need not be.
        Filesystem::Ext4 => Some(("e2fsck", &["-p"], &[0, 1, 2])),
        Filesystem::F2fs => Some(("fsck.f2fs", &["-a"], &[0, 1])),
        Filesystem::Vfat => Some(("fsck.vfat", &["-a"], &[0, 1])),
        Filesystem::Exfat => Some(("fsck.exfat", &["-y"], &[0, 1])),
        // Without `-d` it marks the volume for a check by Windows, and the kernel's driver refuses it.
        Filesystem::Ntfs3 => Some(("ntfsfix", &["-d"], &[0])),
        // Repaired as they are mounted; what their tools do beyond that, they do not do unasked.
        Filesystem::Btrfs | Filesystem::Xfs | Filesystem::Nilfs2 => None,
    }
}

/// The repair of a filesystem, whose tool is on this machine.
#[derive(Clone, Debug)]
pub struct Repair {
    program: PathBuf,
    tool: Tool,
}

/// How a repair ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// The tool says that the filesystem is in order now.
    Done,
    /// The tool left it as it is, or broke off: its last line.
    Refused(String),
}

impl Repair {
    /// The repair of a filesystem.
    ///
    /// # Errors
    /// The filesystem has none, or its tool is not installed.
    pub fn find(filesystem: Filesystem) -> Result<Repair, LabError> {
        let tool = tool(filesystem).ok_or(LabError::NoRepair(filesystem))?;
        Ok(Repair { program: find_program(tool.0, package(filesystem))?, tool })
    }

    /// The command as its owner types it, without the drive: `fsck.vfat -a`.
    pub fn command(&self) -> String {
        let (name, options, _) = self.tool;
        std::iter::once(name).chain(options.iter().copied()).collect::<Vec<_>>().join(" ")
    }

    /// Repairs the filesystem in a file, in place.
    ///
    /// # Errors
    /// The tool can't be started.
    pub fn run(&self, image: &Path) -> Result<Repaired, LabError> {
        let (_, options, in_order) = self.tool;
        let output = bounded(&self.program, PATIENCE).args(options).arg(image).output();
        let output = output.map_err(|_| LabError::Missing {
            program: BINDER.to_owned(),
            package: "util-linux".to_owned(),
        })?;
        Ok(ended(&output, in_order))
    }
}

fn ended(output: &Output, in_order: &[i32]) -> Repaired {
    let status = output.status.code();
    if status.is_some_and(|status| in_order.contains(&status)) {
        return Repaired::Done;
    }
    // Some tools complain on standard output.
    let mut said = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    let last = said.iter_mut().find_map(|text| {
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().take(MOST_SAID).collect::<String>())
    });
    let last = last.unwrap_or_else(|| "it said nothing".to_owned());
    let status = status.map_or_else(|| "it was killed".to_owned(), |code| format!("exit {code}"));
    Repaired::Refused(format!("{last} ({status})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn output(code: i32, out: &str, err: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: out.as_bytes().to_vec(),
            stderr: err.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_tool_that_corrected_errors_is_done_and_one_that_left_some_refused_in_its_own_words() {
        let (_, _, in_order) = tool(Filesystem::Vfat).unwrap();
        assert_eq!(ended(&output(1, "fixed", ""), in_order), Repaired::Done);
        let refused = ended(&output(4, "a\nit is beyond me\n\n", ""), in_order);
        assert_eq!(refused, Repaired::Refused("it is beyond me (exit 4)".to_owned()));
        let refused = ended(&output(8, "a", "no volume"), in_order);
        assert_eq!(refused, Repaired::Refused("no volume (exit 8)".to_owned()));
        // ntfsfix has no status for corrected errors.
        let (_, _, in_order) = tool(Filesystem::Ntfs3).unwrap();
        assert_eq!(
            ended(&output(1, "", ""), in_order),
            Repaired::Refused("it said nothing (exit 1)".to_owned())
        );
    }

    #[test]
    fn a_filesystem_without_a_repair_is_named_and_so_is_the_package_of_a_tool() {
        let error = Repair::find(Filesystem::Xfs).unwrap_err().to_string();
        assert!(error.starts_with("xfs has no repair"), "{error}");
        assert_eq!(package(Filesystem::Vfat), "dosfstools");
    }
}
