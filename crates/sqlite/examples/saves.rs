//! Saves in every journal mode in the current directory, and what measuring them costs:
//! `cargo run --release -p flashlag-sqlite --example saves [SAVES [DATABASES]]`.
#![allow(clippy::print_stdout)]

use std::sync::atomic::AtomicBool;

use flashlag_engine::ThreadWaitMeter;
use flashlag_spec::scenario::{Arrivals, JournalMode, Save, Statement, SyncCall, Synchronous};
use flashlag_sqlite::{PreparedSaves, SaveJob, SaveWatch, SavesOutcome, remove_databases};
use flashlag_stats::Percentile;
use flashlag_units::{Bytes, Nanos, Text, per_second};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let saves = std::env::args().nth(1).map_or(Ok(2000), |text| text.parse())?;
    let databases = std::env::args().nth(2).map_or(Ok(1), |text| text.parse())?;
    let directory = std::env::current_dir()?.join("flashlag-example-saves");
    std::fs::create_dir_all(&directory)?;
    println!(
        "journal    saves/s     p50      p99      max      in saves  grew  bytes/save  cpu  runnable  blocked"
    );
    for journal in [
        JournalMode::Delete,
        JournalMode::Truncate,
        JournalMode::Persist,
        JournalMode::Wal,
        JournalMode::Memory,
        JournalMode::Off,
    ] {
        let save = save(journal, saves, databases);
        let (interval, stall_over) = (Nanos::from_millis(100), Nanos::from_millis(100));
        let job = SaveJob { save: &save, directory: &directory, seed: 1, interval, stall_over };
        let stop = AtomicBool::new(false);
        let prepared = PreparedSaves::prepare(&job, &stop)?;
        let saved = prepared.run(SaveWatch::new(&stop, ThreadWaitMeter::open().ok()))?;
        print(journal, &saved);
        remove_databases(&job)?;
    }
    std::fs::remove_dir(&directory)?;
    Ok(())
}

fn save(journal: JournalMode, saves: u64, databases: u32) -> Save {
    Save {
        name: "example".to_owned(),
        statement: Statement::Insert,
        journal,
        synchronous: Synchronous::Full,
        sync_call: SyncCall::default(),
        atomic: None,
        wal_autocheckpoint: None,
        journal_size_limit: None,
        statements: 1,
        row: Text(Bytes(100)),
        rows: 1000,
        databases,
        saves: Some(saves),
        time: Some(Text(Nanos::from_secs(5))),
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    }
}

fn print(journal: JournalMode, saved: &SavesOutcome) {
    let latency = &saved.recorded.latency;
    let show = |percentile| latency.quantile(percentile).unwrap_or_default().to_string();
    let inside = latency.sum().0 as f64 / saved.recorded.elapsed.0.max(1) as f64;
    let bytes = saved.page_bytes.value().copied().unwrap_or_default().0;
    let time = saved.time.unwrap_or_default();
    let share = |part: Nanos| part.0 as f64 / time.total().0.max(1) as f64 * 100.0;
    println!(
        "{:<9} {:>8.0} {:>8} {:>8} {:>8}  {:>8.2} % {:>5} {:>11} {:>3.0} % {:>7.0} % {:>6.0} % {}",
        format!("{journal:?}"),
        per_second(latency.count(), saved.recorded.elapsed).unwrap_or_default(),
        show(Percentile::P50),
        show(Percentile::P99),
        latency.max().unwrap_or_default().to_string(),
        inside * 100.0,
        saved.grew.count(),
        bytes / latency.count().max(1),
        share(time.on_cpu),
        share(time.runnable),
        share(time.blocked),
        saved.error.as_ref().map(ToString::to_string).unwrap_or_default(),
    );
}
