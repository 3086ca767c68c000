//! `flashlag watch sim:`: what a watch finds of what is planted, as the document says.

use crate::watch::ran;

#[test]
fn the_table_of_the_document_is_what_half_a_year_of_a_simulated_card_shows() {
    let (status, table, error) = ran(&["watch", "sim:sd-a1"]);
    assert_eq!(status, Some(0), "{error}");
    // Hardly anything is given a wrong cause, nothing is found that was not planted, and what stops the disk is found.
    // Of short waits among many requests the kernel tells the mean alone.
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut waits = 0;
    for line in rows {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |index: usize| cells[index].parse::<u32>();
        let (Ok(visible), Ok(found), Ok(wrong)) = (number(4), number(5), number(8)) else {
            continue;
        };
        assert!(wrong * 20 <= found, "{line}");
        if ["a backup", "a discard", "garbage collection"].contains(&cells[1]) {
            assert!(found * 20 >= visible * 19, "{line}");
            waits += found;
        }
    }
    assert!(waits > 400, "{table}");
    assert!(table.contains("No incident was false"), "{table}");
    let (_, ratio) = table.split_once("the watch says ").unwrap();
    let ratio: f64 = ratio.split(' ').next().unwrap().parse().unwrap();
    assert!((ratio / 1.5 - 1.0).abs() < 0.15, "{ratio}");
    flashlag_testing::between_marks("docs/watch.md", "truth", &format!("\n{table}"));
}

#[test]
fn a_simulated_watch_keeps_a_history_where_one_is_asked_for_and_refuses_what_it_cannot_do() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a.history");
    let file = file.to_str().unwrap();
    let words = ["watch", "sim:sd-a1", "--for", "2d", "--probe", "60s", "--history", file];
    let (status, table, error) = ran(&words);
    assert!(status == Some(0) && error.contains("2 days of a user"), "{error}");
    assert!(table.contains("the watch finds no trend"), "{table}");
    let (status, text, error) = ran(&["watch", "report", file]);
    assert!(status == Some(0) && text.contains("2026-01-01"), "{text} {error}");
    let said = |words: &[&str], word: &str| {
        let (status, _, error) = ran(words);
        assert!(status == Some(2) && error.contains(word), "{words:?}: {error}");
    };
    said(&words, "exists: name a new file");
    said(&["watch", "sim:sd-a1", "--listen", "9178"], "leave out --listen");
    said(&["watch", "sim:sd-a9"], "sd-a1");
    said(&["watch", "sim:sd-a1", "--ageing", "0"], "from 0.25 to 4");
    said(&["watch", home.path().to_str().unwrap(), "--ageing", "2"], "is for sim:");
}
