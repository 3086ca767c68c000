//! The conditions of a device with a battery: charge, power, temperature, screen.

use flashlag_schema::{Conditions, Power};
use flashlag_spec::Reading;
use flashlag_units::Nanos;

use crate::android::{Battery, Heat, is_android, screen_on};
use crate::reason::Reason;
use crate::root::Root;
use crate::thermal::Sensors;

const SUPPLIES: &str = "/sys/class/power_supply";

/// Reads the conditions; `None` for a machine without a battery. On Android this calls its
/// services, which takes a tenth of a second, so it belongs between measured tests. Other apps' I/O
/// is read by [`OtherApps`](crate::android::OtherApps), which counts from one reading to the next.
pub fn conditions(root: &Root, at_ns: Nanos) -> Option<Conditions> {
    let battery = supply(root, "Battery");
    if is_android(root) {
        Some(of_android(root, at_ns, battery.as_deref()))
    } else {
        battery.map(|battery| of_linux(root, at_ns, &battery))
    }
}

fn of_android(root: &Root, at_ns: Nanos, supply: Option<&str>) -> Conditions {
    let battery = Battery::read(root);
    let heat = Heat::read(root);
    let of_battery = |read: &dyn Fn(&Battery) -> Result<i64, Reason>| {
        battery.as_ref().map_err(Clone::clone).and_then(read)
    };
    let of_heat = |read: &dyn Fn(&Heat) -> Result<i64, Reason>| {
        heat.as_ref().map_err(Clone::clone).and_then(read)
    };
    // Some vendors change the service's output: fall back to the kernel's own files.
    let percent = of_battery(&|battery| battery.percent().map(i64::from))
        .or_else(|reason| charge(root, supply).map_err(|_| reason));
    let warmth = of_battery(&Battery::millicelsius)
        .or_else(|reason| supply_warmth(root, supply).map_err(|_| reason));
    let cpu = of_heat(&Heat::cpu)
        .or_else(|reason| Sensors::find(root, &[]).cpu(root).map_err(|_| reason));
    Conditions {
        at_ns,
        battery_percent: percent.and_then(in_percent).into(),
        power: battery.as_ref().map_err(Clone::clone).and_then(Battery::power).into(),
        battery_millicelsius: warmth.into(),
        cpu_millicelsius: cpu.into(),
        skin_millicelsius: of_heat(&Heat::skin).into(),
        throttling: heat.as_ref().map_err(Clone::clone).and_then(Heat::throttling).into(),
        screen_on: screen_on(root).into(),
        other_io: Reading::default(),
    }
}

fn of_linux(root: &Root, at_ns: Nanos, battery: &str) -> Conditions {
    let status = root.line(format!("{SUPPLIES}/{battery}/status"));
    let power = status.map(|status| match status.as_str() {
        "Discharging" => Power::Battery,
        _ => Power::Charger,
    });
    Conditions {
        at_ns,
        battery_percent: charge(root, Some(battery)).and_then(in_percent).into(),
        power: power.into(),
        battery_millicelsius: supply_warmth(root, Some(battery)).into(),
        cpu_millicelsius: Sensors::find(root, &[]).cpu(root).into(),
        skin_millicelsius: Reading::unavailable("only Android's thermal service knows it"),
        throttling: Reading::unavailable("only Android's thermal service knows it"),
        screen_on: Reading::unavailable("not read on this system"),
        other_io: Reading::default(),
    }
}

fn in_percent(number: i64) -> Result<u8, Reason> {
    let percent = u8::try_from(number).ok().filter(|percent| *percent <= 100);
    percent.ok_or_else(|| Reason::none(format!("a charge of {number}% is impossible")))
}

/// The first power supply of that type that powers the machine itself: a mouse has a battery, too.
fn supply(root: &Root, kind: &str) -> Option<String> {
    root.names(SUPPLIES).into_iter().find(|name| {
        let file = |file: &str| root.line(format!("{SUPPLIES}/{name}/{file}"));
        file("type").as_deref() == Ok(kind) && file("scope").as_deref() != Ok("Device")
    })
}

fn charge(root: &Root, supply: Option<&str>) -> Result<i64, Reason> {
    let supply = supply.ok_or("no battery in /sys")?;
    root.number::<i64>(format!("{SUPPLIES}/{supply}/capacity"))
}

/// In thousandths of a degree; the kernel's file has tenths.
fn supply_warmth(root: &Root, supply: Option<&str>) -> Result<i64, Reason> {
    let supply = supply.ok_or("no battery in /sys")?;
    let tenths = root.number::<i64>(format!("{SUPPLIES}/{supply}/temp"))?;
    match tenths {
        -500..=2000 => Ok(tenths * 100),
        _ => Err(Reason::none(format!(
            "a battery temperature of {tenths} tenths of a degree is impossible"
        ))),
    }
}
