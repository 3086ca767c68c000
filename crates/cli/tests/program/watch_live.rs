//! `flashlag watch --listen`: a real Prometheus scrapes it, and the alert of the document fires at a planted stall.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::watch::{Ends, Loop, flashlag, home, until};

/// The answer to a request, head and body.
fn asked(at: &str, line: &str) -> std::io::Result<(String, String)> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(format!("{line} HTTP/1.0\r\nHost: {at}\r\n\r\n").as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
    Ok((head.to_owned(), body.to_owned()))
}

/// A watch that listens, and where.
fn listening(words: &[&str]) -> (Ends, String) {
    let mut child = flashlag(words)
        .args(["--listen", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains("http://"));
    // What it says later must find a reader.
    std::thread::spawn(move || lines.for_each(drop));
    let child = Ends(child);
    let line = line.unwrap();
    let (_, rest) = line.split_once("http://").unwrap();
    (child, rest.split('/').next().unwrap().to_owned())
}

#[test]
fn the_page_and_the_figures_are_served_to_this_machine_and_nothing_else_is() {
    let Some(home) = home() else { return };
    let place = home.path().to_str().unwrap();
    let (mut watch, at) = listening(&["watch", place, "--probe", "1s"]);
    assert!(at.starts_with("127.0.0.1:"), "{at}");
    until("its figures", || {
        asked(&at, "GET /metrics").is_ok_and(|(_, body)| body.contains("kind=\"probe\""))
    });
    let (head, figures) = asked(&at, "GET /metrics").unwrap();
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(figures.contains("cause=\"storage\"} 0"), "{figures}");
    crate::watch::checked_by_promtool(&figures);
    let (head, page) = asked(&at, "GET /").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("Refresh: 60"), "{head}");
    assert!(page.starts_with("<!doctype html>") && page.contains("</html>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("src=\"http"), "nothing is fetched");
    for (line, word) in [("HEAD /", "200"), ("GET /../etc/passwd", "404"), ("POST /", "405")] {
        let (head, _) = asked(&at, line).unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {word}")), "{line}: {head}");
    }
    // Another watch finds the address in use.
    let (status, _, error) = crate::watch::ran(&["watch", place, "--listen", &at]);
    assert!(status == Some(2) && error.contains("choose another port"), "{error}");
    let (status, _, error) = crate::watch::ran(&["watch", place, "--listen", "here"]);
    assert!(status == Some(2) && error.contains("write a port"), "{error}");
    watch.signal("-TERM");
    assert!(watch.0.wait().unwrap().success());
}

#[test]
fn without_the_option_no_socket_is_opened() {
    let Some(home) = home() else { return };
    let place = home.path().to_str().unwrap();
    let watch = crate::watch::started(&["watch", place, "--probe", "1s"]);
    until("its history", || home.path().join("flashlag-watch.history").exists());
    std::thread::sleep(Duration::from_millis(600));
    let open = std::fs::read_dir(format!("/proc/{}/fd", watch.0.id())).unwrap().flatten();
    let links = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let sockets: Vec<_> = links.filter(|link| link.to_string_lossy().contains("socket")).collect();
    assert!(sockets.is_empty(), "{sockets:?}");
}

/// The rules that the document shows.
fn rules() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/watch.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.into_iter().find(|block| block.starts_with("groups:")).unwrap().to_owned()
}

/// Prometheus, scraping one address each second.
fn prometheus(folder: &Path, at: &str) -> (Ends, String) {
    std::fs::write(folder.join("rules.yml"), rules()).unwrap();
    let settings = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\nscrape_configs:\n  \
         - job_name: flashlag\n    static_configs: [{{targets: ['{at}']}}]\n"
    );
    std::fs::write(folder.join("prometheus.yml"), settings).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let own = format!("127.0.0.1:{port}");
    let child: Child = Command::new("prometheus")
        .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .arg(format!("--web.listen-address={own}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (Ends(child), own)
}

#[test]
fn a_real_prometheus_scrapes_it_and_the_documents_alert_fires_at_a_planted_stall() {
    if flashlag_need::program("prometheus", "prometheus").is_none() {
        return;
    }
    let Some(disk) = Loop::mounted(300) else { return };
    let (place, history) = (disk.place(), disk.0.path().join("a.history"));
    let history = history.to_str().unwrap();
    let (_watch, at) = listening(&["watch", &place, "--probe", "1s", "--history", history]);
    let folder = tempfile::tempdir().unwrap();
    let (_prometheus, own) = prometheus(folder.path(), &at);
    let says = |path: &str, word: &str| {
        asked(&own, &format!("GET {path}")).is_ok_and(|(_, body)| body.contains(word))
    };
    let scraped = "/api/v1/query?query=flashlag_watch_wait_seconds_count";
    until("a histogram in Prometheus", || says(scraped, "\"kind\":\"probe\""));
    assert!(says("/api/v1/rules", "StorageFroze"), "the rule is there");
    std::thread::sleep(Duration::from_secs(3));
    assert!(!says("/api/v1/alerts", "firing"), "nothing has frozen yet");
    assert!(is_alerted(&disk, || says("/api/v1/alerts", "\"state\":\"firing\"")), "{}", {
        asked(&at, "GET /metrics").map_or_else(|error| error.to_string(), |(_, body)| body)
    });
    assert!(says("/api/v1/alerts", "StorageFroze"), "that alert");
}

/// Freezes the disk until that is an incident. A machine whose durable writes take 300 ms at other times has none at
/// 3 s: ten times the usual are one. A minute lies between, since waits within one are one incident.
fn is_alerted(disk: &Loop, fires: impl Fn() -> bool) -> bool {
    [(3, 20), (12, 20), (40, 60)].into_iter().enumerate().any(|(round, (frozen, patience))| {
        if round > 0 {
            std::thread::sleep(Duration::from_secs(65));
        }
        disk.does("fsfreeze", &["-f"]);
        std::thread::sleep(Duration::from_secs(frozen));
        disk.does("fsfreeze", &["-u"]);
        let thawed = Instant::now();
        while !fires() && thawed.elapsed() < Duration::from_secs(patience) {
            std::thread::sleep(Duration::from_millis(100));
        }
        fires()
    })
}
