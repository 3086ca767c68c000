//! The guest's initial file system: our program, its libraries, modules, and the setup.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, ModeFileType, trailer};
use flashlag_units::InOrder;

use crate::error::LabError;

/// A cpio archive (`newc`) that Linux unpacks into its first root.
#[derive(Debug)]
pub struct Initramfs {
    path: PathBuf,
    writer: BufWriter<File>,
    folders: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
    next_inode: u32,
}

impl Initramfs {
    /// Creates an empty archive.
    pub fn create(path: &Path) -> Result<Initramfs, LabError> {
        let file = File::create(path).map_err(LabError::file("create", path))?;
        Ok(Initramfs {
            path: path.to_owned(),
            writer: BufWriter::new(file),
            folders: BTreeSet::new(),
            files: BTreeSet::new(),
            next_inode: 1,
        })
    }

    /// Adds a program or a library from the host.
    pub fn add_file(&mut self, at: &Path, source: &Path) -> Result<(), LabError> {
        let mut file = File::open(source).map_err(LabError::file("open", source))?;
        let size = file.metadata().map_err(LabError::file("look at", source))?.len();
        self.add(at, size, &mut file).map_err(LabError::file("pack", source))
    }

    /// Adds a file with this text.
    pub fn add_text(&mut self, at: &Path, text: &str) -> Result<(), LabError> {
        let size = text.len() as u64;
        self.add(at, size, &mut text.as_bytes()).map_err(LabError::file("write", &self.path))
    }

    /// Adds everything below a folder of the host, links as links. The folder's own name is not added;
    /// a link in the place of a folder that the archive has already is left out.
    pub fn add_tree(&mut self, at: &Path, folder: &Path) -> Result<(), LabError> {
        let entries = std::fs::read_dir(folder).map_err(LabError::file("read", folder))?;
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.order();
        for source in entries {
            let at = at.join(source.file_name().unwrap_or_default());
            let known = source.symlink_metadata().map_err(LabError::file("look at", &source))?;
            if known.is_symlink() {
                self.add_link(&at, &source).map_err(LabError::file("pack", &source))?;
            } else if known.is_dir() {
                self.add_tree(&at, &source)?;
            } else {
                self.add_file(&at, &source)?;
            }
        }
        Ok(())
    }

    fn add_link(&mut self, at: &Path, source: &Path) -> io::Result<()> {
        let target = std::fs::read_link(source)?;
        let at = at.strip_prefix("/").unwrap_or(at);
        if self.folders.contains(at) || !self.files.insert(at.to_owned()) {
            return Ok(());
        }
        self.add_parents(at)?;
        let target = target.as_os_str().as_encoded_bytes();
        self.entry(at, ModeFileType::Symlink, target.len() as u64, &mut &*target)
    }

    fn add(&mut self, at: &Path, size: u64, contents: &mut dyn Read) -> io::Result<()> {
        let at = at.strip_prefix("/").unwrap_or(at);
        // Programs share libraries: each is added once.
        if !self.files.insert(at.to_owned()) {
            return Ok(());
        }
        self.add_parents(at)?;
        self.entry(at, ModeFileType::Regular, size, contents)
    }

    fn add_parents(&mut self, at: &Path) -> io::Result<()> {
        for folder in at.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            if !folder.as_os_str().is_empty() && self.folders.insert(folder.to_owned()) {
                self.entry(folder, ModeFileType::Directory, 0, &mut io::empty())?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        at: &Path,
        kind: ModeFileType,
        size: u64,
        contents: &mut dyn Read,
    ) -> io::Result<()> {
        let size = u32::try_from(size).map_err(|_| io::Error::other("it is over 4 GiB"))?;
        let links = if matches!(kind, ModeFileType::Directory) { 2 } else { 1 };
        let entry = Builder::new(&at.to_string_lossy())
            .ino(self.next_inode)
            .nlink(links)
            .mode(0o755)
            .set_mode_file_type(kind);
        self.next_inode += 1;
        let mut writer = entry.write(&mut self.writer, size);
        io::copy(contents, &mut writer)?;
        writer.finish()?;
        Ok(())
    }

    /// Finishes the archive and returns its path.
    pub fn finish(self) -> Result<PathBuf, LabError> {
        let ended = trailer(self.writer).and_then(|mut writer| writer.flush());
        ended.map_err(LabError::file("write", &self.path))?;
        Ok(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Initramfs::create(&folder.path().join("a.cpio")).unwrap();
        archive.add_text(Path::new("/lib/x/one"), "1").unwrap();
        archive.add_text(Path::new("/lib/x/two"), "22").unwrap();
        archive.add_file(Path::new("/init"), Path::new("/proc/self/exe")).unwrap();
        let names = names_in(&archive.finish().unwrap());
        let own = std::fs::metadata("/proc/self/exe").unwrap().len() as u32;
        let expected =
            [("lib", 0), ("lib/x", 0), ("lib/x/one", 1), ("lib/x/two", 2), ("init", own)];
        assert_eq!(names, expected.map(|(name, size)| (name.to_owned(), size)));
    }

    #[test]
    fn a_tree_keeps_its_links_and_no_link_hides_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        std::fs::create_dir_all(tree.join("lib")).unwrap();
        std::fs::write(tree.join("lib/real"), "1234").unwrap();
        std::os::unix::fs::symlink("real", tree.join("lib/name")).unwrap();
        std::os::unix::fs::symlink("usr/lib", tree.join("proc")).unwrap();
        let mut archive = Initramfs::create(&folder.path().join("a.cpio")).unwrap();
        archive.add_text(Path::new("/proc/own"), "").unwrap();
        archive.add_tree(Path::new("/"), &tree).unwrap();
        let names = names_in(&archive.finish().unwrap());
        let expected = [("proc", 0), ("proc/own", 0), ("lib", 0), ("lib/name", 4), ("lib/real", 4)];
        assert_eq!(names, expected.map(|(name, size)| (name.to_owned(), size)));
    }

    fn names_in(archive: &Path) -> Vec<(String, u32)> {
        let mut file = File::open(archive).unwrap();
        let mut names = Vec::new();
        loop {
            let reader = cpio::newc::Reader::new(file).unwrap();
            if reader.entry().is_trailer() {
                return names;
            }
            names.push((reader.entry().name().to_owned(), reader.entry().file_size()));
            file = reader.finish().unwrap();
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = Initramfs::create(&folder.path().join("a.cpio")).unwrap();
        let error = archive.add_file(Path::new("/x"), Path::new("/nowhere/x")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/x"), "{error}");
    }
}
