//! A table of block requests is read as its publishers document it, as the names of its columns say, or as the
//! user says, and else refused: nothing of it is guessed.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::trace::{BlockOperation, Trace, TraceAction};
use flashlag_trace::{ImportOptions, add_up, import, import_by};
use proptest::prelude::*;

/// A request: operation, offset, bytes, latency in nanoseconds, and the device.
type Request = (BlockOperation, u64, u64, Option<u64>, String);

fn requests(trace: &Trace) -> Vec<Request> {
    let of = |event: flashlag_schema::trace::TraceEvent| match event.action {
        TraceAction::Block { device, operation, offset, bytes, .. } => {
            let device = trace.devices[device as usize].name.clone();
            Some((operation, offset, bytes.0, event.took_ns.map(|took| took.0), device))
        }
        _ => None,
    };
    trace.events.iter().filter_map(of).collect()
}

fn read(text: &str) -> Trace {
    import(text.as_bytes(), None).unwrap_or_else(|error| panic!("{error}: {text}")).trace
}

fn by(text: &str, columns: &str) -> Result<Trace, String> {
    let columns = Some(columns.parse().map_err(|error| format!("{error}"))?);
    let options = ImportOptions { columns, ..ImportOptions::default() };
    import_by(text.as_bytes(), &options).map(|done| done.trace).map_err(|error| error.to_string())
}

fn refused(text: &str) -> String {
    import(text.as_bytes(), None).unwrap_err().to_string()
}

const R: BlockOperation = BlockOperation::Read;
const W: BlockOperation = BlockOperation::Write;

fn device(name: &str) -> String {
    name.to_owned()
}

/// Tables as they were published, with what each row means: volumes of machines.
fn volumes() -> Vec<(&'static str, Vec<Request>)> {
    vec![
        (
            "Timestamp,Response,IOType,LUN,Offset,Size\n\
             1455592051.003463000,0.000212050,W,3,18864848896,4096\n",
            vec![(W, 18_864_848_896, 4096, Some(212_050), device("3"))],
        ),
        (
            "1455592051.003463000,0.000212050,W,3,18864848896,4096\n\
             1455592051.003464000,0.000412050,R,3,0,512\n",
            vec![
                (W, 18_864_848_896, 4096, Some(212_050), device("3")),
                (R, 0, 512, Some(412_050), device("3")),
            ],
        ),
        (
            "128166372003061629,hm,1,Read,383496192,32768,413\n",
            vec![(R, 383_496_192, 32_768, Some(41_300), device("hm.1"))],
        ),
        (
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
             128166372003061629,hm,1,Write,383496192,32768,413\n",
            vec![(W, 383_496_192, 32_768, Some(41_300), device("hm.1"))],
        ),
        (
            "419,W,9986539520,16384,1577808000000046\n",
            vec![(W, 9_986_539_520, 16_384, None, device("419"))],
        ),
        (
            "device_id,opcode,offset,length,timestamp\n419,R,9986539520,16384,1577808000000046\n",
            vec![(R, 9_986_539_520, 16_384, None, device("419"))],
        ),
        (
            "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n",
            vec![
                (R, 12_910_952 * 512, 128 * 512, None, device("1063")),
                (W, 6_338_688 * 512, 8 * 512, None, device("1627")),
            ],
        ),
    ]
}

/// As [`volumes`]: traces of requests as the kernel has them.
fn kernels() -> Vec<(&'static str, Vec<Request>)> {
    vec![
        (
            "89966004549700 4253 nfsd 508821624 8 W 6 0 48a24b2c2f0ab6dd1a6c2b5a\n\
             89966004549800 4253 nfsd 508821632 16 R 6 0 0a b\n",
            vec![
                (W, 508_821_624 * 512, 4096, None, device("6,0")),
                (R, 508_821_632 * 512, 8192, None, device("6,0")),
            ],
        ),
        ("0,303567,3584,w,0.000000\n1,55590,3072,W,0.000600\n", {
            vec![
                (W, 303_567 * 512, 3584, None, device("0")),
                (W, 55_590 * 512, 3072, None, device("1")),
            ]
        }),
        (
            "proces,device,rw_flag,sector,size,timestamp\nkworker/u17:0-5,8388608,R,8,16,6.5\n",
            vec![(R, 8 * 512, 16 * 512, None, device("8,0"))],
        ),
        (
            "offset,size,type 507 14411 119 4\n7295488,4096,0\n18319072,36864,1\n",
            vec![
                (R, 7_295_488 * 512, 4096, None, device("unnamed")),
                (W, 18_319_072 * 512, 36_864, None, device("unnamed")),
            ],
        ),
        (
            "bytes,submit_s,finish_s\n36864,.757241486,.759995632\n",
            vec![(W, 0, 36_864, Some(2_754_146), device("unnamed"))],
        ),
        (
            "DeviceName,CPU,SequenceNum,TimeStamp(sec),Action,Operation,StartBlock,NumOfBlocks\n\
             8:0,0,1,0.5,Q,WS,8,8\n8:0,0,2,0.6,D,WS,8,8\n8:0,0,3,0.6,P,N,0,0\n8:0,0,4,0.9,C,WS,8,8\n",
            vec![(W, 8 * 512, 8 * 512, Some(300_000_000), device("8:0"))],
        ),
    ]
}

