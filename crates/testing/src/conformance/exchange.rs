use flashlag_units::Bytes;

use flashlag_device::{Completion, Device, Durability, Op, Request};

/// How a claim did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is true.
    Held,
    /// The claim does not apply to this device; the reason.
    NotApplicable(&'static str),
    /// The claim is false; the evidence.
    Broken(String),
}

/// The block that claims use: a multiple of the alignment, 4 KiB if that is one.
pub(super) fn block_of<D: Device>(device: &D) -> Bytes {
    let geometry = device.geometry();
    let page = Bytes(4096);
    if page.0.is_multiple_of(geometry.alignment.0) && page <= geometry.buffer {
        page
    } else {
        geometry.alignment
    }
}

/// A request of one block.
pub(super) fn request<D: Device>(device: &D, slot: u32, op: Op, block: u64) -> Request {
    let length = block_of(device);
    let offset = Bytes(block * length.0);
    Request { slot, op, offset, length, durability: Durability::None }
}

/// Bytes that identify the block and the write.
pub(super) fn content(block: u64, writing: u64, length: usize) -> Vec<u8> {
    let word = block.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ writing.rotate_left(32) | 1;
    word.to_le_bytes().into_iter().cycle().take(length).collect()
}

pub(super) fn put<D: Device>(device: &mut D, slot: u32, bytes: &[u8]) {
    device.buffer(slot)[..bytes.len()].copy_from_slice(bytes);
}

/// Submits one request and waits for it.
pub(super) fn run<D: Device>(device: &mut D, request: Request) -> Result<Completion, String> {
    let mut completed = Vec::new();
    device.submit(request).map_err(|error| format!("submit: {error}"))?;
    device.reap(1, &mut completed).map_err(|error| format!("reap: {error}"))?;
    match completed.pop() {
        Some(done) if completed.is_empty() && done.slot == request.slot => Ok(done),
        Some(done) => Err(format!("slot {} completed for slot {}", done.slot, request.slot)),
        None => Err("reap(1) gave nothing for a request in flight".to_owned()),
    }
}

/// The same for a request that must succeed.
pub(super) fn run_ok<D: Device>(device: &mut D, request: Request) -> Result<Completion, String> {
    let done = run(device, request)?;
    match &done.result {
        Ok(()) => Ok(done),
        Err(error) => Err(format!("{:?} failed: {error}", request.op)),
    }
}

/// Writes one block.
pub(super) fn write<D: Device>(device: &mut D, block: u64, writing: u64) -> Result<(), String> {
    let write = request(device, 0, Op::Write, block);
    put(device, 0, &content(block, writing, write.length.0 as usize));
    run_ok(device, write).map(|_| ())
}

/// Reads one block and compares it.
pub(super) fn expect<D: Device>(device: &mut D, block: u64, writing: u64) -> Result<(), String> {
    let read = request(device, 0, Op::Read, block);
    let length = read.length.0 as usize;
    device.buffer(0)[..length].fill(0);
    run_ok(device, read)?;
    if device.buffer(0)[..length] == content(block, writing, length) {
        return Ok(());
    }
    Err(format!("block {block} does not hold what was written to it last"))
}
