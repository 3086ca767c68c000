//! What `flashlag watch --listen` answers.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use flashlag_watch::{Answer, Listener, Live};

use crate::say;
use crate::terminal::Terminal;

/// This program, even where its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";
/// A browser asks for the page again after this many seconds.
const AGAIN_S: u32 = 60;

/// Answers from now on until the program ends.
pub fn serve(at: SocketAddr, sums: &Arc<Live>, history: &Path, terminal: &Terminal) -> Result<()> {
    let listener = Listener::bind(at)
        .with_context(|| format!("{at} can't be listened at: choose another port with --listen"))?;
    let at = listener.address();
    if !terminal.quiet {
        say::sentence(&format!(
            "the report is at http://{at}/, figures for Prometheus at http://{at}/metrics"
        ));
    }
    if !at.ip().is_loopback() {
        say::sentence("everyone who reaches that address sees which programs use the disk");
    }
    let (sums, history) = (Arc::clone(sums), history.to_owned());
    listener
        .serve(move |path| match path {
            "/" => page(&history),
            "/metrics" => metrics(&sums),
            _ => Answer::refusal(404, "there are / and /metrics"),
        })
        .context("a thread can't be started")
}

fn metrics(sums: &Live) -> Answer {
    let body = flashlag_export::watch_prometheus(&sums.sums());
    Answer { status: 200, kind: "text/plain; version=0.0.4; charset=utf-8", again_s: None, body }
}

/// The report, made by a process of its own: what a history of years takes in memory is given back.
fn page(history: &Path) -> Answer {
    let mut report = Command::new(OWN);
    report.args(["watch", "report", "--format", "html"]).arg(history);
    match report.output() {
        Ok(made) if made.status.success() => Answer {
            status: 200,
            kind: "text/html; charset=utf-8",
            again_s: Some(AGAIN_S),
            body: String::from_utf8_lossy(&made.stdout).into_owned(),
        },
        Ok(made) => Answer::refusal(503, String::from_utf8_lossy(&made.stderr).trim()),
        Err(error) => Answer::refusal(503, &format!("the report can't be made: {error}")),
    }
}
