use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use flashlag_serve::{Launch, Listen, Running, Settings, percent_encoded};

use super::find::{control_of, socket};
use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// The interval between two checks whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// Serves a device until Ctrl-C, SIGTERM or an error.
pub fn serve(args: &ServeArgs, terminal: &Terminal) -> Result<Exit> {
    let launch = launch(args)?;
    let stop = stop_flag()?;
    let mut running = launch.start()?;
    if !terminal.quiet {
        let usage = match secured(&running.uri(), args) {
            Some(uri) => by_uri(&uri, &running),
            None => attach(&running),
        };
        say::text(&usage)?;
    }
    while !stop.load(Ordering::Relaxed) {
        if running.ended_within(LOOK)? {
            // `stop` reports whether it ended on request or failed.
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
            "{listen} can be reached from other machines, which could write to the device: give \
             --tls-certificates or --tls-psk, or listen on a unix socket or on 127.0.0.1"
        );
    }
    let control = args.control.clone().unwrap_or_else(|| match &listen {
        Listen::Unix(path) => control_of(path),
        Listen::Tcp(..) => control_of(&socket(&profile)),
    });
    let settings = Settings {
        // nbdkit resolves relative paths itself, in another directory.
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
        zoned: false,
        time_scale: args.time_scale,
        control: Some(PathBuf::from(absolute(&control)?)),
        notify: None,
        relay: None,
        relay_to: None,
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

/// The device's URI with TLS; `None` without it.
fn secured(uri: &str, args: &ServeArgs) -> Option<String> {
    let secure = uri.replacen("nbd", "nbds", 1);
    if let Some(keys) = &args.tls_psk {
        // Each line is a client's name, a colon and its key.
        let text = std::fs::read_to_string(keys).unwrap_or_default();
        let name = text.lines().find_map(|line| line.split_once(':')).map_or("NAME", |line| line.0);
        let joint = if secure.contains('?') { '&' } else { '?' };
        let name = percent_encoded(Path::new(name));
        let named = secure.replacen("://", &format!("://{name}@"), 1);
        return Some(format!("{named}{joint}tls-psk-file={}", percent_encoded(keys)));
    }
    args.tls_certificates.as_ref().map(|_| secure)
}

/// Usage for clients that take a URI.
fn by_uri(uri: &str, running: &Running) -> String {
    let control = shell_word(&running.control_socket().to_string_lossy());
    format!(
        "The device is at {uri}\n\n\
         To show it:\n  nbdinfo '{uri}'\n\
         To copy to it:\n  nbdcopy FILE '{uri}'\n\n\
         Statistics: flashlag device stat {control}\n\
         Ctrl-C stops it.\n"
    )
}

/// A word, quoted for a shell where necessary.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=,+@%".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Usage for a kernel, a virtual machine and fio.
fn attach(running: &Running) -> String {
    let uri = running.uri();
    let control = shell_word(&running.control_socket().to_string_lossy());
    let (nbd_client, qemu) = match running.listen() {
        Listen::Unix(path) => {
            let path = path.to_string_lossy();
            // A comma would begin QEMU's next option.
            let escaped = path.replace(',', ",,");
            (
                format!("-unix {} /dev/nbd0", shell_word(&path)),
                format!("driver=nbd,server.type=unix,server.path={escaped}"),
            )
        }
        Listen::Tcp(address, port) => (
            format!("{address} {port} /dev/nbd0"),
            format!("driver=nbd,server.type=inet,server.host={address},server.port={port}"),
        ),
    };
    let drive = shell_word(&format!("{qemu},if=virtio,cache=none,discard=unmap"));
    format!(
        "The device is at {uri}\n\n\
         As root, on a kernel with nbd:\n  nbd-client {nbd_client}\n\
         On a kernel without nbd:\n  mkdir -p /tmp/device && nbdfuse /tmp/device/disk '{uri}' &\n  \
         losetup --find --show --direct-io=on /tmp/device/disk\n\
         In a virtual machine:\n  qemu-system-x86_64 … -drive {drive}\n\
         To measure it:\n  fio --name=test --ioengine=nbd --uri='{uri}' --rw=randwrite --bs=4k --fsync=1 --size=100m\n\n\
         Statistics: flashlag device stat {control}\n\
         Ctrl-C stops it.\n"
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(
            shell_word("/run/user/0/flashlag-device-zero"),
            "/run/user/0/flashlag-device-zero"
        );
        assert_eq!(shell_word("/tmp/a b'c"), r"'/tmp/a b'\''c'");
    }

    fn secured_by(words: &[&str], uri: &str) -> Option<String> {
        let line = Line::parse_from([&["device", "zero"], words].concat());
        secured(uri, &line.args)
    }

    #[test]
    fn the_uri_of_a_device_with_tls_names_the_key_of_a_client() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        std::fs::write(&keys, "alice:00112233\nbob:44556677\n").unwrap();
        let keys = keys.to_string_lossy();
        let by_key = |uri| secured_by(&["--tls-psk", &keys], uri).unwrap();
        let at = by_key("nbd://10.0.0.1:10809");
        assert_eq!(at, format!("nbds://alice@10.0.0.1:10809?tls-psk-file={keys}"));
        let at = by_key("nbd+unix:///?socket=/run/x");
        assert_eq!(at, format!("nbds+unix://alice@/?socket=/run/x&tls-psk-file={keys}"));
        let by_certificate = secured_by(&["--tls-certificates", "/pki"], "nbd://10.0.0.1:10809");
        assert_eq!(by_certificate.as_deref(), Some("nbds://10.0.0.1:10809"));
        assert_eq!(secured_by(&[], "nbd://127.0.0.1:10809"), None);
    }
}
