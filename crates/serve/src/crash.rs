//! The image that a power cut leaves, at any moment of a recording.

use std::fs::File;
use std::io;
use std::path::Path;

use flashlag_schema::CutReport;
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::data::{Data, FileData};
use crate::device::{ModelledFlash, Work};
use crate::error::ServeError;
use crate::record::{Record, RecordKind, Recording};

const PIECE: u64 = 1 << 20;

/// The image after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashImage {
    /// Requests completed before the cut.
    pub completed: u64,
    /// The loss.
    pub cut: CutReport,
}

impl Recording {
    /// Times in the recording at which a power cut matters: each within a write, a discard or a
    /// flush, drawn from a seed, in order.
    ///
    /// # Errors
    /// The recording can't be read, or nothing was written in it.
    pub fn moments(path: &Path, seed: u64, count: usize) -> Result<Vec<Nanos>, ServeError> {
        let mut recording = Recording::open(path)?;
        let mut spans = Vec::new();
        while let Some((record, _)) = recording.next_request()? {
            if !matches!(record.kind, RecordKind::Read | RecordKind::Cut) {
                spans.push(record.at.0..=record.ended.0.max(record.at.0));
            }
        }
        if spans.is_empty() {
            return Err(recording.refuse("nothing was written while it was made"));
        }
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let draw = |_| {
            let span = spans[random.random_range(0..spans.len())].clone();
            Nanos(random.random_range(span))
        };
        let mut moments: Vec<Nanos> = (0..count).map(draw).collect();
        moments.sort_unstable();
        Ok(moments)
    }

    /// Writes to the sparse file `into` what the device would hold after a power cut at a time in
    /// the recording. `base` has the device's content when the recording began; without it, the
    /// device was empty.
    pub fn crash_image(
        path: &Path,
        moment: Nanos,
        base: Option<&Path>,
        into: &Path,
    ) -> Result<CrashImage, ServeError> {
        let mut recording = Recording::open(path)?;
        if !recording.head.data {
            return Err(recording.refuse("it was made without the data that was written"));
        }
        let refuse = |error: io::Error| {
            ServeError::file("make", into, &error, "is there room for another image?")
        };
        let mut options = File::options();
        let image = options.read(true).write(true).create(true).truncate(true).open(into);
        let image = image.map_err(refuse)?;
        image.set_len(recording.head.size_bytes.0).map_err(refuse)?;
        let image = Data::File(FileData::new(image));
        if let Some(base) = base {
            copy(base, &image).map_err(refuse)?;
        }
        let mut modelled =
            recording.flash()?.map(|flash| ModelledFlash::new(flash, recording.head.trim));
        let mut completed = 0;
        while let Some((record, data)) = recording.next_request()? {
            if record.at > moment {
                break;
            }
            completed += u64::from(record.ended <= moment);
            again(&mut modelled, &image, &record, &data).map_err(refuse)?;
        }
        let nothing = CutReport { virtual_ns: moment, ..CutReport::default() };
        let cut = modelled.map_or(Ok(nothing), |mut modelled| modelled.cut(&image, moment));
        Ok(CrashImage { completed, cut: cut.map_err(refuse)? })
    }
}

/// Repeats a recorded request.
fn again(
    modelled: &mut Option<ModelledFlash>,
    image: &Data,
    record: &Record,
    data: &[u8],
) -> io::Result<()> {
    let mut work = match record.kind {
        RecordKind::Write => Work::Write(data),
        RecordKind::Zeros => Work::Zeros(record.length.0),
        RecordKind::Discard => Work::Discard(record.length.0),
        RecordKind::Read | RecordKind::Flush | RecordKind::Cut => Work::Flush,
    };
    match (modelled, record.kind) {
        (None, _) => work.apply(image, record.offset.0),
        (Some(modelled), RecordKind::Cut) => modelled.cut(image, record.at).map(drop),
        (Some(modelled), kind) => {
            modelled.submit(record).map_err(io::Error::other)?;
            if kind == RecordKind::Read {
                return Ok(());
            }
            modelled.apply(image, record, &mut work)
        }
    }
}

/// Copies a file's data and keeps its holes.
fn copy(from: &Path, image: &Data) -> io::Result<()> {
    let file = File::open(from)?;
    let length = file.metadata()?.len();
    let file = FileData::new(file);
    let mut piece = vec![0; PIECE as usize];
    let mut at = 0;
    while let Some((start, held)) = file.next_held(at, length)? {
        let part = &mut piece[..held.min(PIECE) as usize];
        file.read(start, part)?;
        image.write(start, part)?;
        at = start + part.len() as u64;
    }
    Ok(())
}
