//! The guest's main loop: carries out the host's orders, with the code that measures any directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use flashlag_lab::LabError;
use flashlag_lab::guest::{self, Link, NextOrder, Orders};
use flashlag_lab::protocol::{Report, Setup};
use flashlag_schema::remote::RunOrder;
use flashlag_schema::{DeviceCount, Run};
use flashlag_spec::scenario::Scenario;

use super::floor::lessen;
use super::saving;
use crate::error::RunError;
use crate::output::RunFile;
use crate::real::{self, DirectoryRequest, Witness};
use crate::remote::Forward;
use crate::replays::{received, take_facts};
use crate::request::Request;
use crate::target::Target;

/// The guest's run file, in memory.
const OUTPUT: &str = "/tmp/run.json";

/// Carries out the host's orders until the last, then powers the machine off. `None` if this
/// process is not the first of a guest.
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
            NextOrder::Check(mount, directory, file) => {
                match saving::check(&mount, &directory, file) {
                    Ok(checked) => Report::Checked(checked),
                    Err(error) => Report::Failed { error: error.to_string() },
                }
            }
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
    let replays = received(&order.replays);
    take_facts(&mut scenario, &replays);
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
        replays,
        target: Target::Directory(directory.path.clone()),
        seed: order.seed,
        leave: order.leave,
        budget: order.budget,
        verify: order.verify,
        limits: order.limits,
        label: None,
        command: order.command.clone(),
        output: Some(Arc::new(RunFile::new(Path::new(OUTPUT), true)?)),
        resume: None,
        waits: true,
        stop: orders.stop(),
    };
    let (work, first_task, _) = real::prepare(request, directory)?;
    let mut forward = Forward(|progress| {
        if !order.floor {
            link.tell(&Report::Progress(progress));
        }
    });
    real::finish(work, first_task, &mut forward)
}

/// The device under test, queried through the host.
#[derive(Debug)]
struct GuestWitness(Link);

impl Witness for GuestWitness {
    fn phase_begins(&mut self, _: &str) {}

    fn count(&mut self) -> Option<DeviceCount> {
        self.0.sample()
    }
}
