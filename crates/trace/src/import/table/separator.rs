//! What separates the cells of a row.

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Semicolon,
    Tab,
    Spaces,
}

impl Separator {
    pub(super) const ALL: [Separator; 4] =
        [Separator::Comma, Separator::Semicolon, Separator::Tab, Separator::Spaces];

    /// Its name, for a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Separator::Comma => "between commas",
            Separator::Semicolon => "between semicolons",
            Separator::Tab => "between tabs",
            Separator::Spaces => "between spaces",
        }
    }

    /// The cells of a row, trimmed.
    pub(super) fn cells(self, line: &str) -> Vec<&str> {
        match self {
            Separator::Spaces => line.split_whitespace().map(unquoted).collect(),
            other => line.split(other.text()).map(unquoted).collect(),
        }
    }

    /// The separator as text, to join cells that belong together.
    pub(super) fn text(self) -> &'static str {
        match self {
            Separator::Comma => ",",
            Separator::Semicolon => ";",
            Separator::Tab => "\t",
            Separator::Spaces => " ",
        }
    }
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(cell)
}
