//! A chart with its title, its notes and its style sheet.

use std::fmt::Write;

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::page::meta;

use crate::chart::{Anchor, Svg};
use crate::markup::{escape, visible};
use crate::page;

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on black.
    Dark,
}

/// How wide every chart is, in pixels: two of them fit a sheet of paper.
pub(super) const WIDTH: f64 = 900.0;
/// Above the plot: title and what was measured.
const TOP: f64 = 84.0;
/// Below it: the axis.
const AXIS: f64 = 30.0;
/// One line of notes.
const LINE: f64 = 17.0;

/// A chart before it is written out.
pub(super) struct Frame {
    pub(super) title: String,
    /// Lines below the plot.
    pub(super) notes: Vec<String>,
    /// The text alternative of the chart.
    pub(super) words: String,
    pub(super) plot: Svg,
    /// Left and right of the plot.
    pub(super) margins: (f64, f64),
    /// The height of the whole chart, and of the plot.
    pub(super) size: (f64, f64),
}

#[derive(Template)]
#[template(path = "chart.css", escape = "none")]
struct Style;

/// The style that a page sets outside of its drawings.
const BASE: &str = "svg{overflow:visible}.na{display:none}\
    text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",\"Noto Sans\",\
    \"Liberation Sans\",Arial,sans-serif;font-variant-numeric:tabular-nums}\
    svg .h{font-size:19px;font-weight:660}svg .sub{font-size:13px;fill:var(--ink2)}\
    svg .n{font-size:12px;fill:var(--ink2)}\
    svg .over{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}.page{fill:var(--bg)}";

impl Frame {
    /// The file.
    pub(super) fn svg(self, run: &Run, theme: Theme) -> String {
        let (width, plot_height) = self.size;
        let (left, right) = self.margins;
        let bottom = AXIS + self.notes.len() as f64 * LINE + 14.0;
        let height = TOP + plot_height + bottom;
        let mut body = Svg::new();
        body.text_at("h", (16.0, 32.0), Anchor::Start, &self.title);
        body.text_at("sub", (16.0, 54.0), Anchor::Start, &meta(run).join(" · "));
        body.place(self.plot, (left, TOP), (width - left - right, plot_height));
        for (index, note) in self.notes.iter().enumerate() {
            let y = TOP + plot_height + AXIS + (index + 1) as f64 * LINE;
            body.text_at("n", (16.0, y), Anchor::Start, note);
        }
        let mut svg = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        // Writing to a String does not fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title><desc>{}</desc>\n\
             <style>{}</style>\n<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n{}</svg>\n",
            escape(&self.title),
            escape(&self.words),
            style(theme),
            body.bare(),
        );
        visible(&svg)
    }
}

/// The style sheet of drawings with the colours inlined: not every program that renders SVG supports
/// variables.
fn style(theme: Theme) -> String {
    let drawings = Style.render().unwrap_or_default();
    let mut style = format!("{BASE}{drawings}");
    for (name, colour) in palette(theme) {
        style = style.replace(&format!("var({name})"), &colour);
    }
    style
}

/// The colours of a theme from the page's style sheet: its first block is the light theme, the media
/// query the dark one.
fn palette(theme: Theme) -> Vec<(String, String)> {
    let sheet = page::style().into_string();
    let from = match theme {
        Theme::Light => ":root{",
        Theme::Dark => "prefers-color-scheme:dark){:root{",
    };
    let block = sheet.split_once(from).map(|(_, rest)| rest).unwrap_or_default();
    let block = block.split('}').next().unwrap_or_default();
    let pairs = block.split(';').filter_map(|pair| pair.split_once(':'));
    let colours = pairs.filter(|(name, _)| name.starts_with("--"));
    colours.map(|(name, colour)| (name.to_owned(), colour.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::{Theme, palette, style};

    #[test]
    fn a_chart_has_every_colour_in_it_and_differs_by_theme() {
        for theme in [Theme::Light, Theme::Dark] {
            assert!(!style(theme).contains("var("), "{}", style(theme));
            assert!(palette(theme).len() > 15);
        }
        assert_ne!(style(Theme::Light), style(Theme::Dark));
    }
}
