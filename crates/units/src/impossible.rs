//! Assertions for what can't happen, after SQLite's `ALWAYS()` and `NEVER()`.

/// Asserts that a condition holds: panics where debug assertions are on (tests, development builds),
/// and elsewhere returns the condition, so that the caller can fall back on something harmless.
///
/// For states that no input can lead to. What a user, a file or a device can cause is an error
/// instead, with what to try next; and an invariant whose check costs nothing is an `assert!`, which
/// is always on.
///
/// ```
/// # use flashlag_units::always;
/// let (first, last) = (3, 7);
/// let length = if always!(first <= last, "a range that ends before it begins") {
///     last - first
/// } else {
///     0
/// };
/// assert_eq!(length, 4);
/// ```
#[macro_export]
macro_rules! always {
    ($condition:expr, $($message:tt)+) => {{
        let holds: bool = $condition;
        ::core::debug_assert!(holds, $($message)+);
        holds
    }};
}

/// Asserts that a line is never reached: panics where debug assertions are on, and elsewhere does
/// nothing, so that the statement after it can fall back on something harmless. See [`always!`].
///
/// ```should_panic
/// # use flashlag_units::never;
/// fn ninth(values: &[u32; 9]) -> u32 {
///     values.get(9).copied().unwrap_or_else(|| {
///         never!("index {} of nine", 9);
///         0
///     })
/// }
/// # if !cfg!(debug_assertions) { panic!("only where debug assertions are on") }
/// ninth(&[0; 9]);
/// ```
#[macro_export]
macro_rules! never {
    ($($message:tt)+) => {
        ::core::debug_assert!(false, $($message)+)
    };
}
