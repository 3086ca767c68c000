/// The capabilities of a terminal: width, colour and Unicode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns. Nothing is laid out narrower than [`Style::NARROWEST`].
    pub width: usize,
    /// ANSI colours. Nothing is expressed by colour alone.
    pub color: bool,
    /// Characters other than ASCII.
    pub unicode: bool,
}

impl Style {
    /// The minimum width of the layout.
    pub const NARROWEST: usize = 40;

    /// For files and tests: 80 columns, Unicode, no colour.
    pub const PLAIN: Style = Style { width: 80, color: false, unicode: true };

    /// The same with another width.
    pub fn with_width(self, width: usize) -> Style {
        Style { width, ..self }
    }

    /// The width of the layout in columns.
    pub(crate) fn columns(self) -> usize {
        self.width.max(Style::NARROWEST)
    }
}

/// The role of a piece of text, which sets its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// Ordinary text.
    #[default]
    Ink,
    /// Emphasized text.
    Strong,
    /// Secondary text.
    Muted,
    /// Latency within one frame.
    InTime,
    /// Latency beyond one frame; a failed check.
    Late,
    /// A passed check.
    Pass,
    /// An unknown check.
    Unknown,
}

impl Role {
    /// The SGR parameters. Middle tones of the 256-colour cube that keep 3:1 against both a white
    /// and a black background, since the terminal's theme can't be known; blue and rust stay
    /// apart in every kind of colour blindness.
    pub(crate) fn sgr(self) -> Option<&'static str> {
        match self {
            Role::Ink => None,
            Role::Strong => Some("1"),
            Role::Muted => Some("38;5;244"),
            Role::InTime => Some("38;5;33"),
            Role::Late => Some("38;5;166"),
            Role::Pass => Some("38;5;29"),
            Role::Unknown => Some("38;5;136"),
        }
    }
}
