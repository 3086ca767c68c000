//! Operations a second and latency by queue depth.

use flashlag_units::Nanos;
use flashlag_views::format;

use super::svg::{Anchor, Pct, Svg, polyline};

/// One depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DepthPoint {
    pub(crate) depth: u32,
    pub(crate) ops_per_sec: f64,
    pub(crate) p99: Option<Nanos>,
}

/// The chart: depths side by side, operations a second from zero.
pub(crate) struct DepthPlot<'a> {
    /// Shallowest first.
    pub(crate) points: &'a [DepthPoint],
}

impl DepthPlot<'_> {
    /// The drawing; each point with its figures, so that no axis is needed.
    pub(crate) fn drawing(&self) -> Svg {
        let usable = |rate: f64| if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        let most = self.points.iter().map(|point| usable(point.ops_per_sec)).fold(1.0, f64::max);
        let columns = self.points.len().max(1) as f64;
        let x = |index: usize| (index as f64 + 0.5) / columns * 100.0;
        // Above the highest there is room for its figures.
        let y = |rate: f64| 100.0 - usable(rate) / most * 85.0;
        let mut svg = Svg::new();
        let foot = Pct(100.0);
        svg.line("base", (Pct(0.0), foot), (foot, foot));
        let line = self.points.iter().enumerate().map(|(i, point)| (x(i), y(point.ops_per_sec)));
        let path = polyline(line);
        svg.stretched(|svg| svg.path("rate", &path));
        for (index, point) in self.points.iter().enumerate() {
            let at = (Pct(x(index)), Pct(y(point.ops_per_sec)));
            svg.line("g", (at.0, at.1), (at.0, foot));
            let (cx, cy) = at;
            svg.shape(format_args!("<circle class=\"m\" cx=\"{cx}\" cy=\"{cy}\" r=\"4\"/>"));
            let rate = format!("{}/s", format::per_second(point.ops_per_sec));
            svg.text("v", at, (0.0, -22.0), Anchor::Middle, &rate);
            let p99 = point.p99.map_or_else(
                || "p99: n too small".to_owned(),
                |p99| format!("p99 {}", format::time(p99)),
            );
            svg.text("ax", at, (0.0, -8.0), Anchor::Middle, &p99);
            let depth = format!("depth {}", point.depth);
            svg.text("ax", (Pct(x(index)), foot), (0.0, 17.0), Anchor::Middle, &depth);
        }
        svg
    }
}
