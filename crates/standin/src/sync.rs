//! The service `sync:`: transfers files by the phone's own tools, as the user `shell`.

use std::io::{BufWriter, Error, ErrorKind, Read, Result, Write};
use std::process::{Child, Command, Output as Finished, Stdio};
use std::sync::Arc;

use crate::space::Space;
use crate::stream::{Input, Output};

/// The longest data block of a transfer.
const PIECE: usize = 64 << 10;
/// The longest path that adbd accepts.
const LONGEST_PATH: u32 = 1024;

/// One session: requests until `QUIT` or the end of the stream.
pub struct Session<'a> {
    space: &'a Space,
    features: &'a [String],
    input: Input,
    output: BufWriter<Output>,
}

/// Serves requests until the client is done.
pub fn serve(space: &Arc<Space>, features: &[String], input: Input, output: Output) {
    let output = BufWriter::with_capacity(PIECE + 8, output);
    let mut session = Session { space, features, input, output };
    while let Ok(true) = session.next() {}
    let _ = session.output.flush();
    session.output.get_ref().close();
    // The rest in the buffer of a dead stream is dropped.
    drop(session.output.into_parts());
}

impl Session<'_> {
    fn next(&mut self) -> Result<bool> {
        let (id, length) = self.header()?;
        if &id == b"QUIT" {
            return Ok(false);
        }
        if length > LONGEST_PATH {
            self.fail("path too long")?;
            return Ok(false);
        }
        let mut path = vec![0; length as usize];
        self.input.read_exact(&mut path)?;
        let path = String::from_utf8(path).map_err(|_| Error::from(ErrorKind::InvalidData))?;
        match &id {
            b"STAT" => self.stat(&path)?,
            b"STA2" if self.has("stat_v2") => self.stat_v2(*b"STA2", &path)?,
            b"LST2" if self.has("stat_v2") => self.stat_v2(*b"LST2", &path)?,
            b"LIST" => self.list(&path)?,
            b"SEND" => self.receive(&path)?,
            b"RECV" => self.send(&path)?,
            _ => {
                let id = String::from_utf8_lossy(&id).into_owned();
                self.fail(&format!("unknown command {id}"))?;
                return Ok(false);
            }
        }
        self.output.flush()?;
        Ok(true)
    }

    fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|has| has == feature)
    }

    fn header(&mut self) -> Result<([u8; 4], u32)> {
        let mut header = [0; 8];
        self.input.read_exact(&mut header)?;
        let [a, b, c, d, length @ ..] = header;
        Ok(([a, b, c, d], u32::from_le_bytes(length)))
    }

    fn words(&mut self, id: &[u8; 4], words: &[u32]) -> Result<()> {
        self.output.write_all(id)?;
        words.iter().try_for_each(|word| self.output.write_all(&word.to_le_bytes()))
    }

    fn fail(&mut self, why: &str) -> Result<()> {
        self.words(b"FAIL", &[u32::try_from(why.len()).unwrap_or(0)])?;
        self.output.write_all(why.as_bytes())?;
        self.output.flush()
    }

    fn run(&self, command: &mut Command) -> Result<Finished> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output()
    }

    fn stat(&mut self, path: &str) -> Result<()> {
        let mut command = self.space.tool("stat");
        let found = self.run(command.args(["-c", "%f %s %Y"]).arg(path))?;
        let words = numbers(&found.stdout).unwrap_or_default();
        let [mode, size, time] = words.first().copied().unwrap_or_default();
        self.words(b"STAT", &[mode, size, time].map(|word| (word & 0xffff_ffff) as u32))
    }

    fn stat_v2(&mut self, id: [u8; 4], path: &str) -> Result<()> {
        let mut command = self.space.tool("stat");
        if &id == b"STA2" {
            command.arg("-L");
        }
        command.args(["-c", "%f %d %i %h %u %g %s %X %Y %Z"]).arg(path);
        let found = self.run(&mut command)?;
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let (mode, rest) = text.trim().split_once(' ').unwrap_or_default();
        let mode = u32::from_str_radix(mode, 16).unwrap_or(0);
        let numbers: Vec<i64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
        self.output.write_all(&id)?;
        let [dev, inode, links, user, group, size, accessed, written, changed] = numbers[..] else {
            self.output.write_all(&errno(&reason(&found.stderr)).to_le_bytes())?;
            return self.output.write_all(&[0; 64]);
        };
        let small = |number: i64| u32::try_from(number).unwrap_or(0).to_le_bytes();
        let mut bytes = 0_u32.to_le_bytes().to_vec();
        bytes.extend(dev.to_le_bytes());
        bytes.extend(inode.to_le_bytes());
        bytes.extend(mode.to_le_bytes());
        bytes.extend([links, user, group].map(small).concat());
        bytes.extend([size, accessed, written, changed].map(i64::to_le_bytes).concat());
        self.output.write_all(&bytes)
    }

    /// A folder that can't be read looks empty, as with adbd.
    fn list(&mut self, path: &str) -> Result<()> {
        const SCRIPT: &str = "cd \"$1\" || exit
            toybox find . -mindepth 1 -maxdepth 1 -print0
            printf '\\0'
            toybox find . -mindepth 1 -maxdepth 1 -print0 | toybox xargs -0 toybox stat -c '%f %s %Y'";
        let mut command = self.space.command("/system/bin/sh");
        let found = self.run(command.args(["-c", SCRIPT, "list"]).arg(path))?;
        let end = found.stdout.windows(2).position(|pair| pair == [0, 0]).map(|at| at + 1);
        let (names, stats) = found.stdout.split_at(end.unwrap_or(0));
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let stats = numbers(stats.strip_prefix(&[0]).unwrap_or(stats)).unwrap_or_default();
        for (name, stat) in names.zip(stats) {
            let name = name.strip_prefix(b"./").unwrap_or(name);
            let [mode, size, time] = stat.map(|word| (word & 0xffff_ffff) as u32);
            self.words(b"DENT", &[mode, size, time, u32::try_from(name.len()).unwrap_or(0)])?;
            self.output.write_all(name)?;
        }
        self.words(b"DONE", &[0; 4])
    }

    /// A file from the phone.
    fn send(&mut self, path: &str) -> Result<()> {
        let mut command = self.space.tool("cat");
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut cat = Running(command.spawn()?);
        let mut stdout = cat.0.stdout.take().expect("a pipe");
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            piece.clear();
            stdout.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
            if piece.is_empty() {
                break;
            }
            self.words(b"DATA", &[u32::try_from(piece.len()).unwrap_or(0)])?;
            self.output.write_all(&piece)?;
        }
        match cat.failure() {
            Some(why) => self.fail(&format!("open failed: {why}")),
            None => self.words(b"DONE", &[0]),
        }
    }

    /// Receives a file. `target` is a path, a comma and the file's mode.
    fn receive(&mut self, target: &str) -> Result<()> {
        let (path, mode) = target.rsplit_once(',').unwrap_or((target, "33188"));
        let mode: u32 = mode.parse().unwrap_or(0o100_644);
        if mode & 0o170_000 == 0o120_000 {
            return self.receive_link(path);
        }
        // Like adbd, gives the owner's permissions to the group and to all others.
        let mode = mode & 0o777 | mode >> 3 & 0o070;
        let mode = mode | mode >> 3 & 0o007;
        const SCRIPT: &str = "case $1 in */*) toybox mkdir -p \"${1%/*}\" 2>/dev/null ;; esac
            toybox rm -f \"$1\" 2>/dev/null
            exec 3>\"$1\" || exit
            echo opened
            exec toybox cat >&3";
        let mut command = self.space.command("/system/bin/sh");
        command.args(["-c", SCRIPT, "receive"]).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut cat = Running(command.spawn()?);
        let mut failure =
            if cat.has_opened() { None } else { Some(cat.cannot("couldn't create file")) };
        if let Some(why) = &failure {
            self.fail(why)?;
        }
        let time = match self.take_data(&mut cat, &mut failure) {
            Ok(time) => time,
            Err(error) => {
                drop(cat);
                // Like adbd, leaves no partial file behind.
                let mut command = self.space.tool("rm");
                self.run(command.arg("-f").arg(path))?;
                return Err(error);
            }
        };
        if failure.is_some() {
            return Ok(());
        }
        if let Some(why) = cat.failure() {
            return self.fail(&format!("write failed: {why}"));
        }
        let mut command = self.space.command("/system/bin/sh");
        let script = "toybox chmod \"$2\" \"$1\" && toybox touch -d \"@$3\" \"$1\"";
        command.args(["-c", script, "finish", path, &format!("{mode:o}"), &time.to_string()]);
        self.run(&mut command)?;
        self.words(b"OKAY", &[0])
    }

    /// Receives data until the end of a file, and returns its modification time. After a failure,
    /// data is dropped.
    fn take_data(&mut self, cat: &mut Running, failure: &mut Option<String>) -> Result<u32> {
        let mut stdin = cat.0.stdin.take();
        loop {
            let (id, length) = self.header()?;
            match &id {
                b"DATA" if length as usize <= PIECE => {}
                b"DONE" => return Ok(length),
                _ => return Err(Error::from(ErrorKind::InvalidData)),
            }
            let mut piece = vec![0; length as usize];
            self.input.read_exact(&mut piece)?;
            let written = stdin.as_mut().map(|stdin| stdin.write_all(&piece));
            if failure.is_none() && !matches!(written, Some(Ok(()))) {
                stdin = None;
                let why = cat.cannot("write failed");
                self.fail(&why)?;
                *failure = Some(why);
            }
        }
    }

    fn receive_link(&mut self, path: &str) -> Result<()> {
        let mut target = Vec::new();
        loop {
            let (id, length) = self.header()?;
            if &id == b"DONE" {
                break;
            }
            let mut piece = vec![0; (length as usize).min(PIECE)];
            self.input.read_exact(&mut piece)?;
            target.extend(piece);
        }
        let target = String::from_utf8_lossy(&target).trim_end_matches('\0').to_owned();
        let mut command = self.space.tool("ln");
        let made = self.run(command.args(["-sf", &target, path]))?;
        if made.status.success() {
            return self.words(b"OKAY", &[0]);
        }
        self.fail(&format!("couldn't create symlink: {}", reason(&made.stderr)))
    }
}

