//! The gate of a repository of results: which files of a folder may not go in, and why.

use std::path::Path;

use flashlag_schema::Run;
use flashlag_units::Bytes;

use crate::entry::Entry;
use crate::read::bytes_of;
use crate::rows::short;
use crate::standing::Standing;

/// The largest file that is taken. A shared run of `quick` has 206 kB on a busy machine, and 49 kB when git has packed
/// it; a simulated one has 58 kB.
pub const MOST_TAKEN: Bytes = Bytes(256_000);

/// A file that may not go in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The file, relative to the folder.
    pub file: String,
    /// Why, each a sentence that goes on from the file's name.
    pub reasons: Vec<String>,
}

/// The files below a folder that may not go in. A file goes in if its run counts, is no copy, was
/// made by `flashlag share`, holds nothing that it would remove, and is small.
pub fn refusals(folder: &Path, entries: &[Entry]) -> Vec<Refusal> {
    let refused = entries
        .iter()
        .map(|entry| Refusal { file: entry.run.file.clone(), reasons: reasons(folder, entry) });
    refused.filter(|refusal| !refusal.reasons.is_empty()).collect()
}

fn reasons(folder: &Path, entry: &Entry) -> Vec<String> {
    let run = &entry.run;
    let why = run.reason.as_deref().unwrap_or("no reason is known");
    let mut reasons = Vec::new();
    match run.standing {
        Standing::Good => {}
        Standing::Copy => reasons.push(format!("is a copy: {why}")),
        Standing::Untrusted => reasons.push(format!("can't be believed: {why}")),
        Standing::Unverified => reasons.push(format!("does not verify: {why}")),
        Standing::Unreadable => reasons.push(format!("can't be read: {why}")),
    }
    let size = Bytes(run.file_bytes);
    if run.standing == Standing::Unreadable {
        return reasons;
    }
    if !run.shared {
        reasons.push(
            "is not what `flashlag share` writes, and may hold paths and names: share it, and give that \
             file"
                .to_owned(),
        );
    } else if size > MOST_TAKEN {
        let less = "`flashlag share` writes a run of `quick` in less";
        reasons.push(format!("has {size}, and at most {MOST_TAKEN} are taken: {less}"));
    } else {
        reasons.extend(private(&folder.join(&run.file)));
    }
    reasons
}

/// What a file that says that it was shared holds nevertheless.
fn private(path: &Path) -> Option<String> {
    let text = bytes_of(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(run) = text.and_then(|text| Run::from_json(&text).ok()) else {
        return Some("can't be read again by that name: rename it".to_owned());
    };
    let removed = match flashlag_share::shared(&run) {
        Ok(shared) => shared.removed,
        Err(error) => return Some(format!("can't be shared: {}", short(&error.to_string()))),
    };
    let fields: Vec<String> = removed.into_iter().map(|it| it.field).collect();
    let fields = short(&fields.join(", "));
    let known = "holds what `flashlag share` removes, in";
    (!fields.is_empty()).then(|| format!("{known} {fields}: share it again, and give that file"))
}
