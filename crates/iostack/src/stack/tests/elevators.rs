//! A reader beside writes that are always there, by elevator, against closed forms.

use flashlag_device::{Device, Durability, Op, Request, SyncCall};
use flashlag_spec::profile::ElevatorKind;

use super::background::{job, laid_out};
use super::*;
use crate::background::BackgroundJob;
use crate::stack_file::StackFile;

const BLOCK: Bytes = Bytes::from_kib(4);
const READS: u64 = 8000;

/// Mean time of a read at depth 1 beside `depth` writes of `write` each.
fn mean(elevator: ElevatorKind, write: Nanos, depth: u32, sequential: bool) -> f64 {
    let model = StackModel { elevator, tags: Some(1), ..StackModel::default() };
    let stack = Stack::mount(device(write, 1), StackSpec::parse("raw").unwrap(), &model).unwrap();
    let size = Bytes::from_mib(64);
    let (read, beside) = (laid_out(&stack, "read", size), laid_out(&stack, "beside", size));
    stack.start_background(BackgroundJob { depth, random: true, ..job(beside) }).unwrap();
    let mut device = StackFile::new(&stack, read, size, BLOCK, 1, true, SyncCall::Data);
    let took = timed(&stack, || {
        let mut done = Vec::new();
        for number in 0..READS {
            // 7919 is prime, so that no read continues another one.
            let place = if sequential { number } else { number * 7919 % READS };
            let offset = Bytes(place * BLOCK.0);
            let (op, durability) = (Op::Read, Durability::None);
            device.submit(Request { slot: 0, op, offset, length: BLOCK, durability }).unwrap();
            device.reap(1, &mut done).unwrap();
        }
        assert!(done.iter().all(|one| one.result.is_ok()));
    });
    took.0 as f64 / READS as f64
}

#[test]
fn a_read_beside_writes_takes_what_the_closed_form_of_each_elevator_says() {
    let ms = Nanos::from_millis;
    for (write, depth) in [(ms(10), 1), (ms(40), 2), (ms(40), 8)] {
        let (read, each, writes) = (READ.0 as f64, write.0 as f64, f64::from(depth));
        let turn = if depth == 1 { each } else { (100e6 / each).ceil() * each };
        let idle = read * turn / 100e6;
        let batch = if depth == 1 { each } else { 16.0 * each };
        for (elevator, random, sequential) in [
            (ElevatorKind::Fifo, writes * each, writes * each),
            (ElevatorKind::Cfq, turn, turn),
            (ElevatorKind::CfqIdle, idle, idle),
            (ElevatorKind::Deadline, batch, batch),
            (ElevatorKind::Row, each, each / 100.0),
        ] {
            for (in_order, waits) in [(false, random), (true, sequential)] {
                let (took, expected) = (mean(elevator, write, depth, in_order), read + waits);
                let off = took / expected - 1.0;
                assert!(
                    off.abs() < 0.08,
                    "{elevator:?} beside {depth} of {write}, in order {in_order}: {:.3} ms, not {:.3}",
                    took / 1e6,
                    expected / 1e6
                );
            }
        }
    }
}

#[test]
fn an_elevator_changes_nothing_for_one_writer_alone() {
    let alone = |elevator| {
        let model = StackModel { elevator, tags: Some(1), ..StackModel::default() };
        let stack = stack_of("ext4", 1, &model);
        let file = laid_out(&stack, "file", Bytes::from_mib(1));
        timed(&stack, || {
            for page in 0..200 {
                stack.write(file, Bytes(page % 16 * 4096), &[1; 4096]).unwrap();
                stack.sync(file, true).unwrap();
            }
        })
    };
    let fifo = alone(ElevatorKind::Fifo);
    for elevator in
        [ElevatorKind::Cfq, ElevatorKind::CfqIdle, ElevatorKind::Deadline, ElevatorKind::Row]
    {
        assert_eq!(alone(elevator), fifo, "{elevator:?}");
    }
}
