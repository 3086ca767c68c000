//! Prints a view of a sample run: `cargo run --example views -- summary lifecycle 80 color`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use flashlag_term::Style;
use flashlag_testing::sample::{self, SampleKind};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let width = word(2).parse().unwrap_or(80);
    let has = |name: &str| words.iter().any(|word| word == name);
    let style = Style { width, color: has("color"), unicode: !has("ascii") };
    let wanted = |kind: &SampleKind| format!("{kind:?}").eq_ignore_ascii_case(word(1));
    for (_, run) in sample::all().into_iter().filter(|(kind, _)| wanted(kind)) {
        let text = match word(0) {
            "trust" => flashlag_term::trust(&run, style),
            "full" => flashlag_term::summary_in_full(&run, style),
            _ => flashlag_term::summary(&run, style),
        };
        print!("{text}");
    }
}
