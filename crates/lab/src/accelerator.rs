//! QEMU's accelerator: KVM if a guest boots with it, otherwise translation. `/dev/kvm` can exist
//! and not work, so a guest tries it once and the answer is kept.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::error::LabError;
use crate::initramfs::Initramfs;
use crate::kernel::Kernel;
use crate::machine::{Machine, MachineSpec};
use crate::program::guest_program;
use crate::protocol::{SETUP, Setup};

/// KVM: instructions run on the host's processor.
const LENT: &str = "kvm";
/// Translation in QEMU, with a thread for each processor of the guest.
const TRANSLATED: &str = "tcg,thread=multi";
/// Limit for a boot with KVM, which takes two seconds at most.
const PATIENCE: Duration = Duration::from_secs(20);
/// Share of the limit for a boot that the attempt may take.
const SHARE: u32 = 4;
/// File with the answer, beside the kernel.
const ANSWER: &str = "accelerator";

/// QEMU's accelerator. Trying one takes at most a quarter of `patience`, the time for a boot.
pub fn accelerator(
    kernel: &Kernel,
    program: &Path,
    folder: &Path,
    patience: Duration,
    stop: &AtomicBool,
) -> Result<&'static str, LabError> {
    if File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(TRANSLATED);
    }
    let kept = kernel.folder.join(ANSWER);
    let host = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let question = format!("{} on {}", kernel.version, host.trim());
    if let Some(answer) = remembered(&std::fs::read_to_string(&kept).unwrap_or_default(), &question)
    {
        return Ok(answer);
    }
    let patience = PATIENCE.min(patience / SHARE);
    let answer = if boots(kernel, program, folder, patience, stop)? { LENT } else { TRANSLATED };
    // A failure within a shorter limit proves nothing. If the folder can't be written, nothing is
    // stored.
    if answer == LENT || patience == PATIENCE {
        let _ = std::fs::write(&kept, format!("{answer} {question}\n"));
    }
    Ok(answer)
}

fn remembered(text: &str, question: &str) -> Option<&'static str> {
    let (answer, asked) = text.trim_end().split_once(' ')?;
    let known = [LENT, TRANSLATED].into_iter().find(|known| *known == answer)?;
    (asked == question).then_some(known)
}

/// Whether a guest without a task boots with KVM.
fn boots(
    kernel: &Kernel,
    program: &Path,
    folder: &Path,
    patience: Duration,
    stop: &AtomicBool,
) -> Result<bool, LabError> {
    let mut archive = Initramfs::create(&folder.join("try"))?;
    guest_program(program, &mut archive)?;
    let setup = Setup { modules: Vec::new(), mounts: Vec::new(), atomic: false };
    let text = serde_json::to_string(&setup)?;
    archive.add_text(Path::new(SETUP), &text)?;
    let initramfs = archive.finish()?;
    let tried = Machine::boot(&MachineSpec {
        kernel: &kernel.image,
        initramfs: &initramfs,
        disks: &[],
        folder,
        accelerator: LENT,
        patience,
        stop,
    });
    match tried {
        Ok(_) => Ok(true),
        Err(LabError::Guest { .. } | LabError::Program { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_one_kernel_on_one_host() {
        assert_eq!(remembered("kvm 6.12 on 6.1\n", "6.12 on 6.1"), Some(LENT));
        assert_eq!(remembered("tcg,thread=multi 6.12 on 6.1", "6.12 on 6.1"), Some(TRANSLATED));
        for text in ["", "kvm", "kvm 6.12 on 6.2", "kvm 6.1 on 6.1", "fast 6.12 on 6.1"] {
            assert_eq!(remembered(text, "6.12 on 6.1"), None, "{text}");
        }
    }
}
