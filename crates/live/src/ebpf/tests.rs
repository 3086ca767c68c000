//! Tests the programs on the kernel that runs the tests.

use std::path::Path;

use flashlag_schema::trace::{TraceLayer, TraceSource};
use flashlag_trace::Builder;

use super::*;

/// A source that watches this crate's filesystem; skips if the kernel refuses programs.
fn started() -> Option<Programs> {
    if !flashlag_need::root("programs in the kernel") {
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scope = Scope { path: Some(folder.to_owned()), ..Scope::default() };
    match Programs::start(&scope, Places::of(Some(folder)).unwrap()) {
        Ok(programs) => Some(programs),
        Err(error) => {
            flashlag_need::skip(error.to_string());
            None
        }
    }
}

#[test]
fn a_tracepoint_that_the_kernel_lacks_is_a_loss_that_is_said_and_not_a_failure() {
    let Some(mut programs) = started() else { return };
    assert!(programs.layers.contains(&TraceLayer::Block));
    let lacking = [("cleaning_begins", "no_such_tracepoint", Some("cleaning of F2FS"))];
    programs.attach(&lacking).unwrap();
    let mut builder = Builder::new(TraceSource::default());
    programs.end(&mut builder).unwrap();
    let trace = builder.finish();
    let said =
        |limit: &&String| limit.starts_with("this recording lacks cleaning of F2FS: tracepoint");
    assert_eq!(trace.source.limits.iter().filter(said).count(), 1, "{:?}", trace.source.limits);
    assert!(trace.source.layers.contains(&TraceLayer::Block));
}

#[test]
fn without_what_nothing_is_seen_without_the_source_is_unusable() {
    let Some(mut programs) = started() else { return };
    let error = programs.attach(&[("cleaning_begins", "no_such_tracepoint", None)]).unwrap_err();
    assert!(error.to_string().contains("no_such_tracepoint"), "{error}");
}

/// The verifier checks every program, even if this kernel lacks its tracepoint.
#[test]
fn the_programs_of_f2fs_pass_the_verifier() {
    let Some(mut programs) = started() else { return };
    for (name, ..) in OF_F2FS {
        let program = programs.kernel.program_mut(name).unwrap();
        let program: &mut RawTracePoint = program.try_into().unwrap();
        program.load().unwrap_or_else(|error| panic!("{name}: {}", in_words(&error)));
    }
}
