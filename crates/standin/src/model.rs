//! Models of phones: texts that a real phone printed or would print.

use std::collections::BTreeMap;
use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Where the models are, a folder each.
pub const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/android");

/// A phone's texts, by path: `getprop.txt`, `dumpsys/battery.txt`.
#[derive(Clone, Debug, Default)]
pub struct Model {
    texts: BTreeMap<String, Vec<u8>>,
}

impl Model {
    /// The model of that name.
    ///
    /// # Errors
    /// Without such a folder in `fixtures/android`.
    pub fn named(name: &str) -> Result<Model> {
        let mut model = Model::default();
        read(&Path::new(MODELS).join(name), "", &mut model.texts)?;
        Ok(model)
    }

    /// The names of all models, sorted.
    pub fn names() -> Vec<String> {
        let entries = fs::read_dir(MODELS).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<_> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// A text by its path, without the extension: `dumpsys/battery`.
    pub fn text(&self, path: &str) -> Option<&[u8]> {
        self.texts.get(&format!("{path}.txt")).map(Vec::as_slice)
    }

    /// Sets a text by its path, without the extension.
    pub fn set_text(&mut self, path: &str, text: Vec<u8>) {
        self.texts.insert(format!("{path}.txt"), text);
    }

    /// The value of a property; empty if it is not set.
    pub fn property(&self, name: &str) -> String {
        let text = String::from_utf8_lossy(self.text("getprop").unwrap_or_default()).into_owned();
        let start = format!("[{name}]: [");
        let value = text.split(&start).nth(1).and_then(|rest| rest.split("]\n").next());
        value.unwrap_or_default().to_owned()
    }

    /// Sets a property, or one more value of it.
    pub fn set_property(&mut self, name: &str, value: &[u8]) {
        let start = format!("[{name}]: [");
        let text = self.text("getprop").unwrap_or_default();
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let mut kept: Vec<u8> =
            lines.filter(|line| !line.starts_with(start.as_bytes())).collect::<Vec<_>>().concat();
        kept.extend([start.as_bytes(), value, b"]\n"].concat());
        self.set_text("getprop", kept);
    }

    /// The level of Android's interfaces: 33 is Android 13.
    pub fn sdk(&self) -> u32 {
        self.property("ro.build.version.sdk").parse().unwrap_or(30)
    }

    /// The features of that Android's adbd, as far as they are implemented here.
    pub fn features(&self) -> Vec<String> {
        let list: &[&str] = match self.sdk() {
            0..24 => &[],
            24..26 => &["cmd", "shell_v2"],
            26..29 => &["stat_v2", "cmd", "shell_v2"],
            _ => &[
                "shell_v2",
                "cmd",
                "stat_v2",
                "fixed_push_mkdir",
                "apex",
                "fixed_push_symlink_timestamp",
            ],
        };
        list.iter().map(|feature| (*feature).to_owned()).collect()
    }

    /// Paths below `/proc` and `/sys` for which the model has a text: `/proc/mounts`.
    pub fn paths(&self) -> Vec<String> {
        let within = |path: &&String| path.starts_with("proc/") || path.starts_with("sys/");
        let names = self.texts.keys().filter(within);
        names.map(|name| format!("/{}", name.trim_end_matches(".txt"))).collect()
    }

    /// The lines of a text; none if it is missing.
    pub fn lines(&self, path: &str) -> Vec<String> {
        let text = String::from_utf8_lossy(self.text(path).unwrap_or_default()).into_owned();
        text.lines().map(str::to_owned).collect()
    }

    /// Writes all texts below `folder`.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for (path, text) in &self.texts {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, text)?;
        }
        Ok(())
    }
}

fn read(folder: &Path, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            read(&path, &format!("{prefix}{name}/"), into)?;
        } else if path.extension().is_some_and(|end| end == "txt") {
            into.insert(format!("{prefix}{name}"), fs::read(&path)?);
        }
    }
    Ok(())
}
