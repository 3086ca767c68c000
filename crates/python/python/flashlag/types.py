"""What a run, a comparison and an explanation hold, as types.

`run.data` is a `Run`, `comparison.data` a `ComparisonRecord`, `explained.data` an `Explained`, with the names
that docs/results-format.md describes. A type checker knows every key by them; at run time they are plain
dictionaries.

scripts/python_types.py makes this file; what is changed by hand is lost.
"""

from __future__ import annotations

from typing import Dict, List, Literal, NotRequired, TypeAlias, TypedDict

Bytes: TypeAlias = int
"""
A number of bytes, or an offset in bytes.
"""


class Calls(TypedDict):
    """
    How often something was done since the mount.
    """

    background: int
    """
    By the filesystem's own thread.
    """
    foreground: int
    """
    While a call waited.
    """


CardHolds: TypeAlias = Literal[
    'zeros', 'ones', 'other_address', 'old', 'flipped', 'foreign', 'unreadable'
]
"""
What an address held instead of what was written.
"""


class CardLost(TypedDict):
    """
    Bytes that did not hold what was written, by what they held.
    """

    blank: Bytes
    """
    Zeros, or ones (0xff).
    """
    flipped: Bytes
    """
    What was written, with flipped bits.
    """
    foreign: Bytes
    """
    Something else.
    """
    old: Bytes
    """
    The data of an earlier run or an earlier write.
    """
    other_address: Bytes
    """
    The data of another address.
    """
    unreadable: Bytes
    """
    Nothing: the read failed.
    """


CardReach = TypedDict(
    'CardReach',
    {
        'from': Bytes,
        'to': Bytes,
    },
)


class CardRewritten(TypedDict):
    """
    Places that had held what was written, and were then written once more.
    """

    lost: int
    """
    Places that held neither, or could not be read.
    """
    old: int
    """
    Places that still held the first.
    """
    places: int
    """
    Places that took the second write.
    """


CardStretch = TypedDict(
    'CardStretch',
    {
        'bits': NotRequired[int],
        'from': NotRequired[Bytes],
        'holds': CardHolds,
        'length': Bytes,
        'offset': Bytes,
    },
)


CauseBasis: TypeAlias = Literal['measured', 'modelled', 'reported', 'inferred']
"""
How the cause of a stall is known.
"""


CauseId: TypeAlias = Literal[
    'rollback_journal',
    'growing_files',
    'full_storage',
    'deleted_not_trimmed',
    'full_not_trimmed',
    'other_writer',
    'cpu_wait',
    'flush_per_write',
    'several_databases',
    'small_transactions',
    'commit_per_change',
    'whole_file_again',
]
"""
The causes that a run can prove.
"""


ChangeKind: TypeAlias = Literal[
    'cache_exhausted',
    'throttled',
    'periodic_stalls',
    'slower',
    'faster',
    'steady_state',
    'not_steady',
]
"""
The kinds of change.
"""


CheckCause: TypeAlias = Literal[
    'cpu_most', 'cpu_added', 'io_limit', 'cpu_quota', 'memory_limit'
]
"""
Why a check failed, of those that can fail for several reasons.
"""


CheckId: TypeAlias = Literal[
    'clock',
    'accounting',
    'engine_overhead',
    'cache_bypass',
    'flush_is_real',
    'payload_incompressible',
    'machine_limits',
    'cpu_contention',
    'never_stopped',
    'foreign_io',
    'thermal_throttling',
    'free_space',
    'steady_state',
    'enough_samples',
    'data_verified',
]
"""
The checks there are.
"""


CheckStatus: TypeAlias = Literal['fail', 'unknown', 'pass']
"""
The outcome of a check. Missing evidence never passes: it is unknown.
"""


class ComparedField(TypedDict):
    """
    A field of the environment that differs between the sides.
    """

    field: str
    """
    `Filesystem`.
    """
    values: List[str]
    """
    One for each side.
    """


ComparedFigure: TypeAlias = Literal['p50', 'p99', 'rate']
"""
The figures that are compared by ratios.
"""


class ComparedOverload(TypedDict):
    """
    A schedule that could not be kept.
    """

    done_per_sec: float
    """
    Operations done a second, mean of the overloaded runs.
    """
    due_per_sec: float
    """
    Operations that the schedule asks for a second.
    """
    runs: int
    """
    Number of overloaded runs.
    """


class ComparedRatio(TypedDict):
    """
    How many times one side's figure is another's.
    """

    against: int
    """
    Index of the side in the denominator.
    """
    between_runs: bool
    """
    Whether the interval includes the differences between runs, on both sides.
    """
    differs: bool
    """
    Whether a difference is shown: 1 is outside the interval, and the difference is larger than what a
    histogram resolves.
    """
    figure: ComparedFigure
    """
    Which figure.
    """
    interval: List[float] | None
    """
    The ends of its 95 % interval; null if the tests were too short for one.
    """
    of: int
    """
    Index of the side in the numerator.
    """
    ratio: float
    """
    The ratio.
    """


class ComparedSubject(TypedDict):
    """
    One side: a device, or a group of runs.
    """

    about: str
    """
    `32 GB eMMC, f2fs`; may be empty.
    """
    name: str
    """
    A short name, which no other side has.
    """
    runs: List[int]
    """
    Indices of its runs, in the order given, from 0.
    """


class ConditionLimits(TypedDict):
    """
    Limits that a run keeps on a device with a battery.
    """

    battery_percent: NotRequired[int]
    """
    The run ends below this charge, unless the battery is being charged.
    """
    cool_to_millicelsius: NotRequired[int]
    """
    Each test waits until the battery is not warmer than this.
    """
    hottest_millicelsius: NotRequired[int]
    """
    The run ends above this temperature of the battery, in thousandths of a degree Celsius.
    """


Counted: TypeAlias = Literal['saves', 'writes', 'reads']
"""
What is counted.
"""


class DatabasePieces(TypedDict):
    """
    A database, and the number of its pieces on the storage.
    """

    bytes: Bytes
    """
    Its size.
    """
    name: NotRequired[str]
    """
    Its file name; absent in run files, since those are passed on.
    """
    pieces: int
    """
    Pieces, as the filesystem counts them.
    """


class Databases(TypedDict):
    """
    The SQLite databases found by a bounded search below a directory.
    """

    complete: bool
    """
    Whether these were all.
    """
    databases: int
    """
    Databases of 256 KiB or more.
    """
    searched: int
    """
    Number of directory entries examined.
    """
    worst: NotRequired[DatabasePieces]
    """
    The one in most pieces.
    """


class DeviceLife(TypedDict):
    """
    The wear that the device reports.
    """

    pre_eol: NotRequired[str]
    """
    `normal`, `warning` or `urgent`, if reported.
    """
    source: str
    """
    Where this was read.
    """
    used_percent_at_most: int
    """
    Share of rated life used, in percent, as an upper bound (eMMC and UFS report it in tenths).
    """
    written_bytes: NotRequired[Bytes]
    """
    Bytes that hosts have written since it was made, where it counts them (NVMe).
    """


class Downgrade(TypedDict):
    """
    A request that could not be fulfilled exactly.
    """

    effective: str
    """
    What was done instead: `buffered`.
    """
    reason: str
    """
    Why.
    """
    requested: str
    """
    What was asked for: `O_DIRECT`.
    """


Durability: TypeAlias = Literal['none', 'fdatasync', 'fsync', 'dsync', 'rwf_dsync']
"""
How a write is made durable.
"""


class Encryption(TypedDict):
    """
    Encryption of the stored data.
    """

    cipher: NotRequired[str]
    """
    Cipher, if reported.
    """
    kind: str
    """
    `none seen`, `dm-crypt`, `fscrypt`, …
    """


EngineKind: TypeAlias = Literal['auto', 'psync', 'io_uring', 'sqlite', 'fio', 'null']
"""
The program or system calls that do the I/O.
"""


class Estimate(TypedDict):
    """
    A number with its 95 % confidence interval.
    """

    interval: NotRequired[List[float]]
    """
    Both ends; absent if the sample is too small.
    """
    value: float
    """
    The estimate.
    """


Ext4Journal: TypeAlias = Literal['none', 'writeback', 'ordered', 'journal']
"""
What ext4's journal holds.
"""


class Fact(TypedDict):
    """
    A field and its value.
    """

    field: str
    """
    Path of the field in the run file: `environment.filesystem.options`, `phases[2].changes`.
    """
    value: str
    """
    The relevant part of its value, as text: data, never markup.
    """


FindingAction: TypeAlias = Literal[
    'use_wal',
    'grow_in_steps',
    'keep_journal_file',
    'keep_space_free',
    'trim',
    'delete_and_trim',
    'defer_bulk_writes',
    'free_cpu',
    'raise_io_limit',
    'raise_cpu_quota',
    'raise_memory_limit',
    'group_flushes',
    'save_together',
    'save_behind',
    'keep_apart',
    'one_database',
    'rewrite_database',
    'relieve_memory',
    'let_it_cool',
    'avoid_fuse',
    'faster_cipher',
    'use_volume',
    'measure_below',
    'compare_here_only',
    'name_another',
    'change_filesystem',
    'mount_writable',
    'flush_again',
    'find_lost_flushes',
    'unmount',
    'kernel_driver',
    'add_journal',
    'check_filesystem',
    'no_fast_commit',
    'journal_metadata_only',
    'mount_async',
    'relax_access_times',
    'free_segments',
    'trim_in_batches',
    'make_room',
    'make_room_in_quota',
    'no_scheduler',
    'switch_cache_on',
    'let_buffer_empty',
    'write_in_portions',
    'keep_awake',
    'replace_device',
    'take_app_card',
]
"""
What would remove a cause.
"""


