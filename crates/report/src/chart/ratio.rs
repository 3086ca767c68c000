//! Ratios on a logarithmic axis, with a line at equal.

use super::svg::{Anchor, Pct, Svg};
use crate::markup::Markup;

/// Powers of ten to each side that cover the ratios; values beyond are arrows at the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RatioAxis {
    low: i32,
    high: i32,
}

/// Maximum powers of ten to a side: more would squeeze ratios near 1.
const MOST: i32 = 2;

/// One ratio with its interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RatioMark {
    pub(crate) ratio: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) differs: bool,
}

impl RatioAxis {
    /// From a tenth to ten times at least; a hundredth to a hundred times at most.
    pub(crate) fn covering(values: impl IntoIterator<Item = f64>) -> RatioAxis {
        let usable = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
        usable.fold(RatioAxis { low: -1, high: 1 }, |axis, value| {
            let power = value.log10();
            RatioAxis {
                low: axis.low.min((power.floor() as i32).max(-MOST)),
                high: axis.high.max((power.ceil() as i32).min(MOST)),
            }
        })
    }

    fn pct(&self, ratio: f64) -> Pct {
        let power = if ratio > 0.0 { ratio.log10() } else { f64::from(self.low) };
        let share = (power - f64::from(self.low)) / f64::from(self.high - self.low);
        Pct((share * 100.0).clamp(0.0, 100.0))
    }

    /// The decades with their names.
    pub(crate) fn head(&self) -> Markup {
        let mut svg = Svg::new();
        for power in self.low..=self.high {
            let name = match power {
                0 => "equal".to_owned(),
                ..0 => format!("1/{}", 10u64.pow(power.unsigned_abs())),
                _ => format!("{}×", 10u64.pow(power.unsigned_abs())),
            };
            let anchor = match power {
                p if p == self.low => Anchor::Start,
                p if p == self.high => Anchor::End,
                _ => Anchor::Middle,
            };
            let x = self.pct(10f64.powi(power));
            let class = if power == 0 { "fl b" } else { "ax" };
            svg.text(class, (x, Pct(0.0)), (0.0, 15.0), anchor, &name);
        }
        svg.hidden(22)
    }

    /// One ratio.
    pub(crate) fn row(&self, mark: &RatioMark, label: &str) -> Markup {
        let mut svg = Svg::new();
        for power in self.low..=self.high {
            let x = self.pct(10f64.powi(power));
            let class = if power == 0 { "one" } else { "g" };
            svg.line(class, (x, Pct(0.0)), (x, Pct(100.0)));
        }
        let shown = if mark.differs { "" } else { " ns" };
        let middle = Pct(50.0);
        if let Some((low, high)) = mark.interval {
            let (from, to) = (self.pct(low), self.pct(high));
            svg.line(&format!("ci{shown}"), (from, middle), (to, middle));
        }
        let at = self.pct(mark.ratio);
        let beyond = match mark.ratio.log10() {
            power if power < f64::from(self.low) => Some("M8 -5L1 0L8 5Z"),
            power if power > f64::from(self.high) => Some("M-8 -5L-1 0L-8 5Z"),
            _ => None,
        };
        match beyond {
            Some(arrow) => svg.shape(format_args!(
                "<svg x=\"{at}\" y=\"{middle}\" overflow=\"visible\">\
                 <path class=\"cid{shown}\" d=\"{arrow}\"/></svg>"
            )),
            None => svg.shape(format_args!(
                "<circle class=\"cid{shown}\" cx=\"{at}\" cy=\"{middle}\" r=\"4.5\"/>"
            )),
        }
        svg.named(26, label)
    }
}
