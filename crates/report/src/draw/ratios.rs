//! Ratios with their intervals, a dot for each median.

use askama::Template;
use flashlag_views::Ratio;
use flashlag_views::page::{RatioRow, Ratios};

use crate::chart::{RatioAxis, RatioMark};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "block/ratios.html")]
struct RatioTable<'a> {
    against: &'a str,
    head: Markup,
    groups: Vec<(&'a str, Vec<(Markup, &'a RatioRow)>)>,
}

pub(super) fn table(ratios: &Ratios) -> Markup {
    let rows = ratios.groups.iter().flat_map(|(_, rows)| rows);
    let ends = rows.filter_map(|row| row.median.as_ref()).flat_map(|ratio| {
        let (low, high) = ratio.interval.unwrap_or((ratio.ratio, ratio.ratio));
        [ratio.ratio, low, high]
    });
    let axis = RatioAxis::covering(ends);
    let dot = |row: &'_ RatioRow| {
        row.median.as_ref().map(|Ratio { ratio, interval, differs, words, .. }| {
            let mark = RatioMark { ratio: *ratio, interval: *interval, differs: *differs };
            axis.row(&mark, &format!("{}: {words}", row.words))
        })
    };
    let groups = ratios.groups.iter().map(|(title, rows)| {
        (title.as_str(), rows.iter().map(|row| (dot(row).unwrap_or_default(), row)).collect())
    });
    Markup::of(&RatioTable {
        against: &ratios.against,
        head: axis.head(),
        groups: groups.collect(),
    })
}