FindingId: TypeAlias = Literal[
    'rollback_journal',
    'several_databases',
    'small_transactions',
    'commit_per_change',
    'commit_on_main_thread',
    'whole_file_again',
    'growing_files',
    'flush_per_write',
    'other_writer',
    'fragmented_database',
    'cpu_wait',
    'io_limit',
    'cpu_quota',
    'memory_limit',
    'swapping',
    'throttled',
    'fuse_on_path',
    'fuse_driver',
    'software_encryption',
    'overlay',
    'loop_device',
    'virtual_disk',
    'not_on_flash',
    'other_filesystem',
    'read_only',
    'no_barrier',
    'sync_is_no_op',
    'lost_if_unplugged',
    'no_journal',
    'filesystem_errors',
    'fast_commit',
    'data_journal',
    'sync_mount',
    'access_times',
    'few_free_segments',
    'discard_on_delete',
    'never_trimmed',
    'deleted_not_trimmed',
    'full_not_trimmed',
    'nearly_full',
    'storage_quota',
    'full_storage',
    'small_spare',
    'scheduler',
    'device_cache_off',
    'write_booster_off',
    'write_cache_exhausted',
    'idle_wake_up',
    'collection_period',
    'worn_flash',
    'no_app_class',
    'below_class',
]
"""
What can be found.
"""


FindingRisk: TypeAlias = Literal[
    'log_grows',
    'space_allocated',
    'space_kept',
    'busy_while_trimming',
    'other_work_waits',
    'less_memory_for_others',
    'more_lost_at_once',
    'stored_later',
    'not_shared',
    'reformat',
    'each_flush_waits',
    'commits_cost',
    'whole_commits',
    'order_lost',
    'unsynced_lost',
    'no_read_times',
    'deleted_stays',
    'no_priorities',
    'takes_power',
    'copied_once',
    'data_moved',
]
"""
The price of an action.
"""


class Integrity(TypedDict):
    """
    A checksum against accidents; it is no signature.
    """

    sha256: str
    """
    SHA-256 over the compact JSON of the run with this field empty.
    """


class KindCount(TypedDict):
    """
    One kind of [`BlockKinds`].
    """

    bytes: Bytes
    """
    Bytes.
    """
    writes: int
    """
    Requests.
    """


class Lag(TypedDict):
    """
    How many saves were longer than a person's patience, to compare devices. An app's animations do
    not run on the thread that saves, so these are not dropped frames.
    """

    over_100ms: int
    """
    Longer than 100 ms.
    """
    over_120hz: int
    """
    Longer than 8.33 ms.
    """
    over_5s: int
    """
    Longer than 5 s, an ANR.
    """
    over_60hz: int
    """
    Longer than 16.67 ms.
    """
    over_700ms: int
    """
    Longer than 700 ms, a frozen frame.
    """
    over_90hz: int
    """
    Longer than 11.11 ms.
    """
    saves: int
    """
    Saves in all.
    """


LayerKind: TypeAlias = Literal[
    'bind',
    'fuse',
    'stacked',
    'file_encryption',
    'filesystem',
    'memory',
    'remote',
    'block_encryption',
    'volume',
    'raid',
    'mapped',
    'loop',
    'partition',
    'disk',
]
"""
The kinds of layer.
"""


LimitKind: TypeAlias = Literal[
    'read_bytes',
    'write_bytes',
    'read_ops',
    'write_ops',
    'latency',
    'cost',
    'cpu',
    'memory_high',
    'memory_max',
]
"""
What a control group limits.
"""


class Mixed(TypedDict):
    """
    The mixed test of which a phase is one half.
    """

    read_percent: int
    """
    The share of reads among the test's operations, in percent, on average.
    """


Nanos: TypeAlias = int
"""
A length of time, or a point on a clock that starts at an arbitrary zero: whole nanoseconds in
a `u64` (584 years).
"""


Operation: TypeAlias = Literal[
    'sequential_read',
    'sequential_write',
    'random_read',
    'random_write',
    'save',
    'replay_read',
    'replay_write',
    'replay_sync',
    'replay_names',
    'replay_discard',
]
"""
The kind of operations of a phase.
"""


class Options(TypedDict):
    """
    What was decided for a run.
    """

    budget_bytes: NotRequired[Bytes]
    """
    The most bytes that may be written, if a limit was given.
    """
    engine: str
    """
    `flashlag`; in runs of early versions also the fio that did the I/O, `fio 3.33`.
    """
    leave_bytes: Bytes
    """
    What a fill spares.
    """
    leave_reason: str
    """
    Why this much.
    """
    limits: NotRequired[ConditionLimits]
    """
    Limits of charge and heat, if any were set.
    """
    verify: bool
    """
    Whether every byte was read back.
    """


class OtherIo(TypedDict):
    """
    Bytes that users of the system, other than the run's own user, have read and written. On Android
    each app is a user, and some users are system services: its storage daemon counts them. Bytes
    count when a file's page becomes dirty, which may be before they are written to storage; the
    kernel's own I/O is not included.
    """

    read_bytes: Bytes
    """
    Bytes fetched from storage.
    """
    write_bytes: Bytes
    """
    Bytes to be sent to storage.
    """


PortableFormat: TypeAlias = Literal['fat', 'exfat', 'ntfs']
"""
A format that other systems read too. The drivers that Linux has for it write no journal.
"""


Power: TypeAlias = Literal['battery', 'charger', 'usb', 'wireless', 'dock']
"""
What a device with a battery is powered by.
"""


class PressureStall(TypedDict):
    """
    One line of pressure-stall information.
    """

    avg10_hundredths: int
    """
    `some avg10`, in hundredths of a percent.
    """
    total_ns: Nanos
    """
    `some total`.
    """


ProfileOf: TypeAlias = Literal['simulated', 'fitted', 'named', 'nearest']
"""
Why a profile stands for a device.
"""


class ProfileRecord(TypedDict):
    """
    The complete device model of a simulated run: the run can be repeated with it.
    """

    about: str
    """
    The device, in a line.
    """
    device_options: NotRequired[List[str]]
    """
    Other settings of the device, if any: `state=full`, `time-scale=10`.
    """
    filesystem: str
    """
    Filesystem and options above it: `ext4,nobarrier`.
    """
    name: str
    """
    Its name.
    """
    text: str
    """
    The profile as a file.
    """


QuotaOf: TypeAlias = Literal['user', 'group', 'project', 'subvolume']
"""
What a quota counts together.
"""


ReplayLevel: TypeAlias = Literal['calls', 'blocks']
"""
The layer at which a trace is replayed.
"""


ReplayPace: TypeAlias = Literal['own', 'flat']
"""
When the operations of a replay begin.
"""


SavePart: TypeAlias = Literal['grew', 'in_place']
"""
Saves by whether a file grew.
"""


class ScenarioRecord(TypedDict):
    """
    The scenario of a run.
    """

    assumptions: NotRequired[List[str]]
    """
    Assumptions of the scenario without a source.
    """
    hash: str
    """
    SHA-256 of its canonical form with the settings applied: runs with equal hashes did the
    same.
    """
    name: str
    """
    Its name.
    """
    seed: int
    """
    What every random choice follows from.
    """
    settings: Dict[str, str]
    """
    Settings in force, after `--set`.
    """
    text: str
    """
    The file as it was read.
    """


Severity: TypeAlias = Literal['danger', 'costly', 'minor', 'misleading']
"""
How much something matters.
"""


class SharedRecord(TypedDict):
    """
    What was removed from a run before it was passed on.
    """

    original_sha256: str
    """
    The checksum of the run as measured: two shared files with the same one come from one run.
    """
    removed: List[str]
    """
    Fields that were removed or changed: `environment.filesystem.mount_point`.
    """


StallCause: TypeAlias = Literal[
    'storage',
    'cpu',
    'executing',
    'stopped',
    'mixed',
    'unknown',
    'filesystem_commit',
    'checkpoint',
    'cleaning',
    'discard',
    'other_io',
    'garbage_collection',
    'wear_levelling',
    'write_cache_full',
    'wake_up',
    'throttling',
    'device_period',
    'group_limit',
]
"""
What a stall waited for.
 [`CauseBasis`] says how it is known. The scheduler's statistics of the thread give the first
six; a model, a virtual device or counters around the stall give more. With a model, the cause
is that of the largest part of the wait. If the flash's own work delayed the filesystem's, the
flash's counts.
"""


class StallCount(TypedDict):
    """
    Number of stalls with one cause.
    """

    cause: StallCause
    """
    The cause.
    """
    stalls: int
    """
    Stalls.
    """


class StallFinding(TypedDict):
    """
    The stalls of one phase.
    """

    causes: List[StallCount]
    """
    Listed stalls by cause, most first.
    """
    longest_ns: NotRequired[Nanos]
    """
    The longest that is listed.
    """
    phase: str
    """
    The phase's label.
    """
    seen: int
    """
    How many there were.
    """
    total_ns: Nanos
    """
    All that are listed together.
    """
    usual: bool
    """
    Whether the median wait of the phase is also over the limit, so that these are no stalls.
    """


State: TypeAlias = Literal['new', 'filled', 'deleted', 'trimmed', 'idle']
"""
The state of the device: its place in the life cycle.
"""


class StoredHistogram(TypedDict):
    """
    A latency histogram as stored: non-empty buckets only. Bucket `i` is fio's: below 128 the
    value itself, then 64 buckets for each power of two.
    """

    count: List[int]
    """
    Number of values in each bucket.
    """
    grouping_power: Literal[6]
    """
    Log2 of the buckets for each power of two. Always 6.
    """
    index: List[int]
    """
    Bucket indices, ascending.
    """
    max_ns: Nanos
    """
    The largest value, exact.
    """
    min_ns: Nanos
    """
    The smallest value, exact.
    """
    sum_ns: Nanos
    """
    All values together.
    """


