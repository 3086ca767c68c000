//! Errors are text only where a string is all there is.

use std::collections::BTreeMap;

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::none;
use crate::source::Source;

/// Files with a `Result<_, String>`, how many each has, and why.
const ALLOWED: [(&str, usize, &str); 15] = [
    ("crates/cli/src/args/mod.rs", 2, CLAP),
    ("crates/cli/src/args/watch.rs", 6, CLAP),
    ("crates/commands/src/limits.rs", 2, CLAP),
    ("crates/commands/src/run.rs", 1, CLAP),
    ("crates/python/src/run.rs", 1, CLAP),
    ("crates/engine/src/open.rs", 1, DOWNGRADE),
    ("crates/engine/src/uring/ring.rs", 1, DOWNGRADE),
    ("crates/flash/src/page_map/audit.rs", 1, CHECK),
    ("crates/lab/src/modules.rs", 1, "the error is the name of the missing module"),
    ("crates/spec/src/replay/op.rs", 1, "serde takes it as text"),
    ("crates/spec/src/scenario/settings.rs", 1, "the error is the unknown name"),
    ("crates/sqlite/src/vfs/callbacks.rs", 2, "rsqlite_vfs's error can't be cloned"),
    ("crates/store/src/read.rs", 1, "the table stores it"),
    ("crates/testing/src/conformance/claims.rs", 3, CHECK),
    ("crates/testing/src/conformance/exchange.rs", 4, CHECK),
];

const CLAP: &str = "what is wrong with a word, which clap or Python shows after the option's name";
const DOWNGRADE: &str = "the reason of a downgrade, which the run file stores";
const CHECK: &str = "what a check found wrong, which only a failed test shows";

/// The lines of a file with a `Result<_, String>` outside of tests.
fn lines_of(source: &Source) -> Vec<usize> {
    let mut found = Found::default();
    found.visit_file(&source.parse());
    let in_product = |line: &usize| {
        source.path.contains("/src/") && !source.test_lines.iter().any(|lines| lines.contains(line))
    };
    found.0.into_iter().filter(in_product).collect()
}

#[derive(Default)]
struct Found(Vec<usize>);

impl<'ast> Visit<'ast> for Found {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) = arguments.args.get(1)
            && error.path.is_ident("String")
        {
            self.0.push(segment.span().start().line);
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

#[test]
fn errors_are_text_only_where_a_string_is_all_there_is() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().map(|(path, count, _)| (*path, *count)).collect();
    let mut violations = Vec::new();
    for source in Source::all().iter().filter(|source| source.path.starts_with("crates/")) {
        let (lines, most) = (lines_of(source), allowed.get(source.path.as_str()).unwrap_or(&0));
        if lines.len() > *most {
            violations.push(format!(
                "{}: {} results with a String for an error (lines {lines:?}), {most} allowed: keep path, \
                 operation and cause in a type until they are shown",
                source.path,
                lines.len(),
            ));
        } else if lines.len() < *most {
            violations.push(format!("{}: has {} of {most}: lower it", source.path, lines.len()));
        }
    }
    none("errors as text", violations);
}

#[test]
fn results_with_text_are_counted_wherever_they_are_written_and_not_in_tests() {
    let count = |text: &str| lines_of(&Source::of("crates/x/src/a.rs", text.to_owned())).len();
    assert_eq!(count("fn f() -> Result<(), String> { todo() }"), 1);
    assert_eq!(count("type R = std::result::Result<Vec<Result<u8, String>>, String>;"), 2);
    assert_eq!(count("struct S { a: Result<\n    u8,\n    String,\n> }"), 1);
    assert_eq!(count("fn f(g: &dyn Fn(&str) -> Result<String, Error>) -> Result<String> {}"), 0);
    assert_eq!(count("#[cfg(test)]\nmod tests { fn f() -> Result<(), String> { g() } }"), 0);
}
