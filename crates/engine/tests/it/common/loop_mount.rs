//! A filesystem of its own on a loop device, unmounted and removed when dropped.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A mounted image.
pub struct LoopMount {
    mount: PathBuf,
    image: PathBuf,
    _home: TempDir,
}

impl LoopMount {
    /// ext4 with 4 KiB blocks on an image of `mebibytes`, with no blocks kept back for root, so
    /// that it really fills up. `Err` has the reason of a skip.
    pub fn ext4(mebibytes: u64, options: &str) -> Result<LoopMount, String> {
        LoopMount::ext4_with(mebibytes, &[], options)
    }

    /// The same with more arguments for `mkfs.ext4`.
    pub fn ext4_with(mebibytes: u64, mkfs: &[&str], options: &str) -> Result<LoopMount, String> {
        let (home, image) = empty_image(mebibytes)?;
        let arguments = ["-q", "-F", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0"];
        run(Command::new("mkfs.ext4").args(arguments).args(mkfs).arg(&image))?;
        LoopMount::of_image(home, &image, options)
    }

    /// btrfs with a quota on all of it, which holds for root too.
    pub fn btrfs_with_quota(mebibytes: u64, quota_mebibytes: u64) -> Result<LoopMount, String> {
        let (home, image) = empty_image(mebibytes)?;
        run(Command::new("mkfs.btrfs").arg("-q").arg(&image))?;
        let mount = LoopMount::mounted(home, &image, "btrfs", "")?;
        run(Command::new("btrfs").args(["quota", "enable"]).arg(mount.path()))?;
        let limit = format!("{quota_mebibytes}M");
        run(Command::new("btrfs").args(["qgroup", "limit", &limit]).arg(mount.path()))?;
        Ok(mount)
    }

    /// A filesystem that other systems read, too: the kernel's `vfat`, `exfat` or `ntfs3`, or a
    /// daemon's `exfat-fuse` or `ntfs-3g`. FAT and exFAT have no sparse files.
    pub fn portable(mebibytes: u64, kind: &str, options: &str) -> Result<LoopMount, String> {
        let (home, image) = empty_image(mebibytes)?;
        let mkfs: &[&str] = match kind {
            "vfat" => &["mkfs.vfat"],
            "ntfs3" | "ntfs-3g" => &["mkfs.ntfs", "-F", "-Q"],
            _ => &["mkfs.exfat"],
        };
        run(Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image))?;
        LoopMount::mounted(home, &image, kind, options)
    }

    /// What was on the image at this moment, mounted read-only: the drive was pulled out. What the
    /// kernel had not written to it is lost.
    pub fn pulled_out(&self, kind: &str) -> Result<LoopMount, String> {
        let home = TempDir::new().map_err(|error| error.to_string())?;
        let image = home.path().join("image");
        std::fs::copy(&self.image, &image).map_err(|error| error.to_string())?;
        LoopMount::mounted(home, &image, kind, "ro")
    }

    /// ext4 on a file that is already there (a FUSE file, say), inside `home`.
    pub fn of_image(home: TempDir, image: &Path, options: &str) -> Result<LoopMount, String> {
        LoopMount::mounted(home, image, "ext4", options)
    }

    fn mounted(
        home: TempDir,
        image: &Path,
        kind: &str,
        options: &str,
    ) -> Result<LoopMount, String> {
        let mount = home.path().join("mount");
        std::fs::create_dir_all(&mount).map_err(|error| error.to_string())?;
        // A test may go on as another user.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(home.path(), open).map_err(|error| error.to_string())?;
        let with_loop = if options.is_empty() { "loop".into() } else { format!("loop,{options}") };
        run(Command::new("mount").args(["-t", kind, "-o", &with_loop]).arg(image).arg(&mount))?;
        Ok(LoopMount { mount, image: image.to_owned(), _home: home })
    }

    /// The mount point.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// Mounts it again with other options (`ro`, `rw`).
    pub fn remount(&self, options: &str) -> Result<(), String> {
        let options = format!("remount,{options}");
        run(Command::new("mount").args(["-o", &options]).arg(&self.mount)).map(drop)
    }

    /// What the image takes on the filesystem below.
    pub fn image_bytes(&self) -> u64 {
        std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&self.image).unwrap()) * 512
    }

    /// The name of the loop device: `loop0`.
    pub fn device(&self) -> String {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let here = self.mount.to_str().unwrap();
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(here)).unwrap();
        line.split(' ').next().unwrap().trim_start_matches("/dev/").to_owned()
    }

    /// Lets ext4 find an error, upon which it goes read-only under whoever writes (mount it with
    /// `errors=remount-ro`). A plain `remount,ro` is refused while a file is open for writing.
    pub fn fail_to_read_only(&self) -> Result<(), String> {
        let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", self.device());
        std::fs::write(&trigger, "made by a test").map_err(|error| format!("{trigger}: {error}"))
    }

    /// Bytes in use, once everything is on the image.
    pub fn used_bytes(&self) -> u64 {
        let file = File::open(&self.mount).unwrap();
        rustix::fs::syncfs(&file).unwrap();
        let stat = rustix::fs::statvfs(&self.mount).unwrap();
        (stat.f_blocks - stat.f_bfree) * stat.f_frsize
    }
}

fn empty_image(mebibytes: u64) -> Result<(TempDir, PathBuf), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("mounting an image needs root".to_owned());
    }
    let home = TempDir::new().map_err(|error| error.to_string())?;
    let image = home.path().join("image");
    let made = File::create(&image).and_then(|file| file.set_len(mebibytes << 20));
    made.map_err(|error| error.to_string())?;
    Ok((home, image))
}

impl Drop for LoopMount {
    fn drop(&mut self) {
        // A process that is just dying may still have a file open there.
        for _ in 0..50 {
            if run(Command::new("umount").arg(&self.mount)).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let _ = run(Command::new("umount").arg("-l").arg(&self.mount));
    }
}

/// Runs a program to its end; what it says goes into the error.
pub fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, said.trim()))
}
