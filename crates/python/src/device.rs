//! A simulated flash that takes arrays of operations.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashlag_flash::{Batch, Command, Flash, Operation, SizeError, aged, model_of_size};
use flashlag_runner::profile;
use flashlag_spec::FlashState;
use flashlag_spec::target::Age;
use flashlag_units::{Bytes, Nanos};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::error::{failed, misspelt, raised};
use crate::run::{read, size};
use crate::snapshot::{Header, packed, unpacked};
use crate::work::guarded;

/// Bytes of an operation in an array: its code, whether it is durable at once, offset and length;
/// with a schedule also its time. Fields of 64 bits are aligned.
const PLAIN: usize = 24;
const SCHEDULED: usize = 32;

/// What a power cut lost: the unit's offset, its length, and the first command whose data is lost.
type LostUnit = (u64, u64, u64);

/// A simulated flash.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Device {
    profile: String,
    seed: u64,
    ledger: bool,
    set: Vec<(String, String)>,
    state: Mutex<State>,
}

/// A flash and its time.
struct State {
    flash: Flash,
    now: Nanos,
}

impl Device {
    /// A panic in another thread leaves the flash usable.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn header(&self, state: &State) -> Header {
        Header::new(
            &self.profile,
            &self.set,
            state.flash.capacity().0,
            self.seed,
            self.ledger,
            state.now.0,
        )
    }
}

#[pymethods]
impl Device {
    /// A device of a profile.
    #[new]
    #[pyo3(signature = (profile_name, set, size_text, age, seed, ledger))]
    fn new(
        py: Python<'_>,
        profile_name: &str,
        set: Vec<(String, String)>,
        size_text: Option<String>,
        age: Option<String>,
        seed: u64,
        ledger: bool,
    ) -> PyResult<Device> {
        let mut profile = profile(profile_name).map_err(|error| raised(&error.into()))?;
        for (key, value) in &set {
            let changed = profile.with(key, value);
            profile =
                changed.map_err(|error| misspelt(&format!("profile {}: {error}", profile.name)))?;
        }
        let wanted = size("size", size_text.as_deref())?;
        let age = read("state", age.as_deref(), |text| {
            text.parse::<Age>().map_err(|error| error.to_string())
        })?;
        let made = py.detach(|| {
            guarded(|| -> PyResult<State> {
                let model = model_of_size(&profile, wanted).map_err(|error| match error {
                    SizeError::Profile { .. } => failed(&error.to_string()),
                    other => misspelt(&other.to_string()),
                })?;
                let (mut flash, now) = aged(&model, seed, age.unwrap_or_default())
                    .map_err(|error| failed(&format!("{}: {error}", profile.name)))?;
                if ledger {
                    flash.keep_ledger();
                }
                Ok(State { flash, now })
            })
        });
        Ok(Device { profile: profile.name, seed, ledger, set, state: Mutex::new(made??) })
    }

    /// The profile's name.
    #[getter]
    fn profile(&self) -> &str {
        &self.profile
    }

