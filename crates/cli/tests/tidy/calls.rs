//! Calls and words that are left to a few places, or to none.

use crate::source::{Kind, Source, Token};
use crate::{none, root};

/// Files whose sleeps are a measurement's own or a person's wait.
const SLEEPS: [(&str, &str); 27] = [
    ("crates/watch/src/listen.rs", "the system has room for another client after a while"),
    ("crates/store/src/folder.rs", "another adder gives up the lock after a while, or never"),
    ("crates/android/src/end/apart.rs", "a process that was started answers after a while"),
    ("crates/android/src/end/hub.rs", "those who follow have a moment to read the end"),
    ("crates/android/src/end/watching.rs", "a watch begins after a while, and ends after one"),
    ("crates/android/src/end/system.rs", "Android logs after a while that a trim has ended"),
    (
        "crates/android/src/run_on_phone.rs",
        "another host's run begins after a while, or its host is gone",
    ),
    ("crates/serve/src/relay/mod.rs", "the system has room for another client after a while"),
    ("crates/runner/src/android/connection.rs", "a phone comes back when someone plugs it in"),
    (
        "crates/runner/src/android/follow.rs",
        "a run that can not be followed is looked at now and then",
    ),
    ("crates/runner/src/android/mod.rs", "a run on a phone ends after a while"),
    ("crates/runner/src/android/on_phone.rs", "progress is shown once a second"),
    ("crates/cli/src/command/live.rs", "what was recorded is fetched some times a second"),
    ("crates/device/src/monotonic.rs", "the real clock passes time by sleeping"),
    ("crates/engine/src/calibrate/mod.rs", "two clocks are compared over a stretch of time"),
    ("crates/engine/src/heartbeat.rs", "a thread that tells whether it woke up"),
    ("crates/engine/src/uring/mod.rs", "an open loop waits for its next start or a completion"),
    ("crates/lab/src/guest/mounts.rs", "a kernel finds its disks after a while"),
    ("crates/lab/src/guest/port.rs", "a guest says now and then that it is alive"),
    ("crates/lab/src/host/daemon.rs", "a daemon is ready after a while, and ends after one"),
    ("crates/lab/src/machine.rs", "QEMU's sockets are there after a while, and its process ends"),
    ("crates/lab/src/mounting.rs", "a FUSE daemon lets go of what is below it after a while"),
    ("crates/nbd/src/life.rs", "clients have a moment to leave, which nobody says when they did"),
    ("crates/watch/src/machine.rs", "a disk's counters are read some times a second"),
    ("crates/watch/src/patience.rs", "a thread ends after a while, or its storage does not answer"),
    ("crates/runner/src/real/world.rs", "an idle wait that was asked for"),
    ("crates/runner/src/real/prepare.rs", "how busy the machine is shows over a stretch of time"),
];

/// Files that ask what time of day it is. Nothing that is measured may.
const TIMES_OF_DAY: [(&str, &str); 4] = [
    ("crates/engine/src/guard/manifest.rs", "the manifest says when its run began, for people"),
    ("crates/inspect/src/android/storaged.rs", "Android's storage daemon dates what it counts"),
    ("crates/store/src/folder.rs", "a lock's file says when something was added last"),
    ("crates/watch/src/watch.rs", "a history has hours and days; no wait is measured by it"),
];

/// A sequence of tokens that may not be where `forbidden` says.
struct Rule {
    sequence: &'static [&'static str],
    forbidden: fn(&Source, usize) -> bool,
    instead: &'static str,
}

