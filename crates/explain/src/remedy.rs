//! What would remove each finding, and at what price.

use flashlag_schema::finding::{
    Effect, Fact, Finding, FindingAction, FindingId, FindingRisk, Severity,
};
use flashlag_spec::Reading;

/// A finding with its usual remedy.
pub fn finding(
    id: FindingId,
    severity: Severity,
    source: &str,
    evidence: Vec<Fact>,
    effect: Reading<Effect>,
) -> Finding {
    let (action, risk) = remedy(id);
    let commands = match effect.value() {
        Some(_) => Vec::new(),
        None => pair(id),
    };
    Finding { id, severity, evidence, effect, action, risk, commands, source: source.to_owned() }
}

/// Two runs that show what a finding costs, if neither a run nor a model has it: with what was
/// found and without. Empty if nobody can remove it for the duration of a run.
fn pair(id: FindingId) -> Vec<String> {
    let run = |at: &str, name: &str| format!("flashlag run quick --on {at} -o {name}.json");
    let (with, without) = ("with", "without");
    let between = match id {
        FindingId::Overlay => return compared([run("DIR", with), run("VOLUME", without)]),
        FindingId::DataJournal => {
            let journal = run("lab:PROFILE+ext4,data=journal", with);
            return compared([journal, run("lab:PROFILE+ext4", without)]);
        }
        FindingId::Scheduler => "echo none > /sys/block/DISK/queue/scheduler",
        FindingId::SyncMount => "mount -o remount,async MOUNTPOINT",
        _ => return Vec::new(),
    };
    compared([run("DIR", with), between.to_owned(), run("DIR", without)])
}

fn compared<const N: usize>(commands: [String; N]) -> Vec<String> {
    let mut all = Vec::from(commands);
    all.push("flashlag compare with.json without.json".to_owned());
    all
}

/// The action against a finding, and its price.
fn remedy(id: FindingId) -> (FindingAction, Option<FindingRisk>) {
    use {FindingAction as Do, FindingRisk as At};
    match id {
        FindingId::RollbackJournal => (Do::UseWal, Some(At::LogGrows)),
        FindingId::SeveralDatabases => (Do::OneDatabase, Some(At::DataMoved)),
        FindingId::SmallTransactions | FindingId::FlushPerWrite => {
            (Do::GroupFlushes, Some(At::MoreLostAtOnce))
        }
        FindingId::CommitPerChange => (Do::SaveTogether, Some(At::MoreLostAtOnce)),
        FindingId::WholeFileAgain => (Do::KeepApart, Some(At::DataMoved)),
        FindingId::GrowingFiles => (Do::GrowInSteps, Some(At::SpaceAllocated)),
        FindingId::OtherWriter => (Do::DeferBulkWrites, Some(At::OtherWorkWaits)),
        FindingId::FragmentedDatabase => (Do::RewriteDatabase, Some(At::CopiedOnce)),
        FindingId::CpuWait => (Do::FreeCpu, Some(At::OtherWorkWaits)),
        FindingId::IoLimit => (Do::RaiseIoLimit, Some(At::OtherWorkWaits)),
        FindingId::CpuQuota => (Do::RaiseCpuQuota, Some(At::OtherWorkWaits)),
        FindingId::MemoryLimit => (Do::RaiseMemoryLimit, Some(At::LessMemoryForOthers)),
        FindingId::Swapping => (Do::RelieveMemory, None),
        FindingId::Throttled => (Do::LetItCool, None),
        FindingId::FuseOnPath => (Do::AvoidFuse, Some(At::NotShared)),
        FindingId::SoftwareEncryption => (Do::FasterCipher, Some(At::Reformat)),
        FindingId::Overlay => (Do::UseVolume, None),
        FindingId::LoopDevice => (Do::MeasureBelow, None),
        FindingId::VirtualDisk => (Do::CompareHereOnly, None),
        FindingId::NotOnFlash => (Do::NameAnother, None),
        FindingId::OtherFilesystem => (Do::ChangeFilesystem, Some(At::Reformat)),
        FindingId::ReadOnly => (Do::MountWritable, None),
        FindingId::NoBarrier => (Do::FlushAgain, Some(At::EachFlushWaits)),
        FindingId::SyncIsNoOp => (Do::FindLostFlushes, Some(At::EachFlushWaits)),
        FindingId::NoJournal => (Do::AddJournal, Some(At::CommitsCost)),
        FindingId::FilesystemErrors => (Do::CheckFilesystem, None),
        FindingId::FastCommit => (Do::NoFastCommit, Some(At::WholeCommits)),
        FindingId::DataJournal => (Do::JournalMetadataOnly, Some(At::OrderLost)),
        FindingId::SyncMount => (Do::MountAsync, Some(At::UnsyncedLost)),
        FindingId::AccessTimes => (Do::RelaxAccessTimes, Some(At::NoReadTimes)),
        FindingId::FewFreeSegments => (Do::FreeSegments, None),
        FindingId::DiscardOnDelete => (Do::TrimInBatches, Some(At::DeletedStays)),
        FindingId::NeverTrimmed | FindingId::DeletedNotTrimmed => {
            (Do::Trim, Some(At::BusyWhileTrimming))
        }
        FindingId::FullNotTrimmed => (Do::DeleteAndTrim, Some(At::BusyWhileTrimming)),
        FindingId::NearlyFull => (Do::MakeRoom, None),
        FindingId::StorageQuota => (Do::MakeRoomInQuota, None),
        FindingId::FullStorage | FindingId::SmallSpare => (Do::KeepSpaceFree, Some(At::SpaceKept)),
        FindingId::Scheduler => (Do::NoScheduler, Some(At::NoPriorities)),
        FindingId::DeviceCacheOff => (Do::SwitchCacheOn, None),
        FindingId::WriteBoosterOff => (Do::LetBufferEmpty, None),
        FindingId::WriteCacheExhausted => (Do::WriteInPortions, Some(At::OtherWorkWaits)),
        FindingId::IdleWakeUp => (Do::KeepAwake, Some(At::TakesPower)),
        FindingId::CollectionPeriod => (Do::KeepSpaceFree, Some(At::SpaceKept)),
        FindingId::WornFlash => (Do::ReplaceDevice, None),
        FindingId::NoAppClass | FindingId::BelowClass => (Do::TakeAppCard, None),
    }
}
