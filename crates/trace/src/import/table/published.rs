//! Published forms of traces of block requests: which column is what, and in which unit, according
//! to their publishers' documents.

/// A published form.
pub(super) struct Published {
    /// Its usual name.
    pub(super) name: &'static str,
    /// The names in its header, in lower case, and what each column holds. A column whose name
    /// begins with `?` may be missing.
    pub(super) head: &'static [(&'static str, &'static str)],
    /// The operation of all requests, if no column has it.
    pub(super) all: Option<&'static str>,
    /// How to recognise a row of a file without a header; `None` if the files have one.
    pub(super) row: Option<&'static [Cell]>,
}

/// What a cell of a row looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// A whole number with this many digits.
    Digits(usize, usize),
    /// A number with a fraction.
    Decimal,
    /// A number with a fraction, or nothing.
    MaybeDecimal,
    /// One of these words.
    Of(&'static [&'static str]),
    /// Anything.
    Any,
}

use Cell::{Any, Decimal, Digits, MaybeDecimal, Of};

/// A whole number of any length.
const NUMBER: Cell = Digits(1, 20);

/// All known published forms.
pub(super) const PUBLISHED: &[Published] = &[
    // Lee et al., "Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop
    // Infrastructure", SYSTOR 2017; SNIA IOTTA 4964.
    Published {
        name: "SYSTOR '17 LUN trace",
        head: &[
            ("timestamp", "time:s"),
            ("response", "latency:s"),
            ("iotype", "op"),
            ("lun", "device"),
            ("offset", "offset:bytes"),
            ("size", "size:bytes"),
        ],
        all: None,
        row: Some(&[Decimal, MaybeDecimal, Of(&["R", "W", ""]), NUMBER, NUMBER, NUMBER]),
    },
    // Narayanan et al., "Write Off-Loading", FAST 2008; SNIA IOTTA 388. Times are Windows' file times.
    Published {
        name: "MSR Cambridge",
        head: &[
            ("timestamp", "time:100ns"),
            ("hostname", "device"),
            ("disknumber", "device"),
            ("type", "op"),
            ("offset", "offset:bytes"),
            ("size", "size:bytes"),
            ("responsetime", "latency:100ns"),
        ],
        all: None,
        row: Some(&[Digits(18, 18), Any, NUMBER, Of(&["Read", "Write"]), NUMBER, NUMBER, NUMBER]),
    },
    // Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads", IISWC 2020.
    Published {
        name: "Alibaba block trace",
        head: &[
            ("device_id", "device"),
            ("opcode", "op"),
            ("offset", "offset:bytes"),
            ("length", "size:bytes"),
            ("timestamp", "time:us"),
        ],
        all: None,
        row: Some(&[NUMBER, Of(&["R", "W"]), NUMBER, NUMBER, Digits(16, 16)]),
    },
    // Zhang et al., "OSCA", USENIX ATC 2020; SNIA IOTTA 27917.
    Published {
        name: "Tencent block storage",
        head: &[
            ("timestamp", "time:s"),
            ("offset", "offset:sectors"),
            ("size", "size:sectors"),
            ("iotype", "op:0=read/1=write"),
            ("volumeid", "device"),
        ],
        all: None,
        row: Some(&[Digits(10, 10), NUMBER, Digits(1, 5), Of(&["0", "1"]), Digits(1, 6)]),
    },
    // Koller and Rangaswami, "I/O Deduplication", FAST 2010; SNIA IOTTA 391. The last cell is a hash.
    Published {
        name: "FIU",
        head: &[
            ("ts", "time:ns"),
            ("pid", "pid"),
            ("process", "process"),
            ("lba", "offset:sectors"),
            ("blocks", "size:sectors"),
            ("op", "op"),
            ("major", "device"),
            ("minor", "device"),
            ("md5", "-"),
        ],
        all: None,
        row: Some(&[NUMBER, NUMBER, Any, NUMBER, NUMBER, Of(&["R", "W"]), NUMBER, NUMBER, Any]),
    },
    // UMass Trace Repository; Storage Performance Council, "SPC Trace File Format", 1.0.1.
    Published {
        name: "UMass (SPC)",
        head: &[
            ("asu", "device"),
            ("lba", "offset:sectors"),
            ("size", "size:bytes"),
            ("opcode", "op"),
            ("timestamp", "time:s"),
        ],
        all: None,
        row: Some(&[NUMBER, NUMBER, NUMBER, Of(&["r", "w", "R", "W"]), Decimal]),
    },
    // acsl-technion/MobileBlockIOTraces: sectors and their count are the kernel's.
    Published {
        name: "MobileBlockIOTraces",
        head: &[
            ("proces", "process"),
            ("device", "dev_t"),
            ("rw_flag", "op"),
            ("sector", "offset:sectors"),
            ("size", "size:sectors"),
            ("timestamp", "time:s"),
        ],
        all: None,
        row: None,
    },
    // Zhou et al., "I/O Characteristics of Smartphone Applications", IISWC 2015. In the header the
    // last column's name is followed by four numbers.
    Published {
        name: "IISWC 2015 offsets",
        head: &[
            ("offset", "offset:sectors"),
            ("size", "size:bytes"),
            ("type # # # #", "op:0=read/1=write"),
        ],
        all: None,
        row: None,
    },
    // From the same publication: its 53 service times are all of writes.
    Published {
        name: "IISWC 2015 service times",
        head: &[("bytes", "size:bytes"), ("submit_s", "time:s"), ("finish_s", "end:s")],
        all: Some("op=write"),
        row: None,
    },
    // SNIA's scripts around blkparse (blk_prsr.sh): a row is one blktrace event.
    Published {
        name: "blkparse as CSV",
        head: &[
            ("devicename", "device"),
            ("cpu", "-"),
            ("sequencenum", "-"),
            ("timestamp(sec)", "time:s"),
            ("?pid", "pid"),
            ("action", "step"),
            ("operation", "op"),
            ("startblock", "offset:sectors"),
            ("numofblocks", "size:sectors"),
            ("?process", "process"),
        ],
        all: None,
        row: None,
    },
    // biosnoop of bcc and of libbpf-tools: the time is that of the completion.
    Published {
        name: "biosnoop",
        head: &[
            ("time(s)", "end:s"),
            ("comm", "process"),
            ("pid", "pid"),
            ("disk", "device"),
            ("t", "op"),
            ("sector", "offset:sectors"),
            ("bytes", "size:bytes"),
            ("?pattern", "-"),
            ("?que(ms)", "-"),
            ("lat(ms)", "latency:ms"),
        ],
        all: None,
        row: None,
    },
];

