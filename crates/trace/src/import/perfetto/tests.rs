//! Traces that are composed here field by field, as Perfetto writes them.

use std::io::Write;

use flashlag_schema::trace::{BlockOperation, Trace, TraceAction};
use flashlag_units::Bytes;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::import::{ImportError, InputFormat, import};

pub(super) fn number(field: u32, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(field, WireType::Varint, &mut bytes);
    encode_varint(value, &mut bytes);
    bytes
}

pub(super) fn bytes(field: u32, inner: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_key(field, WireType::LengthDelimited, &mut bytes);
    encode_varint(inner.len() as u64, &mut bytes);
    bytes.extend(inner);
    bytes
}

pub(super) fn message(fields: &[Vec<u8>]) -> Vec<u8> {
    fields.concat()
}

pub(super) fn event(t: u64, tid: u64, field: u32, body: &[Vec<u8>]) -> Vec<u8> {
    let event = message(&[number(1, t), number(2, tid), bytes(field, &message(body))]);
    bytes(2, &event)
}

pub(super) fn packet_of(events: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &message(&[number(1, 0), message(events)]))
}

/// 8,16 in user space's encoding.
pub(super) const DEVICE: u64 = 8 << 8 | 16;

fn events() -> Vec<Vec<u8>> {
    let block =
        |letters: u32| vec![number(1, DEVICE), number(2, 64), number(3, 8), bytes(letters, b"WS")];
    let issued = [block(5), vec![bytes(6, b"a [x] b")]].concat();
    vec![
        event(1_000, 21, 43, &[number(1, DEVICE), number(2, 7), number(3, 2), number(4, 1)]),
        event(1_100, 21, 45, &issued),
        // An unrelated event with an unknown field.
        event(1_150, 21, 4, &[number(99, 5)]),
        event(1_300, 0, 125, &block(5)),
        event(1_500, 21, 44, &[number(1, DEVICE), number(2, 7)]),
    ]
}

fn tree() -> Vec<u8> {
    let process = message(&[number(1, 20), bytes(3, b"com.example.app")]);
    let thread = message(&[number(1, 21), number(3, 20), bytes(2, b"writer")]);
    bytes(2, &message(&[bytes(1, &process), bytes(2, &thread)]))
}

pub(super) fn trace_of(packets: &[Vec<u8>]) -> Vec<u8> {
    packets.iter().flat_map(|packet| bytes(1, packet)).collect()
}

pub(super) fn imported(file: &[u8]) -> Trace {
    let imported = import(file, None).unwrap();
    assert_eq!(imported.format, InputFormat::Perfetto);
    imported.trace
}

fn check(trace: &Trace) {
    assert_eq!(trace.events.len(), 2);
    let sync = &trace.events.first().unwrap();
    assert!(matches!(sync.action, TraceAction::Sync { data_only: true, .. }));
    assert_eq!((sync.t_ns.0, sync.took_ns.map(|took| took.0)), (0, Some(500)));
    let TraceAction::Block { operation, offset, bytes, device, .. } =
        trace.events.iter().nth(1).unwrap().action
    else {
        panic!("{:?}", trace.events.iter().nth(1).unwrap());
    };
    assert_eq!((operation, offset, bytes.0), (BlockOperation::Write, 64 * 512, 4096));
    assert_eq!(trace.events.iter().nth(1).unwrap().took_ns.map(|took| took.0), Some(200));
    assert_eq!(trace.devices[device as usize].name, "8,16");
    let task = &trace.tasks[sync.task.unwrap() as usize];
    assert_eq!(task.process.as_deref(), Some("com.example.app"));
    assert_eq!((task.thread.as_deref(), task.is_main()), (Some("writer"), Some(false)));
    assert_eq!(trace.files[0].inode, Some(7));
}

#[test]
fn fsyncs_requests_and_names_are_taken_from_bundles_and_the_list_of_processes() {
    check(&imported(&trace_of(&[packet_of(&events()), tree()])));
}

