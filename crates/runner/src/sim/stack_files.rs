//! Files of a simulated device for real SQLite, and for saves of a file.

use flashlag_device::{Clock, DeviceError};
use flashlag_flash::FlashDevice;
use flashlag_iostack::{FileId, Stack};
use flashlag_spec::scenario::{Save, Statement, SyncCall};
use flashlag_sqlite::Files;
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::work::Hindrance;

/// A modelled filesystem for SQLite.
#[derive(Debug)]
pub(super) struct StackFiles(pub Stack<FlashDevice>);

/// Numbers of files are below 2^32: they come from the stack.
fn id(file: u64) -> FileId {
    FileId::from_number(file)
}

impl Files for StackFiles {
    fn find(&self, name: &str) -> Option<u64> {
        self.0.find(name).map(FileId::number)
    }

    fn create(&self, name: &str) -> Result<u64, DeviceError> {
        self.0.create(name).map(FileId::number)
    }

    fn read(&self, file: u64, offset: u64, into: &mut [u8]) -> Result<usize, DeviceError> {
        self.0.read(id(file), Bytes(offset), into)
    }

    fn write(&self, file: u64, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.0.write(id(file), Bytes(offset), from)
    }

    fn is_atomic(&self) -> bool {
        self.0.is_atomic()
    }

    fn can_be_atomic(&self) -> bool {
        self.0.can_be_atomic() && flashlag_sqlite::has_atomic_writes()
    }

    fn write_atomically(&self, file: u64, writes: &[(u64, &[u8])]) -> Result<(), DeviceError> {
        self.0.write_atomically(id(file), writes)
    }

    fn truncate(&self, file: u64, size: u64) -> Result<(), DeviceError> {
        self.0.truncate(id(file), Bytes(size))
    }

    fn sync(&self, file: u64, call: SyncCall) -> Result<(), DeviceError> {
        self.0.sync(id(file), call == SyncCall::Fdatasync)
    }

    fn sync_directory(&self) -> Result<(), DeviceError> {
        self.0.sync_directory()
    }

