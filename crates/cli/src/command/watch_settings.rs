//! What `flashlag watch` does, from its options, and from a file that SIGHUP reads again.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use flashlag_units::{Bytes, Nanos, line_at, types_in_words};
use flashlag_watch::{MINUTE, Settings};
use serde::Deserialize;

use crate::args::{WatchLiveArgs, watch as watch_values};

/// The name of a history in its directory.
pub const HISTORY: &str = "flashlag-watch.history";
const OVER: Nanos = Nanos::from_millis(250);
const SIZE: Bytes = Bytes::from_mb(20);
const DAILY: Bytes = Bytes::from_mb(1);

/// The file, whose keys are options.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    probe: Option<String>,
    over: Option<String>,
    size: Option<String>,
    daily: Option<String>,
}

/// An option that is given counts, then the file, then the default.
///
/// # Errors
/// The file can't be read, or has a key or a value that is none.
pub fn settings(args: &WatchLiveArgs) -> Result<Settings> {
    let file = args.settings.as_deref().map(read).transpose()?.unwrap_or_default();
    let from = |name: &str| format!("{}: {name}", shown(args.settings.as_deref()));
    let probe = value(file.probe, watch_values::every).with_context(|| from("probe"))?;
    let over = value(file.over, watch_values::over).with_context(|| from("over"))?;
    let size = value(file.size, watch_values::size).with_context(|| from("size"))?;
    let daily = value(file.daily, watch_values::daily).with_context(|| from("daily"))?;
    Ok(Settings {
        directory: args.directory.clone(),
        history: args.history.clone().unwrap_or_else(|| args.directory.join(HISTORY)),
        probe: args.probe.or(probe),
        over: args.over.or(over).unwrap_or(OVER),
        size: args.size.or(size).unwrap_or(SIZE),
        daily: args.daily.or(daily).unwrap_or(DAILY),
        time: args.time,
        part: MINUTE,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

fn value<T, E: std::fmt::Display>(
    text: Option<String>,
    parse: fn(&str) -> Result<T, E>,
) -> Result<Option<T>> {
    text.map(|text| parse(&text).map_err(|why| anyhow!("`{text}`: {why}"))).transpose()
}

fn read(path: &Path) -> Result<File> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(&text, span.start));
        anyhow!("{name}: line {line}: {}", types_in_words(error.message()))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn of(words: &[&str], file: Option<&str>) -> Result<Settings> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watch.toml");
        let mut all = vec!["flashlag", "watch", "/srv"];
        all.extend(words);
        let name = path.display().to_string();
        if let Some(text) = file {
            std::fs::write(&path, text).unwrap();
            all.extend(["--settings", &name]);
        }
        let Command::Watch(args) = Cli::try_parse_from(all).unwrap().command else { panic!() };
        settings(&args.live)
    }

    #[test]
    fn an_option_counts_before_the_file_and_the_file_before_the_default() {
        let plain = of(&[], None).unwrap();
        assert_eq!((plain.probe, plain.over, plain.size, plain.daily), (None, OVER, SIZE, DAILY));
        assert_eq!(plain.history, Path::new("/srv").join(HISTORY));
        let file = "probe = \"10s\"\nover = \"1s\"\ndaily = \"2MB\"\n";
        let both = of(&["--over", "500ms"], Some(file)).unwrap();
        assert_eq!(both.probe, Some(Nanos::from_secs(10)));
        assert_eq!(both.over, Nanos::from_millis(500));
        assert_eq!((both.size, both.daily), (SIZE, Bytes::from_mb(2)));
        assert_eq!(of(&[], Some("# nothing is set\n")).unwrap(), plain);
    }

    #[test]
    fn a_file_that_is_wrong_is_refused_with_its_line_or_key() {
        let refused = |text: &str| format!("{:#}", of(&[], Some(text)).unwrap_err());
        assert!(refused("over = \"1s\"\novr = 2\n").contains("line 2: unknown field `ovr`"));
        assert!(refused("over = 3\n").contains("line 1: "), "{}", refused("over = 3\n"));
        let short = refused("over = \"1ms\"\n");
        assert!(short.contains("over: `1ms`: write a time from 10 ms"), "{short}");
        assert!(refused("size = \"1B\"\n").contains("size: `1B`: write at least"));
        let missing = ["flashlag", "watch", "/srv", "--settings", "/no/such.toml"];
        let Command::Watch(args) = Cli::try_parse_from(missing).unwrap().command else { panic!() };
        assert!(format!("{:#}", settings(&args.live).unwrap_err()).contains("/no/such.toml"));
    }
}
