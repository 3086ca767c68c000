//! JSON for people.

use serde::Serialize;

/// A value as JSON with line breaks. Its plain text is written again: so the program has the code that writes each
/// type once.
pub fn to_json_pretty(value: &impl Serialize) -> serde_json::Result<String> {
    with_line_breaks(&serde_json::to_string(value)?)
}

fn with_line_breaks(text: &str) -> serde_json::Result<String> {
    let mut pretty = Vec::new();
    let mut read = serde_json::Deserializer::from_str(text);
    serde_transcode::transcode(&mut read, &mut serde_json::Serializer::pretty(&mut pretty))?;
    String::from_utf8(pretty).map_err(serde::ser::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::to_json_pretty;

    #[derive(Serialize)]
    struct Odd<'a> {
        floats: Vec<f64>,
        small: f32,
        integers: (i64, u64, i8),
        texts: [&'a str; 3],
        empty: (Vec<u8>, std::collections::BTreeMap<String, u8>, Option<u8>, ()),
        last_before_first: bool,
        b: Option<bool>,
        a: char,
    }

    #[test]
    #[allow(clippy::unwrap_used)]
    fn it_has_the_bytes_that_the_value_would_have_at_once() {
        let odd = Odd {
            floats: vec![
                0.1,
                -0.0,
                1.0,
                1e16,
                1e-7,
                5e-324,
                f64::MAX,
                f64::NAN,
                123_456_789.012_345_67,
            ],
            small: 0.3,
            integers: (i64::MIN, u64::MAX, -1),
            texts: ["\"\\/\n\t\u{0}\u{7f}", "µ🦀", ""],
            empty: Default::default(),
            last_before_first: true,
            b: None,
            a: 'é',
        };
        assert_eq!(to_json_pretty(&odd).unwrap(), serde_json::to_string_pretty(&odd).unwrap());
    }
}
