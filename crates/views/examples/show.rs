//! Prints what is said about run files: `cargo run -p flashlag-views --example show RUN...`;
//! about the synthetic samples where none is given.
#![allow(clippy::print_stdout, reason = "an example that prints")]

use flashlag_schema::Run;
use flashlag_views as explain;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut runs: Vec<(String, Run)> = Vec::new();
    for path in std::env::args().skip(1) {
        let run = Run::from_json(&std::fs::read_to_string(&path)?)?;
        runs.push((path, run));
    }
    if runs.is_empty() {
        let samples = flashlag_testing::sample::all();
        runs.extend(samples.into_iter().map(|(kind, run)| (kind.name().to_owned(), run)));
    }
    for (name, run) in &runs {
        println!("== {name}");
        show(run);
    }
    Ok(())
}

fn show(run: &Run) {
    let headline = explain::headline(run);
    println!("{}\n{}\n{}", headline.sentence, headline.more, headline.believe.sentence);
    for group in explain::strip(run).groups {
        println!("-- {}", group.title);
        for row in group.rows {
            let f = row.figures;
            let ms = |value| explain::format::ms_of(value, f.n);
            println!(
                "   {:28} {:>7} {:>7} {:>7} {:>7} {:>6} {}",
                row.label,
                ms(f.p50),
                ms(f.p99),
                ms(f.p999),
                ms(f.max),
                f.late_share().map(explain::format::share).unwrap_or_default(),
                row.judgement.word()
            );
        }
    }
    for place in explain::places(run) {
        println!("place {}: {} {}", place.title, place.sentence, place.caveat);
    }
    if let Some(table) = explain::lifecycle(run) {
        println!("-- {}", table.heading);
        for row in &table.rows {
            let cells: Vec<String> = row
                .cells
                .iter()
                .flatten()
                .map(|c| {
                    let share = c.share_of_new.map(explain::format::share).unwrap_or_default();
                    format!("{} {share}", explain::format::mb_per_s(c.bytes_per_sec))
                })
                .collect();
            println!("   {:16} {} {:?}", row.label, cells.join(" | "), row.skipped);
        }
    }
    for curve in explain::fill_curves(run) {
        println!("-- {} ({})", curve.heading, curve.what);
        for level in curve.levels {
            println!("   {} {:?}", explain::format::share(level.full), level.figures);
        }
    }
    show_causes(run);
}

/// Where the waits went, and what would make them shorter.
fn show_causes(run: &Run) {
    if let Some(section) = explain::waits(run) {
        println!("-- {} ({})", section.heading, section.what);
        for g in section.groups {
            println!(
                "   {} {} {} n={} {} cpu {} wait {} blocked {}",
                g.label,
                g.range,
                g.stage,
                g.n,
                g.mean,
                explain::format::share(g.on_cpu.share),
                explain::format::share(g.waiting_for_cpu.share),
                explain::format::share(g.blocked.share)
            );
        }
    }
    let found = explain::findings(run);
    println!("-- {}", found.heading);
    for f in found.causes {
        println!(
            "   {:.1} s  {}: {}. {} [{}]",
            f.cost_s_per_1000, f.cause, f.would, f.fix, f.evidence
        );
    }
    for out in found.ruled_out {
        println!("   not a cause: {}", out.sentence);
    }
}
