//! Why figures changed, from the requests to the device and the bytes that its flash programmed.

use flashlag_units::{Bytes, Nanos, mb_per_s};

use super::figures::{DURABLE, Figures, READ, TestFigures};
use super::scenario::{SAVE, SAVE_ROLLBACK};

/// A smaller relative change counts as none.
const SEEN: f64 = 0.02;

/// Why reads of all that is stored change once it was overwritten at random.
const SCATTERED: &str =
    ": what was overwritten 4 KiB at a time lies in as many places of the flash";

/// Why figures changed, one sentence for each kind of operation that did.
pub fn reasons(before: &Figures, after: &Figures) -> Vec<String> {
    let mut reasons = Vec::new();
    // The mode of a save is said where there are saves in two.
    let save = if after.rollback_saves().is_some() { "a save with WAL" } else { "a save" };
    let rollback = "a save with a rollback journal";
    for (name, each) in [(DURABLE, "a durable write"), (SAVE, save), (SAVE_ROLLBACK, rollback)] {
        if let (Some(before), Some(after)) = (before.test(name), after.test(name)) {
            reasons.extend(of_test(each, before, after));
        }
    }
    let rate = |figures: &Figures| Some(figures.sustained.as_ref()?.bytes_per_second);
    if let (Some(from), Some(to)) = (rate(before).or_else(|| alone(before)), rate(after))
        && moved(from, to)
    {
        let (from, to) = (mb_per_s(from), mb_per_s(to));
        reasons.push(format!("durable writes without a rest go from {from} to {to} MB/s"));
    }
    let scattered = before.settling.is_none() && after.settling.is_some();
    for (name, what) in [
        (READ, "sequential reads"),
        ("rand_read_4k", "random reads"),
        ("seq_write_256k", "sequential writes"),
    ] {
        if let (Some(before), Some(after)) = (before.test(name), after.test(name)) {
            let (from, to) = (before.bytes_per_second, after.bytes_per_second);
            if moved(from, to) {
                let why = if scattered && name == READ { SCATTERED } else { "" };
                let (from, to) = (mb_per_s(from), mb_per_s(to));
                reasons.push(format!("{what} go from {from} to {to} MB/s{why}"));
            }
        }
    }
    if reasons.is_empty() {
        reasons.push("no figure changes by more than 2%".to_owned());
    }
    reasons
}

/// Durable writes of a device that was not used: its first writes are like all others.
fn alone(figures: &Figures) -> Option<f64> {
    figures.durable().map(|test| test.bytes_per_second)
}

fn moved(before: f64, after: f64) -> bool {
    let most = before.abs().max(after.abs());
    most > 0.0 && (after - before).abs() / most > SEEN
}

fn of_test(each: &str, before: &TestFigures, after: &TestFigures) -> Vec<String> {
    let Some((was, is)) = before.p50_ns.zip(after.p50_ns) else { return Vec::new() };
    let mut why = Vec::new();
    let mut compare = |from: Option<f64>, to: Option<f64>, say: &dyn Fn(f64, f64) -> String| {
        if let Some((from, to)) = from.zip(to)
            && moved(from, to)
        {
            why.push(say(from, to));
        }
    };
    compare(before.flushes, after.flushes, &|from, to| {
        format!("it waits for {to:.1} flushes instead of {from:.1}")
    });
    compare(before.requests, after.requests, &|from, to| {
        format!("it makes {to:.1} requests of the device instead of {from:.1}")
    });
    compare(before.request_bytes, after.request_bytes, &|from, to| {
        format!("it sends the device {} instead of {}", size(to), size(from))
    });
    compare(before.amplification, after.amplification, &|from, to| {
        format!(
            "for each byte sent, padding, the map and garbage collection make the flash program \
             {to:.2} bytes instead of {from:.2}"
        )
    });
    let tails = before.p99_ns.zip(after.p99_ns);
    let stalls = tails.is_some_and(|(from, to)| moved(from, to));
    let slower = moved(before.per_second, after.per_second);
    let between = before.p50_range().or_else(|| after.p50_range());
    // A median between two times moves from one to the other without a reason.
    let median = moved(was, is) && between.is_none();
    if !moved(was, is) && !stalls && !slower && why.is_empty() {
        return Vec::new();
    }
    let means = before.mean_ns().zip(after.mean_ns()).filter(|_| slower);
    let headline = match (median, means, between) {
        (true, ..) => format!("{each} takes {} instead of {}", nanos(is), nanos(was)),
        (_, Some((from, to)), Some(_)) => {
            format!("{each} takes {} on average instead of {}", nanos(to), nanos(from))
        }
        (_, Some((from, to)), None) => format!(
            "the median of {each} stays the same, but its mean is {} instead of {}",
            nanos(to),
            nanos(from)
        ),
        (_, None, Some(between)) if moved(was, is) => {
            let mean = after.mean_ns().unwrap_or(is);
            format!(
                "{each} takes {} on average, as before (of ten, four take at most {} and four at \
                 least {}, and the median may be either)",
                nanos(mean),
                nanos(between.low),
                nanos(between.high)
            )
        }
        _ => format!("{each} takes as long as before"),
    };
    let longer = if median { is > was } else { after.per_second < before.per_second };
    let why = match (why.is_empty(), median || slower) {
        (true, true) if longer => ": it makes the same requests, but each takes longer".to_owned(),
        (true, true) => ": it makes the same requests, but each takes less time".to_owned(),
        (true, false) => String::new(),
        (false, _) => format!(": {}", why.join("; ")),
    };
    vec![format!("{headline}{why}")]
}

fn nanos(value: f64) -> String {
    Nanos(value.max(0.0) as u64).to_string()
}

fn size(value: f64) -> String {
    Bytes(value.max(0.0) as u64).to_string()
}