    /// The seed of every random choice.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// The size that a host sees, in bytes.
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.state().flash.capacity().0
    }

    /// The size of a mapping unit, in bytes.
    #[getter]
    fn unit_bytes(&self) -> u64 {
        self.state().flash.mapping_unit().0
    }

    /// The device's time, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.state().now.0
    }

    /// Submits operations of `record` bytes each and fills in their latencies.
    fn submit(
        &self,
        py: Python<'_>,
        operations: PyBuffer<u8>,
        latencies: PyBuffer<i64>,
        record: usize,
        depth: usize,
    ) -> PyResult<()> {
        let bytes = operations.to_vec(py)?;
        let batch = match NonZeroUsize::new(depth) {
            _ if record == SCHEDULED => Batch::Scheduled,
            Some(depth) => Batch::Closed(depth),
            None => return Err(misspelt("queue_depth: at least one operation is in flight")),
        };
        let measured = py.detach(|| {
            guarded(|| -> PyResult<Vec<i64>> {
                let operations = decoded(&bytes, record)?;
                let mut measured = Vec::new();
                let mut state = self.state();
                let State { flash, now } = &mut *state;
                match flash.submit_all(*now, batch, &operations, &mut measured) {
                    Ok(ended) => *now = ended,
                    Err(error) => {
                        *now = error.ended;
                        return Err(failed(&format!(
                            "{error}; the {} before it are done",
                            error.index
                        )));
                    }
                }
                let signed = |latency: Nanos| i64::try_from(latency.0).unwrap_or(i64::MAX);
                Ok(measured.into_iter().map(signed).collect())
            })
        })??;
        latencies.copy_from_slice(py, &measured)
    }

    /// Lets time pass without operations.
    fn idle(&self, ns: u64) {
        let mut state = self.state();
        state.now = Nanos(state.now.0.saturating_add(ns));
    }

    /// Statistics since the device was made, as JSON.
    fn stats(&self) -> PyResult<String> {
        let state = self.state();
        let stats = guarded(|| state.flash.stats())?;
        let mut value = json!(FlashState::from(&stats));
        let more = json!({
            "now_ns": state.now,
            "host_written_bytes": stats.host_written,
            "host_read_bytes": stats.host_read,
            "flushes": stats.flushes,
            "discards": stats.discards,
            "programmed_host_bytes": stats.programmed_host,
            "suspended": stats.suspended,
            "die_busy_ns": stats.die_busy,
            "least_cycles": stats.least_cycles,
            "most_cycles": stats.most_cycles,
        });
        if let (Some(value), serde_json::Value::Object(more)) = (value.as_object_mut(), more) {
            value.extend(more);
        }
        Ok(value.to_string())
    }

    /// Cuts the power, which comes back at once. Returns the recovery time in nanoseconds, and what
    /// was lost if the device keeps a ledger.
    fn cut_power(&self, py: Python<'_>) -> PyResult<(u64, Option<Vec<LostUnit>>)> {
        let cut = py.detach(|| {
            guarded(|| {
                let mut state = self.state();
                let now = state.now;
                state.flash.power_cut(now)
            })
        })?;
        let cut = cut.map_err(|error| failed(&error.to_string()))?;
        let units = cut.lost.map(|lost| {
            lost.iter().map(|unit| (unit.offset.0, unit.length.0, unit.command)).collect()
        });
        Ok((cut.recovery.0, units))
    }

    /// The device's state as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            guarded(|| {
                let state = self.state();
                packed(&self.header(&state), &state.flash)
            })
        })??;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Restores the device's state from a snapshot of it.
    fn restore(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        py.detach(|| {
            guarded(|| -> PyResult<()> {
                let mut state = self.state();
                let (flash, now) = unpacked(&self.header(&state), snapshot)?;
                *state = State { flash, now: Nanos(now) };
                Ok(())
            })
        })?
    }
}

/// The operations of an array.
fn decoded(bytes: &[u8], record: usize) -> PyResult<Vec<Operation>> {
    if ![PLAIN, SCHEDULED].contains(&record) || !bytes.len().is_multiple_of(record) {
        return Err(misspelt("operations are an array of flashlag.OPERATION"));
    }
    let number = |record: &[u8], at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&record[at..at + 8]);
        u64::from_ne_bytes(eight)
    };
    let mut operations = Vec::with_capacity(bytes.len() / record);
    for (index, one) in bytes.chunks_exact(record).enumerate() {
        let (offset, length) = (Bytes(number(one, 8)), Bytes(number(one, 16)));
        let command = match one[0] {
            0 => Command::Read { offset, length },
            1 => Command::Write { offset, length, fua: one[1] != 0 },
            2 => Command::Flush,
            3 => Command::Discard { offset, length },
            other => {
                return Err(misspelt(&format!(
                    "operation {index}: no operation has the code {other} (0 read, 1 write, 2 flush, \
                     3 discard)"
                )));
            }
        };
        let at = if record == SCHEDULED { Nanos(number(one, 24)) } else { Nanos::ZERO };
        operations.push(Operation { command, at });
    }
    Ok(operations)
}
