//! The simulated flash keeps the promises that every device makes.

use crate::common;
use flashlag_flash::{Flash, FlashDevice};
use flashlag_testing::conformance;

const SHAPES: [&[(&str, &str)]; 4] = [
    &[],
    &[("map.unit", "\"16KiB\""), ("map.program_unit", "\"32KiB\""), ("host.queue_depth", "32")],
    &[("buffer.size", "\"512KiB\""), ("buffer.volatile", "true"), ("trim.kind", "\"queued\"")],
    &[("map.kind", "\"fast\""), ("map.log_blocks", "4")],
];

#[test]
fn a_flash_with_data_keeps_every_promise() {
    for shape in SHAPES {
        let make = || FlashDevice::with_data(Flash::new(&common::model(shape), 1).unwrap());
        let report = conformance::check(make);
        assert_eq!(report.broken(), Vec::<String>::new(), "{shape:?}");
    }
}

#[test]
fn a_flash_without_data_keeps_every_promise_about_time() {
    for shape in SHAPES {
        let report = conformance::check(|| FlashDevice::new(common::flash(shape)));
        assert_eq!(report.broken(), Vec::<String>::new(), "{shape:?}");
    }
}
