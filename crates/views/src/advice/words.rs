//! The sentences of advice.

use flashlag_schema::advice::AdviceId;

/// The sentences of one kind of advice.
pub(super) struct Words {
    pub finding: &'static str,
    pub action: &'static str,
    pub price: Option<&'static str>,
}

const fn words(finding: &'static str, action: &'static str, price: Option<&'static str>) -> Words {
    Words { finding, action, price }
}

/// The sentences of a kind of advice.
pub(super) fn of(id: AdviceId) -> Words {
    match id {
        AdviceId::NoBarrier => NO_BARRIER,
        AdviceId::NoJournal => NO_JOURNAL,
        AdviceId::FilesystemErrors => FILESYSTEM_ERRORS,
        AdviceId::WornFlash => WORN_FLASH,
        AdviceId::DataJournal => DATA_JOURNAL,
        AdviceId::SyncMount => SYNC_MOUNT,
        AdviceId::NearlyFull => NEARLY_FULL,
        AdviceId::FewFreeSegments => FEW_FREE_SEGMENTS,
        AdviceId::DiscardOnDelete => DISCARD_ON_DELETE,
        AdviceId::NeverTrimmed => NEVER_TRIMMED,
        AdviceId::FuseOnPath => FUSE_ON_PATH,
        AdviceId::SoftwareEncryption => SOFTWARE_ENCRYPTION,
        AdviceId::DeviceCacheOff => DEVICE_CACHE_OFF,
        AdviceId::WriteBoosterOff => WRITE_BOOSTER_OFF,
        AdviceId::NoAppClass => NO_APP_CLASS,
        AdviceId::Scheduler => SCHEDULER,
        AdviceId::Swapping => SWAPPING,
        AdviceId::AccessTimes => ACCESS_TIMES,
        AdviceId::LoopDevice => LOOP_DEVICE,
        AdviceId::VirtualDisk => VIRTUAL_DISK,
        AdviceId::NotOnFlash => NOT_ON_FLASH,
        AdviceId::Overlay => OVERLAY,
    }
}

const NO_BARRIER: Words = words(
    "Syncs do not flush the device: a power cut loses saves that an app believes stored.",
    "Remount with barriers (`barrier`, F2FS: `fsync_mode=posix`).",
    Some(
        "Each durable write waits for a flush: `flashlag predict RUN.json --change nobarrier=off` says how long.",
    ),
);

const NO_JOURNAL: Words = words(
    "ext4 has no journal: a crash leaves the filesystem to be repaired.",
    "Add one while it is unmounted: `tune2fs -O has_journal DEVICE`.",
    Some("Each durable write that changes a file's size or place costs a commit."),
);

const FILESYSTEM_ERRORS: Words = words(
    "The filesystem has met errors.",
    "Copy the data elsewhere, then check it unmounted: `e2fsck -f DEVICE`.",
    None,
);

const WORN_FLASH: Words = words(
    "The flash is nearly worn out: programs and reads take longer, and blocks fail.",
    "Copy the data elsewhere, and replace the device or the card.",
    None,
);

const DATA_JOURNAL: Words = words(
    "Data is written twice, into the journal and in place.",
    "Mount with `data=ordered`.",
    Some(
        "Data that was not synced can be old or new after a crash, not in the order of its writes.",
    ),
);

const SYNC_MOUNT: Words = words(
    "The mount makes every write or every change of a directory wait for the device.",
    "Mount without `sync` and `dirsync`: apps that need it sync by themselves.",
    Some("What was not synced in the last 30 s is lost with the power."),
);

const NEARLY_FULL: Words = words(
    "More than four fifths are in use: the flash has less room to tidy up, and writes wait for it.",
    "Delete or move data, then trim.",
    None,
);

const FEW_FREE_SEGMENTS: Words = words(
    "F2FS has few free segments: a write may wait until one is cleaned.",
    "Delete or move data; on a phone leave it idle and charging overnight.",
    None,
);

const DISCARD_ON_DELETE: Words = words(
    "What is deleted is discarded at once, and a sync may wait for that.",
    "Mount without `discard`, and trim once a week (`systemctl enable fstrim.timer`).",
    Some("Until the next trim the flash copies what was deleted."),
);

const NEVER_TRIMMED: Words = words(
    "Nothing trims here: the flash keeps copying what was deleted long ago.",
    "Trim now (`fstrim -v MOUNTPOINT`, as root) and once a week (`systemctl enable fstrim.timer`).",
    Some("The device is busy while it is trimmed."),
);

const FUSE_ON_PATH: Words = words(
    "A process serves these files: each call costs two switches to it and back.",
    "Keep databases in the app's own directory, which is not behind FUSE.",
    Some("Other apps can't read them there."),
);

const SOFTWARE_ENCRYPTION: Words = words(
    "The processor encrypts every block without instructions for it.",
    "Use a cipher that is made for such processors: Adiantum (fscrypt, or `cryptsetup -c xchacha12,aes-adiantum-plain64`).",
    Some("Data has to be written anew."),
);

const DEVICE_CACHE_OFF: Words = words(
    "The eMMC has a write cache, and the cache is off: each write waits for the flash.",
    "Switch it on (`mmc cache enable DEVICE`); barriers keep it safe.",
    None,
);

const WRITE_BOOSTER_OFF: Words = words(
    "Writes do not go to the WriteBooster buffer: it is off or full.",
    "Leave the phone idle, so that the buffer is emptied; if it is off, the maker has switched it off.",
    None,
);

const NO_APP_CLASS: Words = words(
    "The card promises no random writes a second: its class is for video.",
    "Take a card of class A1 or A2, and measure it: `flashlag run quick`.",
    None,
);

const SCHEDULER: Words = words(
    "A scheduler that orders requests costs processor time on an NVMe disk.",
    "Write `none` to `/sys/block/DISK/queue/scheduler`.",
    Some("A process that writes much is not held back in favour of others."),
);

const SWAPPING: Words = words(
    "Memory is short: apps are written to the flash and read back, beside every save.",
    "Run less at a time, or swap to compressed memory (zram) first.",
    None,
);

const ACCESS_TIMES: Words = words(
    "Every read of a file changes its time of access, which is then written.",
    "Mount with `relatime` or `noatime`.",
    Some("Programs can't tell when a file was read last."),
);

const LOOP_DEVICE: Words = words(
    "The filesystem lies within a file of another one: both journals are written.",
    "Measure below the loop device to know the disk.",
    None,
);

const VIRTUAL_DISK: Words = words(
    "The disk is another machine's software: its figures are not those of a flash.",
    "Compare figures on this machine only; measure the host for its flash.",
    None,
);

const NOT_ON_FLASH: Words = words(
    "These files are not on a disk of this machine.",
    "Name a directory on the storage in question.",
    None,
);

const OVERLAY: Words = words(
    "An overlay copies a file as a whole before its first change.",
    "Put databases on a volume of their own.",
    None,
);
