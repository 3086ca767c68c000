//! Which block devices are mapped to which, so that a byte counts once.

use std::collections::{BTreeSet, HashMap};

use flashlag_schema::trace::{BlockOperation, Trace, TraceAction, TraceDeviceUse};
use flashlag_units::InOrder;

use super::writers::add;

/// The block devices of a trace and what lies below each.
#[derive(Debug)]
pub(super) struct Stack {
    /// Indexes of the devices directly below; absent if the source does not know.
    below: Vec<Option<Vec<u32>>>,
    uses: Vec<Option<TraceDeviceUse>>,
}

impl Stack {
    pub(super) fn of(trace: &Trace) -> Stack {
        let indexes: HashMap<&str, u32> = (0..)
            .zip(&trace.devices)
            .map(|(index, device)| (device.name.as_str(), index))
            .collect();
        let named = |names: &Vec<String>| {
            names.iter().filter_map(|name| indexes.get(name.as_str()).copied()).collect()
        };
        let below = trace.devices.iter().map(|device| device.below.as_ref().map(named)).collect();
        let mut stack = Stack { below, uses: vec![None; trace.devices.len()] };
        for event in &trace.events {
            stack.take(trace, &event.action);
        }
        let counted: Vec<bool> =
            (0..).zip(&stack.uses).map(|(at, _)| stack.is_lowest(at)).collect();
        for (used, counted) in stack.uses.iter_mut().zip(counted) {
            if let Some(used) = used {
                used.counted = counted;
            }
        }
        stack
    }

    fn take(&mut self, trace: &Trace, action: &TraceAction) {
        let TraceAction::Block { device, operation, bytes, flags, .. } = action else { return };
        let at = *device as usize;
        let (Some(used), Some(device)) = (self.uses.get_mut(at), trace.devices.get(at)) else {
            return;
        };
        let used = used.get_or_insert_with(|| TraceDeviceUse {
            name: device.name.clone(),
            below: device.below.clone(),
            ..TraceDeviceUse::default()
        });
        used.flushes += u64::from(*operation == BlockOperation::Flush || flags.preflush);
        match operation {
            BlockOperation::Read => add(&mut used.reads, *bytes),
            BlockOperation::Write => add(&mut used.writes, *bytes),
            BlockOperation::Discard => add(&mut used.discards, *bytes),
            BlockOperation::Flush => {}
        }
    }

    fn has_requests(&self, device: u32) -> bool {
        self.uses.get(device as usize).is_some_and(Option::is_some)
    }

    fn directly_below(&self, device: u32) -> &[u32] {
        self.below.get(device as usize).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Whether no device with requests lies below. A file may claim anything, even a cycle.
    fn is_lowest(&self, device: u32) -> bool {
        let mut visited = BTreeSet::from([device]);
        let mut waiting = self.directly_below(device).to_vec();
        while let Some(next) = waiting.pop() {
            if visited.insert(next) {
                if self.has_requests(next) {
                    return false;
                }
                waiting.extend(self.directly_below(next));
            }
        }
        true
    }

    /// Whether requests to the device count in the totals.
    pub(super) fn counts(&self, device: u32) -> bool {
        self.uses.get(device as usize).and_then(Option::as_ref).is_none_or(|used| used.counted)
    }

    /// The first devices with requests, from a filesystem's device downward: these show what the
    /// filesystem itself requests. `None` if the source does not know what lies below.
    pub(super) fn first_at(&self, device: u32) -> Option<BTreeSet<u32>> {
        let (mut visited, mut first) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = vec![device];
        while let Some(next) = waiting.pop() {
            if !visited.insert(next) {
                continue;
            }
            if self.has_requests(next) {
                first.insert(next);
            } else {
                waiting.extend(self.below.get(next as usize)?.as_ref()?);
            }
        }
        Some(first)
    }

    /// The devices with requests, by name.
    pub(super) fn uses(self) -> Vec<TraceDeviceUse> {
        let mut uses: Vec<TraceDeviceUse> = self.uses.into_iter().flatten().collect();
        uses.order_by(|one, other| one.name.cmp(&other.name));
        uses
    }
}
