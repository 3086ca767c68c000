//! The blocks of a page as HTML.

mod charts;
pub(crate) mod figures;
mod findings;
mod lifecycle;
pub(crate) mod picture;
mod ratios;
mod small;

pub(crate) use charts::{distribution_plot, fill_plot, rate_plot, series_plot};
pub(crate) use small::flagged;

use flashlag_views::page::{Block, Section};

use crate::chart::LatencyAxis;
use crate::markup::Markup;

/// A section with its content drawn.
pub(crate) struct Drawn {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) heading: String,
    pub(crate) side: Vec<String>,
    pub(crate) body: Markup,
}

/// A section; `axis` is the picture's.
pub(crate) fn section(section: &Section, axis: &LatencyAxis) -> Drawn {
    let mut side = section.side.clone();
    if section.blocks.iter().any(|block| matches!(block, Block::Findings(_))) {
        side.push(format!("Pictures use the axis at the top: {}.", axis.in_words()));
    }
    let blocks = section.blocks.iter().map(|drawn| block(drawn, axis).into_string());
    Drawn {
        id: section.id,
        name: section.name,
        heading: section.heading.clone(),
        side,
        body: Markup::drawn(blocks.collect::<Vec<_>>().join("\n")),
    }
}

fn block(block: &Block, axis: &LatencyAxis) -> Markup {
    match block {
        Block::Table(table) => figures::table(table),
        Block::Lifecycle(table) => lifecycle::table(table),
        Block::Layers(layered) => small::layers(layered),
        Block::Waits(waits) => small::waits(waits),
        Block::Checks(checks) => small::checks(checks),
        Block::Findings(found) => findings::list(found, axis),
        Block::Rates(series) => charts::rates(series),
        Block::Distributions(drawn) => charts::distributions(drawn),
        Block::Stalls(series, causes) => charts::stalls(series, causes),
        Block::Fill(curve, flag) => charts::fill(curve, flag.as_ref()),
        Block::Ratios(drawn) => ratios::table(drawn),
        Block::Matrix(matrix) => small::matrix(matrix),
        plain => small::plain(plain),
    }
}
