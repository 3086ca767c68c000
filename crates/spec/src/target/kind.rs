use std::fmt;

/// The word before the colon of a phone.
pub const PHONE_KIND: &str = "adb";

/// The kinds of virtual device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `sim:`, a modelled filesystem on a modelled device, in virtual time.
    Sim,
    /// `lab:`, a real kernel on a virtual device.
    Lab,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 2] = [Kind::Sim, Kind::Lab];

    /// The kind that the word before the colon of a target names.
    pub fn named_by(text: &str) -> Option<Kind> {
        let (word, _) = text.split_once(':')?;
        Kind::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// The word before the colon.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sim => "sim",
            Kind::Lab => "lab",
        }
    }

    /// The other kind.
    pub(super) fn other(self) -> Kind {
        match self {
            Kind::Sim => Kind::Lab,
            Kind::Lab => Kind::Sim,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