#[test]
fn system_calls_by_number_are_those_of_the_machine_that_the_trace_names() {
    let call = |t: u64, field: u32, body: &[Vec<u8>]| event(t, 21, field, body);
    // pwrite64(3, …, 512, 4096) and its end, by its number on ARM; packed and unpacked arguments.
    let mut packed = Vec::new();
    for word in [3, 0x7000, 512, 4096, 0, 0] {
        encode_varint(word, &mut packed);
    }
    let enter = call(1_000, 329, &[number(1, 68), bytes(2, &packed)]);
    let exit = call(1_700, 330, &[number(1, 68), number(2, 512)]);
    let sync = call(2_000, 329, &[number(1, 82), number(2, 3)]);
    let synced = call(2_900, 330, &[number(1, 82), number(2, 0)]);
    let events = packet_of(&[enter, exit, sync, synced]);
    let system = bytes(45, &bytes(1, &bytes(4, b"aarch64")));
    let trace = imported(&trace_of(&[system, events.clone()]));
    let written = TraceAction::Write { file: 0, offset: Some(4096), bytes: Bytes(512) };
    assert_eq!(trace.events.first().unwrap().action, written);
    assert_eq!(trace.events.first().unwrap().took_ns.map(|took| took.0), Some(700));
    let synced = TraceAction::Sync { file: 0, data_only: false };
    assert_eq!((&trace.events.iter().nth(1).unwrap().action, trace.events.len()), (&synced, 2));
    // Without the architecture, numbers are not interpreted.
    let trace = imported(&trace_of(&[events]));
    assert!(trace.events.is_empty() && trace.source.limits.len() == 1, "{:?}", trace.source);
}

#[test]
fn a_checkpoint_is_known_by_its_state_as_text_and_as_a_number() {
    let state = |t: u64, state: Vec<u8>| event(t, 9, 272, &[number(1, DEVICE), state]);
    let events = [
        state(1_000, bytes(3, b"start block_ops")),
        state(1_200, bytes(3, b"finish block_ops")),
        state(1_500, bytes(3, b"finish checkpoint")),
        state(2_000, number(5, 0)),
        state(2_200, number(5, 1)),
        state(2_700, number(5, 2)),
    ];
    let trace = imported(&trace_of(&[packet_of(&events)]));
    let took: Vec<_> = trace.events.iter().map(|event| event.took_ns.unwrap().0).collect();
    assert_eq!(took, [500, 700]);
    assert!(
        trace.events.iter().all(|event| matches!(event.action, TraceAction::Checkpoint { .. }))
    );
}

#[test]
fn compressed_packets_are_the_same() {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&trace_of(&[packet_of(&events()), tree()])).unwrap();
    check(&imported(&trace_of(&[bytes(50, &encoder.finish().unwrap())])));
}

#[test]
fn a_trace_that_was_cut_off_ends_at_its_last_whole_packet() {
    let one = trace_of(&[packet_of(&events())]);
    let both = [one.clone(), one.clone()].concat();
    for cut in one.len() + 2..both.len() {
        let trace = imported(&both[..cut]);
        assert_eq!(trace.events.len(), 2, "cut at {cut}");
        assert!(!trace.source.limits.is_empty());
    }
}

#[test]
fn damage_within_is_counted_and_what_is_no_trace_refused() {
    let damaged = bytes(1, &[number(1, 0), vec![0x12, 0x7f, 1]].concat());
    let file = trace_of(&[packet_of(&events()), damaged]);
    let trace = import(&file[..], Some(InputFormat::Perfetto)).unwrap().trace;
    assert_eq!((trace.events.len(), trace.source.damaged), (2, 1));
    let empty = import(&trace_of(&[tree()])[..], None).unwrap_err();
    assert!(matches!(empty, ImportError::Nothing { .. }), "{empty}");
    for not in [&b"\n\n\nhello\n"[..], b"\n", b"\x0a\xff\xff\xff\xff\xff\xff", b"\n8,0 x\n"] {
        assert!(import(not, Some(InputFormat::Perfetto)).is_err(), "{not:?}");
    }
}

/// Writes the fuzzer's seed again: the bytes of a trace as characters.
#[test]
fn the_fuzzers_seed_is_this_trace() {
    let trace = trace_of(&[packet_of(&events()), tree()]);
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/trace/perfetto");
    let text: String = trace.iter().map(|byte| char::from(*byte)).collect();
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
}
