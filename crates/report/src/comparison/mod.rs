//! The page of a comparison: the picture by test, the ratios with their intervals, all figures, and
//! what else differs.

mod picture;
mod tables;

use flashlag_schema::Run;
use flashlag_views::Comparison;

use crate::Options;
use crate::markup::Markup;
use crate::page::{Lede, Page, style};
use crate::section::Section;

/// The whole page.
pub(crate) fn page(comparison: &Comparison, runs: &[Run], options: &Options) -> String {
    let names: Vec<&str> = comparison.subjects.iter().map(|s| s.name.as_str()).collect();
    let picture = picture::picture_of(comparison);
    let (sentence, ledes) = first_words(comparison);
    let sections = [
        tables::ratios(comparison),
        tables::figures(comparison),
        tables::differs(comparison),
        tables::checks(comparison),
        tables::runs(comparison, runs, options),
    ];
    let sections: Vec<Section> = sections.into_iter().flatten().collect();
    let page = Page {
        title: format!("{}: how their storage lags", names.join(", ")),
        style: style(),
        axis: picture.style,
        banner: options.banner.as_deref(),
        meta: meta(comparison, runs),
        sentence,
        ledes,
        first: picture.body,
        sections,
        footer: vec!["This page loads nothing from the network and runs no script.".to_owned()],
    };
    Markup::of(&page).into_string()
}

/// The leading sentences: which side is faster, the verdict of each, the largest difference, sizes,
/// trust and warnings.
fn first_words(comparison: &Comparison) -> (String, Vec<Lede>) {
    let (sentence, verdict) = if comparison.faster.is_empty() {
        (comparison.sentence.clone(), None)
    } else {
        (comparison.faster.clone(), Some(&comparison.sentence))
    };
    let plain = verdict.into_iter().chain([&comparison.largest]).filter(|text| !text.is_empty());
    let mut ledes: Vec<Lede> = plain.map(|text| Lede::plain(text)).collect();
    if !comparison.more.is_empty() {
        ledes.push(Lede { lead: Some("How big?"), text: comparison.more.clone(), link: None });
    }
    let text = comparison.believe.clone();
    ledes.push(Lede { lead: Some("Can you believe it?"), text, link: None });
    ledes.extend(comparison.warnings.iter().map(|warning| Lede::plain(warning)));
    (sentence, ledes)
}

/// The number of runs, and their dates.
fn meta(comparison: &Comparison, runs: &[Run]) -> Vec<String> {
    let (sides, count) = (comparison.subjects.len(), runs.len());
    let mut meta = vec!["Comparison".to_owned(), format!("{sides} sides, {count} runs")];
    let mut scenarios: Vec<&str> = runs.iter().map(|run| run.scenario.name.as_str()).collect();
    scenarios.dedup();
    meta.push(scenarios.join(", "));
    let mut days: Vec<&str> =
        runs.iter().filter_map(|run| run.started.as_deref()?.split('T').next()).collect();
    days.sort_unstable();
    days.dedup();
    match days.as_slice() {
        [] => {}
        [day] => meta.push((*day).to_owned()),
        [first, .., last] => meta.push(format!("{first} to {last}")),
    }
    meta
}
