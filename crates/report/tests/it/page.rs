//! Pages as text: well formed, self-contained, and nothing of a device is markup.

use crate::common::{HOSTILE, empty, hostile, hostile_options, pages};
use flashlag_report::Options;
use flashlag_schema::{
    Change, ChangeKind, CheckStatus, Environment, Run, StallCause, StallRecord, TargetKind,
};
use flashlag_spec::{Operation, Reading};
use flashlag_testing::sample;
use flashlag_units::{Bytes, Nanos};
use flashlag_views::format;

/// The page with plain spaces, and without what keeps an option on one line.
fn html(run: &Run, options: &Options) -> String {
    let page = flashlag_report::html(run, options).replace('\u{a0}', " ");
    let mut plain = String::new();
    for (index, part) in page.split("<span class=\"nb\">").enumerate() {
        plain += &if index == 0 { part.to_owned() } else { part.replacen("</span>", "", 1) };
    }
    plain
}

/// Elements that have no end tag.
const VOID: [&str; 3] = ["meta", "br", "img"];

/// Every tag of a page: its name, its attributes as written, and whether it closes itself.
fn tags(page: &str) -> Vec<(String, String, bool)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = end_of_tag(rest).expect("a tag ends");
        let inside = &rest[..end];
        rest = &rest[end + 1..];
        if inside.starts_with('!') {
            continue;
        }
        let (name, attributes) = inside.split_once([' ', '/']).unwrap_or((inside, ""));
        let (name, attributes) = match inside.strip_prefix('/') {
            Some(name) => (format!("/{name}"), ""),
            None => (name.to_owned(), attributes),
        };
        let closed = inside.ends_with('/') && !name.starts_with('/');
        tags.push((name, attributes.trim_end_matches('/').trim().to_owned(), closed));
        if tags.last().is_some_and(|(name, ..)| name == "style") {
            rest = &rest[rest.find("</style>").expect("a style sheet ends")..];
        }
    }
    tags
}

/// Where the tag ends: at the first `>` outside of quotes.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == '>' && !quoted).then_some(at)
    })
}

#[test]
fn every_page_closes_what_it_opens() {
    for (name, page) in pages() {
        let mut open: Vec<String> = Vec::new();
        for (tag, attributes, closed) in tags(&page) {
            assert!(attributes.matches('"').count() % 2 == 0, "{name}: {tag} {attributes}");
            if let Some(closing) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closing), "{name}");
            } else if !closed && !VOID.contains(&tag.as_str()) {
                open.push(tag);
            }
        }
        assert!(open.is_empty(), "{name}: left open: {open:?}");
    }
}

/// The elements that a page may have.
#[rustfmt::skip]
const KNOWN_TAGS: &[&str] = &[
    "html", "head", "meta", "title", "style", "body", "a", "svg", "defs", "pattern", "line",
    "rect", "path", "circle", "text", "g", "aside", "div", "header", "p", "b", "i", "bdi", "h1",
    "h2", "h3", "main", "nav", "ul", "ol", "li", "section", "table", "caption", "thead", "tbody",
    "tr", "th", "td", "span", "figure", "figcaption", "dl", "dt", "dd", "pre", "code", "br",
    "footer", "details", "summary",
];

#[test]
fn no_page_has_script_handlers_or_anything_to_load() {
    for (name, page) in pages() {
        for (tag, attributes, _) in tags(&page) {
            let plain = tag.trim_start_matches('/');
            assert!(KNOWN_TAGS.contains(&plain), "{name}: <{tag} {attributes}>");
            // Every second part is outside of quotes: names of attributes.
            let names: Vec<&str> = attributes.split('"').step_by(2).map(str::trim).collect();
            let forbidden = |name: &&str| name.starts_with("on") || *name == "src=";
            assert!(!names.iter().any(forbidden), "{name}: <{tag} {attributes}>");
            for target in attributes.split("href=\"").skip(1) {
                assert!(target.starts_with('#'), "{name}: <{tag} {attributes}>");
            }
        }
        let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next());
        let style = style.expect("a style sheet");
        assert!(
            !style.contains("@import") && !style.contains("//"),
            "{name}: the style sheet loads"
        );
        assert!(page.contains("default-src 'none'"), "{name}: no content policy");
    }
}

