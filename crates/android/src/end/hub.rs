//! The socket of a run's process: each follower gets all steps so far and all further ones. Nothing
//! here touches the storage under test.

use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flashlag_schema::Run;
use flashlag_schema::remote::{Progress, send};

use crate::error::PhoneError;
use crate::protocol::{Ask, Line, Outcome};

/// How long the process stays for its followers after the end of the run.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long a follower may take to read a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// The steps of a run, and its followers.
#[derive(Debug)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    story: Mutex<Story>,
    grown: Condvar,
    followers: AtomicUsize,
    stop: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Story {
    steps: Vec<Line>,
    /// The number of ticks so far, and the last one.
    tick: (u64, Option<Line>),
    /// The run, if the phone has no room to store it.
    unstored: Option<Line>,
    outcome: Option<Outcome>,
}

impl Shared {
    fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// Opens the socket with that name. `stop` is set when somebody orders the run to end.
    pub fn open(token: &str, stop: Arc<AtomicBool>) -> Result<Hub, PhoneError> {
        let refuse = || PhoneError::file("open the socket", token);
        let listener = UnixListener::bind_addr(&address(token).map_err(refuse())?);
        let listener = listener.map_err(refuse())?;
        let shared = Arc::new(Shared {
            story: Mutex::default(),
            grown: Condvar::new(),
            followers: AtomicUsize::new(0),
            stop,
        });
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("hub".to_owned())
            .spawn(move || listen(&listener, &of_thread))
            .map_err(refuse())?;
        Ok(Hub { shared })
    }

    /// Adds a step.
    pub fn step(&self, step: Progress) {
        let mut story = self.shared.story();
        let number = story.steps.len() as u64 + 1;
        story.steps.push(Line::Step { number, step });
        self.shared.grown.notify_all();
    }

    /// Whether someone follows.
    pub fn is_followed(&self) -> bool {
        self.shared.followers.load(Ordering::Relaxed) > 0
    }

    /// Sends progress to the present followers.
    pub fn tick(&self, tick: Progress) {
        let mut story = self.shared.story();
        story.tick = (story.tick.0 + 1, Some(Line::Tick { tick }));
        self.shared.grown.notify_all();
    }

    /// Sends a run that could not be stored to the followers.
    pub fn hand_over(&self, run: Box<Run>) {
        self.shared.story().unstored = Some(Line::Unstored { run });
    }

    /// Ends the stream, and waits briefly until the followers have read it.
    pub fn end(&self, outcome: Outcome) {
        self.shared.story().outcome = Some(outcome);
        self.shared.grown.notify_all();
        let until = Instant::now() + FAREWELL;
        while self.is_followed() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn address(token: &str) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(token.as_bytes())
}

fn listen(listener: &UnixListener, shared: &Arc<Shared>) {
    for stream in listener.incoming().flatten() {
        let shared = Arc::clone(shared);
        // Without a thread for it, a follower is not served; the run continues.
        let _ = std::thread::Builder::new().name("follower".to_owned()).spawn(move || {
            if is_ours(&stream) {
                // An error means that the follower is gone.
                let _ = serve(stream, &shared);
            }
        });
    }
}

/// Whether the other end is a process of the same user, or of root.
fn is_ours(stream: &UnixStream) -> bool {
    let own = rustix::process::getuid();
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.uid == own || peer.uid.is_root())
}

fn serve(stream: UnixStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.try_clone()?).read_line(&mut line)?;
    match serde_json::from_slice::<Ask>(line.as_bytes()) {
        Ok(Ask::Stop) => {
            shared.stop.store(true, Ordering::Relaxed);
            Ok(())
        }
        Ok(Ask::Follow { after }) => {
            shared.followers.fetch_add(1, Ordering::Relaxed);
            let sent = tell(stream, shared, after);
            shared.followers.fetch_sub(1, Ordering::Relaxed);
            sent
        }
        Err(_) => Ok(()),
    }
}

/// Sends the steps after a number, and each further one until the run ends.
fn tell(mut stream: UnixStream, shared: &Shared, after: u64) -> std::io::Result<()> {
    let (mut sent, mut ticked) = (usize::try_from(after).unwrap_or(usize::MAX), 0);
    loop {
        let (lines, ended) = {
            let mut story = shared.story();
            while story.steps.len() <= sent && story.tick.0 == ticked && story.outcome.is_none() {
                story = shared.grown.wait(story).unwrap_or_else(PoisonError::into_inner);
            }
            let mut lines: Vec<Line> = story.steps.get(sent..).unwrap_or_default().to_vec();
            sent = sent.max(story.steps.len());
            if story.tick.0 != ticked && lines.is_empty() {
                lines.extend(story.tick.1.clone());
            }
            ticked = story.tick.0;
            if let Some(outcome) = &story.outcome {
                lines.extend(story.unstored.clone());
                lines.push(Line::Ended(outcome.clone()));
            }
            (lines, story.outcome.is_some())
        };
        for line in &lines {
            send(&mut stream, line)?;
        }
        if ended {
            return Ok(());
        }
    }
}

