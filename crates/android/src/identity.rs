//! Identifies a phone by its properties.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flashlag_units::is_printable;

use crate::error::PhoneError;

/// The longest value of a property to keep.
const LONGEST: usize = 200;

/// An instruction set for which there is a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// `arm64-v8a`.
    Aarch64,
    /// `armeabi-v7a`.
    Armv7,
    /// `x86_64`.
    X86_64,
}

impl Abi {
    /// Android's name.
    pub fn android_name(self) -> &'static str {
        match self {
            Abi::Aarch64 => "arm64-v8a",
            Abi::Armv7 => "armeabi-v7a",
            Abi::X86_64 => "x86_64",
        }
    }

    /// The file of the program.
    pub fn program(self) -> &'static str {
        match self {
            Abi::Aarch64 => "flashlag-aarch64",
            Abi::Armv7 => "flashlag-armv7",
            Abi::X86_64 => "flashlag-x86_64",
        }
    }
}

/// A phone's names and versions. Every text comes from the phone and is untrusted: at most 200
/// printable characters of it are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Maker and model: `Google Pixel 4`.
    pub model: String,
    /// Android's version: `13`.
    pub release: String,
    /// Android's version as a number: 33.
    pub sdk: Option<u32>,
    /// The instruction set whose program is used.
    pub abi: Abi,
}

impl Identity {
    /// Reads the output of `getprop`.
    pub fn of(getprop: &str) -> Result<Identity, PhoneError> {
        let properties = properties(getprop);
        if properties.is_empty() {
            return Err(PhoneError::NoProperties(printable(getprop)));
        }
        let value = |key: &str| properties.get(key).map(|value| printable(value));
        let named = |key: &str| value(key).filter(|value| !value.is_empty());
        let model = named("ro.product.model").unwrap_or_else(|| "a phone".to_owned());
        let maker = named("ro.product.manufacturer").filter(|maker| !model.starts_with(maker));
        Ok(Identity {
            model: maker.map(|maker| format!("{maker} ")).unwrap_or_default() + &model,
            release: named("ro.build.version.release").unwrap_or_else(|| "unknown".to_owned()),
            sdk: named("ro.build.version.sdk").and_then(|sdk| sdk.parse().ok()),
            abi: abi(&properties)?,
        })
    }
}

/// The first instruction set of the phone's list, which is in its order of preference, for which
/// there is a program.
fn abi(properties: &BTreeMap<&str, String>) -> Result<Abi, PhoneError> {
    let keys = ["ro.product.cpu.abilist", "ro.product.cpu.abi", "ro.product.cpu.abi2"];
    let listed: Vec<&str> = keys
        .iter()
        .filter_map(|key| properties.get(key))
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    let known = [Abi::Aarch64, Abi::Armv7, Abi::X86_64];
    let found =
        listed.iter().find_map(|name| known.into_iter().find(|abi| abi.android_name() == *name));
    found.ok_or_else(|| PhoneError::Processor(printable(&listed.join(", "))))
}

/// The properties of `[key]: [value]` lines. A value may hold line breaks.
fn properties(getprop: &str) -> BTreeMap<&str, String> {
    let mut properties = BTreeMap::new();
    let mut open: Option<(&str, String)> = None;
    for line in getprop.lines() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (key, mut value) = match (open.take(), line.strip_prefix('[')) {
            (Some((key, value)), _) => (key, value + "\n" + line),
            (None, Some(rest)) => match rest.split_once("]: [") {
                Some((key, value)) => (key, value.to_owned()),
                None => continue,
            },
            (None, None) => continue,
        };
        if value.ends_with(']') {
            value.pop();
            properties.insert(key, value);
        } else {
            open = Some((key, value));
        }
    }
    properties
}

/// The printable characters of a text, as one line and truncated.
pub(crate) fn printable(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|one| if one == '\n' { ' ' } else { one })
        .filter(|c| is_printable(*c))
        .collect();
    line.trim().chars().take(LONGEST).collect()
}

/// Environment variable with the folder of the programs for phones.
pub const PROGRAMS_VARIABLE: &str = "FLASHLAG_PHONE_PROGRAMS";

