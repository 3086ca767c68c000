use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The buffers of all slots: one zeroed allocation, handed to the kernel by address and to the
/// caller by slices of one slot each.
///
/// It is kept as a bare pointer, so that giving out one slot's slice says nothing about the others,
/// which the kernel may be reading or writing.
#[derive(Debug)]
pub(super) struct SlotMemory {
    base: NonNull<u8>,
    layout: Layout,
    each: usize,
    stride: usize,
    slots: usize,
}

impl SlotMemory {
    /// `slots` buffers of `each` bytes, each at a multiple of `alignment` (rounded up to a power of
    /// two). `None` where that is more than memory can be asked for.
    pub(super) fn new(slots: usize, each: usize, alignment: usize) -> Option<SlotMemory> {
        let alignment = alignment.max(1).checked_next_power_of_two()?;
        let stride = each.max(1).checked_next_multiple_of(alignment)?;
        let layout = Layout::from_size_align(stride.checked_mul(slots.max(1))?, alignment).ok()?;
        // SAFETY: the layout's size is at least one byte.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        Some(SlotMemory { base, layout, each, stride, slots })
    }

    /// Where a slot's buffer begins. The slot must be below the number of slots.
    #[inline]
    pub(super) fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: `slot * stride` is within the one allocation of `slots * stride` bytes.
        unsafe { self.base.as_ptr().add(slot * self.stride) }
    }

    /// Every slot's buffer, in the form that the kernel registers.
    pub(super) fn vectors(&self) -> Vec<libc::iovec> {
        let vector = |slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.each };
        (0..self.slots).map(vector).collect()
    }

    /// A slot's buffer.
    ///
    /// # Safety
    /// The kernel has no request on this slot under way.
    #[inline]
    pub(super) unsafe fn slice(&mut self, slot: usize) -> &mut [u8] {
        let start = self.address(slot);
        // SAFETY: `each` bytes from there are ours, initialized (zeroed at first, then written by
        // us or by the kernel), and nobody else's: `&mut self` excludes our own other slices, and
        // the caller says that the kernel has no request on them.
        unsafe { std::slice::from_raw_parts_mut(start, self.each) }
    }
}

impl Drop for SlotMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
