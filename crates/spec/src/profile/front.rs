//! What is in front of the flash: link, caches, discards.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

/// The way from the host to the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    /// Its name: `eMMC 4.5 HS200`.
    pub link: String,
    /// Bytes a second from the device over the link.
    pub read_per_second: Text<Bytes>,
    /// And to it.
    pub write_per_second: Text<Bytes>,
    /// Commands that the device takes at once: 1 for eMMC before 5.1.
    pub queue_depth: u32,
    /// The device's own time for a read command, besides flash and link.
    pub read_command: Text<Nanos>,
    /// For a write command.
    pub write_command: Text<Nanos>,
    /// For a flush.
    #[serde(default)]
    pub flush_command: Text<Nanos>,
    /// The largest command; larger requests are split.
    #[serde(default = "half_mib")]
    pub largest: Text<Bytes>,
    /// Writes that are queued and sent as one (packed commands); 1 for none.
    #[serde(default = "one")]
    pub packed: u32,
    /// After this long without a command, the device sleeps; never if absent.
    #[serde(default)]
    pub sleep_after: Option<Text<Nanos>>,
    /// What the first command then waits.
    #[serde(default)]
    pub wake: Text<Nanos>,
    /// The longest wait, if it varies: evenly between `wake` and this.
    #[serde(default)]
    pub wake_most: Option<Text<Nanos>>,
    /// Whether data moves both ways at once (UFS), or one way at a time (eMMC, SD).
    #[serde(default)]
    pub duplex: bool,
    /// Levels of sleep, instead of `sleep_after` and `wake`: link, clocks, power. After a rest,
    /// only the wake-up time of the deepest level reached counts. UFS of Qualcomm before Linux 5.4:
    /// 1 ms and 455 us, 50 ms and 12.7 ms, 3 s and 19.6 ms (ufs-qcom.h's delays; waits measured on
    /// a Pixel 4).
    #[serde(default)]
    pub rests: Vec<RestLevel>,
    /// Share of queued reads and writes that the device passes over once: each is served after all
    /// that were queued before it moved ahead, which gain that time. 0 to 0.05 (the Pixel 4's fio
    /// runs at depth 16: p99 is 1.94 times the median).
    #[serde(default)]
    pub passed_over: f64,
    /// Spread of the controller's own time for reads, writes and discards: the standard deviation
    /// of a log-normal factor of mean 1. 0.5 for a UFS controller: the p90 of 16 queued writes on a
    /// Pixel 4 is 1.4 times their median (fio outputs).
    #[serde(default)]
    pub command_spread: f64,
    /// Spread of `flush_command`, which grows with what is dirty in the controller, as
    /// `command_spread`.
    #[serde(default)]
    pub flush_spread: f64,
    /// Work of the controller's own that holds up a write command, and what follows it: map
    /// checkpoints, refresh, merges, wear levelling.
    #[serde(default)]
    pub housekeeping: Vec<HousekeepingModel>,
}

/// Work of the controller's own that comes back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "json-schema", schemars(extend("x-inline" = true)))]
#[serde(deny_unknown_fields)]
pub struct HousekeepingModel {
    /// It is due after this many write commands on average, evenly from half to one and a half
    /// times as many.
    #[serde(default)]
    pub writes: Option<u32>,
    /// Or after this many bytes that the host writes.
    #[serde(default)]
    pub bytes: Option<Text<Bytes>>,
    /// Whether only bytes count that find the write cache full.
    #[serde(default)]
    pub full: bool,
    /// How long it takes on average.
    pub mean: Text<Nanos>,
    /// The spread of that, as `command_spread`.
    #[serde(default)]
    pub spread: f64,
    /// Whether the device does it in the pauses between commands first. What is left after a 32nd
    /// of the interval more is done at once.
    #[serde(default)]
    pub pauses: bool,
}

/// A level of sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "json-schema", schemars(extend("x-inline" = true)))]
#[serde(deny_unknown_fields)]
pub struct RestLevel {
    /// The idle time after which the device is at this level.
    pub after: Text<Nanos>,
    /// Time that the next command waits until the device is awake.
    pub wake: Text<Nanos>,
}

const fn half_mib() -> Text<Bytes> {
    Text(Bytes::from_kib(512))
}

const fn one() -> u32 {
    1
}

/// What happens to writes while the write cache is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SlcFull {
    /// They go to the main area.
    #[default]
    Direct,
    /// They wait until the oldest data in the cache is folded, and take its room.
    Fold,
}

