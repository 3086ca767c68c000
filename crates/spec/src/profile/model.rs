//! The flash itself: NAND, mapping, garbage collection, wear.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

use super::front::{BufferModel, HostModel, SlcModel, TrimModel};
use super::stack::StackModel;

/// A device model: everything that the simulation needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The memory.
    pub nand: NandModel,
    /// The path from the host to the device.
    pub host: HostModel,
    /// Logical to physical.
    pub map: MapModel,
    /// Zones (`zoned`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZonesModel>,
    /// Garbage collection.
    pub gc: GcModel,
    /// The write cache of single-level cells, if any.
    #[serde(default)]
    pub slc: Option<SlcModel>,
    /// The write buffer in RAM, if any.
    #[serde(default)]
    pub buffer: Option<BufferModel>,
    /// Discards.
    #[serde(default)]
    pub trim: TrimModel,
    /// Wear.
    #[serde(default)]
    pub wear: WearModel,
    /// What the software above costs.
    #[serde(default)]
    pub stack: StackModel,
}

/// Bits a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellKind {
    /// One.
    Slc,
    /// Two: the pages of a word line are programmed separately, a lower (fast) and an upper
    /// (slow) one.
    Mlc,
    /// Three, programmed in one shot.
    Tlc,
    /// Four, programmed in one shot.
    Qlc,
}

impl CellKind {
    /// Bits that a cell stores.
    pub const fn bits(self) -> u64 {
        match self {
            CellKind::Slc => 1,
            CellKind::Mlc => 2,
            CellKind::Tlc => 3,
            CellKind::Qlc => 4,
        }
    }
}

/// The memory: channels × dies × planes × blocks × pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NandModel {
    /// Bits a cell.
    pub cell: CellKind,
    /// Buses to the dies.
    pub channels: u32,
    /// Dies on each of them.
    pub dies_per_channel: u32,
    /// Planes of a die, which execute one command in parallel.
    pub planes: u32,
    /// A page of one plane.
    pub page: Text<Bytes>,
    /// Pages of a block of one plane.
    pub pages_per_block: u32,
    /// Reading a page into its register (tR).
    pub read: Text<Nanos>,
    /// Programming a page (tPROG): for MLC a lower page; for TLC and QLC all bits of a word line at
    /// once.
    pub program: Text<Nanos>,
    /// Programming an upper page of MLC; by default as `program`.
    #[serde(default)]
    pub program_upper: Option<Text<Nanos>>,
    /// Erasing a block (tBERS).
    pub erase: Text<Nanos>,
    /// Bytes a second over a channel.
    pub bus_per_second: Text<Bytes>,
    /// Time to suspend a program or erase operation for a read; absent: never suspended.
    #[serde(default)]
    pub suspend: Option<Text<Nanos>>,
    /// Share of factory bad blocks.
    #[serde(default)]
    pub bad_blocks: f64,
    /// Most suspensions of one program or erase operation, so that continuous reads do not starve
    /// writes; unlimited by default. Patents have such limits, no figure of a part is published: 1
    /// to 16, 4 is a fair assumption.
    #[serde(default)]
    pub suspend_most: Option<u32>,
    /// Time that a program or erase operation runs between two suspensions: 100 us in MQSim
    /// (TSU_OutofOrder.cpp).
    #[serde(default)]
    pub suspend_progress: Option<Text<Nanos>>,
    /// A program or erase operation with less time left is not suspended: 100 us in MQSim.
    #[serde(default)]
    pub suspend_least: Option<Text<Nanos>>,
    /// Time to suspend an erase, up to 700 us (MQSim); as `suspend` by default.
    #[serde(default)]
    pub suspend_erase: Option<Text<Nanos>>,
    /// Read times of the pages of a word line, in turn, as factors of `read`: 0.71, 0.97 and 1.32
    /// for TLC, 0.86 and 1.14 for MLC (FEMU, hw/femu/nand/nand.h). Equal by default.
    #[serde(default)]
    pub read_types: Vec<f64>,
    /// Spread of reads by page: the standard deviation of a log-normal factor of mean 1, so that p90
    /// is `e^(1.28 spread)` times the median. Layers of a 3D block differ (Luo et al., 2018,
    /// arXiv 1807.05140); 0.03 is assumed for them.
    #[serde(default)]
    pub read_spread: f64,
    /// Spread of programs by page, as `read_spread`; 0.05 is assumed.
    #[serde(default)]
    pub program_spread: f64,
    /// Spread of erases by block and cycle, as `read_spread`; 0.1 is assumed.
    #[serde(default)]
    pub erase_spread: f64,
}

