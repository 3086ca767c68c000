use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The buffers of all slots: one zeroed allocation, whose addresses go to the kernel; the caller
/// gets one slot's slice at a time.
///  It is kept as a raw pointer, so that a slice of one slot asserts nothing about the others,
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
    /// two). `None` if that is more than can be allocated.
    pub(super) fn new(slots: usize, each: usize, alignment: usize) -> Option<SlotMemory> {
        let alignment = alignment.max(1).checked_next_power_of_two()?;
        let stride = each.max(1).checked_next_multiple_of(alignment)?;
        let layout = Layout::from_size_align(stride.checked_mul(slots.max(1))?, alignment).ok()?;
        // SAFETY: the layout's size is at least one byte.
        let base = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(base) else { handle_alloc_error(layout) };
        Some(SlotMemory { base, layout, each, stride, slots })
    }

    /// The address of a slot's buffer. The slot must be below the number of slots.
    #[inline]
    pub(super) fn address(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        // SAFETY: `slot * stride` is within the one allocation of `slots * stride` bytes.
        unsafe { self.base.as_ptr().add(slot * self.stride) }
    }

    /// Every slot's buffer, as `io_uring_register` takes them.
    pub(super) fn vectors(&self) -> Vec<libc::iovec> {
        let vector = |slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.each };
        (0..self.slots).map(vector).collect()
    }

    /// A slot's buffer.
    ///
    /// # Safety The kernel has no request in flight on this slot.
    #[inline]
    pub(super) unsafe fn slice(&mut self, slot: usize) -> &mut [u8] {
        let start = self.address(slot);
        // SAFETY: `each` bytes from there belong to this allocation, are initialized (zeroed at
        // first, then written by this process or the kernel), and are not aliased: `&mut self`
        // excludes other slices of this process, and the caller guarantees that the kernel has no
        // request on them.
        unsafe { std::slice::from_raw_parts_mut(start, self.each) }
    }
}

impl Drop for SlotMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
