//! One test, measured by fio.
