/// The direction in which a phase moved its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From storage.
    Read,
    /// To storage.
    Write,
}
