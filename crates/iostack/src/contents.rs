//! Content of files whose programs read back what they wrote. Files of measured tests have none.

use std::collections::BTreeMap;

use crate::fs::BLOCK;

type Page = Box<[u8; BLOCK as usize]>;

#[derive(Debug, Default)]
pub(crate) struct Contents(BTreeMap<u64, Page>);

impl Contents {
    pub(crate) fn write(&mut self, offset: u64, from: &[u8]) {
        let mut done = 0;
        while done < from.len() {
            let at = offset + done as u64;
            let within = (at % BLOCK) as usize;
            let count = (BLOCK as usize - within).min(from.len() - done);
            let page = self.0.entry(at / BLOCK).or_insert_with(|| Box::new([0; BLOCK as usize]));
            page[within..within + count].copy_from_slice(&from[done..done + count]);
            done += count;
        }
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let within = (at % BLOCK) as usize;
            let count = (BLOCK as usize - within).min(into.len() - done);
            match self.0.get(&(at / BLOCK)) {
                Some(page) => {
                    into[done..done + count].copy_from_slice(&page[within..within + count]);
                }
                None => into[done..done + count].fill(0),
            }
            done += count;
        }
    }

    /// Drops the content beyond `size`: a file that grows again must read as zeros there.
    pub(crate) fn truncate(&mut self, size: u64) {
        let _ = self.0.split_off(&size.div_ceil(BLOCK));
        if let Some(page) = self.0.get_mut(&(size / BLOCK)) {
            page[(size % BLOCK) as usize..].fill(0);
        }
    }
}