const RULES: [Rule; 15] = [
    Rule { sequence: &["todo", "!"], forbidden: anywhere, instead: "do it, or leave it out" },
    Rule {
        sequence: &["unimplemented", "!"],
        forbidden: anywhere,
        instead: "do it, or leave it out",
    },
    Rule { sequence: &["dbg", "!"], forbidden: anywhere, instead: "remove it" },
    Rule { sequence: &["print", "!"], forbidden: in_library, instead: PRINT },
    Rule { sequence: &["println", "!"], forbidden: in_library, instead: PRINT },
    Rule { sequence: &["eprint", "!"], forbidden: in_library, instead: PRINT },
    Rule { sequence: &["eprintln", "!"], forbidden: in_library, instead: PRINT },
    Rule {
        sequence: &["io", ":", ":", "stdout"],
        forbidden: |source, line| in_product(source, line) && !listed(&TERMINALS, source),
        instead: PRINT,
    },
    Rule {
        sequence: &["io", ":", ":", "stderr"],
        forbidden: |source, line| in_product(source, line) && !listed(&TERMINALS, source),
        instead: PRINT,
    },
    Rule { sequence: &["fs", ":", ":", "write"], forbidden: in_view, instead: RESULTS },
    Rule { sequence: &["File", ":", ":", "create"], forbidden: in_view, instead: RESULTS },
    Rule {
        sequence: &["process", ":", ":", "exit"],
        forbidden: |source, _| source.path != "crates/cli/src/main.rs",
        instead: "return an error or an `ExitCode`: an exit drops nothing, and so cleans nothing",
    },
    Rule {
        sequence: &[".", "unwrap", "(", ")"],
        forbidden: |source, line| !source.is_test(line),
        instead: "return an error, or `expect` with the proof that it can't be",
    },
    Rule {
        sequence: &["thread", ":", ":", "sleep"],
        forbidden: |source, line| in_product(source, line) && !listed(&SLEEPS, source),
        instead: "wait for what you wait for, or list the file with its reason in SLEEPS",
    },
    Rule {
        sequence: &["SystemTime", ":", ":", "now"],
        forbidden: |source, line| !source.is_test(line) && !listed(&TIMES_OF_DAY, source),
        instead: "the time of day can be set: use `MonotonicClock`, or list the file in \
                  TIMES_OF_DAY",
    },
];

const PRINT: &str = "a library returns text; commands print by `cli::say`, which lets nothing \
                     through that acts on a terminal";
const RESULTS: &str =
    "write by `flashlag_runner::Destination`, which overwrites nothing by accident";

/// Files that write to a terminal.
const TERMINALS: [(&str, &str); 3] = [
    ("crates/cli/src/say.rs", "the one way for everything that a command prints"),
    ("crates/need/src/lib.rs", "a skip is seen among tests that pass"),
    ("crates/term/src/progress/mod.rs", "progress that is redrawn in place"),
];

fn anywhere(_: &Source, _: usize) -> bool {
    true
}

fn in_product(source: &Source, line: usize) -> bool {
    source.kind == Kind::Product && !source.is_test(line)
}

/// A build script speaks to cargo by printing.
fn in_library(source: &Source, line: usize) -> bool {
    let is_script = source.path.ends_with("/build.rs");
    source.kind != Kind::Example && !is_script && !source.is_test(line)
}

/// In what writes results for a user: files of other kinds have rules of their own.
fn in_view(source: &Source, line: usize) -> bool {
    let writes = ["cli", "report", "term", "export", "predict", "views"];
    in_product(source, line) && writes.iter().any(|name| source.is_in(name))
}

fn listed(list: &[(&str, &str)], source: &Source) -> bool {
    list.iter().any(|(path, _)| *path == source.path)
}

fn matches(tokens: &[Token], sequence: &[&str]) -> bool {
    tokens.iter().zip(sequence).all(|(token, wanted)| token.text == *wanted)
}

#[test]
fn calls_are_where_they_may_be() {
    none("calls", Source::all().iter().flat_map(broken).collect());
}

/// What a file calls where it may not.
fn broken(source: &Source) -> Vec<String> {
    let tokens = source.tokens();
    let mut violations = Vec::new();
    for rule in &RULES {
        for window in tokens.windows(rule.sequence.len()) {
            let line = window[0].line;
            if matches(window, rule.sequence) && (rule.forbidden)(source, line) {
                let call = rule.sequence.concat();
                violations.push(format!("{}:{line}: `{call}`: {}", source.path, rule.instead));
            }
        }
    }
    violations
}

