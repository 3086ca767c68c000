//! The phone's own namespaces: its processes, its mounts, and how to run a command in them.

use std::io::{BufRead, BufReader, Error, Read, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use flashlag_need::find;
use rustix::process::{Signal, kill_process};

/// The user `shell` of Android, as whom all commands of a client run.
pub const SHELL: u32 = 2000;

/// What to mount, and what the phone needs.
pub struct Plan {
    pub root: PathBuf,
    /// A folder, or the image of a filesystem, for `/data`.
    pub data: Data,
    pub volume: Option<Volume>,
    /// Files and folders that the user `shell` can't read.
    pub unreadable: Vec<String>,
    /// What runs programs of other architectures.
    pub runners: Vec<Runner>,
}

/// What is mounted as `/data`.
pub enum Data {
    Folder(PathBuf),
    Image(PathBuf),
}

/// A card: its name below `/storage`, and its image.
pub struct Volume {
    pub name: String,
    pub image: PathBuf,
}

/// A program of this machine that runs programs of another architecture, registered with the
/// kernel's `binfmt_misc`.
pub struct Runner {
    line: String,
}

/// The start of an ELF file up to its machine field, and a mask of the bits that count.
const ELF: &str = "\\x7fELF\\xCLASS\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xMACHINE\\x00";
const MASK: &str = "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff";

impl Runner {
    /// `qemu-aarch64-static`, `qemu-arm-static`, or another program with such a name.
    pub fn of(name: &str) -> Result<Runner> {
        let path = find(name).ok_or_else(|| Error::other(format!("there is no {name}")))?;
        let (machine, class, number) = if name.contains("aarch64") {
            ("aarch64", "02", "b7")
        } else if name.contains("arm") {
            ("arm", "01", "28")
        } else {
            return Err(Error::other(format!("{name}: runs neither aarch64 nor arm")));
        };
        let magic = ELF.replace("CLASS", class).replace("MACHINE", number);
        // F: the kernel opens the interpreter now, since the phone's root does not contain it.
        let line = format!(":{machine}:M::{magic}:{MASK}:{}:F", path.display());
        Ok(Runner { line })
    }
}

const MOUNT: &str = include_str!("scripts/mount.sh");
const WITHIN: &str = include_str!("scripts/within.sh");

/// The running namespaces. Dropping them ends all their processes.
pub struct Space {
    holder: Mutex<Child>,
    /// Closing this ends the first process within.
    _alive: ChildStdin,
    target: u32,
    own_users: bool,
    nsenter: PathBuf,
    env: PathBuf,
}

impl Space {
    /// Mounts everything and starts the phone's first process.
    pub fn start(plan: &Plan) -> Result<Space> {
        let nsenter = program("nsenter")?;
        let users = if plan.runners.is_empty() { None } else { Some(Users::start()?) };
        let mut command = unshare()?;
        command.args(["--mount", "--propagation", "private", "sh", "-c", MOUNT, "mount"]);
        command.arg(&plan.root);
        match &plan.data {
            Data::Folder(folder) => command.arg("folder").arg(folder),
            Data::Image(image) => command.arg("image").arg(image),
        };
        let users_pid = users.as_ref().map_or(String::new(), |users| users.0.id().to_string());
        let runners: Vec<&str> = plan.runners.iter().map(|runner| runner.line.as_str()).collect();
        command.env("USERS", users_pid).env("WITHIN", WITHIN);
        command.env("UNREADABLE", plan.unreadable.join("\n")).env("RUNNERS", runners.join("\n"));
        if let Some(volume) = &plan.volume {
            command.env("VOLUME", &volume.name).env("IMAGE", &volume.image);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = command.spawn()?;
        let alive = holder.stdin.take().expect("a pipe");
        if first_line(&mut holder) != "ready" {
            return Err(failed(holder));
        }
        let target =
            child_of(holder.id()).ok_or_else(|| Error::other("the first process is gone"))?;
        Ok(Space {
            holder: Mutex::new(holder),
            _alive: alive,
            target,
            own_users: users.is_some(),
            nsenter,
            env: program("env")?,
        })
    }

    /// A path to the phone's root, as seen inside. An absolute link below it leads into this
    /// machine's own root.
    pub fn root(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.target))
    }

    /// A program inside the phone, run as the user `shell`.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        // The program that runs the tests may ignore signals, as `nohup` does; on a phone none are
        // ignored.
        let mut command = Command::new(&self.env);
        command.arg("--default-signal").arg(&self.nsenter);
        command.arg("--target").arg(self.target.to_string());
        command.args(["--mount", "--pid", "--root", "--wd"]);
        if self.own_users {
            command.arg("--user");
        }
        let user = SHELL.to_string();
        command.args(["--setuid", &user, "--setgid", &user, "--"]);
        command.arg(program.as_ref());
        command.env_clear().envs(ENVIRONMENT);
        command
    }

    /// A toybox tool inside the phone, whether it has a link of its own or not.
    pub fn tool(&self, name: &str) -> Command {
        let mut command = self.command("/system/bin/toybox");
        command.arg(name);
        command
    }
}

/// The environment of adbd's child processes.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/sbin:/system/sbin:/system/bin:/system/xbin:/odm/bin:/vendor/bin:/vendor/xbin"),
    ("HOME", "/"),
    ("USER", "shell"),
    ("LOGNAME", "shell"),
    ("SHELL", "/system/bin/sh"),
    ("TMPDIR", "/data/local/tmp"),
    ("ANDROID_ROOT", "/system"),
    ("ANDROID_DATA", "/data"),
    ("ANDROID_STORAGE", "/storage"),
    ("EXTERNAL_STORAGE", "/sdcard"),
];

impl Space {
    /// Ends all processes.
    pub fn end(&self) {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        // When the first process ends, the kernel kills all others. Its number stays reserved until
        // the holder, which waits for it, has ended too.
        if let Ok(None) = holder.try_wait()
            && let Some(first) = pid(self.target)
        {
            let _ = kill_process(first, Signal::KILL);
        }
        let _ = holder.wait();
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process in a new user namespace, which other processes can then enter.
struct Users(Child);

impl Users {
    fn start() -> Result<Users> {
        let mut command = unshare()?;
        command.args(["--user", "sh", "-c", "echo users; read -r line"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn()?;
        let mut users = Users(child);
        if first_line(&mut users.0) != "users" {
            return Err(Error::other("a namespace of users can't be had"));
        }
        // All users as they are.
        for file in ["uid_map", "gid_map"] {
            let path = format!("/proc/{}/{file}", users.0.id());
            std::fs::write(path, "0 0 4294967295")?;
        }
        Ok(users)
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(name: &str) -> Result<PathBuf> {
    find(name).ok_or_else(|| Error::other(format!("there is no {name}")))
}

/// `unshare`, without arguments.
pub fn unshare() -> Result<Command> {
    program("unshare").map(Command::new)
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        // End of file counts as an empty line.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    line.trim_end().to_owned()
}

fn failed(mut holder: Child) -> Error {
    let mut said = String::new();
    let _ = holder.kill();
    if let Some(mut stderr) = holder.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    let _ = holder.wait();
    Error::other(format!("the phone's mounts failed: {}", said.trim()))
}

/// The number of a process as the kernel takes it.
pub fn pid(number: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(number).ok()?)
}

/// The first child of a process.
pub fn child_of(parent: u32) -> Option<u32> {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let children = std::fs::read_to_string(children).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
