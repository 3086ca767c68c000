//! Errors without an operating system: a simulation in a browser fails in the words of Linux.

/// An error number of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(i32);

impl Errno {
    pub const PERM: Errno = Errno(1);
    pub const NOENT: Errno = Errno(2);
    pub const IO: Errno = Errno(5);
    pub const NXIO: Errno = Errno(6);
    pub const AGAIN: Errno = Errno(11);
    pub const NOMEM: Errno = Errno(12);
    pub const ACCESS: Errno = Errno(13);
    pub const BUSY: Errno = Errno(16);
    pub const EXIST: Errno = Errno(17);
    pub const NODEV: Errno = Errno(19);
    pub const INVAL: Errno = Errno(22);
    pub const NFILE: Errno = Errno(23);
    pub const MFILE: Errno = Errno(24);
    pub const FBIG: Errno = Errno(27);
    pub const NOSPC: Errno = Errno(28);
    pub const ROFS: Errno = Errno(30);
    pub const STALE: Errno = Errno(116);
    pub const DQUOT: Errno = Errno(122);

    /// The number.
    pub const fn raw_os_error(self) -> i32 {
        self.0
    }
}

/// What Linux says of an error, for those that a modelled filesystem returns.
pub(crate) fn reason_of(errno: Errno) -> String {
    let words = match errno {
        Errno::NOENT => "No such file or directory",
        Errno::NXIO => "No such device or address",
        Errno::EXIST => "File exists",
        Errno::NOSPC => "No space left on device",
        Errno(number) => return format!("error {number}"),
    };
    words.to_owned()
}

/// A browser sets no limits that an advice could name.
pub(crate) fn limit_of(_: Resource) -> Option<u64> {
    None
}

/// The limits of a shell that an advice names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    Fsize,
    Nofile,
    As,
}
