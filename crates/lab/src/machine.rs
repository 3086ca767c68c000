//! A QEMU machine: two processors, disks, a console that goes to a file, and flashlag's port.

use std::io::{BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_device::ZoneGeometry;
use flashlag_schema::remote;
use flashlag_units::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::error::LabError;
use crate::mkfs::conventional;
use crate::program::{BINDER, bound_to_us, find_program};
use crate::protocol::{Order, PORT, Report};

const QEMU: &str = "qemu-system-x86_64";
/// Longest silence of a guest, which sends signs of life every second or so.
const SILENCE: Duration = Duration::from_secs(60);
/// Limit for a shutdown, which unmounts and so writes cached data.
const SHUTDOWN: Duration = Duration::from_secs(60);
/// Interval at which the stop flag is checked during a boot.
const LOOK: Duration = Duration::from_millis(200);
/// Longest wait for the rest of a message.
const MESSAGE: Duration = Duration::from_secs(5);
/// Lines of the console that an error shows.
const CONSOLE_LINES: usize = 12;

/// The first words of a kernel panic.
const FAULTS: [&str; 5] = ["BUG:", "Oops", "general protection", "Kernel panic", "Out of memory"];

/// A disk of the machine.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The serial number by which the guest finds the disk.
    pub serial: String,
    /// Socket of the NBD server.
    pub socket: PathBuf,
    /// Its zones, which become a second disk: [`zones_serial`].
    pub zones: Option<ZoneGeometry>,
}

/// Serial number of the disk with the zones of a zoned one, whose conventional zones are the disk itself. On phones
/// they are two logical units.
pub fn zones_serial(disk: &str) -> String {
    format!("{disk}-zones")
}

/// The machine to boot.
#[derive(Clone, Debug)]
pub struct MachineSpec<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    pub disks: &'a [Disk],
    /// Folder for the console's file and the port's socket.
    pub folder: &'a Path,
    /// QEMU's accelerator: `tcg,thread=multi` or `kvm`.
    pub accelerator: &'a str,
    /// Limit for the boot, until the guest is set up.
    pub patience: Duration,
    /// Raised by another thread to stop the boot.
    pub stop: &'a AtomicBool,
}

/// A guest that is up. Dropping the value kills it.
#[derive(Debug)]
pub struct Machine {
    child: Child,
    port: UnixStream,
    reader: BufReader<UnixStream>,
    console: PathBuf,
    /// `uname` of the guest.
    pub kernel: String,
}

impl MachineSpec<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn arguments(spec: &MachineSpec<'_>, port: &Path, console: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    // A translated guest has one processor: with two, one can run code that the kernel is changing
    // on the other, and the guest ends by "Oops: int3".
    let (processors, model) =
        if spec.accelerator.starts_with("kvm") { ("2", "host") } else { ("1", "max") };
    add(&["-machine", "q35", "-accel", spec.accelerator, "-smp", processors, "-m", "1024"]);
    add(&["-cpu", model]);
    add(&["-kernel", &spec.kernel.to_string_lossy()]);
    add(&["-initrd", &spec.initramfs.to_string_lossy()]);
    // A panic ends the machine and a hung task panics, so nothing waits for ever.
    add(&[
        "-append",
        "console=ttyS0 rdinit=/init panic=-1 nokaslr mitigations=off quiet loglevel=4 \
         tsc=reliable no_timer_check random.trust_cpu=on \
         sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=120",
    ]);
    add(&["-serial", &format!("file:{}", console.display())]);
    let port = word(port);
    add(&["-chardev", &format!("socket,id=port,path={port},server=on,wait=off")]);
    add(&["-device", "virtio-serial-pci"]);
    add(&["-device", &format!("virtserialport,chardev=port,name={PORT}")]);
    for (index, disk) in spec.disks.iter().enumerate() {
        arguments.extend(disk_arguments(index, disk));
    }
    arguments
}

