use std::sync::LazyLock;

use flashlag_testing::PLAIN;

use super::*;

/// A plain device, one parameter of which has a range and was fitted.
static SMALL: LazyLock<String> = LazyLock::new(|| {
    let program = r#"program = { value = "600us", source = "test""#;
    assert!(PLAIN.contains(program));
    let fitted = r#", range = ["300us", "1ms"], fitted = ["new/rand_write_4k"]"#;
    PLAIN.replacen(program, &format!("{program}{fitted}"), 1)
});

#[test]
fn a_profile_reads_and_writes_itself_again() {
    let profile = Profile::parse(&SMALL).unwrap();
    assert_eq!(Profile::parse(&profile.to_toml()).unwrap(), profile);
}

#[test]
fn a_check_reads_and_writes_itself_again() {
    let check = "[[check]]\ndevice = \"small\"\nscenario = \"lifecycle\"\nleave = \"1MB\"\n\
                 settings = { runs = \"2\" }\nconditions = { \"in use\" = \"new/1\" }\n\
                 workloads = { \"write 4096 B\" = \"write_4096\" }\n\n[nand]";
    let profile = Profile::parse(&SMALL.replacen("[nand]", check, 1)).unwrap();
    assert_eq!(profile.checks[0].conditions["in use"], "new/1");
    assert_eq!(Profile::parse(&profile.to_toml()).unwrap(), profile);
}

#[test]
fn a_section_may_have_parts() {
    let text = format!(
        "{}\n[stack]\ncall = {{ value = \"40us\", source = \"test\" }}\n\
         sync_call = {{ value = \"50us\", source = \"test\" }}\n\n[stack.encryption]\n\
         read_per_kib = {{ value = \"34us\", source = \"test\" }}\n",
        *SMALL
    );
    let profile = Profile::parse(&text).unwrap();
    assert_eq!(Profile::parse(&profile.to_toml()).unwrap(), profile);
    let changed = profile.with("stack.encryption.read_per_kib", "1us").unwrap().model().unwrap();
    assert_eq!(changed.stack.encryption.read_per_kib.0, flashlag_units::Nanos::from_micros(1));
    let error = Profile::parse(&text.replace("read_per_kib", "reading")).unwrap_err().to_string();
    assert!(error.contains("reading"), "{error}");
}

#[test]
fn a_changed_parameter_changes_the_model() {
    let profile = Profile::parse(&SMALL).unwrap().with("nand.program", "900us").unwrap();
    assert_eq!(profile.model().unwrap().nand.program.0, flashlag_units::Nanos::from_micros(900));
}

#[test]
fn what_makes_no_device_is_refused_by_name() {
    let cases = [
        ("read = { value = \"50us\"", "read = { value = \"-50us\"", "read"),
        ("spare = { value = \"8MiB\"", "spare = { value = \"0B\"", "map.spare"),
        ("unit = { value = \"4KiB\"", "unit = { value = \"4MiB\"", "map.unit"),
        ("erase = {", "erasing = {", "erasing"),
        ("policy = { value = \"greedy\"", "policy = { value = \"lucky\"", "policy"),
        ("kind = { value = \"page\"", "kind = { value = \"fast\"", "map.log_blocks"),
        ("kind = { value = \"page\"", "kind = { value = \"bast\"", "`page`, `cached_page`, `fast`"),
        (", source = \"test\" }\nchannels", " }\nchannels", "nand.cell"),
    ];
    for (from, to, named) in cases {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, *SMALL, "{from}");
        let error = Profile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(named), "{to}: {error}");
    }
}

#[test]
fn strings_are_written_in_one_line_and_read_back_as_they_were() {
    let mut profile = Profile::parse(&SMALL).unwrap();
    let hostile = "a \"b\" \\ \u{1b}[31m\r\n\u{9b}\u{202e}\u{e0041} c".to_owned();
    profile.assumptions = vec![hostile.clone()];
    let text = profile.to_toml();
    assert!(text.chars().all(|c| c == '\n' || flashlag_units::is_printable(c)), "{text}");
    assert_eq!(Profile::parse(&text).unwrap().assumptions, std::slice::from_ref(&hostile));
    // Names and descriptions stand in the middle of lines.
    for key in ["name", "about", "filesystem"] {
        let lines = text.lines().map(|line| {
            if line.starts_with(&format!("{key} = ")) {
                format!("{key} = \"a\\nb\"")
            } else {
                line.to_owned()
            }
        });
        let error = Profile::parse(&lines.collect::<Vec<_>>().join("\n")).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("one line"), "{error}");
    }
}

#[test]
fn a_reserve_stands_beside_a_cache_that_is_passed_by_where_it_is_full() {
    let text = builtin_profile("ufs31-phone").unwrap();
    assert!(Profile::parse(text).unwrap().model().unwrap().slc.unwrap().reserve.is_some());
    let full = "[slc]\nfull = { value = \"fold\", source = \"test\" }\n";
    let error = Profile::parse(&text.replace("[slc]\n", full)).unwrap_err();
    let fault = ParameterFault::Without("slc.full = \"direct\"");
    assert_eq!(error, ProfileError::Fault { key: "slc.reserve", fault });
}