#[test]
fn each_published_form_is_read_in_the_units_of_its_document() {
    for (text, expected) in volumes().into_iter().chain(kernels()) {
        let trace = read(text);
        assert_eq!(requests(&trace), expected, "{text}");
        let read_as = trace.source.read_as.clone().unwrap();
        assert!(read_as.contains("in the form of"), "{read_as}");
        assert_eq!(trace.source.damaged, 0, "{text}");
        // Whatever order the columns stand in, names at their heads say which they are.
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let has_head = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if has_head && rows.iter().all(|row| row.len() == rows[0].len()) {
            let turned: Vec<String> = rows
                .iter()
                .map(|row| row.iter().rev().copied().collect::<Vec<_>>().join(","))
                .collect();
            let devices = |all: Vec<Request>| {
                all.into_iter()
                    .map(|(op, at, size, took, _)| (op, at, size, took))
                    .collect::<Vec<_>>()
            };
            let turned = read(&turned.join("\n"));
            assert_eq!(devices(requests(&turned)), devices(expected), "{text}");
        }
    }
}

#[test]
fn rows_without_a_response_or_of_an_unknown_kind_are_left_out_and_counted() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                1455592051.003463000,0.000212050,W,3,18864848896,4096\n\
                1455592051.008463000,0.000412050,R,3,18864852992,8192\n\
                1455592051.018463000,,W,3,18864852992,8192\n\
                1455592051.028463000,0.1,X,3,18864852992,8192\n";
    let trace = read(text);
    let layers = add_up(&trace).layers;
    let (writes, reads) = (layers.block.unwrap(), layers.block_reads.unwrap());
    assert_eq!((writes.count, writes.bytes.0, reads.count, reads.bytes.0), (1, 4096, 1, 8192));
    assert_eq!((trace.source.left_out, trace.source.damaged), (2, 0));
    let limits = trace.source.limits.join("\n");
    assert!(limits.contains("1 row is left out: without a latency"), "{limits}");
    assert!(limits.contains("1 row is left out: without a kind of request"), "{limits}");
}

#[test]
fn the_time_of_biosnoop_is_that_of_the_completion_and_a_name_may_have_spaces() {
    let text = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
                0.000000    smbd           23977   sda       W 16217088   4096   0.01    0.08\n\
                0.000036    Chrome IO thr  23999   sdb       R 16217088   8192   0.01    0.11\n\
                0.000306    jbd2/sda1-8    422     sda       W 145944280  4096   0.01    0.39\n";
    for text in [text.to_owned(), text.replace("QUE(ms) ", "").replace("0.01    ", "")] {
        let trace = read(&text);
        let device = |name: &str| name.to_owned();
        // By their beginnings: 0.306 - 0.39 ms, 0 - 0.08 ms, 0.036 - 0.11 ms.
        let expected = vec![
            (W, 145_944_280 * 512, 4096, Some(390_000), device("sda")),
            (W, 16_217_088 * 512, 4096, Some(80_000), device("sda")),
            (R, 16_217_088 * 512, 8192, Some(110_000), device("sdb")),
        ];
        assert_eq!(requests(&trace), expected, "{text}");
        let begun: Vec<u64> = trace.events.iter().map(|event| event.t_ns.0).collect();
        assert_eq!(begun, [0, 4_000, 10_000]);
        let names: Vec<_> = trace.tasks.iter().filter_map(|task| task.thread.as_deref()).collect();
        assert_eq!(names, ["smbd", "Chrome IO thr", "jbd2/sda1-8"]);
    }
}

#[test]
fn a_table_whose_columns_are_not_known_is_refused_with_its_head_and_the_option() {
    for text in [
        "time,op,offset,size\n1.0,R,4096,4096\n",
        "Timestamp,Response,IOType,LUN,Offset,Bytes\n1.0,0.1,W,3,8,4096\n",
        "offset,size,type\n8,4096,1\n",
        "4851300 1 524288 16 0\n4864300 1 524304 16 0\n",
        "1,2,3,4\n5,6,7,8\n",
        "ts;rw;blk;len\n1;R;8;16\n",
    ] {
        let error = refused(text);
        let head = text.lines().next().unwrap();
        assert!(error.contains(head) && error.contains("--columns 'time:s,op"), "{text}: {error}");
    }
    let error = refused("TIME(ms)     DISK    COMM             PID    LAT(ms)\n43 sda a 7 1\n");
    assert!(error.contains("neither sizes nor kinds"), "{error}");
    // What is no table stays what it was.
    assert!(refused("hello\nworld\n").contains("of no known format"));
}

