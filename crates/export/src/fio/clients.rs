//! The clients of `fio --client`.

use flashlag_units::IntoOrder;
use serde_json::Value;

/// The clients of a result (`fio --client`), told apart by their hosts, or by their ports as well.
pub(super) struct Clients {
    hosts: usize,
    with_ports: usize,
}

impl Clients {
    pub(super) fn of(jobs: &[&Value]) -> Clients {
        let hosts = jobs.iter().filter_map(|job| host_of(job)).into_set();
        let both = jobs.iter().filter_map(|job| Some((host_of(job)?, port_of(job))));
        Clients { hosts: hosts.len(), with_ports: both.into_set().len() }
    }

    /// The client that did a job; `None` if there is only one, or none.
    pub(super) fn name(&self, job: &Value) -> Option<String> {
        let host = host_of(job)?;
        match port_of(job) {
            Some(port) if self.with_ports > self.hosts => Some(format!("{host}:{port}")),
            _ => (self.hosts > 1).then(|| host.to_owned()),
        }
    }
}

fn host_of(job: &Value) -> Option<&str> {
    job.get("hostname").and_then(Value::as_str).filter(|host| !host.is_empty())
}

fn port_of(job: &Value) -> Option<u64> {
    job.get("port").and_then(Value::as_u64)
}
