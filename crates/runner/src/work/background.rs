//! The background of a test.

use flashlag_spec::scenario::Test;
use flashlag_units::{Bytes, per_second};

use super::{BackgroundEnd, BackgroundOrder, BackgroundStart, Hindrance, Role, Work, World};
use crate::estimate::span_beside;

impl<W: World> Work<W> {
    /// Starts the background of that name, if a test names one.
    pub(super) fn start_background(
        &mut self,
        name: Option<&str>,
    ) -> Result<Option<BackgroundStart<W::Background>>, Hindrance> {
        let Some(Test::Io(io)) = name.and_then(|name| self.request.scenario.tests.get(name)) else {
            return Ok(None);
        };
        let io = io.clone();
        let span = span_beside(&io);
        let files = self.laid_out(Role::Background, span, false)?;
        let order = BackgroundOrder { io: &io, span, seed: self.task_seed(&io.name) };
        let started = self.world.start_background(&files, order, &self.controls)?;
        self.note_downgrades(&started.downgrades);
        Ok(Some(started))
    }

    /// Ends the background and counts what it wrote. Returns a note on what it did.
    pub(super) fn end_background(
        &mut self,
        started: Option<BackgroundStart<W::Background>>,
    ) -> Option<String> {
        Some(match self.world.end_background(started?.running) {
            Ok(ended) => {
                self.wrote(ended.moved);
                self.background_note(&ended)
            }
            Err(error) => format!("the background failed: {error}"),
        })
    }

    fn background_note(&self, ended: &BackgroundEnd) -> String {
        let rate = per_second(ended.moved.0, ended.elapsed).unwrap_or_default();
        let rate = Bytes(rate as u64);
        let error = ended.error.as_ref().map(|error| format!("; it ended early: {error}"));
        let error = error.unwrap_or_default();
        let budget = if ended.out_of_budget {
            format!("; {}", self.ended_by_budget())
        } else {
            String::new()
        };
        format!("the background moved {} at {rate}/s{error}{budget}", ended.moved)
    }
}