fn disk_arguments(index: usize, disk: &Disk) -> Vec<String> {
    let Disk { serial, socket, zones } = disk;
    let conventional = zones.map(|zones| (Bytes::ZERO, conventional(&zones)));
    // A filesystem over both disks wants blocks of one size.
    let blocks = "logical_block_size=4096,physical_block_size=4096";
    let more = if zones.is_some() { format!(",{blocks}") } else { String::new() };
    let mut arguments = drive(&format!("disk{index}"), socket, conventional);
    arguments.push("-device".to_owned());
    arguments.push(format!(
        "virtio-blk-pci,drive=disk{index},serial={serial},write-cache=on,request-merging=off,\
         num-queues=1{more}"
    ));
    let Some(zones) = zones else { return arguments };
    let name = format!("zones{index}");
    let size = zones.end().minus(zones.first);
    arguments.extend(drive(&name, socket, Some((zones.first, size))));
    // QEMU's NVMe keeps the zones' conditions; what reaches the device is reads, writes, flushes and resets.
    arguments.push("-device".to_owned());
    arguments.push(format!("nvme,id={name}-controller,serial={}", zones_serial(serial)));
    arguments.push("-device".to_owned());
    arguments.push(format!(
        "nvme-ns,bus={name}-controller,drive={name},nsid=1,{blocks},zoned=true,zoned.zone_size={},zoned.zone_capacity={},\
         zoned.max_open={}",
        zones.stride().0,
        zones.size.0,
        zones.open
    ));
    arguments
}

/// A device that an NBD server has, or a range of one: where it begins, and its size.
fn drive(name: &str, socket: &Path, range: Option<(Bytes, Bytes)>) -> Vec<String> {
    // Nothing changes requests between guest and device: no cache of the host, no merging, no
    // detection of zeroes.
    let unchanged = "cache.direct=on,discard=unmap,detect-zeroes=off";
    let socket = word(socket);
    let nbd = |node: &str| {
        let driver = format!(
            "driver=nbd,node-name={node},server.type=unix,server.path={socket},{unchanged}"
        );
        vec!["-blockdev".to_owned(), driver]
    };
    let Some((offset, size)) = range else { return nbd(name) };
    // A client of its own for each range.
    let client = format!("{name}-nbd");
    let mut arguments = nbd(&client);
    arguments.push("-blockdev".to_owned());
    arguments.push(format!(
        "driver=raw,node-name={name},file={client},offset={},size={},{unchanged}",
        offset.0, size.0
    ));
    arguments
}

