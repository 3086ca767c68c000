//! The tests of `flashlag-runner` from outside, in one program: what each module claims is in its head.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod android_saves;
mod as_apps_do;
mod live_figures;
mod mixed_and_threads;
mod prefs;
mod replay;
mod sim_commits;
mod sim_ends;
mod sim_identity;
mod sim_repeats;
mod sim_support;
mod trust_live;
mod verified_ends;
