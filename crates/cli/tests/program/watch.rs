//! `flashlag watch`: from the command line to the report, and what it refuses.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flashlag_need::skip;
use flashlag_schema::history::History;

pub fn flashlag(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(words);
    command
}

/// Runs it to its end: whether it succeeded, standard output, standard error.
pub fn ran(words: &[&str]) -> (Option<i32>, String, String) {
    let output = flashlag(words).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The storage of this machine, where there is a disk below the folder of temporary files.
pub fn home() -> Option<tempfile::TempDir> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_str().unwrap();
    let (_, _, error) = ran(&["watch", path, "--for", "1ms"]);
    if error.contains("can't be watched") {
        skip(format!("no disk is below the folder of temporary files: {error}"));
        return None;
    }
    Some(home)
}

pub fn history(place: &str) -> History {
    let (status, text, error) = ran(&["watch", "report", place, "--format", "json"]);
    assert_eq!(status, Some(0), "{error}");
    serde_json::from_str(&text).unwrap()
}

pub struct Ends(pub Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ends {
    pub fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }
}

pub fn started(words: &[&str]) -> Ends {
    let child = flashlag(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Ends(child.unwrap())
}

/// Waits for something that the watch makes.
pub fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn workspaces(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).unwrap().flatten();
    entries.filter(|it| it.file_name().to_string_lossy().starts_with("flashlag-work-")).count()
}

#[test]
fn it_probes_until_a_signal_leaves_its_history_alone_and_says_what_it_cost() {
    let Some(home) = home() else { return };
    let place = home.path().to_str().unwrap();
    let (status, _, error) = ran(&["watch", place, "--probe", "1s", "--for", "4s"]);
    assert_eq!(status, Some(0), "{error}");
    for word in ["4 KiB each 1.0 s: at most", "% of one CPU", "of history written", "over 250 ms"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let seen = history(place);
    let [span] = seen.spans.as_slice() else { panic!("{:?}", seen.spans) };
    assert!(span.probes.restore().unwrap().count() >= 2, "{span:?}");
    assert!(span.watched_ns.0 > 2_000_000_000 && span.state.total_bytes.is_some(), "{span:?}");
    let again = started(&["watch", place, "--probe", "1s"]);
    until("its files", || workspaces(home.path()) == 1);
    again.signal("-TERM");
    let mut again = again;
    let began = Instant::now();
    assert!(again.0.wait().unwrap().success());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(workspaces(home.path()), 0, "its files are gone");
    for (form, word) in [("html", "<!doctype html>"), ("csv", "start_s,"), ("markdown", "# In ")] {
        let (status, text, error) = ran(&["watch", "report", place, "--format", form]);
        assert!(status == Some(0) && text.starts_with(word), "{form}: {error}");
    }
    let file = home.path().join("watch.prom");
    let file = file.to_str().unwrap();
    assert_eq!(ran(&["watch", "report", place, "-o", file]).0, Some(0));
    let text = std::fs::read_to_string(file).unwrap();
    for word in [
        "flashlag_watch_wait_seconds_bucket{",
        "kind=\"probe\"",
        "flashlag_watch_watched_seconds_total",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    checked_by_promtool(&text);
    let (_, text, _) = ran(&["watch", "report", place]);
    assert!(text.starts_with("In ") && text.contains("day (UTC)"), "{text}");
}

/// The words after a process's name in `/proc/PID/stat`.
fn stat(id: u32) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let (_, words) = text.rsplit_once(')').unwrap();
    words.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn what_it_says_of_its_own_cost_is_what_the_kernel_counts() {
    let Some(home) = home() else { return };
    let place = home.path().to_str().unwrap();
    let words = ["watch", place, "--probe", "1s", "--for", "5s"];
    let child = flashlag(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut child, mut peak_kb) = (Ends(child), 0u64);
    let id = child.0.id();
    // Nobody has waited for it, so its times stay after its end; its memory does not.
    while stat(id)[0] != "Z" {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok());
        peak_kb = peak.unwrap_or(peak_kb);
        std::thread::sleep(Duration::from_millis(5));
    }
    let times = stat(id);
    let tick = |index: usize| times[index].parse::<f64>().unwrap() / 100.0;
    let cpu_s = tick(11) + tick(12);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.0.stderr.take().unwrap(), &mut said).unwrap();
    let number = |before: &str, after: &str| -> f64 {
        let found = said.split(before).nth(1).and_then(|rest| rest.split(after).next());
        found.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{before}: {said}"))
    };
    let own_s = number("it took ", "% of one CPU") / 100.0 * number("watched for ", " s");
    // The kernel counts whole ticks, and what it takes to start and to end.
    assert!((own_s - cpu_s).abs() <= 0.04 + cpu_s * 0.3, "{own_s} s of {cpu_s} s: {said}");
    let own_mb = number("CPU, ", " MB of memory");
    let peak_mb = peak_kb as f64 * 1024.0 / 1e6;
    assert!((own_mb - peak_mb).abs() <= 0.6 + peak_mb * 0.05, "{own_mb} of {peak_mb} MB: {said}");
}

