//! The wear that an NVMe drive reports: its SMART log (NVM Express Base Specification 2.0, 5.16.1.3).
// The single system call here has no safe wrapper.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use flashlag_schema::DeviceLife;
use flashlag_units::Bytes;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

use crate::block::name;
use crate::reason::Reason;
use crate::root::Root;

/// Bytes of the log.
const LOG: usize = 512;
/// The log's number, of the whole drive, and its length in words less one.
const SMART: u32 = 0x02;
const WHOLE_DRIVE: u32 = u32::MAX;
/// The admin command "get log page".
const GET_LOG_PAGE: u8 = 0x02;
/// A data unit: a thousand blocks of 512 bytes.
const UNIT: u128 = 512_000;

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_length: u32,
    length: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const ADMIN: Opcode = opcode::read_write::<Command>(b'N', 0x41);

/// The wear that the drive reports. The command needs root.
pub(crate) fn life(root: &Root, disk: &Path) -> Result<DeviceLife, Reason> {
    if !root.is_live() {
        return Err("an NVMe drive reports its wear to a command alone, and to no file".into());
    }
    let device = Path::new("/dev").join(name(disk));
    let drive = File::open(&device).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Reason::from("an NVMe drive reports its wear to root: see `nvme smart-log`")
        }
        _ => Reason::call("cannot open", &device, error),
    })?;
    of_log(&smart_log(&drive).map_err(|error| Reason::call("SMART log of", &device, error))?)
}

fn smart_log(drive: &impl AsFd) -> rustix::io::Result<[u8; LOG]> {
    let mut log = [0_u8; LOG];
    let words = (LOG / 4 - 1) as u32;
    let mut command = Command {
        opcode: GET_LOG_PAGE,
        namespace: WHOLE_DRIVE,
        address: log.as_mut_ptr() as u64,
        length: LOG as u32,
        words_10_15: [SMART | words << 16, 0, 0, 0, 0, 0],
        ..Command::default()
    };
    // SAFETY: NVME_IOCTL_ADMIN_CMD reads and writes one `struct nvme_passthru_cmd`, which `Command` is, and writes at
    // most `length` bytes at `address`: the whole of `log`, which lives until the call returns, as the descriptor does.
    unsafe { ioctl(drive, Updater::<ADMIN, Command>::new(&mut command)) }?;
    Ok(log)
}

/// Reads the log: byte 0 are warnings, 3 the spare that is left in percent, 4 the least that is right, 5 the share of
/// life used in percent, 48 to 63 the data units that were written.
fn of_log(log: &[u8; LOG]) -> Result<DeviceLife, Reason> {
    if log.iter().all(|byte| *byte == 0) {
        return Err("the drive leaves its SMART log empty".into());
    }
    let mut units = [0_u8; 16];
    units.copy_from_slice(&log[48..64]);
    let written = u128::from_le_bytes(units).saturating_mul(UNIT);
    let is_short = log[3] < log[4] || log[0] & 1 != 0;
    let is_urgent = log[0] & 0b1000 != 0;
    let pre_eol = match (is_urgent, is_short) {
        (true, _) => "urgent",
        (false, true) => "warning",
        (false, false) => "normal",
    };
    Ok(DeviceLife {
        used_percent_at_most: log[5],
        pre_eol: Some(pre_eol.to_owned()),
        source: "NVMe SMART log".to_owned(),
        written_bytes: u64::try_from(written).ok().map(Bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log with these bytes, the rest zero but for a temperature.
    fn log(bytes: &[(usize, u8)]) -> [u8; LOG] {
        let mut log = [0; LOG];
        log[1..3].copy_from_slice(&310_u16.to_le_bytes());
        for (at, byte) in bytes {
            log[*at] = *byte;
        }
        log
    }

    #[test]
    fn life_spare_and_bytes_written_are_read_from_their_places() {
        // 0x0001_2345 units: 74,565 x 512,000 bytes.
        let life =
            of_log(&log(&[(3, 100), (4, 10), (5, 7), (48, 0x45), (49, 0x23), (50, 1)])).unwrap();
        assert_eq!((life.used_percent_at_most, life.pre_eol.as_deref()), (7, Some("normal")));
        assert_eq!(life.written_bytes, Some(Bytes(74_565 * 512_000)));
    }

    #[test]
    fn a_drive_without_spare_warns_and_one_that_is_read_only_is_at_its_end() {
        let pre_eol = |bytes: &[(usize, u8)]| of_log(&log(bytes)).unwrap().pre_eol.unwrap();
        assert_eq!(pre_eol(&[(3, 9), (4, 10)]), "warning");
        assert_eq!(pre_eol(&[(0, 1), (3, 50), (4, 10)]), "warning");
        assert_eq!(pre_eol(&[(0, 0b1001), (3, 50), (4, 10)]), "urgent");
        // Beyond its rated life a drive goes on counting, to 255.
        assert_eq!(of_log(&log(&[(5, 255)])).unwrap().used_percent_at_most, 255);
    }

    #[test]
    fn a_count_that_no_drive_can_reach_is_absent_and_an_empty_log_is_no_new_drive() {
        let most: Vec<(usize, u8)> = (48..64).map(|at| (at, 255)).collect();
        assert_eq!(of_log(&log(&most)).unwrap().written_bytes, None);
        assert!(of_log(&[0; LOG]).is_err());
    }

    #[test]
    fn the_command_has_the_size_that_the_kernel_expects() {
        assert_eq!(std::mem::size_of::<Command>(), 72);
        assert_eq!(ADMIN, 0xC048_4E41);
    }
}