class Surroundings(TypedDict):
    """
    Changes of counters over a time: around a stall, from the last reading before it to the first
    one after it. A counter that the system does not have is absent, and [`Watched::missing`] says
    why.
    """

    checkpoints: NotRequired[int]
    """
    Checkpoints of the filesystem.
    """
    cleanings: NotRequired[int]
    """
    Segments that the filesystem cleaned.
    """
    commits: NotRequired[int]
    """
    Commits of the filesystem's journal.
    """
    cpu_pressure_ns: NotRequired[Nanos]
    """
    Time in which some task of the machine waited for a CPU.
    """
    discard_ns: NotRequired[Nanos]
    """
    The sum of their durations.
    """
    discards: NotRequired[int]
    """
    Discards that the disk completed.
    """
    disk_busy_ns: NotRequired[Nanos]
    """
    Time in which the disk had a request in flight.
    """
    disk_bytes: NotRequired[Bytes]
    """
    Bytes read and written at the disk, by everyone.
    """
    disk_requests: NotRequired[int]
    """
    Requests that read or wrote at the disk, by everyone.
    """
    flush_ns: NotRequired[Nanos]
    """
    The sum of their durations.
    """
    flushes: NotRequired[int]
    """
    Flushes that the disk completed.
    """
    hottest_millicelsius: NotRequired[int]
    """
    The storage's highest temperature, in thousandths of a degree Celsius.
    """
    io_pressure_ns: NotRequired[Nanos]
    """
    Time in which some task of the machine waited for I/O.
    """
    own_bytes: NotRequired[Bytes]
    """
    Bytes that the measured operations read from and wrote to storage.
    """
    quiet_before_ns: NotRequired[Nanos]
    """
    How long the disk had been idle at the start of the time; for a stall only.
    """
    window_ns: Nanos
    """
    The time from the first reading to the last.
    """


TargetKind: TypeAlias = Literal['path', 'simulated', 'lab', 'phone', 'imported']
"""
The kinds of target.
"""


class Think(TypedDict):
    """
    Time in which the app does something else between operations. In no latency and no interval's
    latencies; in the elapsed time, and so in the rates.
    """

    each_ns: Nanos
    """
    After each operation, before the next one begins in its slot.
    """
    total_ns: Nanos
    """
    All rests during the phase, with how late each ended; summed over the operations in flight.
    The halves of a mixed test share it.
    """


class Throttle(TypedDict):
    """
    Signs that heat or a lack of power slows the processors. Each is `None` if the machine reports
    none.
    """

    cooling_state: NotRequired[int]
    """
    The highest state of a cooling device that slows a processor: above 0 the device is active.
    """
    core_throttle_count: NotRequired[int]
    """
    How often Intel cores were throttled since boot, summed (`thermal_throttle`).
    """
    frequency_khz: NotRequired[int]
    """
    The highest frequency at this moment, in kHz.
    """
    frequency_limit_percent: NotRequired[int]
    """
    The lowest frequency limit in force, in percent of that CPU's own maximum.
    """
    undervoltage: NotRequired[bool]
    """
    Whether a Raspberry Pi has detected undervoltage, at which it slows itself down
    (`rpi_volt`).
    """


Throttling: TypeAlias = Literal[
    'none', 'light', 'moderate', 'severe', 'critical', 'emergency', 'shutdown'
]
"""
Android's levels of throttling, in rising order.
"""


class Time(TypedDict):
    """
    Where a thread's time went.
    """

    blocked_ns: Nanos
    """
    Asleep until something completed.
    """
    on_cpu_ns: Nanos
    """
    Executing.
    """
    runnable_ns: Nanos
    """
    Runnable, but no CPU was free.
    """
    stopped_ns: NotRequired[Nanos]
    """
    Stopped with the whole process: by a signal, a frozen cgroup, a suspended machine.
    """


TraceSourceKind: TypeAlias = Literal[
    'ebpf',
    'tracefs',
    'fanotify',
    'atrace',
    'blkparse',
    'ftrace',
    'perfetto',
    'strace',
    'system_calls',
    'block_table',
    'unknown',
]
"""
The kinds of sources.
"""


class TraceTransactions(TypedDict):
    """
    Recognised SQLite transactions of a trace, by their journals.
    """

    log: int
    """
    Through a write-ahead log (WAL).
    """
    rollback: int
    """
    Through a rollback journal.
    """


Unsynced: TypeAlias = Literal['at_once', 'at_close', 'later']
"""
When a filesystem writes what nobody has synced.
"""


Verdict: TypeAlias = Literal['trusted', 'untrusted']
"""
The verdict over all checks.
"""


class WaitPart(TypedDict):
    """
    The time waited for one cause.
    """

    cause: StallCause
    """
    The cause.
    """
    ns: Nanos
    """
    The time, more than none.
    """


WaitRange: TypeAlias = Literal['typical', 'slow', 'slowest']
"""
Ranges of percentiles.
"""


class WaitRecord(TypedDict):
    """
    Sampled operations of one power of two of latency.
    """

    below_ns: Nanos
    """
    Latencies of the class are below this.
    """
    from_ns: Nanos
    """
    Shortest latency of the class.
    """
    ops: int
    """
    How many were sampled.
    """
    time: Time
    """
    Their time, summed.
    """


class Watched(TypedDict):
    """
    Readings of counters during a phase, several a second, from a separate thread.
    """

    calm: Surroundings
    """
    The sum of changes between readings with no stall in between.
    """
    missing: NotRequired[List[str]]
    """
    What could not be read, and why.
    """
    readings: int
    """
    How many readings there were.
    """
    rules: int
    """
    The version of the rules that inferred the causes of stalls.
    """


class CardVerdictUnfinished(TypedDict):
    """
    It was not read back yet.
    """

    kind: Literal['unfinished']


class CardVerdictGenuine(TypedDict):
    """
    Everything that was written was read back from the device.
    """

    kind: Literal['genuine']


class CardVerdictNothingFound(TypedDict):
    """
    Every place was read back as written; what is between them is not known.
    """

    kind: Literal['nothing_found']


class CardVerdictFake(TypedDict):
    """
    It holds less than it claims.
    """

    holds_bytes: Bytes
    """
    About what it holds.
    """
    kind: Literal['fake']


class CardVerdictKeepsOld(TypedDict):
    """
    It accepts writes, and still has what was there before.
    """

    kind: Literal['keeps_old']


class CardVerdictReadOnly(TypedDict):
    """
    It took no more writes after some.
    """

    kind: Literal['read_only']


class CardVerdictDamaged(TypedDict):
    """
    Parts of it do not hold what was written.
    """

    kind: Literal['damaged']


class CardVerdictUnproven(TypedDict):
    """
    What was read did not come from the device.
    """

    kind: Literal['unproven']


class EffectBasisCompared(TypedDict):
    """
    Two phases of this run; the comparison is among its causes.
    """

    fixed: NotRequired[str]
    """
    Label of the phase without it; absent if one phase shows both.
    """
    kind: Literal['compared']
    now: str
    """
    Label of the phase with the finding.
    """


class EffectBasisPart(TypedDict):
    """
    A part of one phase's waits.
    """

    kind: Literal['part']
    phase: str
    """
    Label of the phase.
    """


class EffectBasisCourse(TypedDict):
    """
    Before and after a change of speed within one phase.
    """

    kind: Literal['course']
    phase: str
    """
    Label of the phase.
    """


class EffectBasisPromise(TypedDict):
    """
    The measured figure against the promised one.
    """

    by: str
    """
    Who promised it.
    """
    kind: Literal['promise']
    phase: str
    """
    Label of the phase.
    """


class EffectBasisForecast(TypedDict):
    """
    A simulation of a device with and without.
    """

    change: str
    """
    The change, as `flashlag predict --change` takes it.
    """
    kind: Literal['forecast']
    of: ProfileOf
    """
    Why the profile stands for the device.
    """
    profile: str
    """
    Name of the device's profile.
    """
    size_bytes: NotRequired[Bytes]
    """
    Capacity of the simulated device, if a smaller one of the same make stands for the
    profile's.
    """


class FilesystemInternalsPortable(TypedDict):
    """
    FAT, exFAT or NTFS, by the mount.
    """

    by_fuse: bool
    """
    Whether a FUSE daemon serves the files, and not the kernel.
    """
    format: PortableFormat
    kind: Literal['portable']
    unsynced: Unsynced
    """
    When it writes what nobody has synced.
    """


class FilesystemInternalsBtrfs(TypedDict):
    """
    Btrfs, by mount options.
    """

    compression: NotRequired[str]
    """
    `zstd:1`; absent without compression.
    """
    kind: Literal['btrfs']
    nodatacow: bool
    """
    Whether data is overwritten in place.
    """


class FindingEvidenceTwoPhases(TypedDict):
    """
    Two phases that differ in one thing.
    """

    kind: Literal['two_phases']


class FindingEvidenceTwoParts(TypedDict):
    """
    Two parts of the same phase's saves.
    """

    kind: Literal['two_parts']
    share: float
    """
    Share of all saves that made a file grow, 0 to 1.
    """


class FindingEvidenceSchedulerCount(TypedDict):
    """
    The scheduler's statistics over the phase.
    """

    kind: Literal['scheduler_count']
    runnable_ns: Nanos
    """
    Mean time that an operation's thread was runnable, waiting for a CPU.
    """
    share: float
    """
    That time as a share of the thread's time, 0 to 1.
    """


class FindingEvidenceFlushTimedApart(TypedDict):
    """
    Write and flush timed apart.
    """

    flush_ns: Nanos
    """
    Mean time of the flush.
    """
    kind: Literal['flush_timed_apart']
    share: float
    """
    That time as a share of the whole durable write, 0 to 1.
    """


