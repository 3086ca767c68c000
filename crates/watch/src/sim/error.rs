use flashlag_device::DeviceError;
use flashlag_flash::FlashError;
use flashlag_spec::target::TargetError;
use thiserror::Error;

use crate::book::BookError;

/// Why nothing can be simulated.
#[derive(Debug, Error)]
pub enum SimError {
    #[error("the simulated device: {0}")]
    Flash(#[from] FlashError),
    #[error("the simulated device: {0}")]
    Mount(#[from] TargetError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Book(#[from] BookError),
}
