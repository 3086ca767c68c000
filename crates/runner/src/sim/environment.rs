//! The environment of a simulated run: the profile's device, and nothing about the machine that
//! simulates, so that the same seed gives the same file anywhere.

use flashlag_schema::{Encryption, Environment};
use flashlag_spec::Reading;
use flashlag_spec::profile::{Model, Profile};
use flashlag_spec::target::{MountSpec, TargetOption};
use flashlag_units::Bytes;

const NOWHERE: &str = "there is none in a simulation";

pub(super) fn environment(
    profile: &Profile,
    model: &Model,
    mount: &MountSpec,
    total: Bytes,
    free: Bytes,
) -> Environment {
    let mut environment = Environment::default();
    environment.software.system = Reading::Value(profile.os.clone());
    environment.software.machine = Reading::Value(profile.about.clone());
    environment.software.kernel = Reading::unavailable("simulated: no kernel ran");
    environment.software.virtualized = Reading::unavailable(NOWHERE);
    environment.cpu.model = Reading::unavailable("its cost per call is a parameter of the profile");
    environment.memory_bytes = Reading::unavailable(NOWHERE);
    environment.filesystem.kind = Reading::Value(mount.filesystem.name().to_owned());
    environment.filesystem.mount_point = Reading::unavailable(NOWHERE);
    environment.filesystem.source = Reading::Value(format!("sim:{}", profile.name));
    environment.filesystem.options =
        Reading::Value(mount.options.iter().map(TargetOption::to_string).collect());
    environment.filesystem.total_bytes = Reading::Value(total);
    environment.filesystem.free_bytes = Reading::Value(free);
    environment.filesystem.block_bytes = Reading::Value(Bytes(4096));
    if mount.options.contains(&TargetOption::Fuse) {
        environment.filesystem.layers.push("fuse".to_owned());
    }
    environment.device.name = Reading::Value(profile.name.clone());
    environment.device.kind = Reading::Value("simulated".to_owned());
    environment.device.model = Reading::Value(profile.about.clone());
    environment.device.size_bytes = Reading::Value(model.map.capacity.0);
    let volatile = model.buffer.as_ref().is_some_and(|buffer| buffer.volatile);
    let cache = if volatile { "write back" } else { "write through" };
    environment.device.queue.write_cache = Reading::Value(cache.to_owned());
    environment.device.queue.rotational = Reading::Value(false);
    environment.device.queue.requests = Reading::Value(u64::from(model.host.queue_depth));
    let encrypted = mount.options.iter().any(|option| matches!(option, TargetOption::Encrypt(_)));
    environment.encryption = Reading::Value(Encryption {
        kind: if encrypted { "dm-crypt (modelled)" } else { "none" }.to_owned(),
        cipher: None,
    });
    environment.storage_temperature_millicelsius = Reading::unavailable(NOWHERE);
    environment.cpu_temperature_millicelsius = Reading::unavailable(NOWHERE);
    environment.calibration = Reading::unavailable("virtual time needs no clock");
    environment
}
