//! The frame of every page: header, banner, navigation, footer.

use askama::Template;
use flashlag_report::parts::{Markup, finished, style};
use flashlag_store::TableFormat;
use sha2::{Digest, Sha256};

use crate::Options;
use crate::model::Site;

/// The forms of the tables for download.
pub(crate) const DOWNLOADS: [(&str, &str, TableFormat); 3] = [
    ("csv", "CSV", TableFormat::Csv),
    ("json", "JSON", TableFormat::Json),
    ("parquet", "Parquet", TableFormat::Parquet),
];

#[derive(Template)]
#[template(path = "site.css", escape = "none")]
struct Sheet;

/// The style sheet of all pages.
pub(crate) fn sheet() -> String {
    style().into_string() + &Markup::of(&Sheet).into_string()
}

/// A page without its frame.
pub(crate) struct Page {
    pub(crate) title: String,
    /// The path from the page to the root of the site: empty, or `../`.
    pub(crate) root: &'static str,
    /// Properties of the page's own drawings.
    pub(crate) style: Markup,
    pub(crate) body: Markup,
    /// The page's script and the data that it works on.
    pub(crate) script: Option<(&'static str, Markup)>,
}

#[derive(Template)]
#[template(path = "frame.html")]
struct Frame<'a> {
    title: String,
    site: &'a str,
    root: &'static str,
    policy: String,
    style: Markup,
    banner: Option<&'static str>,
    apart: String,
    links: Vec<(&'static str, &'static str)>,
    body: Markup,
    script: Option<(Markup, Markup)>,
}

const SIMULATED: &str =
    "Simulated: no device was measured. Every run here was made by a model of a device.";

impl Page {
    /// The page as a file.
    pub(crate) fn html(self, site: &Site<'_>, options: &Options) -> String {
        let policy = match &self.script {
            Some((script, _)) => {
                format!(" script-src 'sha256-{}';", base64(&Sha256::digest(script)))
            }
            None => String::new(),
        };
        let script = self.script.map(|(script, data)| (Markup::drawn(script.to_owned()), data));
        let links = DOWNLOADS.into_iter().filter(|(.., format)| format.is_built());
        let links = links.map(|(ending, name, _)| (name, ending));
        let apart = site.apart.len();
        finished(
            &Markup::of(&Frame {
                title: self.title,
                site: options.title.as_deref().unwrap_or("flashlag"),
                root: self.root,
                policy,
                style: self.style,
                banner: (site.is_simulated() == Some(true)).then_some(SIMULATED),
                apart: apart.to_string(),
                links: links.collect(),
                body: self.body,
                script,
            })
            .into_string(),
        )
    }
}

/// JSON within a page, escaped so that it can neither close nor open an element.
pub(crate) fn embedded(json: &serde_json::Value) -> Markup {
    let text = json.to_string();
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            other => safe.push(other),
        }
    }
    Markup::drawn(safe)
}

/// Base64, as a content security policy encodes hashes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > three.len() { '=' } else { letter.into() });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn json_within_a_page_has_no_tags_and_means_the_same() {
        let hostile = serde_json::json!(["</script><script>alert(1)</script>&<!--", "\u{2028}"]);
        let text = embedded(&hostile).into_string();
        assert!(!text.contains(['<', '>', '&']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), hostile);
    }
}
