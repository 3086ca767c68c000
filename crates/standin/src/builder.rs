//! How to make a phone: its model, its files, and what it lacks.

use std::fs;
use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};

use crate::cable::Cable;
use crate::connection::{Daemon, State};
use crate::message::{CHECKSUM, NO_CHECKSUM};
use crate::model::Model;
use crate::needs;
use crate::phone::Phone;
use crate::space::{Data, Plan, Runner, Space, Volume};
use crate::tree;

/// Scripts that answer as Android's programs do.
const SCRIPTS: [(&str, &str); 10] = [
    ("uname", include_str!("scripts/bin/uname")),
    ("getprop", include_str!("scripts/bin/getprop")),
    ("setprop", include_str!("scripts/bin/setprop")),
    ("dumpsys", include_str!("scripts/bin/dumpsys")),
    ("settings", include_str!("scripts/bin/settings")),
    ("svc", include_str!("scripts/bin/svc")),
    ("input", include_str!("scripts/bin/input")),
    ("cmd", include_str!("scripts/bin/cmd")),
    ("atrace", include_str!("scripts/bin/atrace")),
    ("sm", include_str!("scripts/bin/texts")),
];

/// Other names of the script `sm`.
const TEXTS: [&str; 6] = ["am", "pm", "wm", "logcat", "reboot", "log"];

/// How a phone is made.
#[derive(Clone, Debug)]
pub struct Builder {
    address: SocketAddr,
    model: Option<String>,
    properties: Vec<(String, Vec<u8>)>,
    texts: Vec<(String, Vec<u8>)>,
    features: Option<Vec<String>>,
    banner: Option<Vec<u8>>,
    without: Vec<String>,
    unreadable: Vec<String>,
    runners: Vec<String>,
    data_size: Option<u64>,
    data_folder: Option<PathBuf>,
    volume: Option<(String, u64)>,
    model_files: bool,
    state: State,
}

impl Phone {
    /// How a phone is made.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            model: None,
            properties: Vec::new(),
            texts: Vec::new(),
            features: None,
            banner: None,
            without: Vec::new(),
            unreadable: Vec::new(),
            runners: Vec::new(),
            data_size: None,
            data_folder: None,
            volume: None,
            model_files: false,
            state: State::default(),
        }
    }
}

impl Builder {
    /// The address that adb connects to, instead of a free port of this machine.
    pub fn address(mut self, address: SocketAddr) -> Builder {
        self.address = address;
        self
    }

    /// The name of a folder in `fixtures/android`, or the path of another one.
    pub fn model(mut self, name: &str) -> Builder {
        self.model = Some(name.to_owned());
        self
    }

    /// Sets a property of the model.
    pub fn property(mut self, name: &str, value: impl AsRef<[u8]>) -> Builder {
        self.properties.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// The ABIs that the phone reports: `x86_64`, or `arm64-v8a,armeabi-v7a`. `uname` reports the
    /// same.
    pub fn abis(self, list: &str) -> Builder {
        let first = list.split(',').next().unwrap_or_default();
        self.property("ro.product.cpu.abilist", list).property("ro.product.cpu.abi", first)
    }

    /// Sets a text of the model: `dumpsys/battery`, `pm/list`.
    pub fn text(mut self, path: &str, text: impl AsRef<[u8]>) -> Builder {
        self.texts.push((path.to_owned(), text.as_ref().to_vec()));
        self
    }

    /// The features that adbd offers, instead of those of the model's Android.
    pub fn features<'a>(mut self, features: impl IntoIterator<Item = &'a str>) -> Builder {
        self.features = Some(features.into_iter().map(str::to_owned).collect());
        self
    }

    /// The whole banner, instead of one made of properties and features.
    pub fn banner(mut self, banner: impl AsRef<[u8]>) -> Builder {
        self.banner = Some(banner.as_ref().to_vec());
        self
    }

