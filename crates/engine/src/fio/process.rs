//! fio as a child process that ends when we do.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Fio, FioError};

/// How often the child and the stop flag are looked at: a thousandth of a second of CPU an hour.
const POLL: Duration = Duration::from_millis(20);
/// How long fio may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a fio wrote, and how it ended.
pub(super) struct Output {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) status: ExitStatus,
    pub(super) stopped: bool,
}

/// Runs fio in `directory`. Raising `stop` interrupts it, upon which it still writes its results;
/// a fio that does not end then is killed.
pub(super) fn run(
    fio: &Fio,
    arguments: &[String],
    directory: &Path,
    stop: &AtomicBool,
) -> Result<Output, FioError> {
    let error = |operation| move |source| start_error(fio, operation, source);
    let mut command = Command::new(&fio.path);
    command
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A group of its own: the terminal's interrupt reaches us alone, and we pass it on.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    super::death::kill_with_parent(&mut command);
    let mut child = command.spawn().map_err(error("start"))?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let (status, stopped) = wait(&mut child, stop).map_err(error("wait for"))?;
    let text = |thread: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
    };
    Ok(Output { stdout: text(stdout), stderr: text(stderr), status, stopped })
}

fn start_error(fio: &Fio, operation: &'static str, source: std::io::Error) -> FioError {
    FioError::Start { operation, path: fio.path.clone(), source }
}

/// Reads a pipe to its end, so that the child never waits for us.
fn reader<R: Read + Send + 'static>(pipe: Option<R>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still what fio said.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut Child, stop: &AtomicBool) -> std::io::Result<(ExitStatus, bool)> {
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, asked.is_some()));
        }
        match asked {
            None if stop.load(Ordering::Relaxed) => {
                asked = Some(Instant::now());
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    // It may have ended just now: the next look tells.
                    let _ = kill_process(pid, Signal::INT);
                }
            }
            Some(since) if since.elapsed() > PATIENCE => child.kill()?,
            _ => {}
        }
        std::thread::sleep(POLL);
    }
}