class Unavailable(TypedDict):
    """
    It could not be read.
    """

    unavailable: str
    """
    Why, in words.
    """


class RunStatusRunning(TypedDict):
    """
    The run is not finished, or was killed; the phases in the file are complete.
    """

    kind: Literal['running']
    next_step: int
    """
    The next step of the scenario.
    """


class RunStatusComplete(TypedDict):
    """
    Every step was done or skipped with a reason.
    """

    kind: Literal['complete']


class RunStatusInterrupted(TypedDict):
    """
    The user stopped it.
    """

    kind: Literal['interrupted']
    next_step: int
    """
    The next step of the scenario.
    """


class RunStatusFailed(TypedDict):
    """
    An error stopped it.
    """

    error: str
    """
    The error: what happened, where, and what to try.
    """
    kind: Literal['failed']
    next_step: int
    """
    The next step of the scenario.
    """


class BlockKinds(TypedDict):
    """
    Writes at the block device, by their purpose. A request with several purposes counts for its
    first; each byte counts for its own purpose.
    """

    data: KindCount
    """
    Contents of files.
    """
    journal: KindCount
    """
    The filesystem's own log.
    """
    metadata: KindCount
    """
    All other writes of the filesystem: inodes, maps, directories, checkpoints.
    """


CardVerdict: TypeAlias = (
    CardVerdictUnfinished
    | CardVerdictGenuine
    | CardVerdictNothingFound
    | CardVerdictFake
    | CardVerdictKeepsOld
    | CardVerdictReadOnly
    | CardVerdictDamaged
    | CardVerdictUnproven
)
"""
What a card is.
"""


class Change(TypedDict):
    """
    What a series of intervals shows.
    """

    bytes_per_sec: NotRequired[List[float]]
    """
    Throughput before and after, if it changed.
    """
    detail: str
    """
    In words, with the numbers.
    """
    kind: ChangeKind
    """
    The kind of change.
    """
    period_ns: NotRequired[Nanos]
    """
    The period of periodic stalls.
    """
    t_ns: Nanos
    """
    When, from the start of the phase.
    """
    written_bytes: Bytes
    """
    Bytes written by then.
    """


class Check(TypedDict):
    """
    One check with its evidence.
    """

    advice: NotRequired[str]
    """
    Advice, if the check did not pass.
    """
    cause: NotRequired[CheckCause]
    """
    The reason for the failure, for a check that can fail for several reasons.
    """
    claim: str
    """
    The claim in a few words: "Writes reached storage".
    """
    detail: str
    """
    The evidence, with numbers.
    """
    id: CheckId
    """
    Which.
    """
    phases: NotRequired[List[str]]
    """
    The phases that it covers, by [`crate::Phase::label`]; empty if it covers the whole run.
    """
    status: CheckStatus
    """
    Its outcome.
    """


class CheckOutcome(TypedDict):
    """
    The outcome of a check on one side.
    """

    detail: str
    """
    The evidence, with numbers.
    """
    status: CheckStatus
    """
    The outcome.
    """


class ClockReading(TypedDict):
    """
    What the system's clocks said at one moment: by them, records that were made on one machine at
    the same time are laid beside each other. A clock that was not read is absent.
    """

    boot_ns: NotRequired[Nanos]
    """
    `CLOCK_BOOTTIME`: time since the machine's start, in which suspended time counts.
    """
    monotonic_ns: NotRequired[Nanos]
    """
    `CLOCK_MONOTONIC`: the same without suspended time.
    """
    wall_ns: NotRequired[Nanos]
    """
    `CLOCK_REALTIME`: time since 1970, which may be set.
    """


class ComparedCheck(TypedDict):
    """
    A check that some side does not pass.
    """

    claim: str
    """
    What should be true.
    """
    sides: List[CheckOutcome | None]
    """
    For each side its worst outcome; null if the check was not made.
    """


class ComparedFigures(TypedDict):
    """
    One side's figures of a test, over all its repeats. An unknown one is absent.
    """

    bytes_per_sec: float
    """
    Bytes a second, mean of the repeats.
    """
    failed_checks: List[str]
    """
    Claims of the failed checks that rule out a verdict.
    """
    late: NotRequired[int]
    """
    Number of latencies longer than a frame of 60 Hz.
    """
    max_ns: NotRequired[Nanos]
    """
    The longest latency.
    """
    n: int
    """
    Number of operations.
    """
    ops_per_sec: float
    """
    Operations a second, mean of the repeats.
    """
    overload: NotRequired[ComparedOverload]
    """
    Present if a run could not keep its schedule: then there are no times.
    """
    p50_ns: NotRequired[Nanos]
    """
    Median latency.
    """
    p90_ns: NotRequired[Nanos]
    """
    90 % of the latencies are at most this.
    """
    p999_ns: NotRequired[Nanos]
    """
    99.9 %.
    """
    p99_ns: NotRequired[Nanos]
    """
    99 %.
    """
    rate_spread: NotRequired[float]
    """
    Standard deviation of operations a second between the repeats, as a share of their mean.
    """
    runs: int
    """
    Number of runs.
    """
    verdict: NotRequired[str]
    """
    The verdict, if a frame may wait for such operations; `not judged`, `no data`.
    """


class ComparedTest(TypedDict):
    """
    One test in one state, side by side.
    """

    ratios: List[ComparedRatio]
    """
    Each figure of each side, divided by that of the first side that has it.
    """
    run: int
    """
    Which repetition within that state.
    """
    sides: List[ComparedFigures | None]
    """
    The figures of each side; null where a side has no such test.
    """
    state: State
    """
    Where the device was in its life.
    """
    test: str
    """
    The test.
    """
    title: str
    """
    `4K rand write, filled run 2`.
    """


class ComparisonRecord(TypedDict):
    """
    Two or more runs side by side: the sentences, the sides, and for each test the figures of each side.
    """

    believe: str
    """
    Whether the comparison can be believed.
    """
    checks: List[ComparedCheck]
    """
    Checks that some side does not pass.
    """
    differs: List[ComparedField]
    """
    What else differs between the sides.
    """
    faster: str
    """
    Which side is faster, and by how much; may be empty.
    """
    largest: str
    """
    The largest certain difference; may be empty.
    """
    more: str
    """
    How long the slow operations of the deciding test took; may be empty.
    """
    schema: Literal['flashlag.comparison/1']
    """
    `flashlag.comparison/1`.
    """
    sentence: str
    """
    A sentence about each side, from the test that decides its headline.
    """
    sides: List[ComparedSubject]
    """
    The sides, in the order given.
    """
    tests: List[ComparedTest]
    """
    One for each test in each state that at least one side has.
    """
    warnings: List[str]
    """
    Warnings: different scenarios or versions, runs that ended early.
    """


EffectBasis: TypeAlias = (
    EffectBasisCompared
    | EffectBasisPart
    | EffectBasisCourse
    | EffectBasisPromise
    | EffectBasisForecast
)
"""
How an effect is known.
"""


class EngineOverhead(TypedDict):
    """
    What the measuring loop adds to every operation.
    """

    cpu_picoseconds_per_op: int
    """
    CPU time for each operation, in thousandths of a nanosecond.
    """
    latency_p50_ns: Nanos
    """
    The median of their recorded latencies: flashlag's own part of any latency.
    """
    latency_p99_ns: Nanos
    """
    The 99th percentile of the same.
    """
    ops: int
    """
    Operations done on the device that does nothing.
    """


FindingEvidence: TypeAlias = (
    FindingEvidenceTwoPhases
    | FindingEvidenceTwoParts
    | FindingEvidenceSchedulerCount
    | FindingEvidenceFlushTimedApart
)
"""
How an effect was measured.
"""


class FindingSide(TypedDict):
    """
    One side: a phase, or a part of its saves.
    """

    part: NotRequired[SavePart]
    """
    Which of its saves; absent for all.
    """
    phase: str
    """
    The phase's label: `filled 2: save_wal`.
    """


class FindingSides(TypedDict):
    """
    The two sides of a comparison.
    """

    fixed: NotRequired[FindingSide]
    """
    The side without the cause; absent if the effect is a part of one side's waits.
    """
    now: FindingSide
    """
    With the cause.
    """


class IntervalRecord(TypedDict):
    """
    What happened between two moments.
    """

    bytes: Bytes
    """
    Bytes they moved.
    """
    filled_bytes: NotRequired[Bytes]
    """
    Storage in use at its end (fills only).
    """
    histogram: StoredHistogram
    """
    Histogram of the interval, so that neighbours can be merged.
    """
    max: Nanos
    """
    The longest.
    """
    ops: int
    """
    Operations that ended in it.
    """
    p50: NotRequired[Nanos]
    """
    Median.
    """
    p90: NotRequired[Nanos]
    """
    90 %.
    """
    p99: NotRequired[Nanos]
    """
    99 %.
    """
    t_ns: Nanos
    """
    Its end, from the start of the phase.
    """
    temperature_millicelsius: NotRequired[int]
    """
    Storage temperature at its end.
    """
    waited: NotRequired[List[WaitPart]]
    """
    What its operations waited for, if a model knows: the parts add up to the sum of their
    latencies.
    """


class LatencySummary(TypedDict):
    """
    The figures computed from a histogram. A percentile is absent if fewer than ten values lie
    beyond it.
    """

    absent: NotRequired[str]
    """
    Why a percentile is absent, if one is.
    """
    max: NotRequired[Nanos]
    """
    The longest, exact.
    """
    mean: NotRequired[Nanos]
    """
    The mean, exact, rounded down.
    """
    p50: NotRequired[Nanos]
    """
    Median.
    """
    p90: NotRequired[Nanos]
    """
    90 %.
    """
    p99: NotRequired[Nanos]
    """
    99 %.
    """
    p999: NotRequired[Nanos]
    """
    99.9 %.
    """


