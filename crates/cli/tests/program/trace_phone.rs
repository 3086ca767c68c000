//! `flashlag trace adb:` on a stand-in phone, by the real adb.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use crate::support::phone::{Bench, pixel, text};
use flashlag_standin::Phone;
use serde_json::Value;

#[test]
fn the_app_whose_fsyncs_wait_is_named_with_its_waits_and_what_the_phone_lost() {
    let Some(bench) = Bench::of(pixel()) else { return };
    let output = bench.command(&["trace", "adb:", "--for", "2s", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let ledger: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(ledger["source"]["kind"], "atrace");
    assert_eq!(ledger["source"]["lost"], 17);
    let writers = ledger["writers"].as_array().unwrap();
    let syncs = |writer: &&Value| writer["syncs"]["count"].as_u64().is_some_and(|count| count > 0);
    let waiting: Vec<_> = writers.iter().filter(syncs).collect();
    assert_eq!(waiting.len(), 1, "{writers:#?}");
    // Three waits, as the text has them: 12, 40 and 220 ms.
    assert_eq!(waiting[0]["syncs"]["count"], 3);
    assert_eq!(waiting[0]["syncs"]["waited_ns"], 272_000_000);
    assert_eq!(waiting[0]["main"], true);
    assert!(waiting[0]["process"].as_str().unwrap().ends_with("messaging"), "{waiting:#?}");
    let asked = bench.phone.log().join("\n");
    assert!(asked.contains("atrace -b 32768 -t 2 disk sched"), "{asked}");
}

#[test]
fn a_phone_on_ext4_is_read_as_well() {
    let phone = Phone::builder().model("pixel-android9").abis("x86_64");
    let Some(bench) = Bench::of(phone) else { return };
    let output = bench.command(&["trace", "adb:", "--for", "1s"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("messaging") && shown.contains("jbd2/dm-5-8"), "{shown}");
}

#[test]
fn a_phone_that_refuses_and_options_that_it_can_not_have_say_so() {
    let Some(bench) = Bench::of(Phone::builder().model("pixel6-android14").abis("x86_64")) else {
        return;
    };
    let said = bench.refused(&["trace", "adb:", "--for", "1s"]);
    assert!(said.contains("atrace") && said.contains("not supported on this device"), "{said}");
    let said = bench.refused(&["trace", "adb:/sdcard"]);
    assert!(said.contains("leave out the path"), "{said}");
    let said = bench.refused(&["trace", "adb:", "--", "true"]);
    assert!(said.contains("without a command"), "{said}");
}
