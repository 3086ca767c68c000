//! A file of a stack is a device like any other: it keeps the promises of the seam.

use flashlag_device::{Latency, RamDevice, Service, SyncCall, VirtualClock};
use flashlag_iostack::{Stack, StackFile, StackSpec};
use flashlag_spec::profile::StackModel;
use flashlag_testing::conformance::{self, Outcome};
use flashlag_units::{Bytes, Nanos, Text};

/// Claims that a device can keep only if it keeps data.
const OF_DATA: [&str; 3] = [
    "reads_return_what_was_written_last",
    "every_slot_carries_its_own_data",
    "flush_and_discard_leave_other_data_alone",
];

fn ram(units: u32) -> RamDevice<VirtualClock> {
    let service = Service {
        read: Latency::Fixed(Nanos::from_micros(100)),
        write: Latency::Fixed(Nanos::from_micros(700)),
        flush: Latency::Fixed(Nanos::from_millis(2)),
        units,
    };
    RamDevice::simulated(Bytes::from_mib(256), 32, Bytes::from_mib(1), service, 1)
}

fn model() -> StackModel {
    let mut model = StackModel {
        call: Text(Nanos::from_micros(20)),
        per_kib: Text(Nanos(500)),
        sync_call: Text(Nanos::from_micros(50)),
        fuse_call: Text(Nanos::from_micros(60)),
        ..StackModel::default()
    };
    model.encryption.read_per_kib = Text(Nanos(4000));
    model.encryption.write_per_kib = Text(Nanos(5000));
    model
}

fn file(
    spec: &str,
    depth: u32,
    direct: bool,
    sync: SyncCall,
) -> StackFile<RamDevice<VirtualClock>> {
    let span = Bytes::from_mib(1);
    let stack = Stack::mount(ram(depth), StackSpec::parse(spec).unwrap(), &model()).unwrap();
    let file = stack.create("test").unwrap();
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    stack.sync(file, false).unwrap();
    StackFile::new(&stack, file, span, Bytes::from_kib(64), depth, direct, sync)
}

#[test]
fn files_of_every_filesystem_keep_the_promises_of_a_device() {
    for spec in ["raw", "ext4", "ext4,nobarrier,fuse", "f2fs", "f2fs,noipu,encrypt", "btrfs"] {
        for (depth, direct) in [(1, true), (8, true), (1, false), (8, false)] {
            for sync in [SyncCall::Data, SyncCall::All] {
                let report = conformance::check(|| file(spec, depth, direct, sync));
                assert_eq!(report.broken(), Vec::<String>::new(), "{spec} {depth} {direct}");
                for (claim, outcome) in &report.outcomes {
                    let of_data = OF_DATA.contains(claim);
                    if let Outcome::NotApplicable(why) = outcome {
                        let single = claim.contains("slot") && depth == 1;
                        assert!(of_data || single, "{spec} {depth} {direct}: {claim}: {why}");
                    }
                }
                assert!(report.held() >= 11, "{spec} {depth} {direct}: {}", report.held());
            }
        }
    }
}