/// Sends a request to the process of a run, and passes each line of the answer to `take`, until
/// that fails.
///
/// # Errors
/// There is no such process, or the error of `take`.
pub fn ask(
    token: &str,
    question: Ask,
    take: &mut dyn FnMut(&str) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut stream = UnixStream::connect_addr(&address(token)?)?;
    send(&mut stream, &question)?;
    for line in BufReader::new(stream).lines() {
        take(&line?)?;
    }
    Ok(())
}

/// Whether the process of a run listens.
pub(super) fn answers(token: &str) -> bool {
    address(token).and_then(|address| UnixStream::connect_addr(&address)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn note(text: &str) -> Progress {
        Progress::Note { text: text.to_owned() }
    }

    fn token(test: &str) -> String {
        format!("flashlag-test-{test}-{}", std::process::id())
    }

    /// Follows a run from a step on until it ends.
    fn followed(token: &str, after: u64) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut take = |line: &str| {
            lines.push(serde_json::from_str(line).unwrap());
            Ok(())
        };
        ask(token, Ask::Follow { after }, &mut take).unwrap();
        lines
    }

    #[test]
    fn who_comes_late_or_again_gets_the_steps_that_are_missing_and_the_end() {
        let (token, stop) = (token("late"), Arc::<AtomicBool>::default());
        let hub = Hub::open(&token, Arc::clone(&stop)).unwrap();
        assert!(Hub::open(&token, stop).is_err(), "one run at a time");
        for text in ["a", "b", "c"] {
            hub.step(note(text));
        }
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| followed(&token, 0));
            let second = scope.spawn(|| followed(&token, 2));
            while hub.shared.followers.load(Ordering::Relaxed) < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            hub.step(note("d"));
            hub.end(Outcome { error: None });
            (first.join().unwrap(), second.join().unwrap())
        });
        let step = |number: u64, text: &str| Line::Step { number, step: note(text) };
        let end = Line::Ended(Outcome { error: None });
        assert_eq!(first, [step(1, "a"), step(2, "b"), step(3, "c"), step(4, "d"), end.clone()]);
        assert_eq!(second, [step(3, "c"), step(4, "d"), end.clone()]);
        assert_eq!(followed(&token, 4), [end]);
    }

    #[test]
    fn a_reading_reaches_those_who_follow_and_a_stop_the_run() {
        let (token, stop) = (token("tick"), Arc::<AtomicBool>::default());
        let hub = Hub::open(&token, Arc::clone(&stop)).unwrap();
        assert!(!hub.is_followed());
        let lines = std::thread::scope(|scope| {
            let follower = scope.spawn(|| followed(&token, 0));
            while !hub.is_followed() {
                std::thread::sleep(Duration::from_millis(1));
            }
            hub.tick(note("half"));
            std::thread::sleep(Duration::from_millis(100));
            ask(&token, Ask::Stop, &mut |_| Ok(())).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            hub.end(Outcome { error: None });
            follower.join().unwrap()
        });
        assert_eq!(
            lines,
            [Line::Tick { tick: note("half") }, Line::Ended(Outcome { error: None })]
        );
        assert!(ask("flashlag-test-nobody", Ask::Stop, &mut |_| Ok(())).is_err());
    }

    #[test]
    fn a_run_that_found_no_room_is_handed_over_before_the_end() {
        let (token, stop) = (token("full"), Arc::<AtomicBool>::default());
        let hub = Hub::open(&token, stop).unwrap();
        let run = Box::new(flashlag_testing::small_run());
        hub.step(note("a"));
        let ended = Outcome { error: Some("no room".to_owned()) };
        hub.hand_over(run.clone());
        hub.end(ended.clone());
        let step = Line::Step { number: 1, step: note("a") };
        assert_eq!(followed(&token, 0), [step, Line::Unstored { run }, Line::Ended(ended)]);
    }

    #[test]
    fn a_question_that_is_none_is_not_answered() {
        let (token, stop) = (token("odd"), Arc::<AtomicBool>::default());
        let hub = Hub::open(&token, stop).unwrap();
        let mut stream = UnixStream::connect_addr(&address(&token).unwrap()).unwrap();
        stream.write_all(b"what?\n").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert_eq!(answer, "");
        hub.end(Outcome { error: None });
    }
}
