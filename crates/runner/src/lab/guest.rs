//! The guest's main loop: does the host's orders, with the code that measures any directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use flashlag_lab::LabError;
use flashlag_lab::guest::{self, Link, NextOrder, Orders};
use flashlag_lab::protocol::{Report, RunOrder, Setup};
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{DeviceCount, Run};

use super::floor::lessen;
use super::saving;
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::output::RunFile;
use crate::real::{self, DirectoryRequest, Witness};
use crate::request::Request;
use crate::target::Target;

/// The guest's run file, in memory.
const OUTPUT: &str = "/tmp/run.json";

/// Does the host's orders until the last, then powers the machine off. `None` if this process is not
/// the first of a guest.
pub fn be_the_guest() -> Option<ExitCode> {
    if !guest::is_guest() {
        return None;
    }
    let failed = match guest::start() {
        Ok((setup, link, orders)) => {
            flashlag_sqlite::be_an_app(setup.atomic);
            match guest::set_up(&setup) {
                Ok(()) => link.tell(&Report::Ready { kernel: guest::kernel() }),
                Err(error) => link.tell(&Report::Failed { error: error.to_string() }),
            }
            serve(&setup, &link, &orders);
            match guest::unmount(&setup) {
                Ok(()) => link.tell(&Report::Off),
                Err(error) => link.tell(&Report::Failed { error: error.to_string() }),
            }
            None
        }
        Err(error) => Some(error),
    };
    if let Some(error) = failed {
        say_on_the_console(&error);
    }
    guest::power_off();
    Some(ExitCode::FAILURE)
}

/// Prints an error on the console: without a port there is no other way.
fn say_on_the_console(error: &LabError) {
    // Without a console the error is lost.
    let _ = std::fs::write("/dev/console", format!("flashlag: {error}\n"));
}

fn serve(setup: &Setup, link: &Link, orders: &Orders) {
    loop {
        let report = match orders.next() {
            NextOrder::PowerOff => return,
            NextOrder::Save(order) => {
                let saved = saving::save(&order, link, orders);
                match saved.and_then(|()| guest::unmount(setup)) {
                    Ok(()) => Report::Saved,
                    Err(error) => Report::Failed { error: error.to_string() },
                }
            }
            NextOrder::Check(mount, directory) => match saving::check(&mount, &directory) {
                Ok(checked) => Report::Checked(checked),
                Err(error) => Report::Failed { error: error.to_string() },
            },
            NextOrder::Run(order) => match run(&order, link, orders) {
                Ok(run) => Report::Ran { run: Box::new(run) },
                Err(error) => Report::Failed { error: error.to_string() },
            },
        };
        link.tell(&report);
    }
}

fn run(order: &RunOrder, link: &Link, orders: &Orders) -> Result<Run, RunError> {
    let scenario = Scenario::parse(&order.scenario, &order.settings);
    let mut scenario = scenario.map_err(|error| RunError::Lab {
        target: order.target.clone(),
        source: Box::new(error.into()),
    })?;
    if order.floor {
        lessen(&mut scenario);
    }
    let directory = DirectoryRequest {
        name: order.target.clone(),
        path: PathBuf::from(&order.at),
        witness: (!order.floor).then(|| Box::new(GuestWitness(link.clone())) as _),
        watches_stops: false,
        rootdir: order.rootdir,
    };
    let request = Request {
        scenario,
        target: Target::Directory(directory.path.clone()),
        seed: order.seed,
        leave: Some(order.leave),
        budget: order.budget,
        verify: order.verify,
        label: None,
        command: order.command.clone(),
        output: Some(Arc::new(RunFile::new(Path::new(OUTPUT), true)?)),
        resume: None,
        stop: orders.stop(),
    };
    let (work, first_task, _) = real::prepare(request, directory)?;
    real::finish(work, first_task, &mut Forward { link, silent: order.floor })
}

/// The device under test, asked through the host.
#[derive(Debug)]
struct GuestWitness(Link);

impl Witness for GuestWitness {
    fn phase_begins(&mut self, _: &str) {}

    fn count(&mut self) -> Option<DeviceCount> {
        self.0.sample()
    }
}

/// Forwards the run's events to the host.
struct Forward<'a> {
    link: &'a Link,
    silent: bool,
}

impl Observer for Forward<'_> {
    fn event(&mut self, event: Event<'_>) {
        if self.silent {
            return;
        }
        let report = match event {
            Event::Preparing(text) => Report::Preparing { text: text.to_owned() },
            Event::PhaseStarted { label, expected, limit, live: _ } => {
                Report::PhaseStarted { label: label.to_owned(), expected, limit }
            }
            Event::PhaseFinished(phase) => Report::PhaseFinished { phase: Box::new(phase.clone()) },
            Event::Note(text) => Report::Note { text: text.to_owned() },
            Event::Wrote(bytes) => Report::Wrote { bytes },
            Event::Filling(storage) => Report::Filling { storage },
            // The host has no thread that could read it.
            Event::Beside(_) => return,
        };
        self.link.tell(&report);
    }
}