class Layer(TypedDict):
    """
    One layer of the path to the storage. The topmost comes first.
    """

    detail: NotRequired[str]
    """
    What it consists of, in the system's words: `f2fs`, `crypt`, `raid1`, `Samsung SSD 980`.
    Absent if unknown.
    """
    kind: LayerKind
    """
    What the layer is.
    """
    name: str
    """
    The layer's own name: a mount point for a filesystem, the kernel's name for a device.
    """


class Limit(TypedDict):
    """
    One limit of one control group.
    """

    device: NotRequired[str]
    """
    The kernel's name of the block device that it applies to; absent for CPUs and memory.
    """
    file: str
    """
    The file that sets it: `/sys/fs/cgroup/system.slice/db.service/io.max`.
    """
    kind: LimitKind
    """
    What is limited.
    """
    used: NotRequired[int]
    """
    What the group uses of it now, in bytes; for memory only.
    """
    value: int
    """
    Its value: bytes or operations a second, thousandths of a CPU, or bytes, by `kind`. For a
    controller that shares the device by targets and weights: the target in microseconds, or the
    highest rate in hundredths of a percent.
    """


class Limits(TypedDict):
    """
    The limits of the process's control groups, from its own up to the root, and the groups that
    could not be read.
    """

    set: List[Limit]
    """
    The limits that are set, the process's own group first.
    """
    unseen: List[str]
    """
    Why some groups, or files of theirs, could not be read; empty if every group up to the root
    was.
    """


class MeasuredWait(TypedDict):
    """
    The wait of one side, from the call, or from the intended start of a schedule.
    """

    mean_ns: Nanos
    """
    Mean.
    """
    ops: int
    """
    Operations.
    """
    p50_ns: NotRequired[Nanos]
    """
    Median; absent if there are too few values.
    """
    p999_ns: NotRequired[Nanos]
    """
    99.9 %; absent if there are too few values.
    """


ReadingOfArrayOfString: TypeAlias = Unavailable | List[str]
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfBytes: TypeAlias = Unavailable | Bytes
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfCalls: TypeAlias = Unavailable | Calls
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfCardReach: TypeAlias = Unavailable | CardReach
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfDatabases: TypeAlias = Unavailable | Databases
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfDeviceLife: TypeAlias = Unavailable | DeviceLife
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfEncryption: TypeAlias = Unavailable | Encryption
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfEngineOverhead: TypeAlias = Unavailable | EngineOverhead
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfExt4Journal: TypeAlias = Unavailable | Ext4Journal
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfNanos: TypeAlias = Unavailable | Nanos
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfOtherIo: TypeAlias = Unavailable | OtherIo
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfPower: TypeAlias = Unavailable | Power
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfPressureStall: TypeAlias = Unavailable | PressureStall
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfThrottle: TypeAlias = Unavailable | Throttle
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfThrottling: TypeAlias = Unavailable | Throttling
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfTime: TypeAlias = Unavailable | Time
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfTupleOfInt64AndInt64: TypeAlias = Unavailable | List[int]
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfboolean: TypeAlias = Unavailable | bool
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfdouble: TypeAlias = Unavailable | float
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfint64: TypeAlias = Unavailable | int
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfstring: TypeAlias = Unavailable | str
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfuint32: TypeAlias = Unavailable | int
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfuint64: TypeAlias = Unavailable | int
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfuint8: TypeAlias = Unavailable | int
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


class Replayed(TypedDict):
    """
    What a phase is a replay of.
    """

    level: ReplayLevel
    """
    The layer of the operations.
    """
    pace: ReplayPace
    """
    When operations began.
    """
    scheduled_ns: NotRequired[Nanos]
    """
    For a paced replay: the time within which all operations were due. Operations that began
    more than a frame (16.67 ms) late are the phase's missed slots.
    """
    source: TraceSourceKind
    """
    The kind of the trace's source.
    """
    trace_sha256: str
    """
    SHA-256 of the trace's file: runs with the same hash did the same operations.
    """
    traced_histogram: NotRequired[StoredHistogram]
    """
    Its histogram.
    """
    traced_ns: NotRequired[LatencySummary]
    """
    What the same operations took when the trace was recorded, if the trace says so.
    """
    transactions: NotRequired[TraceTransactions]
    """
    For recognised transactions: their number in the trace, by journal.
    """


RunStatus: TypeAlias = (
    RunStatusRunning | RunStatusComplete | RunStatusInterrupted | RunStatusFailed
)
"""
How a run ended.
"""


class Skipped(TypedDict):
    """
    A step that was not run.
    """

    reason: str
    """
    Why not, and what to try.
    """
    state: State
    """
    The state in which it would have run.
    """
    step: str
    """
    What: `trim`, or a test's name.
    """


class Software(TypedDict):
    """
    The system.
    """

    kernel: ReadingOfstring
    """
    `uname`: system, release, architecture.
    """
    machine: ReadingOfstring
    """
    Product or board name: "Raspberry Pi 4 Model B".
    """
    system: ReadingOfstring
    """
    Pretty name of the distribution or Android build.
    """
    virtualized: ReadingOfboolean
    """
    Whether a hypervisor is below.
    """


class StallRecord(TypedDict):
    """
    One long wait.
    """

    around: NotRequired[Surroundings]
    """
    What counters showed around it.
    """
    cause: StallCause
    """
    The cause: what the operation waited for most of the time.
    """
    cause_basis: NotRequired[CauseBasis]
    """
    How the cause is known.
    """
    ns: Nanos
    """
    Duration.
    """
    t_ns: Nanos
    """
    Its start, counted from the start of the phase.
    """
    time: NotRequired[Time]
    """
    Where its time went.
    """
    waited: NotRequired[List[WaitPart]]
    """
    What it waited for, each cause once, if a model knows: the parts add up to `ns`.
    """


class Target(TypedDict):
    """
    Where a run ran.
    """

    directory: NotRequired[str]
    """
    The directory, for a path.
    """
    kind: TargetKind
    """
    Its kind.
    """
    name: str
    """
    The target as it was given on the command line.
    """
    profile: NotRequired[ProfileRecord]
    """
    The device model, for a simulation.
    """


class Trust(TypedDict):
    """
    Whether the run can be believed.
    """

    checks: List[Check]
    """
    Every check, failed ones first.
    """
    verdict: Verdict
    """
    Untrusted if a check fails, or without a phase or a check.
    """


class Unplugged(TypedDict):
    """
    What is lost of a drive that is pulled out while it is mounted.
    """

    because: str
    """
    Why the drive can be pulled out: `it is on USB`.
    """
    of_all_storage: bool
    """
    Whether these two are of all storage: only root can see those of one drive, in debugfs.
    """
    stays_ns: ReadingOfNanos
    """
    The age at which the kernel begins to write what was not synced, and the time until it looks
    (`dirty_expire_centisecs` and `dirty_writeback_centisecs` in `/proc/sys/vm`).
    """
    unwritten_at_end_bytes: ReadingOfBytes
    """
    The same at the end.
    """
    unwritten_bytes: ReadingOfBytes
    """
    Written by programs and not yet on the drive, before the run.
    """


class WaitGroupRecord(TypedDict):
    """
    What a group of operations waited for. The three shares add up to 1.
    """

    blocked: float
    """
    Share spent blocked on storage.
    """
    mean_ns: Nanos
    """
    Mean wait in the range.
    """
    on_cpu: float
    """
    Share of the wait spent executing, 0 to 1.
    """
    ops: int
    """
    Operations in the range.
    """
    phase: str
    """
    The phase's label.
    """
    range: WaitRange
    """
    Which operations.
    """
    sampled: int
    """
    Operations whose time was split, in the latency classes that overlap the range. Classes are
    powers of two, so there may be more than in the range.
    """
    sampled_below_ns: Nanos
    """
    Latencies of those classes are below this.
    """
    sampled_from_ns: Nanos
    """
    Shortest latency of those classes.
    """
    waiting_for_cpu: float
    """
    Share spent runnable, waiting for a CPU.
    """


class Wear(TypedDict):
    """
    What a run cost the device.
    """

    block_bytes: ReadingOfBytes
    """
    Bytes that the block device took in the meantime, from everyone.
    """
    life_percent: ReadingOfdouble
    """
    The share of rated life, in percent, if the device reports its life and its size.
    """
    written_bytes: Bytes
    """
    Bytes that this run wrote to the filesystem.
    """


class DeviceInternalsEmmc(TypedDict):
    """
    An eMMC, by sysfs; cache and background operations by EXT_CSD, which only root can read.
    """

    background_operations: ReadingOfboolean
    """
    Whether the device may do background operations by itself (AUTO_EN) or on request
    (MANUAL_EN).
    """
    cache_bytes: ReadingOfBytes
    """
    The volatile write cache's size; 0 without one.
    """
    cache_on: ReadingOfboolean
    """
    Whether the cache is switched on.
    """
    command_queue: ReadingOfboolean
    """
    Whether the command queue is in use.
    """
    kind: Literal['emmc']


class DeviceInternalsUfs(TypedDict):
    """
    A UFS device, by the host controller's sysfs.
    """

    gear: ReadingOfstring
    """
    `HS_GEAR3`.
    """
    host_map: ReadingOfboolean
    """
    Whether the host keeps a part of the device's map (HPB).
    """
    kind: Literal['ufs']
    lanes: ReadingOfuint64
    """
    Lanes of the link.
    """
    sleeps_after_ns: ReadingOfNanos
    """
    Idle time after which the link goes to sleep by itself (hibern8); 0: never.
    """
    version: ReadingOfstring
    """
    `3.1`: the version of the standard.
    """
    write_booster: ReadingOfboolean
    """
    Whether writes go to the WriteBooster buffer.
    """
    write_booster_free_percent: ReadingOfuint8
    """
    Part of the WriteBooster buffer that is free, in percent, in steps of 10.
    """