/// The room of a write cache of constant capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SlcSpace {
    /// In addition to the user's capacity (JESD220E: user space reduction).
    #[default]
    Apart,
    /// Part of the user's capacity (JESD220E: preserve user space): the cache shrinks when less
    /// space is free than it needs in ordinary cells, and folds the data that no longer fits.
    Shared,
}

/// A write cache of cells used with one bit each (WriteBooster).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SlcModel {
    /// Capacity that the cache always has.
    #[serde(rename = "static")]
    pub fixed: Text<Bytes>,
    /// Share of the free capacity that the cache borrows as well (each byte takes the room of three
    /// in TLC).
    #[serde(default)]
    pub dynamic: f64,
    /// Reading a page.
    pub read: Text<Nanos>,
    /// Programming a page.
    pub program: Text<Nanos>,
    /// Erasing a block.
    pub erase: Text<Nanos>,
    /// After this idle time, the cache is folded into the main area; if absent, only when full.
    #[serde(default)]
    pub fold_after: Option<Text<Nanos>>,
    /// Where writes go while the cache is full.
    #[serde(default)]
    pub full: SlcFull,
    /// The least that one program operation takes: a page of one plane, since programming several
    /// planes at once is the firmware's choice and a page of flash is programmed once (Micron and
    /// Samsung datasheets). Less is padded. Pages of all planes by default.
    #[serde(default)]
    pub program_page: Option<Text<Bytes>>,
    /// Pages of the map's journal that a flush programs after the data, one after another, if
    /// anything has changed since the last flush. A flush of a mobile device also writes the map
    /// (AOSP, crosshatch, commit e02e481); a range of 0 to 2 fits the Pixel 4's 0.7 to 2 ms.
    #[serde(default)]
    pub flush_pages: u32,
    /// Whether that journal goes into the padding of the data's last page, if there is room,
    /// without a separate program operation. Unknown for real parts.
    #[serde(default)]
    pub pack: bool,
    /// Whether idle folding programs only whole program units: nothing forces a firmware to pad one
    /// (a choice of this model). The remainder stays in the cache, unless half of the cache is in
    /// use.
    #[serde(default)]
    pub fold_whole: bool,
    /// Capacity of separate SLC blocks outside the cache: while the cache is full, they take writes
    /// that fill no program unit, and collect them to whole ones. A "small chunk SLC cursor"
    /// (Micron, US 12602170), 4 blocks of each die or more in a model of phones (ConZone, DATE
    /// 2025, ssd_config.h). Without them a program unit is padded.
    #[serde(default)]
    pub reserve: Option<Text<Bytes>>,
    /// The room of the constant capacity: in addition to the user's capacity, or part of it. A
    /// shared cache of C bytes has `min(C, F / b)` while F bytes are free, where a cell otherwise
    /// has b bits (JESD220E, bWriteBoosterBufferPreserveUserSpaceEn).
    #[serde(default)]
    pub space: SlcSpace,
    /// Idle time after which folding stops, because the host cuts the power: Linux suspends UFS
    /// after 2 s, Qualcomm's driver after 3 s (ufshcd.c, RPM_AUTOSUSPEND_DELAY_MS; ufs-qcom.h).
    /// Never by default.
    #[serde(default)]
    pub fold_until: Option<Text<Nanos>>,
    /// If a smaller share of the cache is available, folding continues after `fold_until` until
    /// this share is available: Linux leaves the power on below 0.1 of a separate cache and below
    /// 0.4 of a shared one, 0.8 on MediaTek (ufshcd_wb_need_flush, wb_flush_threshold).
    #[serde(default)]
    pub fold_below: f64,
    /// Program units that idle folding programs at once, on as many dies. No figure of a part is
    /// published; the 164 MB/s or more of a Pixel 4 need one.
    #[serde(default = "one")]
    pub fold_streams: u32,
}

/// A write buffer in RAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BufferModel {
    /// Its capacity.
    pub size: Text<Bytes>,
    /// Whether its contents are lost without power: then a flush empties it.
    pub volatile: bool,
    /// After this idle time, it is emptied; if absent, only for room or by a flush.
    #[serde(default)]
    pub drain_after: Option<Text<Nanos>>,
}

/// What a discard does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrimKind {
    /// Nothing: the device does not know the command.
    Ignored,
    /// Unmaps before it completes.
    #[default]
    Immediate,
    /// Completes at once and unmaps later; a flush waits for it.
    Queued,
}

/// Discards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrimModel {
    /// What a discard does.
    #[serde(default)]
    pub kind: TrimKind,
    /// What each range costs.
    #[serde(default)]
    pub per_range: Text<Nanos>,
    /// Time for each MiB in addition.
    #[serde(default)]
    pub per_mib: Text<Nanos>,
}