#[test]
fn a_second_watch_of_a_directory_is_refused_and_the_first_goes_on() {
    let Some(home) = home() else { return };
    let place = home.path().join("new");
    std::fs::create_dir(&place).unwrap();
    let file = place.join("flashlag-watch.history");
    let place = place.to_str().unwrap();
    let mut first = started(&["watch", place]);
    // Its first record is there once it has the file for itself.
    until("its history", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    let (status, _, error) = ran(&["watch", place, "--for", "1ms"]);
    assert!(status == Some(2) && error.contains("another `flashlag watch`"), "{error}");
    assert!(first.0.try_wait().unwrap().is_none());
    first.signal("-INT");
    assert!(first.0.wait().unwrap().success());
}

#[test]
fn bad_input_gets_a_sentence() {
    let Some(home) = home() else { return };
    let place = home.path().to_str().unwrap();
    let file = home.path().join("flashlag-watch.history");
    let said = |words: &[&str], word: &str| {
        let (status, _, error) = ran(words);
        assert!(status == Some(2) && error.contains(word), "{words:?}: {error}");
    };
    std::fs::write(&file, "FLH9 of a later version").unwrap();
    said(&["watch", place], "version 9");
    said(&["watch", "report", place], "version 9");
    std::fs::write(&file, "Dear diary, today the card froze again").unwrap();
    said(&["watch", place], "is no history of flashlag");
    said(&["watch", "report", "/nowhere"], "there is no history");
    said(&["watch", "/nowhere"], "/nowhere");
    said(&["watch", "/proc"], "/proc");
    said(&["watch", place, "--probe", "1ms"], "from 1.0 s to");
    said(&["watch", place, "--over", "1us"], "from 10 ms to");
    said(&["watch", place, "--size", "1kB"], "at least 1.0 MB");
    assert_eq!(std::fs::read_to_string(&file).unwrap().len(), 38, "nobody has touched it");
}

/// A small ext4 in a file, mounted; `None` where that can't be done.
pub struct Loop(pub tempfile::TempDir);

impl Loop {
    pub fn mounted(megabytes: u64) -> Option<Loop> {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        let image = std::fs::File::create(at("image")).unwrap();
        image.set_len(megabytes << 20).unwrap();
        std::fs::create_dir(at("m")).unwrap();
        let done = |program: &str, words: &[&str]| {
            Command::new(program).args(words).output().is_ok_and(|it| it.status.success())
        };
        let ready = done("mkfs.ext4", &["-q", "-b", "4096", &at("image")])
            && done("mount", &["-o", "loop", &at("image"), &at("m")]);
        if !ready {
            skip("a file can't be mounted here");
            return None;
        }
        Some(Loop(home))
    }

    pub fn place(&self) -> String {
        self.0.path().join("m").to_str().unwrap().to_owned()
    }

    pub fn does(&self, program: &str, words: &[&str]) {
        let place = self.place();
        let status = Command::new(program).args(words).arg(&place).status().unwrap();
        assert!(status.success(), "{program} {words:?}");
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place()).status();
    }
}

#[test]
fn a_frozen_filesystem_is_an_incident_a_stopped_process_is_none() {
    let Some(disk) = Loop::mounted(300) else { return };
    let (place, elsewhere) = (disk.place(), disk.0.path().join("a.history"));
    let elsewhere = elsewhere.to_str().unwrap();
    let mut watch = started(&["watch", &place, "--probe", "1s", "--history", elsewhere]);
    until("its files", || workspaces(Path::new(&place)) == 1);
    std::thread::sleep(Duration::from_secs(3));
    watch.signal("-STOP");
    std::thread::sleep(Duration::from_secs(3));
    watch.signal("-CONT");
    std::thread::sleep(Duration::from_secs(2));
    let saved = Path::new(&place).join("saved");
    let mut file = std::fs::File::create(&saved).unwrap();
    disk.does("fsfreeze", &["-f"]);
    let saves = move || std::io::Write::write_all(&mut file, b"one").unwrap();
    let saver = std::thread::Builder::new().name("saver".to_owned()).spawn(saves).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    disk.does("fsfreeze", &["-u"]);
    saver.join().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    watch.signal("-INT");
    assert!(watch.0.wait().unwrap().success());
    let seen = history(elsewhere);
    // On a busy machine its own disk may keep it waiting, too; none lasts as long.
    let long = |it: &&flashlag_schema::history::Incident| it.longest_ns.0 > 1_900_000_000;
    let long: Vec<_> = seen.incidents.iter().filter(long).collect();
    let [one] = long.as_slice() else { panic!("{:#?}", seen.incidents) };
    assert!(one.longest_ns.0 < 6_000_000_000, "{one:?}");
    let waited = format!("(thread saver, write of {})", saved.display());
    assert!(one.waiting.iter().any(|who| who.ends_with(&waited)), "{:?}", one.waiting);
    assert!(seen.spans.iter().any(|span| span.stopped_ns.0 > 2_000_000_000), "{:?}", seen.spans);
}

