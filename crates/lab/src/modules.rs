//! Kernel modules that a guest needs, in the order in which they load.
//!
//! A guest has no `modprobe`, so every module is loaded before it is used. Hard dependencies are in
//! `modules.dep`, soft ones (a checksum by the name of its algorithm) in `modules.softdep` and
//! `modules.alias`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::LabError;

/// The modules of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Modules {
    folder: PathBuf,
    /// Path and dependencies of each module, by name.
    files: BTreeMap<String, (PathBuf, Vec<String>)>,
    softly: BTreeMap<String, Vec<String>>,
    aliases: BTreeMap<String, Vec<String>>,
    builtin: Vec<String>,
}

/// The name of a module's file: `kernel/fs/f2fs/f2fs.ko.xz` is `f2fs`. The kernel's names have
/// underscores for hyphens.
fn name_of(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.split(".ko").next().unwrap_or(file);
    name.replace('-', "_")
}

impl Modules {
    /// Reads the lists in `lib/modules/VERSION`.
    ///
    /// # Errors
    /// There is no `modules.dep`.
    pub fn read(folder: &Path) -> Result<Modules, LabError> {
        let dep = folder.join("modules.dep");
        let needs = std::fs::read_to_string(&dep).map_err(LabError::file("read", &dep))?;
        // The other lists are optional.
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let lists = (text("modules.softdep"), text("modules.alias"), text("modules.builtin"));
        Ok(Modules {
            folder: folder.to_owned(),
            ..Modules::parse(&needs, &lists.0, &lists.1, &lists.2)
        })
    }

    fn parse(needs: &str, softly: &str, aliases: &str, builtin: &str) -> Modules {
        let mut modules = Modules::default();
        for line in needs.lines() {
            let Some((path, needed)) = line.split_once(':') else { continue };
            let needed = needed.split_whitespace().map(name_of).collect();
            modules.files.insert(name_of(path), (PathBuf::from(path), needed));
        }
        for line in softly.lines() {
            // softdep NAME pre: A B post: C
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["softdep", name, rest @ ..] = words.as_slice() else { continue };
            let before = rest.iter().skip_while(|word| **word != "pre:").skip(1);
            let before = before.take_while(|word| **word != "post:");
            let before = before.map(|word| (*word).to_owned());
            modules.softly.entry(name.replace('-', "_")).or_default().extend(before);
        }
        for line in aliases.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["alias", alias, name] = words.as_slice() else { continue };
            modules.aliases.entry((*alias).to_owned()).or_default().push(name.replace('-', "_"));
        }
        modules.builtin = builtin.lines().map(name_of).collect();
        modules
    }

    /// The module of a name or an alias. If several have the alias, the one for any processor.
    fn resolve(&self, name: &str) -> Option<String> {
        let plain = name.replace('-', "_");
        if self.files.contains_key(&plain) {
            return Some(plain);
        }
        let known = self.aliases.get(name)?;
        let known = known.iter().filter(|name| self.files.contains_key(*name));
        let generic = known.clone().find(|name| name.ends_with("_generic"));
        generic.or_else(|| known.clone().next()).cloned()
    }

    fn is_builtin(&self, name: &str) -> bool {
        self.builtin.contains(&name.replace('-', "_"))
    }

    /// `wanted` and all their dependencies, each after its own: paths below the folder of modules.
    pub fn in_order(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, String> {
        let mut ordered = Vec::new();
        let mut seen = Vec::new();
        for name in wanted {
            match self.resolve(name) {
                Some(module) => self.visit(&module, &mut seen, &mut ordered),
                None if self.is_builtin(name) => {}
                None => return Err((*name).to_owned()),
            }
        }
        Ok(ordered)
    }

    fn visit(&self, name: &str, seen: &mut Vec<String>, ordered: &mut Vec<PathBuf>) {
        if seen.iter().any(|one| one == name) {
            return;
        }
        seen.push(name.to_owned());
        let Some((path, needs)) = self.files.get(name) else { return };
        let softly = self.softly.get(name).into_iter().flatten();
        // A soft dependency without a module is built in, or not needed.
        for need in softly.filter_map(|need| self.resolve(need)) {
            self.visit(&need, seen, ordered);
        }
        for need in needs {
            self.visit(need, seen, ordered);
        }
        ordered.push(path.clone());
    }

    /// Path of a module of the list.
    pub fn path(&self, module: &Path) -> PathBuf {
        self.folder.join(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: &str = "kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz kernel/fs/mbcache.ko.xz\n\
                         kernel/fs/jbd2/jbd2.ko.xz:\n\
                         kernel/fs/mbcache.ko.xz:\n\
                         kernel/arch/x86/crypto/crc32c-intel.ko.xz:\n\
                         kernel/crypto/crc32c_generic.ko.xz:\n";
    const SOFTLY: &str = "# soft\nsoftdep jbd2 pre: crypto-crc32c post: mbcache\n";
    const ALIASES: &str = "alias crypto-crc32c crc32c_intel\nalias crypto-crc32c crc32c_generic\n";

    fn order(wanted: &[&str]) -> Vec<String> {
        let modules = Modules::parse(NEEDS, SOFTLY, ALIASES, "kernel/fs/fuse/fuse.ko\n");
        let paths = modules.in_order(wanted).unwrap();
        paths.iter().map(|path| name_of(&path.to_string_lossy())).collect()
    }

    #[test]
    fn a_module_loads_after_what_it_needs_hard_or_soft() {
        assert_eq!(order(&["ext4"]), ["crc32c_generic", "jbd2", "mbcache", "ext4"]);
    }

    #[test]
    fn each_loads_once_and_what_is_built_in_not_at_all() {
        assert_eq!(order(&["mbcache", "ext4", "fuse", "mbcache"]).len(), 4);
        assert_eq!(order(&["fuse"]), Vec::<String>::new());
        assert_eq!(order(&["crc32c-intel"]), ["crc32c_intel"]);
    }

    #[test]
    fn a_module_that_is_not_there_is_named() {
        let modules = Modules::parse(NEEDS, "", "", "");
        assert_eq!(modules.in_order(&["ext4", "nilfs2"]), Err("nilfs2".to_owned()));
    }

    #[test]
    fn a_circle_ends() {
        let modules = Modules::parse("a.ko: b.ko\nb.ko: a.ko\n", "", "", "");
        assert_eq!(modules.in_order(&["a"]).unwrap().len(), 2);
    }
}
