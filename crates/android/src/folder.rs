use flashlag_schema::target::PHONE_DIRECTORY;

/// The folder of flashlag on a phone, and the files in it. There is one for each phone: two runs at a
/// time would disturb each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(String);

impl Default for Folder {
    fn default() -> Folder {
        Folder(format!("{PHONE_DIRECTORY}/flashlag-run"))
    }
}

impl Folder {
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

    /// What the phone has to do, a [`PhoneOrder`](crate::protocol::PhoneOrder).
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

    /// Locked while the run is under way.
    pub fn lock(&self) -> String {
        self.file("lock")
    }

    /// The phone's settings before it was kept awake.
    pub fn awake(&self) -> String {
        self.file("awake.json")
    }

    /// What the process of the run printed.
    pub fn log(&self) -> String {
        self.file("log")
    }

    /// Every file that is made in the folder.
    pub fn files(&self) -> [String; 7] {
        let [program, order, run] = [self.program(), self.order(), self.run()];
        [program, order, run, self.outcome(), self.lock(), self.log(), self.awake()]
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }
}
