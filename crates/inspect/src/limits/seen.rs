//! Collects limits from files that may be missing or odd.

use std::path::Path;

use flashlag_schema::{Limit, LimitCount, LimitKind};
use flashlag_spec::Reading;

use crate::reason::Reason;
use crate::root::Root;

/// Limits in one line, with the device's `major:minor`; `None` if the line is not understood.
pub(super) type Parse = fn(&Path, &str) -> Option<Vec<(String, LimitKind, u64)>>;

/// Limits and the counters of their groups, at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub counts: Vec<LimitCount>,
    pub unseen: Vec<String>,
}

impl Seen {
    pub(super) fn add(
        &mut self,
        file: &Path,
        kind: LimitKind,
        device: Option<String>,
        value: u64,
        amount: Result<u64, Reason>,
    ) {
        let file = file.to_string_lossy().into_owned();
        let limit = Limit { kind, file, device, value, used: None };
        let times = Reading::unavailable("the kernel does not count throttled requests");
        self.counts.push(LimitCount { limit, amount: amount.into(), times });
    }

    /// Parses the lines of a file that may not exist.
    pub(super) fn lines(
        &mut self,
        root: &Root,
        file: &Path,
        parse: Parse,
    ) -> Vec<(String, LimitKind, u64)> {
        let text = self.text(root, file).unwrap_or_default();
        let mut found = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match parse(file, line) {
                Some(limits) => found.extend(limits),
                None => self.odd(file),
            }
        }
        found
    }

    /// The text of a file. A missing file limits nothing; a file that can't be read is recorded.
    pub(super) fn text(&mut self, root: &Root, file: &Path) -> Option<String> {
        match root.text_if_there(file) {
            Ok(text) => text,
            Err(reason) => {
                self.unseen.push(reason.to_string());
                None
            }
        }
    }

    pub(super) fn odd(&mut self, file: &Path) {
        let reason = Reason::odd(file).to_string();
        if !self.unseen.contains(&reason) {
            self.unseen.push(reason);
        }
    }
}
