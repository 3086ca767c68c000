//! Files and functions stay short.

use crate::none;
use crate::source::{Function, Source};

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 70;

#[test]
fn no_file_is_over_500_lines() {
    let long = Source::all().iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > LONGEST_FILE).then(|| {
            format!("{}:{lines}: {lines} lines: split it by what its parts do", source.path)
        })
    });
    none("length of files", long.collect());
}

#[test]
fn no_function_is_over_70_lines() {
    let long = Source::all().iter().flat_map(too_long);
    none("length of functions", long.collect());
}

fn too_long(source: &Source) -> Vec<String> {
    let long = source
        .functions
        .iter()
        .filter(|function| function.lines.clone().count() > LONGEST_FUNCTION);
    let say = |function: &Function| {
        let (path, first, lines) =
            (&source.path, function.lines.start(), function.lines.clone().count());
        let name = &function.name;
        format!("{path}:{first}: `{name}` has {lines} lines: take steps out of it that have a name")
    };
    long.map(say).collect()
}

#[test]
fn a_function_is_long_from_71_lines_on_wherever_it_is() {
    let body = |lines: usize| format!("fn f() {{\n{}}}", "    g();\n".repeat(lines - 2));
    let long = |text: String| too_long(&Source::of("crates/x/src/lib.rs", text)).len();
    assert_eq!(long(body(70)), 0);
    assert_eq!(long(body(71)), 1);
    assert_eq!(long(format!("impl X {{ {} }}", body(71))), 1);
    assert_eq!(long(format!("trait X {{ {} }}", body(71))), 1);
    assert_eq!(long(format!("mod m {{ {} }}", body(71))), 1);
}
