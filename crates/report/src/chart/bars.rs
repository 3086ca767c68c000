//! Small bars and marks within tables.

use flashlag_schema::CheckStatus;
use flashlag_views::WaitGroup;

use super::svg::{Pct, Svg};
use crate::markup::Markup;

/// A share, 0 to 1, of the best in its column. `low` is drawn in the colour for late.
pub(crate) fn share_bar(share: f64, low: bool) -> Markup {
    bar(share, if low { "l" } else { "m" })
}

/// A share, 0 to 1, that is neither in time nor late.
pub(crate) fn plain_bar(share: f64) -> Markup {
    bar(share, "sto")
}

fn bar(share: f64, class: &'static str) -> Markup {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let mut svg = Svg::new();
    let whole = Pct(100.0);
    svg.rect("tr", Pct(0.0), whole, Pct(0.0), whole);
    svg.rect(class, Pct(0.0), Pct(share * 100.0), Pct(0.0), whole);
    svg.hidden(4)
}

/// The three parts of a wait as one full bar.
pub(crate) fn split_bar(group: &WaitGroup) -> Markup {
    let part = |share: f64| if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    let (cpu, waiting) = (part(group.on_cpu.share), part(group.waiting_for_cpu.share));
    let mut svg = Svg::new();
    let (top, whole) = (Pct(0.0), Pct(100.0));
    let split = Pct((cpu + waiting).min(100.0));
    svg.rect("cpu", Pct(0.0), Pct(cpu), top, whole);
    for class in ["wai", "wah"] {
        svg.rect(class, Pct(cpu), Pct(split.0 - cpu), top, whole);
    }
    svg.rect("sto", split, Pct(100.0 - split.0), top, whole);
    for at in [Pct(cpu), split] {
        if at.0 > 0.3 && at.0 < 99.7 {
            svg.line("sep", (at, top), (at, whole));
        }
    }
    svg.hidden(18)
}

/// Tick, cross or question mark: the outcome of a check without its colour.
pub(crate) fn status_icon(status: CheckStatus) -> Markup {
    let path = match status {
        CheckStatus::Pass => "M2 7.5L5.5 11L12 3.5",
        CheckStatus::Fail => "M3 3L11 11M11 3L3 11",
        CheckStatus::Unknown => "M4 4.6C4 1.4 10 1.4 10 4.6C10 6.6 7 6.8 7 9M7 12V12.1",
    };
    let mut svg = Svg::new();
    svg.shape(format_args!(
        "<svg class=\"ic\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path d=\"{path}\"/></svg>"
    ));
    svg.bare()
}