class DeviceInternalsSd(TypedDict):
    """
    An SD card, by its status register.
    """

    allocation_unit_bytes: ReadingOfBytes
    """
    The allocation unit.
    """
    app_class: ReadingOfuint8
    """
    `1` or `2`: A1 and A2; 0 without an application class.
    """
    kind: Literal['sd']
    speed_class: ReadingOfuint8
    """
    `10`: 10 MB/s in sequence at least.
    """
    uhs_grade: ReadingOfuint8
    """
    `1` or `3`: U1 and U3.
    """
    video_class: ReadingOfuint8
    """
    `30`: V30.
    """


class DeviceInternalsNvme(TypedDict):
    """
    An NVMe disk.
    """

    kind: Literal['nvme']
    wakes_within_ns: ReadingOfNanos
    """
    The longest wake-up that the kernel allows the disk, by its module's parameter.
    """


class FilesystemInternalsExt4(TypedDict):
    """
    ext4, by `/proc/fs/ext4` and `/sys/fs/ext4`.
    """

    barrier: ReadingOfboolean
    """
    Whether a sync flushes the device.
    """
    commit_s: ReadingOfuint64
    """
    Seconds between commits if nothing requests one.
    """
    errors: ReadingOfuint64
    """
    Errors that the filesystem has noted.
    """
    fast_commits: ReadingOfuint64
    """
    Fast commits since the mount.
    """
    features: ReadingOfArrayOfString
    """
    Features of the superblock, which root can read: `fast_commit`, `metadata_csum`. Absent in
    files of older versions.
    """
    journal: ReadingOfExt4Journal
    """
    What the journal holds.
    """
    kind: Literal['ext4']
    lifetime_written_bytes: ReadingOfBytes
    """
    Written in the filesystem's life.
    """


class FilesystemInternalsF2fs(TypedDict):
    """
    F2FS, by `/sys/fs/f2fs`.
    """

    checkpoints: ReadingOfCalls
    """
    Checkpoints that an operation waited for, and others.
    """
    cleanings: ReadingOfCalls
    """
    Segments cleaned while an operation waited, and others.
    """
    dirty_segments: ReadingOfuint64
    """
    Segments that are partly outdated.
    """
    free_segments: ReadingOfuint64
    """
    Segments of 2 MiB without data.
    """
    fsync_mode: ReadingOfstring
    """
    What an fsync flushes: `posix`, `strict`, `nobarrier`.
    """
    ipu_policy: ReadingOfstring
    """
    The policy of overwriting in place: the kernel's bits (`fs/f2fs/segment.h`).
    """
    kind: Literal['f2fs']
    lifetime_written_bytes: ReadingOfBytes
    """
    Written in the filesystem's life.
    """
    spare_segments: ReadingOfuint64
    """
    Segments that are kept for cleaning.
    """


class CardCheck(TypedDict):
    """
    What came of asking whether storage is what it says it is. Addresses are those of the test's data: bytes
    from its start, in the order in which it was written to the free space.
    """

    cached_bytes: ReadingOfBytes
    """
    Bytes that reads got from the page cache instead of the device, where that is known.
    """
    checked_bytes: Bytes
    """
    Bytes that were read back, or could not be.
    """
    claimed_bytes: Bytes
    """
    What the device claims to hold; of the filesystem, where the device does not say.
    """
    direct: bool
    """
    Whether reads went past the page cache (`O_DIRECT`).
    """
    each_bytes: Bytes
    """
    Of each file, this much is written from its start.
    """
    failed_writes: int
    """
    Writes that failed, while later ones did not.
    """
    file_bytes: Bytes
    """
    The size of a file; its number and the offset in it give an address.
    """
    files: int
    """
    Number of files that were written, and synced.
    """
    files_read: int
    """
    Number of files that were read back.
    """
    first_lost: NotRequired[Bytes]
    """
    The address of the first byte that held something else.
    """
    generation: int
    """
    What the sectors say of themselves beside their address: it differs from run to run, so that data
    of an earlier run is known by it.
    """
    is_written: bool
    """
    Whether everything was written that was to be.
    """
    lost: CardLost
    """
    What the others held.
    """
    proven_before_bytes: Bytes
    """
    Bytes checked before the first that held something else.
    """
    proven_bytes: Bytes
    """
    Bytes of them that were as written.
    """
    quick: bool
    """
    Whether only places spread over the free space were written.
    """
    reached: ReadingOfCardReach
    """
    The physical addresses that the files lie at, from the start of the filesystem.
    """
    refused: NotRequired[str]
    """
    The error after which nothing could be written any more.
    """
    repeats_after: NotRequired[Bytes]
    """
    The distance after which addresses repeat, if data of later addresses was found at earlier ones.
    """
    resumed: bool
    """
    Whether it was taken out, or another process read it, between writing and reading.
    """
    rewritten: CardRewritten
    """
    Places that were written once more, and read.
    """
    span_bytes: Bytes
    """
    The free space that is covered.
    """
    stretches: NotRequired[List[CardStretch]]
    """
    The first stretches that held something else; adjacent sectors of one kind are one stretch.
    """
    stretches_seen: int
    """
    Number of all such stretches.
    """
    test: str
    """
    The test's name in the scenario.
    """
    used_bytes: Bytes
    """
    What was in use before.
    """
    verdict: CardVerdict
    """
    What it is.
    """
    written_bytes: Bytes
    """
    Bytes that were written, in files that were synced.
    """


class ClockCalibration(TypedDict):
    """
    The monotonic clock, measured.
    """

    against_boottime_ppm: ReadingOfdouble
    """
    By how many parts in a million it ran faster than the boot-time clock, which also runs
    during a suspend. If it is not zero, the machine slept in the meantime, or a clock is
    broken.
    """
    against_raw_ppm: ReadingOfdouble
    """
    By how many parts in a million it ran faster than the raw clock, which NTP does not steer.
    Steering explains up to 500.
    """
    claimed_resolution_ns: ReadingOfNanos
    """
    The resolution that the kernel reports (`clock_getres`).
    """
    cost_min_picoseconds: int
    """
    The same, of the fastest batch.
    """
    cost_picoseconds: int
    """
    The cost of one reading, in thousandths of a nanosecond: median of many batches.
    """
    resolution_ns: ReadingOfNanos
    """
    The smallest step that was seen.
    """
    steps_back: int
    """
    Number of readings earlier than the previous one; above 0 the clock is broken.
    """
    window_ns: Nanos
    """
    The window over which the clocks were compared.
    """


class Conditions(TypedDict):
    """
    The state of a device with a battery before a test, or at the end of the run.
    """

    at_ns: Nanos
    """
    When this was read, from the start of the run.
    """
    battery_millicelsius: ReadingOfint64
    """
    The battery's temperature, in thousandths of a degree Celsius.
    """
    battery_percent: ReadingOfuint8
    """
    The battery's charge.
    """
    cpu_millicelsius: ReadingOfint64
    """
    The hottest processor, in thousandths of a degree Celsius.
    """
    other_io: ReadingOfOtherIo
    """
    What other apps and services did since the previous reading, so mostly during the test in
    between; absent in the first reading of a process.
    """
    power: ReadingOfPower
    """
    What the device is powered by.
    """
    screen_on: ReadingOfboolean
    """
    Whether the screen is on.
    """
    skin_millicelsius: ReadingOfint64
    """
    The outside of the device, in thousandths of a degree Celsius.
    """
    throttling: ReadingOfThrottling
    """
    What the system does against heat.
    """


class Cpu(TypedDict):
    """
    The processors.
    """

    count: ReadingOfuint32
    """
    How many this process may use.
    """
    governor: ReadingOfstring
    """
    Frequency governor.
    """
    load_before_hundredths: ReadingOfuint64
    """
    Runnable threads in the last minute × 100, before the run (`/proc/loadavg`).
    """
    model: ReadingOfstring
    """
    Model name.
    """
    pressure_after: ReadingOfPressureStall
    """
    The same, at the end.
    """
    pressure_before: ReadingOfPressureStall
    """
    Share of time in which some task waited for a CPU, over the last 10 s before the run, in
    hundredths of a percent (`/proc/pressure/cpu`).
    """


DeviceInternals: TypeAlias = (
    DeviceInternalsEmmc | DeviceInternalsUfs | DeviceInternalsSd | DeviceInternalsNvme
)
"""
What a device says about itself.
"""


class Effect(TypedDict):
    """
    What a finding costs.
    """

    basis: EffectBasis
    """
    How it is known.
    """
    cost_s_per_1000: Estimate
    """
    Seconds of waiting that it adds to 1,000; negative if the change would add them.
    """
    fixed_ns: NotRequired[Nanos]
    """
    Mean wait of one operation without the finding; absent if only a part of the wait is known.
    """
    now_ns: Nanos
    """
    Mean wait of one operation now.
    """
    per: Counted
    """
    What is counted.
    """


FilesystemInternals: TypeAlias = (
    FilesystemInternalsExt4
    | FilesystemInternalsF2fs
    | FilesystemInternalsPortable
    | FilesystemInternalsBtrfs
)
"""
What a filesystem says about itself.
"""