#[test]
fn each_rule_finds_what_it_forbids_within_macros_too_and_lets_tests_be() {
    for rule in &RULES {
        let call = rule.sequence.concat();
        let call = if call.ends_with('!') { format!("{call}()") } else { call };
        let call = call.strip_prefix('.').map_or(call.clone(), |method| format!("x.{method}"));
        let of = |path: &str, text: String| broken(&Source::of(path, text));
        for text in [format!("fn f() {{ {call}; }}"), format!("fn f() {{\n assert!({call}); }}")] {
            assert_eq!(of("crates/cli/src/x.rs", text.clone()).len(), 1, "{text}");
        }
        let test = format!("#[cfg(test)]\nmod tests {{\n fn f() {{ {call}; }}\n}}");
        let always = (rule.forbidden)(&Source::of("crates/x/tests/x.rs", String::new()), 1);
        assert_eq!(of("crates/cli/src/x.rs", test).len(), usize::from(always), "{call}");
        let comment = format!("// {call}\nfn f() {{ g(\"{call}\"); }}");
        assert_eq!(of("crates/cli/src/x.rs", comment), Vec::<String>::new(), "{call}");
    }
}

#[test]
fn every_exception_is_still_needed() {
    let files = Source::all();
    let mut violations = Vec::new();
    for (list, sequence) in [
        (SLEEPS.as_slice(), &["thread", ":", ":", "sleep"][..]),
        (TIMES_OF_DAY.as_slice(), &["SystemTime", ":", ":", "now"][..]),
        (TERMINALS.as_slice(), &["io", ":", ":", "stderr"][..]),
    ] {
        for (path, _) in list {
            let source = files.iter().find(|source| source.path == *path);
            let needed = source.is_some_and(|source| {
                source.tokens().windows(sequence.len()).any(|window| matches(window, sequence))
            });
            if !needed {
                violations.push(format!("{}: {path} has no such call: remove its line", file!()));
            }
        }
    }
    none("exceptions", violations);
}

#[test]
fn a_test_skips_by_the_one_helper() {
    let skips = Source::all().iter().flat_map(|source| {
        let lines = source.text.lines().enumerate();
        let by_hand = lines.filter(|(_, line)| line.contains(concat!("ln!(\"", "skip")));
        let say = |(line, _): (usize, &str)| {
            format!("{}:{}: skip by `flashlag_need::skip`", source.path, line + 1)
        };
        by_hand.map(say).collect::<Vec<_>>()
    });
    none("skips by hand", skips.collect());
}

/// Notes to oneself, put together here so that this file does not have them.
const WORDS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

#[test]
fn nothing_is_left_for_later() {
    let mut violations = Vec::new();
    let mut check = |path: &str, text: &str| {
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(word) = words.find(|word| WORDS.contains(word)) {
                violations
                    .push(format!("{path}:{}: `{word}`: do it, or open an issue", number + 1));
            }
        }
    };
    for source in Source::all() {
        check(&source.path, &source.text);
    }
    for path in other_texts() {
        if let Ok(text) = std::fs::read_to_string(root().join(&path)) {
            check(&path, &text);
        }
    }
    none("words", violations);
}

/// Scenarios, scripts, manifests and documents.
fn other_texts() -> Vec<String> {
    let mut paths: Vec<String> =
        ["Makefile", "Cargo.toml", "README.md", "CHANGELOG.md"].map(str::to_owned).into();
    for folder in ["scenarios", "scripts", "docs", ".ci"] {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        paths.extend(names.map(|name| format!("{folder}/{name}")));
    }
    paths.extend(crate::crate_names().iter().map(|name| format!("crates/{name}/Cargo.toml")));
    paths
}
