//! Purposes of the files that are laid out before a test.

use flashlag_units::Bytes;

/// The purpose of a file that is laid out before a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The file under test.
    Test,
    /// The file of the parallel reader or writer.
    Background,
    /// A file under test that grew page by page, alternating with a second one.
    Grown,
}

impl Role {
    /// All roles, in the order of their discriminants.
    pub const ALL: [Role; 3] = [Role::Test, Role::Background, Role::Grown];

    /// The name of its files, and of their directory.
    pub fn name(self) -> &'static str {
        match self {
            Role::Test => "test",
            Role::Background => "background",
            Role::Grown => "grown",
        }
    }

    /// Bytes written to lay out a span: a file that grows has a second one beside it.
    pub fn to_write(self, span: Bytes) -> Bytes {
        match self {
            Role::Test | Role::Background => span,
            Role::Grown => span.plus(span),
        }
    }
}

/// The name of the file that grows alternating with the one under test.
pub const GROWN_BESIDE: &str = "grown-beside";