class FindingEffect(TypedDict):
    """
    How much longer one side waits than the other.
    """

    cost_s_per_1000: Estimate
    """
    Seconds of waiting that the cause adds to 1,000 operations.
    """
    fixed: NotRequired[MeasuredWait]
    """
    The wait without the cause; absent if unknown.
    """
    mean_ratio: NotRequired[Estimate]
    """
    Mean wait with the cause divided by the mean without.
    """
    now: MeasuredWait
    """
    The wait with the cause.
    """
    per: Counted
    """
    The unit of the cost: seconds of waiting for each 1,000 of these.
    """


class Floor(TypedDict):
    """
    The software's part of a latency: no device can be faster.
    """

    histogram: StoredHistogram
    """
    Its histogram.
    """
    latency_ns: LatencySummary
    """
    Their latency.
    """
    ops: int
    """
    Operations.
    """


class GrowthPart(TypedDict):
    """
    One side of [`Growth`].
    """

    histogram: StoredHistogram
    """
    Its histogram.
    """
    latency_ns: LatencySummary
    """
    Their latency.
    """
    ops: int
    """
    How many.
    """


class Ledger(TypedDict):
    """
    Bytes and calls by layer, for this phase.
    """

    app_bytes: ReadingOfBytes
    """
    Bytes that the application wanted written: rows for saves, else payload.
    """
    block_bytes: ReadingOfBytes
    """
    Bytes written (for reads: read) by everyone at the block device.
    """
    block_writes: ReadingOfuint64
    """
    Write (for reads: read) requests at the block device. A kernel counts a request that only
    flushes as a write; a virtual device does not.
    """
    device_bytes: ReadingOfBytes
    """
    Bytes that the flash programmed, if the device reports them.
    """
    flushes: ReadingOfuint64
    """
    Flushes at the block device.
    """
    kinds: NotRequired[BlockKinds]
    """
    Writes at the block device by their purpose; only if every write was seen.
    """
    storage_bytes: ReadingOfBytes
    """
    Bytes that reached the block device from this process (`/proc/self/io`).
    """
    syscall_bytes: ReadingOfBytes
    """
    Bytes in write (for reads: read) system calls.
    """


class MemoryState(TypedDict):
    """
    Memory, and how long tasks wait for it.
    """

    available_bytes: ReadingOfBytes
    """
    Available without swapping (`MemAvailable`).
    """
    io_pressure: ReadingOfPressureStall
    """
    Tasks that waited for I/O.
    """
    pressure: ReadingOfPressureStall
    """
    Tasks that waited for memory.
    """
    swapped_to_disk_bytes: ReadingOfBytes
    """
    Swapped out, to disks and not to compressed memory.
    """
    swapped_to_memory_bytes: ReadingOfBytes
    """
    Swapped out to compressed memory (zram), before compression.
    """


class Program(TypedDict):
    """
    The program that wrote a run.
    """

    commit: ReadingOfstring
    """
    The commit it was built from, where that is known.
    """
    version: str
    """
    Its version.
    """


class Queue(TypedDict):
    """
    The request queue of the disk.
    """

    discard_max_bytes: ReadingOfBytes
    """
    The largest discard; 0 without support for discards.
    """
    fua: ReadingOfboolean
    """
    Whether the device supports FUA writes.
    """
    logical_block_bytes: ReadingOfBytes
    """
    Logical and physical block size.
    """
    physical_block_bytes: ReadingOfBytes
    """
    Physical block size.
    """
    requests: ReadingOfuint64
    """
    Requests the queue holds.
    """
    rotational: ReadingOfboolean
    """
    Whether it rotates.
    """
    scheduler: ReadingOfstring
    """
    The scheduler in use.
    """
    write_cache: ReadingOfstring
    """
    `write back` (a volatile cache, flushed) or `write through`.
    """


class Quota(TypedDict):
    """
    A quota on the storage of a filesystem.
    """

    limit_bytes: ReadingOfBytes
    """
    The most that may be stored.
    """
    of: QuotaOf
    """
    What it counts together.
    """
    used_bytes: ReadingOfBytes
    """
    What is stored.
    """


ReadingOfDeviceInternals: TypeAlias = Unavailable | DeviceInternals
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfEffect: TypeAlias = Unavailable | Effect
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


ReadingOfFilesystemInternals: TypeAlias = Unavailable | FilesystemInternals
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


class RuledOut(TypedDict):
    """
    A suspected cause that was measured and shown not to matter.
    """

    effect: FindingEffect
    """
    The difference, which is within chance or too small to matter.
    """
    evidence: FindingEvidence
    """
    How the difference was measured.
    """
    id: CauseId
    """
    The suspicion.
    """
    sides: FindingSides
    """
    What was compared.
    """


class WaitFinding(TypedDict):
    """
    What the operations of one test waited for, by how slow they were.
    """

    cause: StallCause
    """
    The state with at least half of the first group's wait; `mixed` if there is none, `unknown`
    after a failed check.
    """
    doubted_by: NotRequired[CheckId]
    """
    The failed check that makes the cause unknown.
    """
    groups: List[WaitGroupRecord]
    """
    Groups of operations: typical ones of the same test when new, if that was another stage;
    then those of this phase, fastest first.
    """
    phase: str
    """
    The phase's label.
    """


class Calibration(TypedDict):
    """
    The calibration, measured before anything else: the cost of the clock and of the engine
    themselves, to compare latencies with.
    """

    clock: ClockCalibration
    """
    The monotonic clock.
    """
    engine: ReadingOfEngineOverhead
    """
    The measuring loop on a device that does nothing.
    """
    took_ns: Nanos
    """
    Duration of the calibration.
    """
    wait_meter_cost_ns: ReadingOfNanos
    """
    Median cost of a reading of the thread's times (`/proc/thread-self/schedstat`).
    """


class Cause(TypedDict):
    """
    A cause of waiting, with what to do about it.
    """

    action: FindingAction
    """
    What would remove the cause.
    """
    effect: FindingEffect
    """
    How much longer the wait is with the cause than without.
    """
    evidence: FindingEvidence
    """
    How the effect was measured.
    """
    id: CauseId
    """
    The cause.
    """
    risk: FindingRisk
    """
    The price of that action.
    """
    sides: FindingSides
    """
    What was compared.
    """


class Device(TypedDict):
    """
    The block device.
    """

    firmware: ReadingOfstring
    """
    Firmware revision.
    """
    kind: ReadingOfstring
    """
    `emmc`, `sd`, `ufs`, `nvme`, `sata`, `virtio`, `loop`, `usb`, …
    """
    life: ReadingOfDeviceLife
    """
    How much of its life is used.
    """
    model: ReadingOfstring
    """
    Vendor and model as the device reports them.
    """
    name: ReadingOfstring
    """
    Kernel name of the whole disk: `mmcblk0`.
    """
    queue: Queue
    """
    The request queue.
    """
    size_bytes: ReadingOfBytes
    """
    Size of the whole disk.
    """
    stack: List[str]
    """
    Devices between the filesystem and the disk, from the top: `dm-0 (crypt)`, `loop0`.
    """


class Filesystem(TypedDict):
    """
    The filesystem.
    """

    block_bytes: ReadingOfBytes
    """
    Allocation block.
    """
    free_bytes: ReadingOfBytes
    """
    Free for us, before the run.
    """
    kind: ReadingOfstring
    """
    `ext4`, `f2fs`, …
    """
    layers: List[str]
    """
    Other filesystems on the way, from the top: `fuse`, `overlay` above this one,
    `ext4 below loop0` below it.
    """
    mount_point: ReadingOfstring
    """
    Mount point.
    """
    options: ReadingOfArrayOfString
    """
    Mount options, of the mount and of the superblock.
    """
    quotas: NotRequired[List[Quota]]
    """
    The quotas of the run's user or by mount options. A quota may leave less than the free
    space.
    """
    read_only: NotRequired[str]
    """
    Why nothing can be written: `/mnt/card is mounted with the option ro`. Absent if it is
    writable.
    """
    source: ReadingOfstring
    """
    What is mounted: `/dev/mmcblk0p2`.
    """
    total_bytes: ReadingOfBytes
    """
    Its size.
    """


class Finding(TypedDict):
    """
    Something to change or to know, with the fields that prove it and the gain of a change.
    """

    action: FindingAction
    """
    What would remove it.
    """
    commands: NotRequired[List[str]]
    """
    Commands that give the figure if `effect` has none: a pair of runs to compare, or a forecast
    that was not made. The user replaces the words in capitals.
    """
    effect: ReadingOfEffect
    """
    Its cost, from a comparison in this run or from a forecast; absent with the reason if there
    is neither.
    """
    evidence: List[Fact]
    """
    The fields that prove it, with their values.
    """
    id: FindingId
    """
    What was found.
    """
    risk: NotRequired[FindingRisk]
    """
    The risk of that; absent if there is none.
    """
    severity: Severity
    """
    How much it matters.
    """
    source: str
    """
    The publication or measurement that the rule is based on.
    """


class Findings(TypedDict):
    """
    Everything that explains the waits of a run.
    """

    causes: List[Cause]
    """
    Causes of waiting with their comparisons, costliest first. Each is in `list`, too.
    """
    list: NotRequired[List[Finding]]
    """
    What to change or to know: risks to data first, then by cost, and what was seen on a fill, for which nobody
    waits, after that. Absent in files of older versions.
    """
    ruled_out: List[RuledOut]
    """
    Suspected causes that the measurements refute.
    """
    rules: int
    """
    Version of the rules that derived them. Rules of another version may find something else, so
    only findings of the reader's own version are recomputed by `flashlag verify`.
    """
    stalls: List[StallFinding]
    """
    The stalls of each phase that had any, in the order of the run.
    """
    waits: NotRequired[WaitFinding]
    """
    What slow and ordinary operations waited for; absent if no operation's time was split.
    """


