//! A profile's text with parameters besides or instead.

use flashlag_schema::profile::{Model, Profile};

/// The model of `base` with these parameters (`gc.policy = "fifo"`), as TOML values, whether it has
/// them or not.
pub fn changed(base: &str, changes: &[(&str, &str)]) -> Model {
    let mut lines: Vec<String> = base.lines().map(str::to_owned).collect();
    for (key, value) in changes {
        let (section, name) = key.split_once('.').unwrap();
        let header = format!("[{section}]");
        let start = lines.iter().position(|line| *line == header).unwrap_or_else(|| {
            lines.push(header);
            lines.len() - 1
        });
        let body = lines[start + 1..].iter().take_while(|line| !line.starts_with('['));
        let before = body.into_iter().position(|line| line.starts_with(&format!("{name} =")));
        if let Some(before) = before {
            lines.remove(start + 1 + before);
        }
        lines.insert(start + 1, format!("{name} = {{ value = {value}, source = \"test\" }}"));
    }
    Profile::parse(&lines.join("\n")).unwrap().model().unwrap()
}
