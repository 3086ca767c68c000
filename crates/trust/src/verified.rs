//! Is every byte that was read back the byte that was written? Claimed only with `--verify`.

use flashlag_schema::{Check, CheckId};
use flashlag_units::Bytes;

use crate::evidence::Evidence;
use crate::finding::{Finding, combine};

const CLAIM: &str = "Every byte read back is the byte written";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let verification = evidence.verification.as_ref()?;
    let finding = if verification.wrong_blocks > 0 {
        let first = verification.first_wrong.as_ref();
        let first = first.map(|first| format!(" The first: {first}.")).unwrap_or_default();
        let detail = format!(
            "{} blocks of {}differ from what was written.{first}",
            verification.wrong_blocks, verification.bytes
        );
        let advice = "This device loses data: back it up, check its cable or card, replace it.";
        Finding::fail(None, detail, advice)
    } else if verification.bytes == Bytes::ZERO {
        let detail = "Nothing was read back.";
        Finding::unknown(None, detail, "Run it again to the end with --verify.")
    } else {
        Finding::pass(None, format!("{} read back and proved.", verification.bytes))
    };
    combine(CheckId::DataVerified, CLAIM, vec![finding])
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;

    use super::*;
    use crate::Verification;
    use crate::testing::Case;

    #[test]
    fn read_back_is_claimed_only_when_it_was_done() {
        let mut case = Case::quiet();
        assert_eq!(case.status(check), None);
        for (bytes, wrong_blocks, status) in [
            (1 << 20, 0, CheckStatus::Pass),
            (1 << 20, 1, CheckStatus::Fail),
            (0, 0, CheckStatus::Unknown),
        ] {
            let bytes = Bytes(bytes);
            case.verification = Some(Verification { bytes, wrong_blocks, first_wrong: None });
            assert_eq!(case.status(check), Some(status));
        }
    }
}
