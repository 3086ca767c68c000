//! How years of use change a device, as a table with one row per cause.

use flashlag_predict::change::{Absence, Cause, Figures, TestFigures, Years};

use super::spread::{megabytes, p99, rate};
use super::{NONE, figures, item, row};
use crate::line::Page;

/// The table of one aged device.
pub(super) fn years(page: &mut Page, years: &Years) {
    let titles = ["  as new, and then", "write MB/s", "p99", "saves/s", "read MB/s", "a file"];
    let mut table = figures(&titles);
    row(&mut table, "  as new", cells(&years.new, years.new.reads_of_file()));
    let mut absent = Vec::new();
    for cause in &years.causes {
        match &cause.figures {
            Ok(figures) => {
                let label = format!("  + {}", label(cause.cause));
                row(&mut table, &label, cells(figures, cause.reads_of_file()));
            }
            Err(absence) => absent.push((name(cause.cause), *absence)),
        }
    }
    table.print(page);
    let about = "each on top of those above it; write: durable writes of 4 KiB, with their p99; saves: \
         with WAL; read: sequential, of all that is stored, and of a file: 16 MiB of it, last of a \
         file that grew alternately with another";
    item(page, "  ", 2, about);
    for (name, absence) in absent {
        match absence {
            Absence::NotModelled => item(page, "  not in the model: ", 4, name),
            Absence::Included => {
                let text = format!("{name}: in the days above, all of which were simulated");
                item(page, "  ", 4, &text);
            }
        }
    }
}

fn cells(figures: &Figures, file: Option<&TestFigures>) -> [String; 5] {
    let or_none = |cell: Option<String>| cell.unwrap_or_else(|| NONE.to_owned());
    let durable = figures.durable();
    [
        or_none(durable.map(megabytes)),
        or_none(durable.and_then(p99)),
        or_none(figures.saves().map(rate)),
        or_none(figures.reads().map(megabytes)),
        or_none(file.map(megabytes)),
    ]
}

/// A cause as the label of a row.
fn label(cause: Cause) -> &'static str {
    match cause {
        Cause::Fill => "files stored",
        Cause::Map => "written at random",
        Cause::Deleted => "files come and go",
        Cause::Fragmentation => "files in pieces",
        Cause::Wear => "blocks worn",
    }
}

/// A cause within a sentence.
fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Fill => "files are stored",
        Cause::Map => "they are written at random",
        Cause::Deleted => "files come and go",
        Cause::Fragmentation => "files lie in pieces",
        Cause::Wear => "blocks are worn",
    }
}
