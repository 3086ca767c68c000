use flashlag_spec::target::PHONE_DIRECTORY;

/// Prefix of a host's mark; the process number of its shell on the phone follows.
pub(crate) const MARK: &str = "host-";

/// The process number in a mark's name; `None` if it is no mark.
pub(crate) fn host_of(name: &str) -> Option<&str> {
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix(MARK).filter(digits)
}

/// flashlag's folder on a phone, and the files in it. There is one per phone, since two runs at a
/// time would disturb each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(String);

impl Default for Folder {
    fn default() -> Folder {
        Folder(format!("{PHONE_DIRECTORY}/flashlag-run"))
    }
}

impl Folder {
    /// The folder of a watch, which a run beside it does not touch.
    pub fn of_watch() -> Folder {
        Folder(format!("{PHONE_DIRECTORY}/flashlag-watch"))
    }

    /// A folder of that path, at the phone's end.
    pub fn at(path: &str) -> Folder {
        Folder(path.to_owned())
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// The program.
    pub fn program(&self) -> String {
        self.file("flashlag")
    }

    /// What the phone has to do, a [`PhoneOrder`](crate::protocol::PhoneOrder) or a
    /// [`WatchOrder`](crate::protocol::WatchOrder).
    pub fn order(&self) -> String {
        self.file("order.json")
    }

    /// The run file.
    pub fn run(&self) -> String {
        self.file("run.json")
    }

    /// How the run ended, an [`Outcome`](crate::protocol::Outcome).
    pub fn outcome(&self) -> String {
        self.file("outcome.json")
    }

    /// Locked while the run is in progress.
    pub fn lock(&self) -> String {
        self.file("lock")
    }

    /// The phone's settings before it was kept awake.
    pub fn awake(&self) -> String {
        self.file("awake.json")
    }

    /// What a watch found.
    pub fn history(&self) -> String {
        self.file("watch.history")
    }

    /// The process that watches.
    pub fn watcher(&self) -> String {
        self.file("watcher.json")
    }

    /// What the process of the run or the watch printed.
    pub fn log(&self) -> String {
        self.file("log")
    }

    /// Whether flashlag creates a file of that name in the folder.
    pub(crate) fn has(&self, name: &str) -> bool {
        // A run that was killed while it stored its file leaves the file's temporary name.
        let is_temporary = name.starts_with("flashlag-") && name.ends_with(".flashlag-tmp");
        is_temporary || host_of(name).is_some() || self.files().contains(&self.file(name))
    }

    /// The path of a file in the folder.
    pub(crate) fn of(&self, name: &str) -> String {
        self.file(name)
    }

    /// All files that flashlag creates in the folder, besides the hosts' marks.
    pub fn files(&self) -> [String; 9] {
        let [program, order, run] = [self.program(), self.order(), self.run()];
        let [history, watcher] = [self.history(), self.watcher()];
        let [outcome, lock, log] = [self.outcome(), self.lock(), self.log()];
        [program, order, run, outcome, lock, log, self.awake(), history, watcher]
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }
}
