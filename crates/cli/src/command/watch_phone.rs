//! `flashlag watch adb:` and `flashlag watch fetch`: a phone that is watched without a cable.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_runner::android::{PhoneWatch, Watcher};
use flashlag_runner::{Destination, OutputKind};
use flashlag_spec::target::PhoneSpec;
use flashlag_units::{Nanos, percent};
use flashlag_watch::Settings;

use super::run::plain_serial;
use super::watch_settings::settings;
use crate::args::WatchLiveArgs;
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;

/// The words of `flashlag watch fetch`.
pub struct Wanted<'a> {
    pub output: Option<&'a Path>,
    pub end: bool,
    pub force: bool,
}

/// The phone that is named in the place of a directory; `None` if a directory is.
pub fn target(place: &Path) -> Option<Result<PhoneSpec>> {
    let rest = place.to_str()?.strip_prefix("adb:")?;
    Some(PhoneSpec::parse(rest).map_err(Into::into))
}

/// Begins a watch on a phone.
pub fn begin(spec: &PhoneSpec, args: &WatchLiveArgs, terminal: &Terminal) -> Result<Exit> {
    if args.listen.is_some() || args.history.is_some() || args.ageing.is_some() {
        bail!(
            "a phone keeps its history to itself until it is fetched: without --listen, --history and --ageing"
        );
    }
    let settings = settings(args)?;
    let phone = PhoneWatch::find(spec)?;
    if !terminal.quiet {
        say::sentence(&phone.about);
    }
    let begun = phone.begin(options(&settings));
    let begun = begun.with_context(|| format!("cannot watch adb:{}", phone.serial))?;
    if !terminal.quiet {
        begun.said.lines().for_each(say::note);
        say::sentence(&format!(
            "it goes on without the cable, until the phone restarts; `flashlag watch fetch adb:{}` takes \
             what it found, with --end ends it",
            phone.serial
        ));
    }
    Ok(Exit::Done)
}

/// The settings as options of `flashlag watch`.
fn options(settings: &Settings) -> Vec<String> {
    let time = |name: &str, time: Nanos| [format!("--{name}"), format!("{}ns", time.0)];
    let mut options = Vec::new();
    options.extend(time("over", settings.over));
    options.extend(settings.probe.into_iter().flat_map(|every| time("probe", every)));
    options.extend(settings.time.into_iter().flat_map(|limit| time("for", limit)));
    options.extend(["--size".to_owned(), format!("{}B", settings.size.0)]);
    options.extend(["--daily".to_owned(), format!("{}B", settings.daily.0)]);
    options
}

/// Takes a phone's history to this machine.
pub fn fetch(place: &Path, wanted: &Wanted<'_>, terminal: &Terminal) -> Result<Exit> {
    let Some(spec) = target(place) else {
        bail!("{} is no phone: write adb: or adb:SERIAL", place.display());
    };
    let phone = PhoneWatch::find(&spec?)?;
    let output = wanted.output.map_or_else(|| named_after(&phone.serial), PathBuf::from);
    // One that was fetched before is a part of the new one.
    let replaces = wanted.force || flashlag_watch::read(&output).is_ok();
    let to = Destination::check(&output, OutputKind::Export, replaces)?;
    let (history, state) = phone.fetch(wanted.end)?;
    to.write(&history)?;
    if wanted.end {
        phone.remove()?;
    }
    let name = output.display();
    if !terminal.quiet {
        let now = match (wanted.end, &state.watcher) {
            (true, _) => "has ended; nothing of it is left on the phone".to_owned(),
            (false, Some(watcher)) => format!("goes on, {}", cost_in_words(watcher)),
            (false, None) if state.has_restarted => format!(
                "ended when the phone restarted: `flashlag watch adb:{}` goes on with this history",
                phone.serial
            ),
            (false, None) => "has ended".to_owned(),
        };
        say::sentence(&format!("the history is in {name}; the watch {now}"));
        say::sentence(&format!("`flashlag watch report {name}` says what was found"));
    }
    Ok(Exit::Done)
}

fn named_after(serial: &str) -> PathBuf {
    PathBuf::from(format!("watch-{}.history", plain_serial(serial)))
}

fn cost_in_words(watcher: &Watcher) -> String {
    let lasted = watcher.lasted_ns.0.max(1) as f64;
    format!(
        "for {} now; it took {} of one CPU and was woken {:.1} times a second",
        watcher.lasted_ns,
        percent(watcher.cpu_ns.0 as f64 / lasted),
        watcher.wakeups as f64 / (lasted / 1e9),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn live(words: &[&str]) -> WatchLiveArgs {
        let all = ["flashlag", "watch"].iter().chain(words);
        let Command::Watch(args) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        args.live
    }

    #[test]
    fn the_phone_reads_the_options_that_were_given_here() {
        for words in [
            &["adb:"][..],
            &["adb:", "--probe", "90s", "--over", "1500ms", "--for", "36h"],
            &["adb:X", "--size", "5MB", "--daily", "300kB", "--probe", "1s"],
        ] {
            let here = settings(&live(words)).unwrap();
            let options = options(&here);
            let mut there = vec![words[0]];
            there.extend(options.iter().map(String::as_str));
            assert_eq!(settings(&live(&there)).unwrap(), here, "{there:?}");
        }
    }

    #[test]
    fn a_phone_is_named_by_adb_and_anything_else_is_a_directory() {
        assert!(target(Path::new("adb:0A1B:/sdcard")).unwrap().is_ok());
        assert!(target(Path::new("adb:a;b")).unwrap().is_err());
        assert!(target(Path::new("./adb:")).is_none() && target(Path::new("/srv")).is_none());
        assert_eq!(named_after("10.0.0.7:5555"), Path::new("watch-10.0.0.7-5555.history"));
    }

    #[test]
    fn what_a_watch_costs_is_a_share_of_a_cpu_and_wake_ups_a_second() {
        let watcher = Watcher {
            lasted_ns: Nanos::from_secs(1000),
            cpu_ns: Nanos::from_secs(2),
            wakeups: 4100,
        };
        let said = cost_in_words(&watcher);
        assert!(said.contains("0.2") && said.contains("% of one CPU"), "{said}");
        assert!(said.ends_with("woken 4.1 times a second"), "{said}");
    }
}