#[test]
fn a_write_booster_that_contradicts_itself_is_refused_by_name() {
    let text = builtin_profile("ufs31-phone").unwrap();
    let text = text.lines().filter(|line| !line.starts_with("fold_"));
    let text = text.collect::<Vec<_>>().join("\n");
    let fault = |keys: &[(&str, &str)]| {
        let lines = keys
            .iter()
            .map(|(key, value)| format!("{key} = {{ value = {value}, source = \"test\" }}\n"));
        let slc = format!("[slc]\n{}", lines.collect::<String>());
        match Profile::parse(&text.replace("[slc]\n", &slc)) {
            Err(ProfileError::Fault { key, fault }) => (key, fault),
            other => panic!("{keys:?}: {other:?}"),
        }
    };
    let (after, until) = (("fold_after", "\"3s\""), ("fold_until", "\"3s\""));
    assert_eq!(
        fault(&[("space", "\"shared\"")]),
        ("slc.space", ParameterFault::Instead("slc.dynamic"))
    );
    assert_eq!(fault(&[until]), ("slc.fold_until", ParameterFault::Without("slc.fold_after")));
    assert_eq!(
        fault(&[after, until]),
        ("slc.fold_until", ParameterFault::NotAfter("slc.fold_after"))
    );
    assert_eq!(
        fault(&[after, ("fold_below", "0.4")]),
        ("slc.fold_below", ParameterFault::Without("slc.fold_until"))
    );
    let (least, most) = ("0", "1");
    assert_eq!(
        fault(&[("fold_below", "1.5")]),
        ("slc.fold_below", ParameterFault::Range { least, most })
    );
    assert_eq!(
        fault(&[("fold_streams", "0")]),
        ("slc.fold_streams", ParameterFault::Count { count: 0, most: 64 })
    );
}

#[test]
fn entries_of_the_host_and_log_blocks_of_writers_need_a_map_that_has_them() {
    let refused = |name: &str, line: &str| {
        let text = builtin_profile(name).unwrap();
        let map = format!("[map]\n{line}, source = \"test\" }}\n");
        match Profile::parse(&text.replace("[map]\n", &map)) {
            Err(ProfileError::Fault { key, fault }) => (key, fault),
            other => panic!("{line}: {other:?}"),
        }
    };
    let cached = ParameterFault::Without("map.kind = \"cached_page\"");
    let hpb = "hpb = { value = \"1GiB\"";
    assert_eq!(refused("sd-a1", hpb), ("map.hpb", cached.clone()));
    assert_eq!(refused("sd-a1", "slc = { value = true"), ("map.slc", cached));
    let none = "hpb_reads = { value = 0";
    let count = ParameterFault::Count { count: 0, most: 255 };
    assert_eq!(refused("ufs31-phone", none), ("map.hpb_reads", count));
    for logs in ["sequential_logs = { value = 0", "sequential_logs = { value = 6"] {
        let fault = ParameterFault::SequentialLogs;
        assert_eq!(refused("sd-c10", logs), ("map.sequential_logs", fault));
    }
}

#[test]
fn a_check_may_change_the_model_and_names_what_makes_no_device() {
    let text = builtin_profile("sd-a1").unwrap();
    let with = |line: &str| {
        Profile::parse(&text.replace(
            "scenario = \"raspberry-pi-4\"\n",
            &format!("scenario = \"raspberry-pi-4\"\n{line}\n"),
        ))
    };
    let good = with("model = { \"host.queue_depth\" = 2, \"host.packed\" = 4 }").unwrap();
    let changed = good.overridden(&good.checks[0].model).unwrap().model().unwrap();
    assert_eq!((changed.host.queue_depth, changed.host.packed), (2, 4));
    assert_eq!(good.model().unwrap().host.queue_depth, 1, "the profile itself stays what it is");
    assert_eq!(Profile::parse(&good.to_toml()).unwrap(), good);
    for (line, names) in [
        ("model = { \"host.queue_deth\" = 2 }", "queue_deth"),
        ("model = { \"nand.read\" = 80 }", "nand.read"),
        ("bars = { \"latency p50\" = 0.0 }", "latency p50"),
    ] {
        let error = with(line).unwrap_err().to_string();
        assert!(error.contains(names) && error.contains("check."), "{line}: {error}");
    }
}

#[test]
fn a_parameter_that_a_profile_leaves_out_can_be_set_and_one_that_no_profile_has_is_named() {
    for name in names() {
        let profile = Profile::find(name).unwrap();
        let hot = profile.with("stack.speed_max", "0.6").unwrap();
        assert_eq!(hot.model().unwrap().stack.speed_max, Some(0.6), "{name}");
        assert_eq!(Profile::parse(&hot.to_toml()).unwrap(), hot, "{name}");
        for (key, value) in
            [("stack.idle_exit", "3ms"), ("stack.fua", "true"), ("stack.governor", "powersave")]
        {
            let changed =
                profile.with(key, value).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_ne!(changed, profile, "{name}");
        }
    }
    let profile = Profile::find("pixel6-2021").unwrap();
    let refused = |key| profile.with(key, "1").unwrap_err().to_string();
    let all = "`flashlag profiles --keys` lists all";
    assert_eq!(
        refused("stack.speed_mux"),
        format!("no parameter `stack.speed_mux`; {all}; did you mean `stack.speed_max`?")
    );
    assert_eq!(refused("speed.of_light"), format!("no parameter `speed.of_light`; {all}"));
    let wrong = profile.with("stack.speed_max", "fast").unwrap_err().to_string();
    assert!(wrong.contains("fast") && wrong.contains("speed_max"), "{wrong}");
}
