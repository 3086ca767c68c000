use proptest::prelude::*;

use super::*;

const SIZE: u64 = 200 << 10;

#[derive(Clone, Debug)]
enum Change {
    Write(u64, u64, u8),
    Clear(u64, u64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let range = (0..SIZE, 1..SIZE / 2).prop_map(|(from, length)| (from, length.min(SIZE - from)));
    let change = (range, any::<Option<u8>>()).prop_map(|((from, length), byte)| match byte {
        Some(byte) => Change::Write(from, length, byte),
        None => Change::Clear(from, length),
    });
    prop::collection::vec(change, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn memory_and_file_hold_what_a_plain_array_holds(changes in changes()) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        let stores = [Data::Memory(MemoryData::new(SIZE)), Data::File(FileData::new(file))];
        let mut plain = vec![0u8; SIZE as usize];
        for change in changes {
            for store in &stores {
                match change {
                    Change::Write(from, length, byte) => {
                        store.write(from, &vec![byte; length as usize]).unwrap();
                    }
                    Change::Clear(from, length) => store.clear(from, length).unwrap(),
                }
            }
            let (from, length, byte) = match change {
                Change::Write(from, length, byte) => (from, length, byte),
                Change::Clear(from, length) => (from, length, 0),
            };
            plain[from as usize..(from + length) as usize].fill(byte);
        }
        for store in &stores {
            let mut read = vec![1; SIZE as usize];
            store.read(0, &mut read).unwrap();
            prop_assert!(read == plain);
            let mut at = 0;
            while let Some((start, length)) = store.next_held(at, SIZE).unwrap() {
                prop_assert!(plain[at as usize..start as usize].iter().all(|byte| *byte == 0));
                at = start + length;
            }
            prop_assert!(plain[at as usize..].iter().all(|byte| *byte == 0));
        }
    }
}
