//! The private values of a run, collected from the fields that hold them: any other text may repeat
//! them.

use serde_json::Value;

use crate::options::{is_common, is_device_name, is_plain_setting};

/// Fields that are a path, or name a place on the machine.
const PLACES: &[&str] = &[
    "/target/name",
    "/target/directory",
    "/environment/filesystem/mount_point",
    "/environment/filesystem/source",
    "/environment/device/name",
];

/// Shortest private value to search for in texts: a shorter one occurs within words.
const LEAST: usize = 4;
/// Shortest part of a path to search for on its own.
const LEAST_PART: usize = 6;

/// Folders whose entries are named after persons.
const HOMES: &[&str] = &["/home/", "/Users/", "/run/media/", "/media/"];

/// All private values in the run's fields, whole and in parts.
pub fn values(run: &Value) -> Vec<String> {
    let mut whole: Vec<&str> =
        PLACES.iter().filter_map(|place| run.pointer(place)?.as_str()).collect();
    let layers = run.pointer("/environment/layers").and_then(Value::as_array);
    for layer in layers.into_iter().flatten() {
        let text = |name: &str| layer.get(name).and_then(Value::as_str);
        whole.extend(text("name"));
        // The file of a loop device, or the folder of a bind mount.
        whole.extend(text("detail").map(without_kind).filter(|detail| detail.contains('/')));
    }
    let model = run.pointer("/environment/device/model").and_then(Value::as_str);
    whole.extend(model.map(without_kind).filter(|model| model.contains('/')));
    let settings = run.pointer("/scenario/settings").and_then(Value::as_object);
    let settings = settings.into_iter().flatten().filter_map(|(_, value)| value.as_str());
    whole.extend(settings.filter(|value| !is_plain_setting(value)));
    let command = run.get("command").and_then(Value::as_array);
    let command = command.into_iter().flatten().filter_map(Value::as_str);
    // The program's own path, and the value of an option: `--on=DIR`.
    let words = command.map(|word| word.split_once('=').map_or(word, |(_, value)| value));
    whole.extend(words.filter(|word| word.starts_with(['/', '~', '.']) && word.contains('/')));
    let traces =
        run.pointer("/scenario/text").and_then(Value::as_str).map(traces).unwrap_or_default();
    whole.extend(traces.iter().map(String::as_str));
    whole.retain(|value| !is_device_name(value) && !value.starts_with("sim:"));
    let mut all: Vec<String> = whole.iter().flat_map(|value| parts(value)).collect();
    all.extend(
        whole
            .iter()
            .filter(|value| value.len() >= LEAST && **value != "tmpfs")
            .map(|it| (*it).to_owned()),
    );
    all
}

/// The file in `file /x/y` or `loop, file /x/y`.
fn without_kind(text: &str) -> &str {
    text.find("file /").and_then(|at| text.get(at + "file ".len()..)).unwrap_or(text)
}

/// The parts of a path that reveal something on their own: names of folders, files (with and
/// without extension) and volumes, and names of persons.
fn parts(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(['/', ':']) {
        let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
        let said =
            [part, stem].into_iter().filter(|part| part.len() >= LEAST_PART && !is_common(part));
        parts.extend(said.map(str::to_owned));
    }
    for home in HOMES {
        let person = path.strip_prefix(home).and_then(|rest| rest.split('/').next());
        parts.extend(person.filter(|name| is_person(name)).map(str::to_owned));
    }
    parts
}

/// Whether a name may be a person's, and not a word that is common in texts.
fn is_person(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "user", "users", "admin", "test", "guest", "data", "disk", "card", "usb", "sd", "pi", "me",
        "shared", "public", "run", "file", "files", "flash", "storage", "device", "root",
    ];
    name.len() >= 2 && !is_common(name) && !WORDS.contains(&name.to_ascii_lowercase().as_str())
}

/// The files that a scenario's own text names.
fn traces(text: &str) -> Vec<String> {
    let Ok(scenario) = text.parse::<toml::Table>() else { return Vec::new() };
    let replays = scenario.get("replay").and_then(toml::Value::as_array);
    let settings = scenario.get("settings").and_then(toml::Value::as_table);
    let named = replays.into_iter().flatten().filter_map(|replay| replay.get("trace")?.as_str());
    let default = settings.and_then(|settings| settings.get("trace")?.as_str());
    let all = named.chain(default).filter(|trace| !trace.is_empty() && !trace.starts_with('$'));
    all.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_of_loop_devices_settings_traces_and_people_are_private() {
        let run = json!({
            "target": {"name": "/mnt/x"},
            "command": ["/opt/bin/flashlag", "run", "--on=/srv/acme data", "--set", "trace=a"],
            "environment": {
                "layers": [
                    {"name": "/mnt/x", "detail": "ext4"},
                    {"name": "loop0", "detail": "/home/ann/My Disks/tax archive.img"},
                    {"name": "vda", "detail": "loop, file /dev/shm/NAME/my image.img"},
                ],
                "device": {"model": "file /dev/shm/NAME/my image.img"},
            },
            "scenario": {
                "settings": {"trace": "private-app.strace", "span": "1GB", "durable": "fsync", "n": "3"},
                "text": "[[replay]]\ntrace = \"other trace.csv\"\n",
            },
        });
        let values = values(&run);
        for private in [
            "/home/ann/My Disks/tax archive.img",
            "tax archive.img",
            "tax archive",
            "My Disks",
            "ann",
            "/dev/shm/NAME/my image.img",
            "my image",
            "private-app.strace",
            "private-app",
            "/srv/acme data",
            "other trace.csv",
        ] {
            assert!(values.iter().any(|value| value == private), "{private}: {values:?}");
        }
        for plain in ["1GB", "fsync", "3", "ext4", "loop0", "home"] {
            assert!(!values.iter().any(|value| value == plain), "{plain}: {values:?}");
        }
    }
}