    fn delete(&self, name: &str) -> Result<(), DeviceError> {
        self.0.delete(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DeviceError> {
        self.0.rename(from, to)
    }

    fn change_mode(&self, file: u64) -> Result<(), DeviceError> {
        self.0.change_mode(id(file))
    }

    fn close(&self, file: u64) {
        self.0.close(id(file));
    }

    fn size(&self, file: u64) -> Result<u64, DeviceError> {
        Ok(self.0.size(id(file)).0)
    }

    fn clock(&self) -> &dyn Clock {
        &self.0
    }

    fn waited(&self) -> Option<Waited> {
        self.0.waited()
    }

    fn compute(&self, work: Nanos) {
        self.0.compute(work);
    }
}

/// Memory for all simulated databases of a test together, at most.
const MEMORY: Bytes = Bytes::from_mib(1024);

/// Checks that the first rows, and the rows of all saves if their number is given, fit into memory.
pub(super) fn fits_memory(save: &Save) -> Result<(), Hindrance> {
    // A row's overhead in a page of SQLite.
    const BESIDE: u64 = 16;
    let inserted = save.saves.filter(|_| save.statement == Statement::Insert).unwrap_or(0);
    let inserted = inserted.saturating_mul(u64::from(save.statements));
    // The number of saves is unknown if time ends the test.
    let inserted = if save.time.is_some() { 0 } else { inserted };
    let rows = save.rows.saturating_add(inserted);
    let each = save.row.0.0.saturating_add(BESIDE).saturating_mul(u64::from(save.databases));
    let whole = Bytes(rows.saturating_mul(each));
    if whole <= MEMORY {
        return Ok(());
    }
    Err(Hindrance::Failure(format!(
        "{}: {rows} rows of {} in {} databases are {whole}, and a simulated database is kept in \
         memory, {MEMORY} at most: take at most {} rows",
        save.name,
        save.row.0,
        save.databases,
        MEMORY.0 / each.max(1)
    )))
}

#[cfg(test)]
mod tests {
    use flashlag_spec::scenario::{Scenario, Test};

    use super::*;

    /// Rows of 1,008 bytes, which take 1,024 in a page, in one database.
    fn save(statement: &str, rows: u64, saves: u64) -> Save {
        let text = format!(
            "name = \"s\"\n[[save]]\nname = \"many\"\nstatement = \"{statement}\"\n\
             journal = \"wal\"\nrow = \"1008B\"\nrows = {rows}\nsaves = {saves}\n\
             [[step]]\nmeasure = [\"many\"]\nstate = \"new\"\n"
        );
        let mut scenario = Scenario::parse(&text, &[]).unwrap();
        match scenario.tests.remove("many") {
            Some(Test::Save(save)) => save,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn databases_fit_up_to_a_gibibyte_of_rows_and_those_that_are_inserted() {
        let most = (1 << 30) / 1024;
        fits_memory(&save("update", most, 1000)).unwrap();
        let error = fits_memory(&save("update", most + 1, 1000)).unwrap_err().to_string();
        assert!(error.contains(&format!("take at most {most} rows")), "{error}");
        fits_memory(&save("insert", most - 1000, 1000)).unwrap();
        assert!(fits_memory(&save("insert", most - 999, 1000)).is_err());
        // If time ends the test, nobody knows how many rows are inserted.
        let mut timed = save("insert", most, 1000);
        timed.time = Some(flashlag_units::Text(Nanos::from_secs(1)));
        fits_memory(&timed).unwrap();
        let several = Save { databases: 2, ..save("update", most / 2 + 1, 1000) };
        assert!(fits_memory(&several).is_err());
    }

    fn files() -> StackFiles {
        let target = crate::target::SimTarget::parse("sim:nexus5-2013+ext4,size=256MiB").unwrap();
        let model = target.profile.model().unwrap();
        let flash = flashlag_flash::Flash::new(&model, 1).unwrap();
        let spec = flashlag_iostack::StackSpec::of(&target.mount).unwrap();
        StackFiles(Stack::mount(FlashDevice::new(flash), spec, &model.stack).unwrap())
    }

    #[test]
    fn a_file_is_found_by_its_name_with_what_was_written_until_it_is_deleted() {
        let files = files();
        assert_eq!(files.find("b"), None);
        let numbers = ["a", "b", "c", "d"].map(|name| files.create(name).unwrap());
        for (name, number) in ["a", "b", "c", "d"].into_iter().zip(numbers) {
            assert_eq!(files.find(name), Some(number), "{name}");
        }
        let b = numbers[1];
        files.write(b, 4, &[7; 5000]).unwrap();
        assert_eq!((files.size(b), files.size(numbers[0])), (Ok(5004), Ok(0)));
        let mut read = [1; 6];
        assert_eq!(files.read(b, 2, &mut read), Ok(6));
        assert_eq!(read, [0, 0, 7, 7, 7, 7]);
        files.truncate(b, 5).unwrap();
        assert_eq!((files.size(b), files.read(b, 2, &mut read)), (Ok(5), Ok(3)));
        files.delete("b").unwrap();
        assert_eq!(files.find("b"), None);
    }

    #[test]
    fn a_file_and_the_directory_are_each_made_durable_in_virtual_time() {
        let files = files();
        let flushes = || files.0.ledger().flushes;
        let file = files.create("a").unwrap();
        let (begun, before) = (files.clock().now(), flushes());
        files.sync_directory().unwrap();
        let between = flushes();
        assert!(between > before, "{between} flushes after {before}");
        files.write(file, 0, &[7; 4096]).unwrap();
        files.sync(file, SyncCall::Fdatasync).unwrap();
        assert!(flushes() > between, "{} flushes after {between}", flushes());
        assert!(files.clock().now() > begun);
    }
}
