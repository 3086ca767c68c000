/// A zeroed buffer that begins at a multiple of a power of two, as `O_DIRECT` needs: a longer
/// vector, used from its first aligned byte.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: Vec<u8>,
    skip: usize,
    length: usize,
}

impl AlignedBuffer {
    /// `length` bytes at a multiple of `alignment`, which must be a power of two (else the next one
    /// is taken).
    pub fn new(length: usize, alignment: usize) -> AlignedBuffer {
        let alignment = alignment.next_power_of_two();
        let memory = vec![0; length + alignment];
        // The vector never grows, so it never moves.
        let skip = memory.as_ptr().align_offset(alignment).min(alignment);
        AlignedBuffer { memory, skip, length }
    }

    /// Its bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.memory[self.skip..self.skip + self.length]
    }

    /// Its bytes, to be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.memory[self.skip..self.skip + self.length]
    }
}
