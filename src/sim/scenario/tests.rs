//! Every scenario shows what it must.

use std::collections::BTreeSet;

use super::*;

/// Plays all scenarios of a protocol, and replays what was recorded.
fn play_all(protocol: &str) {
    let mut failures = Vec::new();
    for scenario in all().filter(|scenario| scenario.protocol == protocol) {
        let (Script::Network { .. } | Script::Rules { .. }) = scenario.script else { continue };
        let played = scenario.play(&ScenarioOptions::default(), &mut |_| {}).unwrap();
        match &played.outcome {
            Ok(seen) => println!("{}: {seen}", scenario.name),
            Err(error) => failures.push(format!("{}: {error}", scenario.name)),
        }
        let Some(trace) = played.trace() else { continue };
        let mut replay = crate::sim::trace::Replay::new(&trace).unwrap();
        if let Err(error) = replay.finish() {
            failures.push(format!("{}: replay: {error}", scenario.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn scenarios_of_poa() {
    play_all("poa");
}

#[test]
fn scenarios_of_pos() {
    play_all("pos");
}

#[test]
fn scenarios_of_dpos() {
    play_all("dpos");
}

#[test]
fn scenarios_of_pbft() {
    play_all("pbft");
}

#[test]
fn scenarios_of_raft() {
    play_all("raft");
}

#[test]
fn names_are_distinct_and_near_ones_are_found() {
    let names: BTreeSet<_> = all().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), all().count());
    for scenario in all() {
        assert!(scenario.name.starts_with(scenario.protocol), "{}", scenario.name);
        assert_eq!(find(scenario.name).unwrap().name, scenario.name);
        assert!(scenario.summary.len() < 120 && scenario.outcome.len() < 140, "{}", scenario.name);
    }
    assert_eq!(find("pbft-primary-crush").unwrap_err()[0], "pbft-primary-crash");
    assert_eq!(find("raft-figure-9").unwrap_err().len(), 3);
}

#[test]
fn protocol_tests_that_are_named_exist() {
    for scenario in all() {
        let Script::Protocol { tests } = scenario.script else { continue };
        for test in tests {
            let (module, function) = test.rsplit_once("::").unwrap();
            let path = format!("{}/src/{}.rs", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
            let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(source.contains(&format!("fn {function}(")), "{test}");
        }
        let error = scenario.play(&ScenarioOptions::default(), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(tests[0]), "{error}");
    }
}

/// The pictures of the documentation; `CHAINBOX_BLESS=1` draws them anew.
#[cfg(feature = "diagram")]
#[test]
fn pictures_of_the_documentation_are_drawn_again_byte_for_byte() {
    for name in ["pbft-primary-crash", "raft-leader-crash", "pos-late-block", "dpos-fork"] {
        let scenario = find(name).unwrap();
        let played = scenario.play(&ScenarioOptions::default(), &mut |_| {}).unwrap();
        assert!(played.outcome.is_ok(), "{name}");
        let picture = played.picture(scenario);
        assert!(picture.len() < 150_000, "{name}: {} bytes", picture.len());
        let path = format!("{}/docs/pictures/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("CHAINBOX_BLESS").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(committed == picture, "{name} is drawn otherwise: look at it, then CHAINBOX_BLESS=1");
    }
}
