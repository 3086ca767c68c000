//! Files that are laid out before a test or a fill.

use flashlag_spec::scenario::{Io, IoOperation};
use flashlag_units::Bytes;

use super::{Hindrance, Role, Work, World};
use crate::events::{Event, Observer};

impl<W: World> Work<W> {
    /// Checks that the budget has room for one operation at least.
    pub(super) fn may_begin(&self, io: &Io) -> Result<(), Hindrance> {
        if io.operation == IoOperation::Read {
            return Ok(());
        }
        self.allow(io.block.0, "one write")?;
        self.settle(io.block.0, Bytes::ZERO);
        Ok(())
    }

    /// The file under test: as large as the largest test of the run needs, so that every test finds
    /// the same file.
    pub(super) fn test_file(
        &mut self,
        io: &Io,
        observer: &mut dyn Observer,
    ) -> Result<W::File, Hindrance> {
        self.may_begin(io)?;
        let (role, span, preparing) = if io.grown {
            let span = io.end().max(self.estimate.grown_file);
            (Role::Grown, span, "growing the file under test, alternating with a second file")
        } else {
            let span = io.end().max(self.estimate.test_file);
            (Role::Test, span, "writing the file under test")
        };
        if io.fresh || self.world.files(role, span).is_none() {
            observer.event(Event::Preparing(preparing));
        }
        self.laid_out(role, span, io.fresh)
    }

    /// The files of that role, written if necessary and if the budget allows it.
    pub(super) fn laid_out(
        &mut self,
        role: Role,
        span: Bytes,
        fresh: bool,
    ) -> Result<W::File, Hindrance> {
        if let Some(files) = self.world.files(role, span).filter(|_| !fresh) {
            return Ok(files);
        }
        let most = self.world.most_to_lay_out(role, span);
        let purpose = match role {
            Role::Test | Role::Grown => "the file under test",
            Role::Background => "the background's file",
        };
        self.allow(most, purpose)?;
        let (files, written) = self.world.lay_out(role, span, &self.controls)?;
        self.settle(most, written);
        self.wrote(written);
        Ok(files)
    }

    /// Lays out every file that a test will need, while there is room: before a fill.
    pub(super) fn lay_out_all(&mut self, observer: &mut dyn Observer) -> Result<(), Hindrance> {
        observer.event(Event::Preparing("writing the files under test"));
        if self.estimate.test_file > Bytes::ZERO {
            self.laid_out(Role::Test, self.estimate.test_file, false)?;
        }
        if self.estimate.beside_file > Bytes::ZERO {
            self.laid_out(Role::Background, self.estimate.beside_file, false)?;
        }
        if self.estimate.grown_file > Bytes::ZERO {
            self.laid_out(Role::Grown, self.estimate.grown_file, false)?;
        }
        Ok(())
    }
}
