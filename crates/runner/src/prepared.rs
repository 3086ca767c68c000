//! Runs on any target: checked first, then made.

use flashlag_schema::{Environment, Run};
use flashlag_spec::scenario::Scenario;

use crate::android::{self, PhoneRun};
use crate::error::RunError;
use crate::events::Observer;
use crate::real::{self, Cost, Directory, DirectoryRequest};
use crate::request::Request;
use crate::sim::{self, Simulation};
use crate::target::Target;
use crate::work::Work;
#[cfg(feature = "lab")]
use crate::{lab, target::LabTarget};

/// A run that is ready to begin. Nothing is written yet except an empty directory of flashlag's own.
#[derive(Debug)]
pub struct Prepared(Kind);

#[derive(Debug)]
enum Kind {
    Directory {
        work: Box<Work<Directory<'static>>>,
        first_task: usize,
        cost: Box<Cost>,
    },
    Simulated(Box<Work<Simulation>>),
    #[cfg(feature = "lab")]
    Lab {
        request: Box<Request>,
        target: Box<LabTarget>,
    },
    Phone {
        request: Box<Request>,
        phone: Box<PhoneRun>,
    },
}

/// Checks that a run can be made. In a directory, removes the files of killed runs and adds up the
/// cost of the run.
///
/// # Errors
/// The target can't be measured or has no room, or the run would exceed its budget.
pub fn prepare(request: Request) -> Result<Prepared, RunError> {
    let resumes = request.resume.is_some();
    request.target.check_options(resumes, request.verify, request.budget.is_some())?;
    let request = request.with_traces()?;
    Ok(Prepared(match request.target.clone() {
        Target::Directory(path) => {
            let on = DirectoryRequest {
                name: request.target.name(),
                path,
                witness: None,
                watches_stops: true,
                rootdir: false,
            };
            let (work, first_task, cost) = real::prepare(request, on)?;
            Kind::Directory { work: Box::new(work), first_task, cost: Box::new(cost) }
        }
        Target::Simulated(target) => Kind::Simulated(Box::new(sim::prepare(request, &target)?)),
        #[cfg(feature = "lab")]
        Target::Lab(target) => {
            target.check_host()?;
            Kind::Lab { request: Box::new(request), target: Box::new(target) }
        }
        Target::Phone(spec) => {
            let phone = android::prepare(&request, &spec)?;
            Kind::Phone { request: Box::new(request), phone: Box::new(phone) }
        }
    }))
}

/// Prepares a run and makes it.
///
/// # Errors
/// Fails as [`prepare`] and [`Prepared::run`] do.
pub fn run(request: Request, observer: &mut dyn Observer) -> Result<Run, RunError> {
    prepare(request)?.run(observer)
}

impl Prepared {
    /// The cost of the run on the user's own storage; `None` if nothing is written there.
    pub fn cost(&self) -> Option<&Cost> {
        match &self.0 {
            Kind::Directory { cost, .. } => Some(cost),
            Kind::Phone { phone, .. } => phone.cost(),
            Kind::Simulated(_) => None,
            #[cfg(feature = "lab")]
            Kind::Lab { .. } => None,
        }
    }

    /// The scenario of the run.
    pub fn scenario(&self) -> &Scenario {
        match &self.0 {
            Kind::Directory { work, .. } => &work.request.scenario,
            Kind::Simulated(work) => &work.request.scenario,
            Kind::Phone { request, .. } => &request.scenario,
            #[cfg(feature = "lab")]
            Kind::Lab { request, .. } => &request.scenario,
        }
    }

    /// The environment, if it is known before the run.
    pub fn environment(&self) -> Option<&Environment> {
        match &self.0 {
            Kind::Directory { work, .. } => Some(&work.run.environment),
            Kind::Simulated(work) => Some(&work.run.environment),
            #[cfg(feature = "lab")]
            Kind::Lab { .. } => None,
            Kind::Phone { phone, .. } => phone.frame().map(|run| &run.environment),
        }
    }

    /// Ends without running: removes the empty directory, or what was put on a phone.
    pub fn abandon(self) {
        match self.0 {
            Kind::Directory { work, .. } => work.world.abandon(),
            Kind::Phone { phone, .. } => phone.abandon(),
            Kind::Simulated(_) => {}
            #[cfg(feature = "lab")]
            Kind::Lab { .. } => {}
        }
    }

    /// Does all remaining tasks. Returns the run, complete or not; its status says which. Fails
    /// only if the run file can't be written, flashlag's own files can't be created or removed, or
    /// the lab fails.
    pub fn run(self, observer: &mut dyn Observer) -> Result<Run, RunError> {
        match self.0 {
            Kind::Directory { work, first_task, .. } => real::finish(*work, first_task, observer),
            Kind::Simulated(work) => sim::finish(*work, observer),
            #[cfg(feature = "lab")]
            Kind::Lab { request, target } => lab::run(&request, &target, observer),
            Kind::Phone { request, phone } => android::run(&request, *phone, observer),
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_spec::Reading;
    use flashlag_units::Bytes;

    use super::*;

    const SHORT: &str = "name = \"short\"\n[[io]]\nname = \"writes\"\noperation = \"write\"\n\
                         pattern = \"random\"\n\
                         block = \"4KiB\"\nspan = \"64KiB\"\nbytes = \"64KiB\"\n\
                         [[step]]\nmeasure = [\"writes\"]\n";

    #[test]
    fn a_run_that_is_given_up_leaves_the_directory_as_that_was() {
        let directory = tempfile::tempdir().unwrap();
        let entries = || std::fs::read_dir(directory.path()).unwrap().count();
        let scenario = Scenario::parse(SHORT, &[]).unwrap();
        let target = Target::Directory(directory.path().to_owned());
        let prepared = prepare(Request::new(scenario, target, 1)).unwrap();
        assert_eq!(entries(), 1, "flashlag's own directory");
        prepared.abandon();
        assert_eq!(entries(), 0);
    }

    #[test]
    fn what_is_known_before_a_run_is_its_storage_and_what_it_costs_on_the_users_own() {
        let directory = tempfile::tempdir().unwrap();
        let scenario = Scenario::parse(SHORT, &[]).unwrap();
        let on = |target: Target| prepare(Request::new(scenario.clone(), target, 1)).unwrap();
        let real = on(Target::Directory(directory.path().to_owned()));
        assert!(real.cost().is_some_and(|cost| cost.estimate.written >= Bytes::from_kib(128)));
        let kind = |prepared: &Prepared| prepared.environment().unwrap().filesystem.kind.clone();
        assert!(matches!(kind(&real), Reading::Value(name) if !name.is_empty()));
        assert_eq!(real.scenario().name, "short");
        real.abandon();
        let simulated = on(Target::parse("sim:nexus5-2013+f2fs,size=256MiB").unwrap());
        assert!(simulated.cost().is_none(), "nothing of the user's is written");
        assert_eq!(kind(&simulated), Reading::Value("f2fs".to_owned()));
    }
}
