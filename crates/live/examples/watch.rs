//! scratch
use flashlag_live::*;
use flashlag_trace::Builder;
fn main() {
    let seconds: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let path = std::env::args().nth(2).map(std::path::PathBuf::from);
    let places = Places::of(path.as_deref()).unwrap();
    let scope = Scope { path, command_only: false, reads: false };
    let mut source = Programs::start(&scope, places).unwrap_or_else(|e| panic!("{e}"));
    let mut builder = Builder::new(Default::default());
    let began = std::time::Instant::now();
    while began.elapsed().as_secs() < seconds {
        std::thread::sleep(std::time::Duration::from_millis(50));
        source.collect(&mut builder).unwrap();
    }
    source.end(&mut builder).unwrap();
    let cost = source.kernel_cost();
    let trace = builder.finish();
    println!("{:?}\n{cost:?}", trace.source);
    println!("{} events {} files {} tasks", trace.events.len(), trace.files.len(), trace.tasks.len());
    for e in trace.events.iter().take(60) {
        let f = serde_json_line(e);
        println!("{f}");
    }
    for f in trace.files.iter().take(40) { println!("{f:?}"); }
    for f in trace.tasks.iter().take(40) { println!("{f:?}"); }
}
fn serde_json_line(e: &flashlag_schema::trace::TraceEvent) -> String { format!("{e:?}") }