    /// Leaves programs out: `setsid`, `dumpsys`.
    pub fn without<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Builder {
        self.without.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Lets commands that name `/proc/mounts` and the like read the model's text, if it has one. A
    /// program that opens such a file by itself still sees this machine's kernel.
    pub fn model_files(mut self) -> Builder {
        self.model_files = true;
        self
    }

    /// Files and folders that the user `shell` can't read, in addition to those of the model:
    /// `/proc/diskstats`.
    pub fn unreadable<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Builder {
        self.unreadable.extend(paths.into_iter().map(str::to_owned));
        self
    }

    /// Runs ARM programs by this machine's `qemu-aarch64-static` or `qemu-arm-static`. The kernel
    /// does this only inside this phone: a pushed file stays as it is.
    pub fn runner(mut self, program: &str) -> Builder {
        self.runners.push(program.to_owned());
        self
    }

    /// A filesystem of its own as `/data`: ext4 of this many bytes.
    pub fn data_size(mut self, bytes: Option<u64>) -> Builder {
        self.data_size = bytes;
        self
    }

    /// A folder of this machine as `/data`.
    pub fn data_folder(mut self, folder: &Path) -> Builder {
        self.data_folder = Some(folder.to_owned());
        self
    }

    /// A card of this many bytes at `/storage/NAME`, as vold mounts one: FAT of this kernel's, or exFAT
    /// through FUSE where it has none.
    pub fn volume(mut self, name: &str, bytes: u64) -> Builder {
        self.volume = Some((name.to_owned(), bytes));
        self
    }

    /// How the phone answers at first.
    pub fn state(mut self, state: State) -> Builder {
        self.state = state;
        self
    }

    /// What the machine lacks for this phone and for adb; `None` if it has all.
    pub fn lacks(&self) -> Option<String> {
        let image = || {
            let mkfs = flashlag_need::find("mkfs.ext4").is_some();
            let loops = Path::new("/dev/loop-control").exists();
            let wanted = self.data_size.is_some() && !(mkfs && loops);
            wanted.then(|| "an image as /data needs mkfs.ext4 and loop devices".to_owned())
        };
        let runner = || {
            let lacks = |name: &&String| flashlag_need::find(name).is_none();
            let missing = self.runners.iter().find(lacks);
            let missing = missing.map(|name| format!("there is no {name}"));
            let old = !self.runners.is_empty() && needs::kernel() < (6, 7);
            missing.or(old.then(|| "a runner of a phone's own needs Linux 6.7".to_owned()))
        };
        let volume = || {
            let needed = ["losetup", "mkfs.vfat", "mkfs.exfat", "mount.exfat-fuse"];
            let wanted = self.volume.as_ref().map(|_| needed).into_iter().flatten();
            let missing = wanted.into_iter().find(|name| flashlag_need::find(name).is_none());
            let apart = self.volume.is_some() && !self.runners.is_empty();
            missing
                .map(|name| format!("a card needs {name}"))
                .or(apart.then(|| "a card can't be mounted in a namespace of users".to_owned()))
        };
        needs::lacks().or_else(image).or_else(runner).or_else(volume)
    }

    /// Makes and starts the phone.
    ///
    /// # Errors
    /// What can't be made: see [`Builder::lacks`].
    pub fn start(self) -> Result<Phone> {
        let mut model = match &self.model {
            Some(name) => Model::named(name)?,
            None => Model::default(),
        };
        for (name, value) in &self.properties {
            model.set_property(name, value);
        }
        for (path, text) in &self.texts {
            model.set_text(path, text.clone());
        }
        let home = tempfile::Builder::new().prefix("flashlag-phone").tempdir()?;
        tree::mode(home.path(), 0o755)?;
        let root = home.path().join("root");
        self.make_root(&root, &model)?;
        let runners = self.runners.iter().map(|name| Runner::of(name)).collect::<Result<_>>()?;
        let data = self.data(home.path(), &root)?;
        let volume = self.card(home.path(), &root)?;
        let unreadable = [self.unreadable.clone(), model.lines("unreadable")].concat();
        let plan = Plan { root, data, volume, unreadable, runners };
        let space = Mutex::new(Arc::new(Space::start(&plan)?));
        let features = self.features.clone().unwrap_or_else(|| model.features());
        let banner = self.banner.clone().unwrap_or_else(|| banner(&model, &features));
        let (version, largest) =
            if model.sdk() < 28 { (CHECKSUM, 256 << 10) } else { (NO_CHECKSUM, 1 << 20) };
        let cable = Arc::new(Cable::default());
        let (state, changed) = (Mutex::new(self.state), Condvar::new());
        let paths = if self.model_files { model.paths() } else { Vec::new() };
        let daemon =
            Daemon { space, cable, features, paths, banner, version, largest, state, changed };
        Phone::listen(Arc::new(daemon), plan, home, self.address)
    }

    fn make_root(&self, root: &Path, model: &Model) -> Result<()> {
        fs::create_dir(root)?;
        tree::make(root, &self.without)?;
        let own = root.join(".phone");
        model.write(&own)?;
        let writable = ["properties", "state", "settings", "settings/system", "settings/secure"];
        for folder in writable.iter().chain(&["settings/global"]) {
            fs::create_dir_all(own.join(folder))?;
            tree::give(&own.join(folder))?;
        }
        for line in model.lines("settings") {
            let (space, setting) = line.split_once(' ').unwrap_or_default();
            let (key, value) = setting.split_once('=').unwrap_or_default();
            let file = own.join("settings").join(space).join(key);
            fs::write(&file, format!("{value}\n"))?;
            tree::give(&file)?;
        }
        fs::write(own.join("calls.log"), "")?;
        tree::give(&own.join("calls.log"))?;
        let bin = root.join("system/bin");
        let has = |name: &str| !self.without.iter().any(|without| without == name);
        for (name, script) in SCRIPTS.iter().filter(|(name, _)| has(name)) {
            flashlag_need::write_script(&bin.join(name), script)?;
        }
        TEXTS.iter().filter(|name| has(name)).try_for_each(|name| symlink("sm", bin.join(name)))
    }

    fn card(&self, home: &Path, root: &Path) -> Result<Option<Volume>> {
        let Some((name, bytes)) = &self.volume else { return Ok(None) };
        let image = home.join("card.img");
        fs::File::create(&image)?.set_len(*bytes)?;
        for folder in ["mnt/media_rw", "storage"] {
            fs::create_dir_all(root.join(folder).join(name))?;
        }
        // As on a phone, where `shell` is not in the group media_rw.
        tree::mode(&root.join("mnt/media_rw"), 0o750)?;
        Ok(Some(Volume { name: name.clone(), image }))
    }

    fn data(&self, home: &Path, root: &Path) -> Result<Data> {
        let Some(size) = self.data_size else {
            let folder = self.data_folder.clone().unwrap_or_else(|| root.join("data"));
            return Ok(Data::Folder(folder));
        };
        let image = home.join("data.img");
        fs::File::create(&image)?.set_len(size)?;
        let mkfs = flashlag_need::find("mkfs.ext4")
            .ok_or_else(|| Error::other("there is no mkfs.ext4 (install the package e2fsprogs)"))?;
        let made = Command::new(mkfs).args(["-q", "-F", "-m", "0"]).arg(&image).output()?;
        if made.status.success() {
            return Ok(Data::Image(image));
        }
        Err(Error::other(String::from_utf8_lossy(&made.stderr).into_owned()))
    }
}

fn banner(model: &Model, features: &[String]) -> Vec<u8> {
    let properties = ["ro.product.name", "ro.product.model", "ro.product.device"];
    let parts = properties.map(|name| format!("{name}={};", model.property(name)));
    let features = format!("features={}", features.join(","));
    format!("device::{}{features}", parts.concat()).into_bytes()
}
