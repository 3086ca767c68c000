//! A point, simulated.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_runner::{Event, Observer, Request, RunError, SimTarget, Target, sim};
use flashlag_schema::{Run, RunStatus};
use flashlag_spec::profile::{Profile, ProfileError};
use flashlag_spec::scenario::{Scenario, ScenarioError};
use flashlag_spec::target::{Kind, MountSpec, TargetError};
use flashlag_units::Bytes;
use thiserror::Error;

use crate::grid::Texts;
use crate::point::Point;
use crate::row::{Measured, Row};

/// Millionths in a whole.
const WHOLE: u128 = 1_000_000;

/// Why a point can't be measured, in the words that its own command would print.
#[derive(Debug, Error)]
enum PointError {
    #[error("{0}")]
    Scenario(#[from] ScenarioError),
    #[error("{0}")]
    Profile(#[from] ProfileError),
    #[error("{0}")]
    Target(#[from] TargetError),
    #[error("{0}")]
    Run(#[from] RunError),
    #[error("the text of {0} is not there")]
    NoText(String),
}

/// The simulation was stopped: the point has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Measures points. Parsed profiles and scenarios are kept for the next point.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    texts: &'a Texts,
    profiles: BTreeMap<String, Profile>,
    stop: Arc<AtomicBool>,
}

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

impl<'a> Bench<'a> {
    /// A bench for points whose scenarios and profiles have these texts.
    pub fn new(texts: &'a Texts, stop: Arc<AtomicBool>) -> Bench<'a> {
        Bench { texts, profiles: BTreeMap::new(), stop }
    }

    /// Measures a point; first reports how much its fill leaves free. A failure becomes a row with
    /// the reason.
    pub fn measure(
        &mut self,
        point: &Point,
        begins: &mut dyn FnMut(Option<Bytes>),
    ) -> Result<Measured, Stopped> {
        let mut leave = None;
        let rows = match self.run(point, &mut leave, begins) {
            Ok(run) => rows(run)?,
            Err(error) => vec![Row::failed(error.to_string())],
        };
        Ok(Measured { leave, rows })
    }

    fn run(
        &mut self,
        point: &Point,
        leave: &mut Option<Bytes>,
        begins: &mut dyn FnMut(Option<Bytes>),
    ) -> Result<Run, PointError> {
        let profile = self.profile(&point.profile)?;
        let own = profile.filesystem.clone();
        let mount = MountSpec::parse(Kind::Sim, &point.mount(&own))?;
        let target = SimTarget::on(profile, &point.target(&own), Some(&mount))?;
        let target = point
            .parameters
            .iter()
            .try_fold(target, |target, (key, value)| target.with_parameter(key, value))?;
        if point.full > 0 {
            let room = sim::room(&target.profile, &target.mount)?;
            *leave = Some(left(room, point.full));
        }
        let scenario = self.scenario(point)?;
        begins(*leave);
        let request = Request {
            leave: *leave,
            stop: Arc::clone(&self.stop),
            ..Request::new(scenario, Target::Simulated(target), point.seed)
        };
        Ok(sim::measure(request, &mut Silent)?)
    }

    fn profile(&mut self, name: &str) -> Result<Profile, PointError> {
        if let Some(profile) = self.profiles.get(name) {
            return Ok(profile.clone());
        }
        let text = self.texts.profiles.get(name);
        let text = text.ok_or_else(|| PointError::NoText(format!("profile {name}")))?;
        let profile = Profile::parse(text)?;
        self.profiles.insert(name.to_owned(), profile.clone());
        Ok(profile)
    }

    fn scenario(&self, point: &Point) -> Result<Scenario, PointError> {
        let text = self.texts.scenarios.get(&point.scenario);
        let name = || format!("scenario {}", point.scenario);
        let text = text.ok_or_else(|| PointError::NoText(name()))?;
        Ok(Scenario::parse(text, &point.set)?)
    }
}

/// How much is free if a share of the room is in use.
fn left(room: Bytes, full: u32) -> Bytes {
    let used = u128::from(room.0) * u128::from(full) / WHOLE;
    room.saturating_minus(Bytes(u64::try_from(used).unwrap_or(u64::MAX)))
}

fn rows(run: Run) -> Result<Vec<Row>, Stopped> {
    let mut rows: Vec<Row> = run.phases.into_iter().map(Row::of_phase).collect();
    let skipped = run.skipped.into_iter();
    rows.extend(skipped.map(|one| Row::skipped(one.step, one.state.name(), one.reason)));
    match run.status {
        RunStatus::Interrupted { .. } => return Err(Stopped),
        RunStatus::Failed { error, .. } => rows.push(Row::failed(error)),
        _ if rows.is_empty() => {
            rows.push(Row::failed("the scenario measures nothing with these settings".to_owned()));
        }
        _ => {}
    }
    Ok(rows)
}