#[test]
fn no_string_of_a_run_is_markup_or_hides_text() {
    for run in [sample::lifecycle(), sample::quick(), sample::soak(), sample::memory()] {
        let page = html(&hostile(&run), &hostile_options());
        for forbidden in ["<script", "<img", "onerror=alert(2)>", "</title></", "-->", "&#0;"] {
            let safe = page.replace("&amp;#0;", "");
            assert!(!safe.contains(forbidden), "{forbidden} got through");
        }
        assert!(
            !page.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}')
        );
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "it is shown as text");
        assert!(HOSTILE.contains('\u{202e}'), "the test is worth something");
    }
}

#[test]
fn a_quick_report_stays_under_200_kb() {
    for (kind, run) in sample::all() {
        let bytes = html(&run, &Options::default()).len();
        let most = if kind.name() == "quick" { 200_000 } else { 400_000 };
        assert!(bytes < most, "{}: {bytes} bytes", kind.name());
    }
}

#[test]
fn the_page_says_what_explain_says() {
    let run = sample::lifecycle();
    let page = html(&run, &Options::default());
    let headline = flashlag_views::headline(&run);
    let plain = |text: &str| text.replace('\'', "&#39;");
    assert!(page.contains(&format!("<h1>{}</h1>", plain(&headline.sentence))), "the headline");
    assert!(page.contains(&headline.believe.counts), "the checks");
    for row in flashlag_views::strip(&run).groups.iter().flat_map(|group| &group.rows) {
        assert!(page.contains(&format!(">{}</bdi>", row.label)), "{}", row.label);
    }
    for finding in flashlag_views::findings(&run).causes {
        assert!(page.contains(&plain(&finding.would)), "{}", finding.would);
    }
    assert!(page.contains("not a count of dropped frames"), "what lag is");
    assert!(page.contains(&run.scenario.hash) && page.contains("step"), "how to do it again");
}

/// Where a section begins on a page.
fn section(page: &str, id: &str) -> usize {
    page.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id}"))
}