#[test]
fn a_full_and_a_read_only_filesystem_are_said_and_nothing_is_left_there() {
    let Some(disk) = Loop::mounted(64) else { return };
    let place = disk.place();
    let (status, _, error) = ran(&["watch", &place, "--for", "1s"]);
    assert!(status == Some(2) && error.contains("flashlag leaves 100 MB"), "{error}");
    assert!(!Path::new(&place).join("flashlag-watch.history").exists());
    let elsewhere = disk.0.path().join("a.history");
    let elsewhere = elsewhere.to_str().unwrap();
    let probed = ["watch", &place, "--probe", "1s", "--for", "1s", "--history", elsewhere];
    let (status, _, error) = ran(&probed);
    assert!(status == Some(2) && error.contains("watch without --probe"), "{error}");
    disk.does("mount", &["-o", "remount,ro"]);
    let (status, _, error) = ran(&["watch", &place, "--for", "1s"]);
    assert!(status == Some(2) && error.to_lowercase().contains("read-only"), "{error}");
    let (status, _, error) = ran(&["watch", &place, "--for", "1s", "--history", elsewhere]);
    assert_eq!(status, Some(0), "{error}");
    assert_eq!(workspaces(Path::new(&place)), 0);
}

/// Prometheus's own program takes the text, where it is installed.
pub fn checked_by_promtool(text: &str) {
    let child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return skip("promtool is not installed") };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn sighup_reads_the_settings_again_and_a_file_that_is_wrong_changes_nothing() {
    let Some(home) = home() else { return };
    let (place, file) = (home.path().join("data"), home.path().join("watch.toml"));
    std::fs::create_dir(&place).unwrap();
    std::fs::write(&file, "over = \"1s\"\n").unwrap();
    let log = home.path().join("log");
    let mut command = flashlag(&["watch", place.to_str().unwrap()]);
    command.arg("--settings").arg(&file).stdout(Stdio::null());
    let errors = std::fs::File::create(&log).unwrap();
    let mut watch = Ends(command.stderr(errors).spawn().unwrap());
    until("the history", || place.join("flashlag-watch.history").exists());
    let begins = || std::fs::read_to_string(&log).unwrap().matches("watched for ").count();
    assert_eq!((workspaces(&place), begins()), (0, 0), "no probes");
    std::fs::write(&file, "probe = \"1s\"\n").unwrap();
    watch.signal("-HUP");
    until("a probe's file", || workspaces(&place) == 1);
    std::fs::write(&file, "probe = \"often\"\n").unwrap();
    watch.signal("-HUP");
    let said =
        || std::fs::read_to_string(&log).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    until("what is wrong with the file", || said().contains("it goes on as before"));
    assert!(said().contains("watch.toml: probe: `often`: "), "{}", said());
    until("probes as before", || begins() == 2 && workspaces(&place) == 1);
    watch.signal("-TERM");
    until("the end", || watch.0.try_wait().unwrap().is_some());
    assert_eq!((workspaces(&place), begins()), (0, 3), "{}", said());
    let over = history(place.to_str().unwrap()).subject.unwrap().over_ns;
    assert_eq!(over.0, 250_000_000, "the default, once the file has none");
}

#[test]
fn memory_is_no_storage_with_probes_or_without() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    if !mounts.lines().any(|line| line.contains(" /dev/shm tmpfs ")) {
        skip("/dev/shm is no filesystem in memory here");
        return;
    }
    for more in [&["--for", "1s"][..], &["--for", "1s", "--probe", "1s"]] {
        let (status, _, error) = ran(&[&["watch", "/dev/shm"], more].concat());
        assert_eq!(status, Some(2), "{error}");
        assert!(error.contains("held in memory") && !error.contains("--probe"), "{error}");
    }
    let (status, _, error) = ran(&["watch", "/proc", "--for", "1s"]);
    assert_eq!(status, Some(2), "{error}");
}