/// A path in an option of QEMU, with its commas doubled.
fn word(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

/// Connects to the port, which QEMU makes when it starts.
fn connect(
    spec: &MachineSpec<'_>,
    child: &mut Child,
    (port, errors): (&Path, &Path),
    until: Instant,
) -> Result<UnixStream, LabError> {
    let refuse = |reason| Err(LabError::Program { program: QEMU.to_owned(), reason });
    loop {
        if let Ok(stream) = UnixStream::connect(port) {
            return Ok(stream);
        }
        if spec.is_stopped() {
            return Err(LabError::Stopped);
        }
        if child.try_wait().ok().flatten().is_some() {
            return refuse(last_lines(&std::fs::read_to_string(errors).unwrap_or_default()));
        }
        if Instant::now() > until {
            let said = last_lines(&std::fs::read_to_string(errors).unwrap_or_default());
            return refuse(format!("it did not start in time\n{said}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Machine {
    /// Boots a machine and waits until the guest is set up.
    ///
    /// # Errors
    /// QEMU is not installed, or the guest does not come up in time; the error has the console's last
    /// lines.
    pub fn boot(spec: &MachineSpec<'_>) -> Result<Machine, LabError> {
        let (port, console) = (spec.folder.join("port"), spec.folder.join("console"));
        let errors = spec.folder.join("qemu");
        let log = std::fs::File::create(&errors).map_err(LabError::file("create", &errors))?;
        let mut command = bound_to_us(&find_program(QEMU, "qemu-system-x86")?);
        command.args(arguments(spec, &port, &console));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // In a process group of its own, so that Ctrl-C does not kill it: the guest is ordered to
        // stop, and its phases are kept.
        command.process_group(0);
        let child = command.spawn().map_err(|_| LabError::Missing {
            program: BINDER.to_owned(),
            package: "util-linux".to_owned(),
        })?;
        let mut guard = Guard(Some(child));
        let until = Instant::now() + spec.patience;
        let stream = connect(spec, guard.child(), (&port, &errors), until)?;
        let reader = stream.try_clone().map_err(LabError::file("open", &port))?;
        let mut machine = Machine {
            child: guard.release(),
            port: stream,
            reader: BufReader::new(reader),
            console,
            kernel: String::new(),
        };
        machine.kernel = machine.come_up(spec, until)?;
        Ok(machine)
    }

    /// Waits until the guest is set up and returns its kernel.
    fn come_up(&mut self, spec: &MachineSpec<'_>, until: Instant) -> Result<String, LabError> {
        loop {
            if spec.is_stopped() {
                return Err(LabError::Stopped);
            }
            if Instant::now() > until {
                return Err(self.lost("did not come up in time"));
            }
            if !self.is_heard(LOOK) {
                continue;
            }
            match self.wait(MESSAGE, "did not complete a message")? {
                Report::Ready { kernel } => return Ok(kernel),
                Report::Alive => {}
                Report::Failed { error } => return Err(LabError::Reported(error)),
                other => return Err(self.lost(&format!("sent `{}` when it started", other.name()))),
            }
        }
    }

    /// Sends an order to the guest.
    pub fn order(&mut self, order: &Order) -> Result<(), LabError> {
        let sent = remote::send(&mut self.port, order);
        sent.map_err(|error| self.lost(&format!("does not listen any more ({error})")))
    }

    /// The guest's next report; signs of life are skipped.
    ///
    /// # Errors
    /// The guest is gone, or silent for too long; the error has the console's last lines.
    pub fn hear(&mut self) -> Result<Report, LabError> {
        loop {
            match self.wait(SILENCE, "fell silent")? {
                Report::Alive => {}
                report => return Ok(report),
            }
        }
    }

    /// Whether a report arrives, or the port closes, within `time`.
    fn is_heard(&self, time: Duration) -> bool {
        let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.port, PollFlags::IN)];
        // The next read finds an error.
        !self.reader.buffer().is_empty() || poll(&mut fds, Some(&time)) != Ok(0)
    }

    fn wait(&mut self, time: Duration, otherwise: &str) -> Result<Report, LabError> {
        let time = time.max(Duration::from_millis(1));
        if let Err(error) = self.port.set_read_timeout(Some(time)) {
            return Err(self.lost(&format!("can't be waited for ({error})")));
        }
        match remote::receive(&mut self.reader) {
            Ok(Some(report)) => Ok(report),
            Ok(None) => Err(self.lost("ended")),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(self.lost(&format!("{otherwise} for {} s", time.as_secs())))
            }
            Err(error) => Err(self.lost(&format!("sent an invalid message ({error})"))),
        }
    }

    fn lost(&mut self, what: &str) -> LabError {
        let text = std::fs::read(&self.console).unwrap_or_default();
        let console = last_lines(&String::from_utf8_lossy(&text));
        LabError::Guest { what: what.to_owned(), console }
    }

    /// Has the guest unmount and power off.
    pub fn power_off(mut self) -> Result<(), LabError> {
        self.order(&Order::PowerOff)?;
        loop {
            match self.wait(SHUTDOWN, "did not end")? {
                Report::Off => break,
                Report::Failed { error } => return Err(LabError::Reported(error)),
                _ => {}
            }
        }
        let until = Instant::now() + SHUTDOWN;
        while self.child.try_wait().ok().flatten().is_none() {
            if Instant::now() > until {
                return Err(self.lost("did not switch off"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills the child unless it is released.
struct Guard(Option<Child>);

impl Guard {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is released once, and not used after that")
    }

    fn release(mut self) -> Child {
        self.0.take().expect("it is released once, and not used after that")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return "  (it said nothing)".to_owned();
    }
    let last = lines.len().saturating_sub(CONSOLE_LINES);
    // The first line of a panic names its cause; the rest is registers and a trace.
    let fault = lines.iter().position(|line| FAULTS.iter().any(|fault| line.contains(fault)));
    let from = fault.map_or(last, |fault| fault.min(last));
    let last = &lines[from..lines.len().min(from + CONSOLE_LINES)];
    let plain = last.iter().map(|line| {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        format!("  {line}")
    });
    plain.collect::<Vec<_>>().join("\n")
}
