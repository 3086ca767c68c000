//! Errors of system calls by their names, as strace prints them.

/// The names of Linux's error numbers, from 1 on (`include/uapi/asm-generic/errno.h`).
const NAMES: &str = "\
    EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
    ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG \
    ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY \
    ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR \
    EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR ENONET ENOPKG EREMOTE \
    ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD \
    EREMCHG ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK \
    EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP \
    EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET \
    ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT \
    ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL \
    EISNAM EREMOTEIO EDQUOT ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED \
    EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL EHWPOISON";

/// The number of an error; 0 if the name is not known.
pub(super) fn number(name: &str) -> u16 {
    let is_name = |known: &str| known == name || (known == "EAGAIN" && name == "EWOULDBLOCK");
    let at = NAMES.split_whitespace().position(is_name).filter(|_| name.starts_with('E'));
    at.and_then(|at| u16::try_from(at + 1).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_those_of_this_machines_headers() {
        for (name, of_libc) in [
            ("EPERM", libc::EPERM),
            ("ENOENT", libc::ENOENT),
            ("EINTR", libc::EINTR),
            ("EIO", libc::EIO),
            ("EAGAIN", libc::EAGAIN),
            ("EWOULDBLOCK", libc::EWOULDBLOCK),
            ("EBADF", libc::EBADF),
            ("EINVAL", libc::EINVAL),
            ("EFBIG", libc::EFBIG),
            ("ENOSPC", libc::ENOSPC),
            ("EROFS", libc::EROFS),
            ("EDEADLK", libc::EDEADLK),
            ("ENOSYS", libc::ENOSYS),
            ("EOPNOTSUPP", libc::EOPNOTSUPP),
            ("ETIMEDOUT", libc::ETIMEDOUT),
            ("EDQUOT", libc::EDQUOT),
            ("ECANCELED", libc::ECANCELED),
            ("EHWPOISON", libc::EHWPOISON),
        ] {
            assert_eq!(i32::from(number(name)), of_libc, "{name}");
        }
        assert_eq!((number("-"), number(""), number("ENEW")), (0, 0, 0));
    }
}