class Growth(TypedDict):
    """
    Saves that made a file grow need a commit of the filesystem; they are counted separately.
    """

    grew: GrowthPart
    """
    Saves after which the database or its journal was larger.
    """
    in_place: GrowthPart
    """
    Saves that stayed within allocated space.
    """


class Internals(TypedDict):
    """
    The state of filesystem, device and memory at the start of a run.
    """

    aes_instructions: ReadingOfboolean
    """
    Whether the processor has instructions for AES.
    """
    databases: ReadingOfDatabases
    """
    SQLite databases below the directory.
    """
    device: ReadingOfDeviceInternals
    """
    The device's own account.
    """
    filesystem: ReadingOfFilesystemInternals
    """
    The filesystem's own account.
    """
    memory: MemoryState
    """
    Memory and its pressure.
    """
    thermal: ReadingOfThrottle
    """
    Signs that heat holds the machine back.
    """
    trimmed_before_ns: ReadingOfNanos
    """
    When a timer of the system last trimmed the filesystem, before the run.
    """
    unplugged: NotRequired[Unplugged]
    """
    What is lost if the drive is pulled out; absent if it can't be, and in files of older versions.
    """


class Phase(TypedDict):
    """
    One measured stretch of one workload: its settings and its results.
    """

    background: NotRequired[str]
    """
    The name of the workload that ran in parallel, if one did; for a mixed test, its other half.
    """
    began_ns: Nanos
    """
    Its start, counted from the start of the run.
    """
    block_bytes: Bytes
    """
    Bytes for each operation; a page for saves; 0 for a replay, whose operations differ.
    """
    bytes: Bytes
    """
    Bytes moved by them.
    """
    bytes_per_sec: float
    """
    `bytes / elapsed`.
    """
    changes: NotRequired[List[Change]]
    """
    What the interval series shows.
    """
    clocks: NotRequired[ClockReading]
    """
    What the system's clocks said at its first operation; absent in virtual time.
    """
    closed_loop: bool
    """
    Whether the next operation waits for the last (closed loop); else a schedule gives its start.
    """
    cut_short: NotRequired[bool]
    """
    `true` if it ended early: by a signal, an error, or lack of space.
    """
    direct: bool
    """
    Whether the page cache was bypassed.
    """
    durable: Durability
    """
    How each operation was made durable.
    """
    elapsed_ns: Nanos
    """
    Duration, final flush and think times included.
    """
    engine: EngineKind
    """
    What did the I/O.
    """
    final_flush_ns: NotRequired[Nanos]
    """
    The duration of the one flush at its end, if the writes were not durable one by one. It is
    in the elapsed time, and so in the rates, but in no latency and in no interval.
    """
    floor: NotRequired[Floor]
    """
    The software's floor: the same test, shortened, on a device that takes no time.
    """
    flush_histogram: NotRequired[StoredHistogram]
    """
    Its histogram.
    """
    flush_latency_ns: NotRequired[LatencySummary]
    """
    The part of the flush, if the flush is a separate call.
    """
    growth: NotRequired[Growth]
    """
    For saves: those that made the database or its journal grow, and those that did not.
    """
    histogram: StoredHistogram
    """
    Its histogram.
    """
    intervals: NotRequired[List[IntervalRecord]]
    """
    The course over time, by interval.
    """
    lag: NotRequired[Lag]
    """
    For saves: how many were late.
    """
    latency_ns: LatencySummary
    """
    From the submission of the operation to its completion.
    """
    ledger: Ledger
    """
    Bytes and calls by layer.
    """
    missed_slots: NotRequired[int]
    """
    Slots of the schedule that passed without an operation (open loop only).
    """
    mixed: NotRequired[Mixed]
    """
    For one half of a mixed test: the share of the test's operations that read.
    """
    name: str
    """
    The test's name in the scenario: `rand_write_4k`.
    """
    notes: NotRequired[List[str]]
    """
    Anything the reader must know about this phase.
    """
    operation: Operation
    """
    What was done.
    """
    ops: int
    """
    Operations done.
    """
    ops_per_sec: float
    """
    `ops / elapsed`.
    """
    queue_depth: int
    """
    Operations in flight, in each thread.
    """
    replay: NotRequired[Replayed]
    """
    For a part of a replayed trace, or its recognised transactions: the trace.
    """
    response_histogram: NotRequired[StoredHistogram]
    """
    Its histogram.
    """
    response_ns: NotRequired[LatencySummary]
    """
    From the intended start (open loop only).
    """
    run: int
    """
    The repetition within that state, from 1.
    """
    span_bytes: Bytes
    """
    Addresses were drawn from this many bytes.
    """
    stall_over_ns: Nanos
    """
    A wait longer than this is a stall: 100 ms, or ten times the median if that is longer.
    """
    stalls: NotRequired[List[StallRecord]]
    """
    The longest stalls: waits far beyond the phase's usual one.
    """
    stalls_seen: int
    """
    Number of all stalls, and their threshold.
    """
    state: State
    """
    Where the device was in its life.
    """
    stopped_ns: NotRequired[Nanos]
    """
    How long this process was stopped during it: by a signal, frozen with its cgroup, or
    suspended with the machine. Absent if that was not watched.
    """
    think: NotRequired[Think]
    """
    Time in which the app did something else between operations, as the scenario says (closed
    loop only).
    """
    threads: NotRequired[int]
    """
    Number of threads that did it concurrently.
    """
    time: ReadingOfTime
    """
    The split of the measuring thread's time; for several threads, the sum. The halves of a
    mixed test share it.
    """
    waits: NotRequired[List[WaitRecord]]
    """
    The same by latency, from sampled operations.
    """
    watched: NotRequired[Watched]
    """
    Kernel counters read during the phase, from which causes of stalls are inferred.
    """


ReadingOfCalibration: TypeAlias = Unavailable | Calibration
"""
A value that was read, or the reason why it could not be. In JSON: the value itself, or
`{"unavailable": "reason"}`.
"""


class Environment(TypedDict):
    """
    What the run ran on. Every string comes from the device and is data, never markup.
    """

    calibration: ReadingOfCalibration
    """
    The clock and the engine, measured at the start.
    """
    cpu: Cpu
    """
    Processors.
    """
    cpu_temperature_millicelsius: ReadingOfTupleOfInt64AndInt64
    """
    Hottest CPU zone before and after, in thousandths of a degree Celsius.
    """
    device: Device
    """
    The block device below it.
    """
    encryption: ReadingOfEncryption
    """
    Encryption between the two.
    """
    filesystem: Filesystem
    """
    The filesystem that holds the directory under test.
    """
    internals: NotRequired[Internals]
    """
    The state of filesystem, device and memory; absent in files of older versions and in simulations.
    """
    layers: NotRequired[List[Layer]]
    """
    What a write passes through, the path under test first, the disk last. Empty in files of older
    versions and in simulations.
    """
    limits: NotRequired[Limits]
    """
    The limits of the process's control groups; absent in files of older versions and in
    simulations.
    """
    memory_bytes: ReadingOfBytes
    """
    Memory in all.
    """
    software: Software
    """
    Machine and software.
    """
    storage_temperature_millicelsius: ReadingOfTupleOfInt64AndInt64
    """
    Storage temperature before and after, in thousandths of a degree Celsius.
    """


class Explained(TypedDict):
    """
    What `flashlag explain --json` prints of a path, a phone or a run.
    """

    environment: Environment
    """
    What was seen.
    """
    findings: List[Finding]
    """
    What to change or to know: risks to data first, then by cost.
    """
    run: NotRequired[Findings]
    """
    The same with comparisons and waits, as stored in the run; absent for a path, for which
    nothing was measured.
    """
    subject: str
    """
    The path, the phone or the run file, as typed.
    """


class Run(TypedDict):
    """
    Everything measured in one run of one scenario on one target.
    """

    cards: NotRequired[List[CardCheck]]
    """
    Whether the storage is what it says it is, by the tests that ask.
    """
    command: List[str]
    """
    The command line, as typed.
    """
    conditions: NotRequired[List[Conditions]]
    """
    Charge, power and heat before each test and at the end, for a device with a battery.
    """
    downgrades: NotRequired[List[Downgrade]]
    """
    Requests that could not be fulfilled exactly.
    """
    environment: Environment
    """
    The machine, kernel, filesystem and device.
    """
    findings: NotRequired[Findings]
    """
    Why the device lagged, as typed causes; absent in files of older versions.
    """
    flashlag: Program
    """
    What wrote it.
    """
    integrity: Integrity
    """
    A checksum of all of the above.
    """
    label: NotRequired[str]
    """
    What the user calls the device under test (`--label`).
    """
    lag: Lag
    """
    All saves of the run.
    """
    options: Options
    """
    What the user or a default decided.
    """
    phases: List[Phase]
    """
    What was measured, in order.
    """
    scenario: ScenarioRecord
    """
    What was done.
    """
    schema: Literal['flashlag.run/1']
    """
    `flashlag.run/1`.
    """
    shared: NotRequired[SharedRecord]
    """
    What `flashlag share` removed for others; absent in a run as measured.
    """
    simulated_ns: NotRequired[Nanos]
    """
    Time that passed on a simulated device, from its first step to the end; absent for other
    devices.
    """
    skipped: NotRequired[List[Skipped]]
    """
    Steps of the scenario that were not run, and why.
    """
    started: NotRequired[str]
    """
    Time at which the run began, RFC 3339, UTC; absent in virtual time.
    """
    status: RunStatus
    """
    The way in which the run ended.
    """
    target: Target
    """
    Where.
    """
    trust: Trust
    """
    Whether it can be believed.
    """
    wear: Wear
    """
    Wear of the device by the run.
    """


Written: TypeAlias = Run | ComparisonRecord | Explained
"""
What flashlag writes as JSON.
"""
