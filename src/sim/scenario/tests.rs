//! Every scenario shows what it must.

use std::collections::BTreeSet;

use super::*;

/// Plays all scenarios of a protocol, and replays what was recorded.
fn play_all(protocol: &str) {
    let mut failures = Vec::new();
    for scenario in all().filter(|scenario| scenario.protocol == protocol) {
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

/// Plays all scenarios of a protocol on other seeds, and with as few and as many validators as they take.
fn play_otherwise(protocol: &str) {
    let mut failures = Vec::new();
    for scenario in all().filter(|scenario| scenario.protocol == protocol) {
        let Some(sizes) = scenario.sizes() else { continue };
        let mut options: Vec<_> = (0..SEEDS).map(|seed| ScenarioOptions::default().with_seed(1_000 + seed)).collect();
        let others = [sizes.min, sizes.max].into_iter().filter(|number| *number != sizes.default);
        options.extend(others.map(|number| ScenarioOptions::default().with_validators(number)));
        for options in options {
            let played = scenario.play(&options, &mut |_| {}).unwrap();
            if let Err(error) = played.outcome {
                failures.push(format!("{} with {options:?}: {error}", scenario.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Seeds besides a scenario's own.
const SEEDS: u64 = 4;

#[test]
fn scenarios_of_poa_show_on_other_seeds_and_sizes() {
    play_otherwise("poa");
}

#[test]
fn scenarios_of_pos_show_on_other_seeds_and_sizes() {
    play_otherwise("pos");
}

#[test]
fn scenarios_of_dpos_show_on_other_seeds_and_sizes() {
    play_otherwise("dpos");
}

#[test]
fn scenarios_of_pbft_show_on_other_seeds_and_sizes() {
    play_otherwise("pbft");
}

#[test]
fn scenarios_of_raft_show_on_other_seeds_and_sizes() {
    play_otherwise("raft");
}

/// What a user may ask for and can't have is refused with the reason, and nothing is run.
#[test]
fn what_can_not_show_is_refused_with_its_reason() {
    for scenario in all() {
        match scenario.sizes() {
            Some(sizes) => {
                assert!(sizes.allows(sizes.default) && sizes.min >= 1 && sizes.max <= 100, "{}", scenario.name);
                for number in [sizes.min - 1, sizes.max + 1] {
                    let options = ScenarioOptions::default().with_validators(number);
                    let error = scenario.play(&options, &mut |_| {}).unwrap_err();
                    assert!(error.is_refusal() && error.to_string().contains(sizes.reason), "{error}");
                }
            }
            None => {
                for options in [ScenarioOptions::default().with_seed(1), ScenarioOptions::default().with_validators(4)]
                {
                    assert!(scenario.play(&options, &mut |_| {}).unwrap_err().is_refusal(), "{}", scenario.name);
                }
            }
        }
    }
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
    assert_eq!(find("raft-figure-9").unwrap_err().len(), 2);
    assert!(find("fork").unwrap_err().contains(&"dpos-fork"));
    assert!(find("nope").unwrap_err().is_empty(), "{:?}", find("nope"));
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