#[test]
fn names_of_columns_with_their_units_are_enough_and_without_them_are_not() {
    let units =
        "start(us),rw,lba_sectors,length_bytes,latency(ms)\n5,W,8,4096,0.25\n9,R,16,512,1\n";
    let expected = vec![
        (W, 4096, 4096, Some(250_000), "unnamed".to_owned()),
        (R, 8192, 512, Some(1_000_000), "unnamed".to_owned()),
    ];
    let trace = read(units);
    assert_eq!(requests(&trace), expected);
    assert!(trace.source.read_as.unwrap().starts_with("Read by the names of its columns"));
    for (with, without) in [("lba_sectors", "lba"), ("start(us)", "start_time"), ("rw,", "flag,")] {
        let error = refused(&units.replace(with, without));
        assert!(error.contains("--columns"), "{error}");
    }
}

#[test]
fn columns_that_do_not_fit_the_file_are_refused() {
    let text = "1.0,R,4096,4096\n";
    assert!(by(text, "time:s,op,offset:bytes").unwrap_err().contains("size:UNIT"));
    let error = by(text, "time:s,op,offset:bytes,size:bytes,-").unwrap_err();
    assert!(error.contains("names 5 columns, and the file's first line has 4"), "{error}");
}

/// A row as a table may have it, and what it means.
fn row() -> impl Strategy<Value = (u64, bool, u64, u64, u64)> {
    (0..1_u64 << 40, any::<bool>(), 0..1_u64 << 30, 0..1_u64 << 20, 0..1_u64 << 30)
}

proptest! {
    #[test]
    fn a_table_says_the_same_in_every_order_unit_and_separator_that_the_option_names(
        rows in proptest::collection::vec(row(), 1..20),
        order in Just(vec![0_usize, 1, 2, 3, 4]).prop_shuffle(),
        separator in prop_oneof![Just(","), Just(";"), Just("\t"), Just(" ")],
        has_head in any::<bool>(),
        in_sectors in any::<bool>(),
        micros in any::<bool>(),
    ) {
        let unit = if in_sectors { 512 } else { 1 };
        let time = if micros { (1000, "us") } else { (1, "ns") };
        let size = if in_sectors { "sectors" } else { "bytes" };
        let items = [
            format!("time:{}", time.1),
            "op".to_owned(),
            format!("offset:{size}"),
            format!("size:{size}"),
            format!("latency:{}", time.1),
        ];
        let columns = order.iter().map(|at| items[*at].clone()).collect::<Vec<_>>().join(",");
        let mut text = String::new();
        if has_head {
            text += &["a"; 5].join(separator);
            text.push('\n');
        }
        for (t, is_read, offset, bytes, took) in &rows {
            let kind = if *is_read { "R" } else { "w" };
            let cells =
                [t.to_string(), kind.to_owned(), offset.to_string(), bytes.to_string(), took.to_string()];
            let cells: Vec<&str> = order.iter().map(|at| cells[*at].as_str()).collect();
            text += &cells.join(separator);
            text.push('\n');
        }
        let trace = by(&text, &columns).unwrap();
        let mut expected: Vec<_> = rows.clone();
        expected.sort_by_key(|row| row.0);
        let expected: Vec<Request> = expected
            .into_iter()
            .map(|(_, is_read, offset, bytes, took)| {
                let kind = if is_read { R } else { W };
                (kind, offset * unit, bytes * unit, Some(took * time.0), "unnamed".to_owned())
            })
            .collect();
        prop_assert_eq!(requests(&trace), expected, "{}\n{}", columns, text);
        let read_as = trace.source.read_as.clone().unwrap_or_default();
        prop_assert!(read_as.ends_with(&columns), "{}", read_as);
    }

    #[test]
    fn every_row_of_any_text_is_a_request_a_row_left_out_or_damage(
        lines in proptest::collection::vec("[0-9.,RW x-]{0,24}", 1..40),
    ) {
        let text = lines.join("\n");
        let Ok(trace) = by(&text, "time:s,op,offset:bytes,size:bytes") else { return Ok(()) };
        let rows = lines.iter().filter(|line| !line.trim().is_empty()).count() as u64;
        let source = &trace.source;
        let seen = trace.events.len() as u64 + source.left_out + source.damaged;
        // Four cells lie between commas, or else between spaces.
        let first = lines.iter().find(|line| !line.trim().is_empty()).unwrap();
        let by_commas: Vec<&str> = first.split(',').collect();
        let cells = if by_commas.len() == 4 { by_commas } else { first.split_whitespace().collect() };
        let has_head = !cells
            .iter()
            .any(|cell| cell.trim().starts_with(|letter: char| letter.is_ascii_digit()));
        prop_assert_eq!(seen + u64::from(has_head), rows, "{}", text);
    }
}