/// The program for a phone's instruction set: in the folder of [`PROGRAMS_VARIABLE`], beside this
/// program, where a package installs it, or in `dist/` of the source that this program was built from.
pub fn program_for(abi: Abi) -> Result<PathBuf, PhoneError> {
    let named = std::env::var_os(PROGRAMS_VARIABLE).map(PathBuf::from);
    let looked = match named {
        Some(folder) => vec![folder],
        None => beside_this_program(),
    };
    let found = looked.iter().map(|folder| folder.join(abi.program())).find(|file| file.is_file());
    found.ok_or_else(|| PhoneError::NoProgram { name: abi.program().to_owned(), looked })
}

fn beside_this_program() -> Vec<PathBuf> {
    std::env::current_exe().map(|program| folders_of(&program)).unwrap_or_default()
}

/// Where the programs for phones are, of a program that is `bin/flashlag` of what was installed, or
/// `target/release/flashlag` of a source.
fn folders_of(program: &Path) -> Vec<PathBuf> {
    let above = |levels: usize| program.ancestors().nth(levels);
    let installed = above(2).map(|prefix| prefix.join("lib/flashlag"));
    let built = above(3).map(|source| source.join("dist"));
    above(1).map(PathBuf::from).into_iter().chain(installed).chain(built).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIXEL: &str = "[ro.product.manufacturer]: [Google]\r\n[ro.product.model]: [Pixel 4]\r\n\
        [ro.build.version.release]: [13]\n[ro.build.version.sdk]: [33]\n\
        [ro.product.cpu.abilist]: [arm64-v8a,armeabi-v7a,armeabi]\n";

    #[test]
    fn a_phone_is_named_by_its_properties() {
        let pixel = Identity::of(PIXEL).unwrap();
        assert_eq!((pixel.model.as_str(), pixel.release.as_str()), ("Google Pixel 4", "13"));
        assert_eq!((pixel.sdk, pixel.abi), (Some(33), Abi::Aarch64));
    }

    #[test]
    fn programs_for_phones_are_found_where_a_package_puts_them_and_where_the_source_builds_them() {
        let installed = folders_of(Path::new("/usr/bin/flashlag"));
        assert_eq!(installed[..2], ["/usr/bin", "/usr/lib/flashlag"].map(PathBuf::from));
        let built = folders_of(Path::new("/home/a/flashlag/target/release/flashlag"));
        assert_eq!(built[2], PathBuf::from("/home/a/flashlag/dist"));
        assert!(folders_of(Path::new("/")).is_empty());
    }

    #[test]
    fn the_first_known_processor_of_the_list_counts_and_an_unknown_one_is_an_error() {
        let with = |line: &str| Identity::of(&format!("[ro.product.model]: [X]\n{line}"));
        let abi = |line: &str| with(line).unwrap().abi;
        assert_eq!(abi("[ro.product.cpu.abilist]: [armeabi-v7a,armeabi]"), Abi::Armv7);
        assert_eq!(abi("[ro.product.cpu.abi]: [armeabi-v7a]"), Abi::Armv7);
        assert_eq!(abi("[ro.product.cpu.abilist]: [x86_64,x86,arm64-v8a]"), Abi::X86_64);
        let refused = with("[ro.product.cpu.abilist]: [mips]").unwrap_err().to_string();
        assert!(refused.contains("mips") && refused.contains("arm64-v8a"), "{refused}");
        assert!(matches!(Identity::of(""), Err(PhoneError::NoProperties(_))));
    }

    #[test]
    fn hostile_names_are_cut_to_what_a_line_can_show() {
        let long = "x".repeat(1 << 20);
        let text = format!(
            "[ro.product.model]: [a\u{1b}[31m\nb$(reboot)<script>{long}]\n[ro.product.cpu.abi]: [arm64-v8a]\n"
        );
        let found = Identity::of(&text).unwrap();
        assert!(found.model.starts_with("a[31m b$(reboot)<script>xxx"), "{}", found.model);
        assert_eq!(found.model.chars().count(), 200);
        assert_eq!(found.release, "unknown");
    }
}
