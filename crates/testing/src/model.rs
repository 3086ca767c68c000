//! Models of devices for tests.

use flashlag_spec::profile::{Model, Profile};

/// The profile of a plain device, one die of SLC behind a page map, as TOML.
pub const PLAIN: &str = r#"
name = "plain"
about = "A plain device."
os = "none"
filesystem = "raw"
[nand]
cell = { value = "slc", source = "test" }
channels = { value = 1, source = "test" }
dies_per_channel = { value = 1, source = "test" }
planes = { value = 1, source = "test" }
page = { value = "4KiB", source = "test" }
pages_per_block = { value = 64, source = "test" }
read = { value = "50us", source = "test" }
program = { value = "600us", source = "test" }
erase = { value = "3ms", source = "test" }
bus_per_second = { value = "100MB", source = "test" }
[host]
link = { value = "test", source = "test" }
read_per_second = { value = "90MB", source = "test" }
write_per_second = { value = "90MB", source = "test" }
queue_depth = { value = 1, source = "test" }
read_command = { value = "100us", source = "test" }
write_command = { value = "100us", source = "test" }
[map]
kind = { value = "page", source = "test" }
capacity = { value = "64MiB", source = "test" }
spare = { value = "8MiB", source = "test" }
unit = { value = "4KiB", source = "test" }
program_unit = { value = "4KiB", source = "test" }
[gc]
policy = { value = "greedy", source = "test" }
hot_cold = { value = false, source = "test" }
"#;

/// The model of the [`PLAIN`] device with added or changed parameters (`("gc.policy",
/// "\"fifo\"")`): values as in TOML.
///
/// # Panics The result is no valid profile.
pub fn model(changes: &[(&str, &str)]) -> Model {
    let mut lines: Vec<String> = PLAIN.lines().map(str::to_owned).collect();
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