/// A known header of a table without requests: its names, and what is missing.
pub(super) const WITHOUT_REQUESTS: &[(&[&str], &str)] = &[(
    &["time(ms)", "disk", "comm", "pid", "lat(ms)"],
    "bpftrace's biosnoop.bt prints neither sizes nor kinds of requests: record with bcc's biosnoop, or with \
     `perf record -e block:block_rq_issue -e block:block_rq_complete`",
)];

impl Cell {
    /// Whether the text looks like it.
    pub(super) fn is(self, text: &str) -> bool {
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let decimal = |text: &str| {
            text.split_once('.').is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
        };
        match self {
            Digits(least, most) => digits(text) && (least..=most).contains(&text.len()),
            Decimal => decimal(text),
            MaybeDecimal => text.is_empty() || decimal(text),
            Of(words) => words.contains(&text),
            Any => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::{Column, Columns};
    use super::*;

    #[test]
    fn every_published_form_has_columns_of_which_requests_can_be_made() {
        for published in PUBLISHED {
            let items = published.head.iter().map(|(_, item)| *item).chain(published.all);
            let columns: Columns = items.collect::<Vec<_>>().join(",").parse().unwrap();
            assert_eq!(columns.of.len(), published.head.len(), "{}", published.name);
            assert!(!columns.of.contains(&Column::Size(0)));
            assert!(published.row.is_none_or(|row| row.len() == published.head.len()));
        }
    }
}
