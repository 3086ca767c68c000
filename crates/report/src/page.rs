use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{LagVerdict, StripRow, findings, headline, layered};

use crate::Options;
use crate::facts;
use crate::markup::Markup;
use crate::section::{self, Section, first};

/// A line of the first screen.
pub(crate) struct Lede {
    pub(crate) lead: Option<&'static str>,
    pub(crate) text: String,
    /// The section it refers to and the text of the link.
    pub(crate) link: Option<(&'static str, String)>,
}

impl Lede {
    pub(crate) fn plain(text: &str) -> Lede {
        Lede { lead: None, text: text.to_owned(), link: None }
    }
}

#[derive(Template)]
#[template(path = "page.html")]
pub(crate) struct Page<'a> {
    pub(crate) title: String,
    pub(crate) style: Markup,
    /// CSS properties of the picture's axis.
    pub(crate) axis: Markup,
    pub(crate) banner: Option<&'a str>,
    /// Device, scenario and machine, most important first.
    pub(crate) meta: Vec<String>,
    pub(crate) sentence: String,
    pub(crate) ledes: Vec<Lede>,
    pub(crate) first: Markup,
    pub(crate) sections: Vec<Section>,
    pub(crate) footer: Vec<String>,
}

#[derive(Template)]
#[template(path = "style.css", escape = "none")]
struct Style;

/// The style sheet, without its comments.
pub(crate) fn style() -> Markup {
    Markup::of(&Style)
}

/// The headline's sentence and what qualifies it.
fn said(run: &Run) -> (String, Vec<Lede>) {
    let headline = headline(run);
    let mut ledes = Vec::new();
    if !headline.more.is_empty() {
        ledes.push(Lede::plain(&headline.more));
    }
    if let Some(no_verdict) = &headline.no_verdict {
        if !headline.more.contains(&no_verdict.cause) {
            ledes.push(Lede::plain(&no_verdict.cause));
        }
        if !no_verdict.fix.is_empty() {
            let text = no_verdict.fix.clone();
            ledes.push(Lede { lead: Some("What to do:"), text, link: None });
        }
    }
    if headline.no_verdict.is_none()
        && let Some(text) = layered(run).and_then(|layered| layered.sentence())
    {
        let link = Some(("layers", "Layer by layer.".to_owned()));
        ledes.push(Lede { lead: Some("What it waited for:"), text, link });
    }
    ledes.extend(advice(run));
    ledes.push(believe(&headline.believe));
    (headline.sentence, ledes)
}

/// The page of one run.
pub(crate) fn report(run: &Run, options: &Options) -> String {
    let (sentence, ledes) = said(run);
    let picture = first::strip_section(run);
    let page = Page {
        title: format!("{}: how its storage lags", facts::subject(run)),
        style: style(),
        axis: picture.style,
        banner: options.banner.as_deref(),
        meta: facts::meta(run),
        sentence,
        ledes,
        first: picture.body,
        sections: section::all(run, options),
        footer: vec![facts::footer(run)],
    };
    Markup::of(&page).into_string()
}

/// The first screen of the page as a piece of another page: sentences, and the picture as an image that
/// shares no style with what is around it.
#[derive(Template)]
#[template(path = "first_screen.html")]
struct FirstScreen {
    meta: Vec<String>,
    sentence: String,
    ledes: Vec<Lede>,
    /// The picture as an SVG in a data URI; empty without one.
    picture: String,
}

/// The first screen of the page of one run.
pub(crate) fn first_screen(run: &Run, picture: Option<&str>) -> String {
    let (sentence, ledes) = said(run);
    let picture = picture.map(data_uri).unwrap_or_default();
    let screen = FirstScreen { meta: facts::meta(run), sentence, ledes, picture };
    Markup::of(&screen).into_string()
}

/// An SVG as the address of an image.
fn data_uri(svg: &str) -> String {
    let mut uri = "data:image/svg+xml;charset=utf-8,".to_owned();
    for byte in svg.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'/'
            | b'='
            | b':'
            | b','
            | b';' => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The fix of the costliest cause, if a row lags.
fn advice(run: &Run) -> Option<Lede> {
    let verdicts = flashlag_views::strip(run);
    let rows = verdicts.groups.iter().flat_map(|group| &group.rows);
    let lags = |row: &&StripRow| row.judgement.verdict().is_some_and(|it| it > LagVerdict::Smooth);
    rows.clone().find(lags)?;
    let found = findings(run);
    let first = found.causes.first()?;
    let more = match found.causes.len() {
        1 => "How that was measured.".to_owned(),
        many => format!("All {many} causes, with what each costs."),
    };
    Some(Lede { lead: Some("What to do:"), text: first.advice(), link: Some(("findings", more)) })
}

/// `Yes, except the Idle row: 9 checks pass …`, the counts as a link to the checks.
fn believe(believe: &flashlag_views::Believe) -> Lede {
    let sentence = &believe.sentence;
    let (text, link) = match sentence.split_once(believe.counts.as_str()) {
        Some((before, after)) if !believe.counts.is_empty() && after.len() <= 1 => {
            (before.trim_end().to_owned(), Some(("trust", format!("{}{after}", believe.counts))))
        }
        _ => (sentence.clone(), None),
    };
    Lede { lead: Some("Can you believe it?"), text, link }
}
