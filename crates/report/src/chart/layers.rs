//! What the operations of a phase waited for, over time: layers that fill the drawing, one for each
//! kind of cause, as high as its share at each time.

use flashlag_schema::WaitPart;
use flashlag_units::Nanos;

use super::cause::{Kind, by_kind};
use super::svg::{Svg, stairs};

/// A stretch of time, placed at its end, with the share of each kind, from 0 to 1; the shares add
/// up to 1.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    ends: Nanos,
    shares: [f64; Kind::ALL.len()],
}

/// The chart.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    stretches: Vec<Stretch>,
    /// The whole time of each kind.
    times: [Nanos; Kind::ALL.len()],
}

/// Maximum number of stretches that are drawn.
const MOST: usize = 160;

impl Layers {
    /// The layers of intervals, each at its end with what its operations waited for; `None` if that
    /// is not known.
    pub(crate) fn of(intervals: &[(Nanos, Vec<WaitPart>)]) -> Option<Layers> {
        let each = intervals.len().div_ceil(MOST).max(1);
        let stretches: Vec<Stretch> = intervals.chunks(each).filter_map(stretch).collect();
        let parts: Vec<WaitPart> = intervals.iter().flat_map(|(_, parts)| parts.clone()).collect();
        (!stretches.is_empty()).then(|| Layers { stretches, times: by_kind(&parts) })
    }

    /// Kinds with a visible layer, from the top, and the share that each has of all time.
    pub(crate) fn key(&self) -> Vec<(Kind, f64)> {
        let whole: f64 = self.times.iter().map(|time| time.0 as f64).sum();
        let share = |kind: Kind| self.times[kind as usize].0 as f64 / whole.max(1.0);
        let all = Kind::ALL.into_iter().rev().map(|kind| (kind, share(kind)));
        all.filter(|(_, share)| *share >= 0.005).collect()
    }

    /// The drawing.
    pub(crate) fn drawing(&self) -> Svg {
        let end = self.stretches.last().map_or(Nanos(1), |last| last.ends);
        let x = |at: Nanos| at.0 as f64 / end.0.max(1) as f64 * 100.0;
        let mut svg = Svg::new();
        svg.stretched(|svg| {
            for kind in Kind::ALL {
                let top = |stretch: &Stretch| height(stretch, kind as usize + 1);
                let bottom = |stretch: &Stretch| height(stretch, kind as usize);
                if self.stretches.iter().all(|one| top(one) - bottom(one) < 0.005) {
                    continue;
                }
                let mut corners = Vec::new();
                let mut begins = 0.0;
                for stretch in &self.stretches {
                    let ends = x(stretch.ends);
                    corners.extend([begins, ends].map(|x| (x, 100.0 - top(stretch) * 100.0)));
                    begins = ends;
                }
                let starts: Vec<f64> = std::iter::once(0.0)
                    .chain(self.stretches.iter().map(|stretch| x(stretch.ends)))
                    .collect();
                for (stretch, begins) in self.stretches.iter().zip(&starts).rev() {
                    let y = 100.0 - bottom(stretch) * 100.0;
                    corners.extend([x(stretch.ends), *begins].map(|x| (x, y)));
                }
                svg.path(&format!("ly {}", kind.class()), &(stairs(corners) + "Z"));
            }
        });
        svg
    }
}

/// Intervals as one stretch; `None` if they do not say what was waited for.
fn stretch(intervals: &[(Nanos, Vec<WaitPart>)]) -> Option<Stretch> {
    let parts: Vec<WaitPart> = intervals.iter().flat_map(|(_, parts)| parts.clone()).collect();
    let times = by_kind(&parts);
    let whole: f64 = times.iter().map(|time| time.0 as f64).sum();
    let ends = intervals.last()?.0;
    (whole > 0.0).then(|| Stretch { ends, shares: times.map(|time| time.0 as f64 / whole) })
}

/// The height of the lowest `count` layers, from 0 to 1.
fn height(stretch: &Stretch, count: usize) -> f64 {
    stretch.shares.iter().take(count).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::StallCause;

    use super::*;

    fn interval(second: u64, parts: &[(StallCause, u64)]) -> (Nanos, Vec<WaitPart>) {
        let part = |(cause, ns): &(StallCause, u64)| WaitPart { cause: *cause, ns: Nanos(*ns) };
        (Nanos::from_secs(second), parts.iter().map(part).collect())
    }

    #[test]
    fn a_layer_is_as_high_as_its_share_of_each_stretch() {
        let (storage, flash) = (StallCause::Storage, StallCause::GarbageCollection);
        let intervals =
            [interval(1, &[(storage, 300), (flash, 100)]), interval(2, &[(flash, 400)])];
        let layers = Layers::of(&intervals).unwrap();
        assert_eq!(layers.key(), [(Kind::Flash, 0.625), (Kind::Storage, 0.375)]);
        let drawn = layers.drawing().bare().into_string();
        // The storage's layer: three quarters of the first half, nothing of the second.
        assert!(drawn.contains("<path class=\"ly by-sto\" d=\"M0 250H500V1000H"), "{drawn}");
        assert!(
            drawn.contains("<path class=\"ly by-gc\" d=\"M0 0H1000V1000H500V250H0Z\""),
            "{drawn}"
        );
    }

    #[test]
    fn a_series_that_does_not_say_what_was_waited_for_has_no_layers() {
        assert!(Layers::of(&[interval(1, &[])]).is_none());
        assert!(Layers::of(&[]).is_none());
    }
}
