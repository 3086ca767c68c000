use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The state of a device with a battery before a test, or at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// When this was read, from the start of the run.
    pub at_ns: Nanos,
    /// The battery's charge.
    pub battery_percent: Reading<u8>,
    /// What the device is powered by.
    pub power: Reading<Power>,
    /// The battery's temperature, in thousandths of a degree Celsius.
    pub battery_millicelsius: Reading<i64>,
    /// The hottest processor, in thousandths of a degree Celsius.
    pub cpu_millicelsius: Reading<i64>,
    /// The outside of the device, in thousandths of a degree Celsius.
    pub skin_millicelsius: Reading<i64>,
    /// What the system does against heat.
    pub throttling: Reading<Throttling>,
    /// Whether the screen is on.
    pub screen_on: Reading<bool>,
    /// What other apps and services did since the previous reading, so mostly during the test in
    /// between; absent in the first reading of a process.
    pub other_io: Reading<OtherIo>,
}

/// Bytes that users of the system, other than the run's own user, have read and written. On Android
/// each app is a user, and some users are system services: its storage daemon counts them. Bytes
/// count when a file's page becomes dirty, which may be before they are written to storage; the
/// kernel's own I/O is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OtherIo {
    /// Bytes fetched from storage.
    pub read_bytes: Bytes,
    /// Bytes to be sent to storage.
    pub write_bytes: Bytes,
}

impl OtherIo {
    /// The sum of two.
    pub fn plus(self, other: OtherIo) -> OtherIo {
        let add = |a: Bytes, b: Bytes| Bytes(a.0.saturating_add(b.0));
        OtherIo {
            read_bytes: add(self.read_bytes, other.read_bytes),
            write_bytes: add(self.write_bytes, other.write_bytes),
        }
    }
}

/// What a device with a battery is powered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Power {
    /// The battery.
    Battery,
    /// A charger.
    Charger,
    /// A USB port.
    Usb,
    /// A wireless charger.
    Wireless,
    /// A dock.
    Dock,
}

/// Android's levels of throttling, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Throttling {
    /// None.
    None,
    /// What a user does not notice.
    Light,
    /// What a user hardly notices.
    Moderate,
    /// What a user notices.
    Severe,
    /// All that the system can do.
    Critical,
    /// Parts of the device are being switched off.
    Emergency,
    /// The device switches itself off.
    Shutdown,
}

impl Throttling {
    /// The level of Android's number: `Temperature.ThrottlingSeverity`, 0 to 6.
    pub fn of_number(number: u8) -> Option<Throttling> {
        use Throttling::{Critical, Emergency, Light, Moderate, None, Severe, Shutdown};
        [None, Light, Moderate, Severe, Critical, Emergency, Shutdown]
            .get(usize::from(number))
            .copied()
    }
}

/// Limits that a run keeps on a device with a battery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ConditionLimits {
    /// The run ends below this charge, unless the battery is being charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_percent: Option<u8>,
    /// The run ends above this temperature of the battery, in thousandths of a degree Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hottest_millicelsius: Option<i64>,
    /// Each test waits until the battery is not warmer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cool_to_millicelsius: Option<i64>,
}

impl ConditionLimits {
    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == ConditionLimits::default()
    }
}
