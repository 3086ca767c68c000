use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use flashlag_serve::{Launch, Listen, Running, Settings};

use super::args::ServeArgs;
use super::find::{control_of, socket};
use crate::exit::Exit;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// How soon an end is noticed.
const LOOK: Duration = Duration::from_millis(100);

/// Serves a device until it is told to end.
pub fn serve(args: &ServeArgs, terminal: &Terminal) -> Result<Exit> {
    let launch = launch(args)?;
    let stop = stop_flag()?;
    let mut running = launch.start()?;
    if !terminal.quiet {
        let mut out = std::io::stdout().lock();
        write!(out, "{}", attach(&running))?;
        out.flush()?;
    }
    while !stop.load(Ordering::Relaxed) {
        if running.ended_within(LOOK)? {
            // It was told to, or it failed: that says which.
            return running.stop().map(|()| Exit::Done).map_err(Into::into);
        }
    }
    running.stop()?;
    Ok(Exit::Done)
}

fn launch(args: &ServeArgs) -> Result<Launch> {
    let profile = args.profile.clone().unwrap_or_default();
    let listen = args.listen.clone().unwrap_or_else(|| Listen::Unix(socket(&profile)));
    let mut options = Vec::new();
    for (name, path) in
        [("--tls-certificates", &args.tls_certificates), ("--tls-psk", &args.tls_psk)]
    {
        if let Some(path) = path {
            options.push("--tls=require".to_owned());
            options.push(format!("{name}={}", path.display()));
        }
    }
    if !listen.is_local() && options.is_empty() {
        bail!(
            "{listen} can be reached from elsewhere, and anybody could write to the device: give \
             --tls-certificates or --tls-psk, or listen on a unix socket or on 127.0.0.1"
        );
    }
    let control = args.control.clone().unwrap_or_else(|| match &listen {
        Listen::Unix(path) => control_of(path),
        Listen::Tcp(..) => control_of(&socket(&profile)),
    });
    let settings = Settings {
        // nbdkit looks for files from where it is, which is here.
        profile: if Path::new(&profile).is_file() {
            absolute(Path::new(&profile))?
        } else {
            profile
        },
        size: args.size,
        age: args.state,
        seed: args.seed,
        store: args.store.as_deref().map(absolute).transpose()?.map(PathBuf::from),
        scratch: None,
        image: args.image.as_deref().map(absolute).transpose()?.map(PathBuf::from),
        time_scale: args.time_scale,
        control: Some(PathBuf::from(absolute(&control)?)),
        notify: None,
    };
    Ok(Launch {
        listen: Some(listen),
        plugin: args.plugin.clone(),
        options,
        ..Launch::new(settings)
    })
}

fn absolute(path: &Path) -> Result<String> {
    Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
}

/// How clients attach to it.
fn attach(running: &Running) -> String {
    let uri = running.uri();
    let control = running.control_socket().display();
    let (nbd_client, qemu) = match running.listen() {
        Listen::Unix(path) => {
            let path = path.display();
            (
                format!("-unix {path} /dev/nbd0"),
                format!("driver=nbd,server.type=unix,server.path={path}"),
            )
        }
        Listen::Tcp(address, port) => (
            format!("{address} {port} /dev/nbd0"),
            format!("driver=nbd,server.type=inet,server.host={address},server.port={port}"),
        ),
    };
    format!(
        "The device is at {uri}\n\n\
         As root, on a kernel with nbd:\n  nbd-client {nbd_client}\n\
         On one without:\n  mkdir -p /tmp/device && nbdfuse /tmp/device/disk '{uri}' &\n  \
         losetup --find --show --direct-io=on /tmp/device/disk\n\
         In a virtual machine:\n  qemu-system-x86_64 … -drive {qemu},if=virtio,cache=none,discard=unmap\n\
         To measure it:\n  fio --name=test --ioengine=nbd --uri='{uri}' --rw=randwrite --bs=4k --fsync=1 --size=100m\n\n\
         How it is: flashlag device stat {control}\n\
         It ends with Ctrl-C.\n"
    )
}
