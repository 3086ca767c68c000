//! The tests of `flashlag-cli` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

#[path = "../../../../fuzz/src/checks.rs"]
#[allow(dead_code, reason = "what other tests need of it")]
mod checks;
#[path = "../../../engine/tests/it/common/mod.rs"]
mod engine_common;
#[path = "../../../seccomp/tests/common/mod.rs"]
mod seccomp_common;

mod beside;
mod bug;
mod calm;
mod card;
mod commands;
mod commit;
mod compare_groups;
mod compare_with;
mod counts;
mod device;
mod findings;
mod first_sentence;
mod frames;
mod fuzz_seeds;
mod gate;
mod golden;
mod guest_limits;
mod held_back;
mod hostile;
mod lab;
mod lab_hangs;
mod lab_host;
mod lab_short;
mod limits;
mod lists;
mod loop_ext4;
mod man_pages;
mod monotone;
mod one_run;
mod outputs;
mod own_profile;
mod page;
mod phone;
mod phone_cut;
mod phone_full;
mod phone_hosts;
mod portable;
mod prefs_calls;
mod profiles_hold;
mod protocol;
mod purposes;
mod readme;
mod refused;
mod repeats;
mod results_template;
mod showcase;
mod stopped;
mod store_modes;
mod store_trend;
mod strangers;
mod streams;
mod support;
mod sweep_workers;
mod tails;
mod termux;
mod trace_live;
mod trace_phone;
mod trace_sources;
mod vanished;
mod watch;
mod watch_live;
mod watch_phone;
mod watch_sim;
