//! What lives beside the requests: the control socket, and whoever started us.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use flashlag_serve::{ControlServer, ServeError, Served};

/// As long as this is kept, the device is told things.
pub(crate) struct Life {
    _control: Option<ControlServer>,
}

impl Life {
    /// Listens for what it is told, and then says that the device is ready.
    ///
    /// # Errors
    /// A socket that can't be used.
    pub(crate) fn begin(device: &Arc<Served>) -> Result<Life, ServeError> {
        let settings = device.settings();
        let control = match &settings.control {
            None => None,
            Some(path) => {
                let told = Arc::clone(device);
                let tell = move |command: &_| told.tell(command);
                Some(ControlServer::start(path, tell, nbdkit::shutdown)?)
            }
        };
        if let Some(path) = &settings.notify {
            report(path)?;
        }
        Ok(Life { _control: control })
    }
}

/// Connects to whoever waits for the device, and ends it when they are gone.
fn report(path: &Path) -> Result<(), ServeError> {
    let refuse = |error: std::io::Error| ServeError::File {
        operation: "connect to",
        path: path.to_owned(),
        reason: error.to_string(),
        advice: "notify= is for the program that starts the device",
    };
    let mut stream = UnixStream::connect(path).map_err(refuse)?;
    let waiting = std::thread::Builder::new().name("notify".to_owned());
    let wait = move || {
        // Nothing is ever said: it ends, in whatever way, when they end.
        let _ = stream.read(&mut [0]);
        nbdkit::shutdown();
    };
    waiting.spawn(wait).map(drop).map_err(refuse)
}
