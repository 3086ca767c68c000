//! Errors of the operating system.

pub use rustix::io::Errno;
pub(crate) use rustix::process::Resource;

/// What the operating system says of an error.
pub(crate) fn reason_of(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The limit that the shell has set.
pub(crate) fn limit_of(resource: Resource) -> Option<u64> {
    rustix::process::getrlimit(resource).current
}
