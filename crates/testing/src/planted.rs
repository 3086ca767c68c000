//! Puts a private value into every place of a run that can hold text.

use flashlag_schema::Run;
use flashlag_spec::Reading;
use serde_json::Value;

/// Parts of the private values: if one is left in an output, a value was not removed completely.
pub const PRIVATE_WORDS: [&str; 6] = ["zoe", "Disks", "archive", "my image", "NAME", "private-app"];

/// The private values, each in a form in which texts contain them.
const PLANTS: [fn(&str) -> String; 5] = [
    |_| "/home/zoe/My Disks/tax archive.img".to_owned(),
    |text| format!("{text}: /home/zoe/My Disks/tax archive.img is full"),
    |_| "file /dev/shm/NAME/my image.img".to_owned(),
    |text| format!("{text} (/dev/shm/NAME/my image.img)"),
    |text| format!("{text} tax archive.img, private-app.strace"),
];

/// The run once for each `step`th of its texts, each time with a private value in that text, and
/// with the number of the text. Words from a list are not replaced, since with another text the
/// file is no run.
pub fn planted(run: &Run, step: usize) -> Vec<(usize, Run)> {
    let mut run = run.clone();
    run.environment.filesystem.source =
        Reading::Value("/home/zoe/My Disks/tax archive.img".to_owned());
    run.scenario.settings.insert("trace".to_owned(), "private-app.strace".to_owned());
    let value = serde_json::to_value(&run).unwrap();
    let mut made = Vec::new();
    for plant in PLANTS {
        for at in (0..).step_by(step) {
            let mut changed = value.clone();
            if !put(&mut changed, "", &mut at.clone(), &plant) {
                break;
            }
            made.extend(Run::from_json(&changed.to_string()).ok().map(|run| (at, run)));
        }
    }
    made
}

/// Fields whose texts are the program's own words or hashes, so that they can't contain private
/// text.
fn is_of_program(field: &str) -> bool {
    ["schema", "integrity.", "shared.", "scenario.hash", "target.profile."]
        .iter()
        .any(|start| field.starts_with(start))
}

/// Replaces the text field of this number by the result of `plant`; false if there are fewer
/// fields.
fn put(value: &mut Value, field: &str, left: &mut usize, plant: &dyn Fn(&str) -> String) -> bool {
    match value {
        Value::Object(members) => members.iter_mut().any(|(name, member)| {
            let below = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            put(member, &below, left, plant)
        }),
        Value::Array(items) => {
            items.iter_mut().any(|item| put(item, &format!("{field}[]"), left, plant))
        }
        Value::String(text) if !is_of_program(field) => {
            if *left > 0 {
                *left -= 1;
                return false;
            }
            *text = plant(text);
            true
        }
        _ => false,
    }
}
