use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use flashlag_serve::{Refusal, Relay, ServeError, ServedDevice, Settings};
use nbdkit::{Error, ExtentHandle, ExtentType, Flags, FuaFlags, Result, Server};

use crate::life::{Lifeline, Lifetime};

/// The settings from the command line, later the device that all clients share.
static SETTINGS: Mutex<Option<Settings>> = Mutex::new(None);
static DEVICE: OnceLock<Arc<ServedDevice>> = OnceLock::new();
static LINE: Mutex<Option<Lifeline>> = Mutex::new(None);
/// The socket of the clients, if nbdkit must not serve them itself.
static RELAY: Mutex<Option<Relay>> = Mutex::new(None);
static LIFE: Mutex<Option<Lifetime>> = Mutex::new(None);

/// A client's connection.
pub(crate) struct Plugin {
    device: Arc<ServedDevice>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message for nbdkit, which takes no zero bytes.
fn error(errno: i32, text: &str) -> Error {
    Error::new(errno, text.replace('\0', "?"))
}

fn refused(refusal: Refusal) -> Error {
    error(refusal.errno, &refusal.reason)
}

fn unusable(reason: ServeError) -> Error {
    error(libc::EINVAL, &reason.to_string())
}

nbdkit::plugin!(Plugin {
    after_fork,
    can_extents,
    can_fast_zero,
    can_flush,
    can_fua,
    can_multi_conn,
    can_trim,
    can_write,
    can_zero,
    config,
    config_complete,
    config_help,
    extents,
    flush,
    get_ready,
    is_rotational,
    trim,
    unload,
    write_at,
    zero
});

impl Server for Plugin {
    fn name() -> &'static str {
        "flashlag"
    }

    fn longname() -> Option<&'static str> {
        Some("a simulated flash device in real time")
    }

    fn version() -> Option<&'static str> {
        Some(env!("CARGO_PKG_VERSION"))
    }

    fn description() -> Option<&'static str> {
        Some("Serves a phone's flash storage as flashlag models it, each request in its time.")
    }

    fn magic_config_key() -> Option<&'static str> {
        Some("profile")
    }

    fn config_help() -> Option<&'static str> {
        Some(
            "profile=NAME|FILE.toml  (required) the device\n\
             size=8GB                its size [the profile's]\n\
             state=new|full|aged:12mo\n\
             seed=N                  what every random choice follows from [1]\n\
             store=FILE              keeps data and state; in memory without\n\
             image=FILE              what it holds at first\n\
             time_scale=X            its clock runs X times faster\n\
             control=SOCKET          control socket",
        )
    }

    fn config(key: &str, value: &str) -> Result<()> {
        lock(&SETTINGS).get_or_insert_default().set(key, value).map_err(unusable)
    }

    fn config_complete() -> Result<()> {
        match &*lock(&SETTINGS) {
            Some(settings) if !settings.profile.is_empty() => Ok(()),
            _ => Err(error(
                libc::EINVAL,
                "no device given: add profile=NAME, for example profile=nexus5-2013",
            )),
        }
    }

    /// Called before nbdkit leaves the terminal, so that the user can read an error.
    fn get_ready() -> Result<()> {
        let settings = lock(&SETTINGS).clone().unwrap_or_default();
        // This comes first, since what follows may take minutes.
        let line = settings.notify.as_deref().map(|path| Lifeline::connect(path, made));
        *lock(&LINE) = line.transpose().map_err(unusable)?;
        let relay = settings.relay.as_ref().map(Relay::bind);
        *lock(&RELAY) = relay.transpose().map_err(unusable)?;
        let device = ServedDevice::open(&settings).map_err(unusable)?;
        // nbdkit calls this once.
        let _ = DEVICE.set(Arc::new(device));
        Ok(())
    }

    /// Threads are begun here, since a fork would end them.
    fn after_fork() -> Result<()> {
        let (line, relay) = (lock(&LINE).take(), lock(&RELAY).take());
        let life = Lifetime::begin(&device()?, line, relay, made).map_err(unusable)?;
        *lock(&LIFE) = Some(life);
        Ok(())
    }

    /// The end: no request is under way any more.
    fn unload() {
        drop(lock(&LIFE).take());
        if let Some(device) = DEVICE.get()
            && let Err(reason) = device.close()
        {
            nbdkit::debug!("{reason}");
        }
    }

    fn open(_readonly: bool) -> Result<Box<dyn Server>> {
        Ok(Box::new(Plugin { device: device()? }))
    }

    fn get_size(&self) -> Result<i64> {
        i64::try_from(self.device.size().0).map_err(|_| error(libc::EOVERFLOW, "too large"))
    }

    fn can_write(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_flush(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_fua(&self) -> Result<FuaFlags> {
        Ok(FuaFlags::Native)
    }

    fn can_trim(&self) -> Result<bool> {
        Ok(true)
    }

    fn can_zero(&self) -> Result<bool> {
        Ok(true)
    }

    /// Always true, so that nbdkit passes on requests for a fast zero; one that would be as slow as
    /// writing is refused.
    fn can_fast_zero(&self) -> Result<bool> {
        Ok(true)
    }

    /// A flush of one client covers what all have written.
    fn can_multi_conn(&self) -> Result<bool> {
        Ok(true)
    }

    fn is_rotational(&self) -> Result<bool> {
        Ok(false)
    }

    fn can_extents(&self) -> Result<bool> {
        Ok(true)
    }

    fn extents(
        &self,
        count: u32,
        offset: u64,
        _flags: Flags,
        handle: &mut ExtentHandle,
    ) -> Result<()> {
        let end = offset + u64::from(count);
        let mut at = offset;
        while at < end {
            let held = self.device.next_held(at, end).map_err(refused)?;
            let (start, length) = held.unwrap_or((end, 0));
            if at < start {
                handle.add(at, start - at, ExtentType::HoleZero)?;
            }
            if length > 0 {
                handle.add(start, length, ExtentType::Allocated)?;
            }
            at = start + length;
        }
        Ok(())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<()> {
        self.device.read(offset, into).map_err(refused)
    }

    fn write_at(&self, from: &[u8], offset: u64, flags: Flags) -> Result<()> {
        self.device.write(offset, from, flags.contains(Flags::FUA)).map_err(refused)
    }

    fn flush(&self) -> Result<()> {
        self.device.flush().map_err(refused)
    }

    fn trim(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        self.device.trim(offset, u64::from(count), flags.contains(Flags::FUA)).map_err(refused)
    }

    fn zero(&self, count: u32, offset: u64, flags: Flags) -> Result<()> {
        let may_trim = flags.contains(Flags::MAY_TRIM);
        let fua = flags.contains(Flags::FUA);
        if flags.contains(Flags::FAST_ZERO) && !self.device.zeroes_fast(may_trim) {
            return Err(error(libc::EOPNOTSUPP, "zeros are written here as other data is"));
        }
        self.device.zero(offset, u64::from(count), may_trim, fua).map_err(refused)
    }
}

fn made() -> Option<Arc<ServedDevice>> {
    DEVICE.get().cloned()
}

fn device() -> Result<Arc<ServedDevice>> {
    made().ok_or_else(|| error(libc::ENODEV, "the device was not made"))
}
