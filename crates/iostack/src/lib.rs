//! Models of what sits above the flash: filesystems, FUSE, encryption, page cache. Virtual time.
#![forbid(unsafe_code)]