#[test]
fn throughput_and_operations_a_second_of_every_test_come_before_the_details() {
    let run = sample::quick();
    let page = html(&run, &Options::default());
    let (from, to) = (section(&page, "tests"), section(&page, "saves"));
    let tests = &page[from..to];
    let mut seen = 0;
    for phase in run.phases.iter().filter(|phase| phase.operation != Operation::Save) {
        let speed = format!("<b>{}</b>", format::mb_per_s(phase.bytes_per_sec));
        let each = format!(">{}</td>", format::per_second(phase.ops_per_sec));
        assert!(tests.contains(&speed) && tests.contains(&each), "{}", phase.name);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn what_to_do_stands_on_the_first_screen_and_the_findings_before_the_details() {
    for run in [sample::quick(), sample::lifecycle()] {
        let page = html(&run, &Options::default());
        let first = flashlag_views::findings(&run).causes.swap_remove(0);
        let advice = first.advice().replace('\'', "&#39;");
        let lede = page.find(&format!("<b>What to do:</b> {advice}")).expect("what to do");
        assert!(lede < page.find("<table class=\"strip").expect("the picture"));
        for detail in ["distribution", "stalls", "trust", "environment"] {
            assert!(section(&page, "findings") < section(&page, detail), "{detail}");
        }
    }
}

/// The throughput charts of a page.
fn rate_charts(page: &str) -> usize {
    page.matches("<path class=\"rate\"").count()
}

#[test]
fn a_fill_that_falls_has_its_throughput_chart_and_steady_tests_have_none() {
    let mut run = sample::lifecycle();
    let change = |kind, rates| Change {
        kind,
        t_ns: Nanos::from_secs(2),
        written_bytes: Bytes(1_000_000),
        bytes_per_sec: rates,
        period_ns: None,
        detail: String::new(),
    };
    let mut filled = None;
    for (index, phase) in run.phases.iter_mut().enumerate() {
        phase.changes = vec![change(ChangeKind::SteadyState, None)];
        if filled.is_none() && phase.intervals.iter().any(|it| it.filled_bytes.is_some()) {
            filled = Some(index);
        }
    }
    assert_eq!(rate_charts(&html(&run, &Options::default())), 0, "nothing changed");
    let fill = filled.and_then(|index| run.phases.get_mut(index)).expect("a fill");
    fill.changes.push(change(ChangeKind::Slower, Some((10.6e6, 1.3e6))));
    let page = html(&run, &Options::default());
    assert_eq!(rate_charts(&page), 1);
    assert!(page.contains("10.6 to 1.30 MB/s"));
}

#[test]
fn a_run_that_watches_one_test_over_time_shows_it_though_it_is_steady() {
    let mut run = sample::soak();
    for phase in &mut run.phases {
        phase.changes.retain(|change| change.kind == ChangeKind::SteadyState);
        phase.changes.push(Change {
            kind: ChangeKind::SteadyState,
            t_ns: Nanos::from_secs(1),
            written_bytes: Bytes(0),
            bytes_per_sec: None,
            period_ns: None,
            detail: String::new(),
        });
    }
    assert_eq!(rate_charts(&html(&run, &Options::default())), 1);
}

#[test]
fn an_environment_says_each_reason_once_and_a_simulation_none() {
    let mut run = sample::quick();
    run.environment = Environment::default();
    let reason = Reading::<u64>::default().reason().expect("a reason").to_owned();
    let measured = html(&run, &Options::default());
    let from = section(&measured, "environment");
    let environment = &measured[from..section(&measured, "reproduce")];
    assert_eq!(environment.matches(&reason).count(), 1, "{environment}");
    run.target.kind = TargetKind::Simulated;
    assert!(!html(&run, &Options::default()).contains("Could not be read"));
}

#[test]
fn checks_name_tests_as_people_do_and_all_of_them_as_every_test() {
    let mut run = sample::quick();
    let labels: Vec<String> = run.phases.iter().map(|phase| phase.label()).collect();
    let check = run.trust.checks.first_mut().expect("a check");
    check.status = CheckStatus::Fail;
    check.detail = format!("{}: most of all `bash`, 1.2 CPUs", labels[3]);
    check.phases = labels.clone();
    let page = html(&run, &Options::default());
    let (from, to) = (section(&page, "trust"), section(&page, "environment"));
    let trust = &page[from..to];
    assert!(trust.contains("Covers every test."), "{trust}");
    for printed in labels.iter().map(String::as_str).chain(["`"]) {
        assert!(!trust.contains(printed), "{printed}: {trust}");
    }
}

#[test]
fn waits_that_are_usual_are_no_stalls() {
    let mut run = sample::quick();
    let phase = run.phases.first_mut().expect("a phase");
    phase.latency_ns.p50 = Some(Nanos::from_millis(99));
    phase.stall_over_ns = Nanos::from_millis(17);
    phase.stalls_seen = 14_000;
    let page = html(&run, &Options::default());
    let stalls = &page[section(&page, "stalls")..section(&page, "trust")];
    let section = stalls.split_once("</h2>").map(|(_, body)| body).unwrap_or_default();
    assert!(!section.contains("14,000"), "as stalls");
    assert!(section.contains("(median 99 ms)"), "as what is usual");
}

#[test]
fn a_run_without_phases_still_has_a_page() {
    let page = html(&empty(), &Options::default());
    assert!(page.contains("<h1>") && page.contains("Environment"));
    assert!(!page.contains("NaN") && !page.contains("inf%"));
}

#[test]
fn ten_thousand_stalls_make_a_bounded_page_that_keeps_the_longest() {
    let mut run = sample::quick();
    let phase = run.phases.first_mut().expect("a phase");
    phase.stalls = (0..10_000)
        .map(|index| StallRecord {
            t_ns: Nanos::from_millis(index),
            ns: Nanos::from_millis(if index == 7_777 { 9_300 } else { 1_000 + index % 50 }),
            cause: if index % 2 == 0 { StallCause::Storage } else { StallCause::Cpu },
            ..StallRecord::default()
        })
        .collect();
    phase.stalls_seen = 10_000;
    let page = html(&run, &Options::default());
    assert!(page.contains(">9.3 s</text>"), "the longest stall is labelled");
    assert!(page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn pages_are_the_same_for_the_same_run() {
    let run: Run = sample::lifecycle();
    assert_eq!(html(&run, &Options::default()), html(&run, &Options::default()));
}

#[test]
fn a_test_that_changes_after_it_was_steady_is_not_called_steady() {
    let mut run = sample::soak();
    let change = |kind, secs| Change {
        kind,
        t_ns: Nanos::from_secs(secs),
        written_bytes: Bytes(1),
        bytes_per_sec: Some((2e6, 1e6)),
        period_ns: None,
        detail: String::new(),
    };
    for (steady, said) in [(1, false), (20, true)] {
        run.phases.truncate(1);
        run.phases[0].changes =
            vec![change(ChangeKind::SteadyState, steady), change(ChangeKind::Slower, 9)];
        let page = html(&run, &Options::default());
        assert_eq!(page.contains("<p class=\"note\">Steady: "), said, "{steady}");
    }
}