/// How logical addresses find their pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MapKind {
    /// Any unit at any place; the whole map in RAM.
    Page,
    /// Any unit at any place; the map on flash, with parts loaded into `cache` on demand.
    CachedPage,
    /// One entry per block, with log blocks that all blocks share (FAST).
    Fast,
    /// One entry per zone, which the host writes in order and resets as a whole (`[zones]`): the
    /// host has the map.
    Zoned,
}

/// Zones of a device that leaves the map to the host (Zoned Storage for UFS, JESD220-5).
///
/// What a flush leaves of a program unit that is not full goes to blocks in SLC mode, which also
/// hold the conventional zones; `[slc]` has their times, and `slc.static` their spare area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ZonesModel {
    /// A zone: best one block of each plane of each die (JESD220-5 recommends a size close to what
    /// is erased at once). A filesystem needs whole segments of 2 MiB.
    pub size: Text<Bytes>,
    /// At least as much at the start of the device can be written in any order, for a filesystem's
    /// metadata. It is mapped by page.
    pub conventional: Text<Bytes>,
    /// Zones that can be open at once; a write to one more closes the one that was written to
    /// longest ago, unless the host has opened all explicitly. F2FS needs 6, one for each log.
    pub open: u32,
    /// Program/erase cycles that the blocks in SLC mode are rated for; unlimited if absent.
    #[serde(default)]
    pub endurance: Option<u32>,
}

/// The map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MapModel {
    /// How addresses find their pages.
    pub kind: MapKind,
    /// What the host sees.
    pub capacity: Text<Bytes>,
    /// Flash in addition to the user's capacity, for garbage collection; map and bad blocks not
    /// counted.
    pub spare: Text<Bytes>,
    /// Size of a mapping unit; smaller writes read the rest of the unit and write it again.
    pub unit: Text<Bytes>,
    /// The least that is programmed at once; less is padded.
    pub program_unit: Text<Bytes>,
    /// Size of the cache of map entries (`cached_page`), in bytes.
    #[serde(default)]
    pub cache: Option<Text<Bytes>>,
    /// Bytes of an entry.
    #[serde(default = "four")]
    pub entry: u32,
    /// Whether pages of the map on flash are in SLC mode, with the times of `[slc]`
    /// (`cached_page`). No source says so for a part; but a program operation of TLC or QLC takes
    /// all pages of a word line, and a page of the map is one. In ordinary cells by default.
    #[serde(default)]
    pub slc: bool,
    /// Addresses whose map entries the host holds and sends with its reads (HPB, `cached_page`):
    /// such reads need no entry in the device's cache. It takes 8 bytes of the host's memory for
    /// each 4 KiB, and was removed from Linux in 6.6 (ufshpb.h, ufshpb.c). None by default.
    #[serde(default)]
    pub hpb: Option<Text<Bytes>>,
    /// The longest read with an entry: 32 KiB in one command of HPB 2.0 (ufshpb.h,
    /// HPB_MULTI_CHUNK_LOW), 4 KiB in HPB 1.0; pages of all planes at most.
    #[serde(default = "longest_hpb")]
    pub hpb_most: Text<Bytes>,
    /// After this many reads of a page of the map, the host loads its entries, including those that
    /// writes have changed (ufshpb.c, ACTIVATION_THRESHOLD).
    #[serde(default = "eight")]
    pub hpb_reads: u32,
    /// Log blocks (`fast`).
    #[serde(default)]
    pub log_blocks: Option<u32>,
    /// Log blocks among them that each take the sequential writes of one allocation unit: as many
    /// such writers cost no more than one. Cards have 1 to 10 (flashbench, README).
    #[serde(default = "one")]
    pub sequential_logs: u32,
    /// Allocation units that can be written at once (SD cards); before another is opened, the
    /// oldest is closed, and the rest of its data is copied.
    #[serde(default)]
    pub open_units: Option<u32>,
    /// The size of such a unit.
    #[serde(default)]
    pub allocation_unit: Option<Text<Bytes>>,
    /// After this many write commands, the device stops to program the changed pages of the map:
    /// about 2000 on a Pixel 4 (fio's stops of 6 to 17 ms); never by default.
    #[serde(default)]
    pub journal: Option<u32>,
}

