//! Values as bytes behind a checksum, for the journal and for messages to and from a worker.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Bytes of a checksum: the first ones of a SHA-256.
pub(crate) const CHECKSUM: usize = 8;

/// The checksum of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let digest = Sha256::digest(bytes);
    let mut first = [0; CHECKSUM];
    first.copy_from_slice(&digest[..CHECKSUM]);
    first
}

/// Why bytes are no sealed value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("it is too short")]
    Short,
    #[error("its checksum does not match")]
    Checksum,
    #[error(transparent)]
    Form(#[from] postcard::Error),
}

/// A value as bytes, after their checksum.
pub(crate) fn seal<T: Serialize>(value: &T) -> Result<Vec<u8>, SealError> {
    let bytes = postcard::to_allocvec(value)?;
    let mut sealed = checksum(&bytes).to_vec();
    sealed.extend(bytes);
    Ok(sealed)
}

/// The value of sealed bytes.
pub(crate) fn open<T: DeserializeOwned>(sealed: &[u8]) -> Result<T, SealError> {
    let (sum, bytes) = sealed.split_at_checked(CHECKSUM).ok_or(SealError::Short)?;
    if sum != checksum(bytes) {
        return Err(SealError::Checksum);
    }
    Ok(postcard::from_bytes(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_value_reads_back_and_no_changed_byte_goes_unseen() {
        let value = (7u64, "text".to_owned(), vec![1.5f64, -2.0]);
        let sealed = seal(&value).unwrap();
        assert_eq!(open::<(u64, String, Vec<f64>)>(&sealed).unwrap(), value);
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            assert!(open::<(u64, String, Vec<f64>)>(&changed).is_err(), "byte {index}");
        }
        for length in 0..sealed.len() {
            assert!(open::<(u64, String, Vec<f64>)>(&sealed[..length]).is_err(), "{length}");
        }
    }
}
