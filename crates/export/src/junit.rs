//! The gate of a comparison as JUnit XML, which build servers show as tests.

use flashlag_units::sanitize;
use flashlag_views::{Gate, GateCase, GateOutcome};
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use quick_xml::writer::Writer;

/// A gate as JUnit XML: a suite for each test, a case for each of its figures. What is slower failed;
/// what can't be compared was skipped, with the reason.
pub fn junit(gate: &Gate) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let mut suites = BytesStart::new("testsuites");
    let name = format!("{} against {}", gate.after, gate.before);
    push_counts(&mut suites, &name, gate.cases.iter());
    let rest = &gate.cases[..];
    let written = (|| {
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        writer.write_event(Event::Start(suites))?;
        for cases in rest.chunk_by(|one, next| one.test == next.test) {
            suite(&mut writer, cases)?;
        }
        writer.write_event(Event::End(BytesEnd::new("testsuites")))
    })();
    // Writing to memory fails only if memory runs out, and then not with an error.
    flashlag_units::always!(written.is_ok(), "XML is written to memory");
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    text
}

type Written = std::io::Result<()>;

fn suite(writer: &mut Writer<Vec<u8>>, cases: &[GateCase]) -> Written {
    let Some(first) = cases.first() else { return Ok(()) };
    let mut start = BytesStart::new("testsuite");
    push_counts(&mut start, &first.title, cases.iter());
    writer.write_event(Event::Start(start))?;
    for case in cases {
        self::case(writer, case)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuite")))
}

fn case(writer: &mut Writer<Vec<u8>>, case: &GateCase) -> Written {
    let detail = sanitize(&case.detail);
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", sanitize(&case.test).as_str()));
    start.push_attribute(("name", case.figure));
    writer.write_event(Event::Start(start))?;
    let result = match case.outcome {
        GateOutcome::Slower => Some("failure"),
        GateOutcome::Undecided => Some("skipped"),
        GateOutcome::Passed => None,
    };
    match result {
        Some(result) => {
            let mut result = BytesStart::new(result);
            result.push_attribute(("message", detail.as_str()));
            writer.write_event(Event::Empty(result))?;
        }
        None => {
            writer.write_event(Event::Start(BytesStart::new("system-out")))?;
            writer.write_event(Event::Text(BytesText::new(&detail)))?;
            writer.write_event(Event::End(BytesEnd::new("system-out")))?;
        }
    }
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

fn push_counts<'a>(
    start: &mut BytesStart<'_>,
    name: &str,
    cases: impl Iterator<Item = &'a GateCase> + Clone,
) {
    let count = |outcome| cases.clone().filter(|case| case.outcome == outcome).count().to_string();
    start.push_attribute(("name", sanitize(name).as_str()));
    start.push_attribute(("tests", cases.clone().count().to_string().as_str()));
    start.push_attribute(("failures", count(GateOutcome::Slower).as_str()));
    start.push_attribute(("errors", "0"));
    start.push_attribute(("skipped", count(GateOutcome::Undecided).as_str()));
}