const fn one() -> u32 {
    1
}

const fn longest_hpb() -> Text<Bytes> {
    Text(Bytes::from_kib(32))
}

const fn eight() -> u32 {
    8
}

const fn four() -> u32 {
    4
}

/// Which block is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GcPolicy {
    /// The block with the fewest valid units.
    Greedy,
    /// The oldest.
    Fifo,
    /// Any.
    Random,
    /// The block with the fewest valid units among `choices` drawn at random.
    DChoices,
    /// The block with the best ratio of gain (free space and its age) to cost.
    CostBenefit,
}

/// When blocks are erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EraseTime {
    /// As soon as they hold nothing.
    #[default]
    Early,
    /// When blocks are opened, so that continuous writes stop for an erase at each: 10 ms for 48
    /// MiB on a Pixel 4.
    Late,
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GcModel {
    /// Which block is reclaimed.
    pub policy: GcPolicy,
    /// Blocks that `d_choices` draws.
    #[serde(default)]
    pub choices: Option<u32>,
    /// Collects while fewer blocks than this are free, and the host waits.
    #[serde(default = "two")]
    pub low_water: u32,
    /// The longest time that collection delays a program operation of the host while free blocks
    /// are left; then it continues before the next one. If absent, until enough blocks are free.
    #[serde(default)]
    pub slice: Option<Text<Nanos>>,
    /// After this idle time, it collects in the background; never if absent.
    #[serde(default)]
    pub idle_after: Option<Text<Nanos>>,
    /// Free blocks at which collection in the background ends.
    #[serde(default)]
    pub idle_until: Option<u32>,
    /// Whether `random` and `d_choices` draw again if all drawn blocks are completely valid: any
    /// firmware does; the formulas of queueing theory do not.
    #[serde(default = "yes")]
    pub skip_full: bool,
    /// Whether host writes and copies go to separate blocks.
    #[serde(default = "yes")]
    pub hot_cold: bool,
    /// When blocks are erased, of the main area and of the write cache.
    #[serde(default)]
    pub erase: EraseTime,
}

const fn two() -> u32 {
    2
}

const fn yes() -> bool {
    true
}

/// Wear: reads get slower with program/erase cycles, and then the device ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WearModel {
    /// Program/erase cycles that a block is rated for; unlimited if absent.
    #[serde(default)]
    pub endurance: Option<u32>,
    /// Read retries at the end of the rated cycles; they grow with the square of the cycles.
    #[serde(default)]
    pub retries: f64,
    /// Read retries of data that was written a year ago into a block of the rated cycles; they grow
    /// with the age of the data to the power of 0.54, by whole days, and with the cycles to the power
    /// of 0.14 (Kim et al., FAST 2019).
    #[serde(default)]
    pub retention: f64,
    /// Static wear levelling: the spread of erase counts at which cold data is moved.
    #[serde(default)]
    pub leveling: Option<u32>,
    /// Whether a read is retried a whole number of times, drawn each time around the mean
    /// (Poisson), instead of the mean itself: retries are whole reads (Ye et al., ASPLOS 2024).
    #[serde(default)]
    pub whole_retries: bool,
}