/// A process that is killed unless somebody waited for it.
struct Running(Child);

impl Running {
    fn has_opened(&mut self) -> bool {
        let mut line = [0; 7];
        let mut stdout = self.0.stdout.take().expect("a pipe");
        stdout.read_exact(&mut line).is_ok()
    }

    /// Waits for it to exit; returns why it failed, if it did.
    fn failure(&mut self) -> Option<String> {
        drop(self.0.stdin.take());
        let mut stderr = Vec::new();
        if let Some(mut pipe) = self.0.stderr.take() {
            let _ = pipe.read_to_end(&mut stderr);
        }
        let status = self.0.wait().ok()?;
        (!status.success()).then(|| reason(&stderr))
    }

    fn cannot(&mut self, what: &str) -> String {
        format!("{what}: {}", self.failure().unwrap_or_default())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The reason in a tool's first message: `No space left on device`.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().next().unwrap_or_default();
    line.rsplit(": ").next().unwrap_or_default().to_owned()
}

/// Parses lines of a mode in hexadecimal, a size and a time.
fn numbers(text: &[u8]) -> Option<Vec<[u64; 3]>> {
    let text = std::str::from_utf8(text).ok()?;
    let line = |line: &str| {
        let mut words = line.split(' ');
        let mode = u64::from_str_radix(words.next()?, 16).ok()?;
        Some([mode, words.next()?.parse().ok()?, words.next()?.parse().ok()?])
    };
    text.lines().map(line).collect()
}

/// The errno for a tool's message.
fn errno(reason: &str) -> u32 {
    let known = [
        ("No such file or directory", 2),
        ("Permission denied", 13),
        ("Not a directory", 20),
        ("Too many levels of symbolic links", 40),
    ];
    known.iter().find(|(text, _)| *text == reason).map_or(2, |(_, number)| *number)
}
