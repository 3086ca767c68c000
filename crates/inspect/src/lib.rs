//! What this machine runs on: mounts, queues, eMMC, UFS, NVMe, thermal, CPU pressure.
#![forbid(unsafe_code)]
