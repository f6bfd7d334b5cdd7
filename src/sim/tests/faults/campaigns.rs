//! Two-phase runs of many seeds, shrinking, regression files.

use std::{collections::BTreeMap, path::PathBuf};

use super::*;
use crate::consensus::mutation::{self, Mutation};

fn protocols() -> [ConsensusConfig; 3] {
    [pbft(), raft(), poa()]
}

#[test]
fn runs_are_the_same_twice_and_differ_by_seed() {
    for config in protocols() {
        let setup = CampaignSetup::of(config);
        let report = run_seed(&setup, 1);
        assert_eq!(run_seed(&setup, 1), report);
        assert_ne!(run_seed(&setup, 2).digest, report.digest);
        assert_ne!(run_plan(&setup, 1, &FaultPlan::default()).digest, report.digest);
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<RunReport>(&text).unwrap(), report);
    }
}

#[test]
fn quiet_runs_pass_and_acknowledge_everything() {
    for config in protocols() {
        let kind = config.kind();
        let report = run_plan(&CampaignSetup::of(config), 4, &FaultPlan::default());
        assert!(report.is_passed(), "{kind:?}: {:?}", report.outcome);
        let counters = report.counters;
        // Twelve transfers, those of the late client, and the operators' transactions to the staking contract.
        let expected = if kind == Some(crate::consensus::ConsensusKind::Pbft) { 14..40 } else { 13..14 };
        assert!(counters.height.get() > 15 && expected.contains(&counters.submitted), "{kind:?}: {counters:?}");
        assert_eq!((counters.restarts, counters.evidence), (0, 0));
        if kind != Some(crate::consensus::ConsensusKind::Poa) {
            assert_eq!(counters.acknowledged, counters.submitted, "{kind:?}");
        }
    }
}

#[test]
fn default_campaigns_find_nothing() {
    for config in protocols() {
        let kind = config.kind();
        let campaign = Campaign::new(CampaignSetup::of(config), 0..40);
        if let Some(report) = campaign.first_failure() {
            panic!("{kind:?} seed {}: {:?}\n{}", report.seed, report.outcome, report.plan.to_toml());
        }
    }
}

#[test]
fn a_deliberate_bug_is_found_shrunk_kept_and_gone_without_it() {
    let setup = CampaignSetup::of(pbft());
    let (shrunk, regression) = mutation::with(Mutation::PbftQuorumOneShort, || {
        let found = Campaign::new(setup.clone(), 0..1_000).first_failure().expect("a quorum of two is found");
        let violation = found.violation().expect("by an invariant").clone();
        let shrunk = shrink(&setup, &found, 60);
        assert_eq!(shrunk.report.violation().map(|violation| &violation.invariant), Some(&violation.invariant));
        assert!(shrunk.report.plan.faults.len() <= shrunk.faults_before);
        let regression = Regression::mended("a quorum of 2f", setup.clone(), &shrunk.report);
        assert!(!regression.replay().1, "the mended bug still breaks it");
        (shrunk, regression)
    });
    assert!(shrunk.runs <= 60);
    let text = regression.to_toml().unwrap();
    let read = Regression::from_toml(&text).unwrap();
    assert_eq!(read, regression, "{text}");
    let (report, is_mended) = read.replay();
    assert!(is_mended, "{:?}", report.outcome);
}

/// Returns the files of `tests/regressions`, by the protocol with which their names begin.
fn regression_files() -> BTreeMap<String, Vec<PathBuf>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        files.entry(name.split('-').next().unwrap().to_owned()).or_default().push(path);
    }
    files
}

fn replay_files_of(protocol: &str) {
    for file in &regression_files()[protocol] {
        let text = std::fs::read_to_string(file).unwrap();
        let regression = Regression::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let (report, is_as_expected) = regression.replay();
        assert!(is_as_expected, "{}: {} must: {:?}", file.display(), regression.about, report.outcome);
    }
}

/// A test a protocol, which run side by side: some are half a minute of runs.
#[test]
fn regression_files_are_of_the_protocols_that_are_replayed() {
    let protocols: Vec<_> = regression_files().into_keys().collect();
    assert_eq!(protocols, ["dpos", "pbft", "poa", "pos", "raft"]);
}

#[test]
fn every_regression_of_dpos_reproduces_its_outcome() {
    replay_files_of("dpos");
}

#[test]
fn every_regression_of_pbft_reproduces_its_outcome() {
    replay_files_of("pbft");
}

#[test]
fn every_regression_of_poa_reproduces_its_outcome() {
    replay_files_of("poa");
}

#[test]
fn every_regression_of_pos_reproduces_its_outcome() {
    replay_files_of("pos");
}

#[test]
fn every_regression_of_raft_reproduces_its_outcome() {
    replay_files_of("raft");
}

#[test]
#[ignore = "writes tests/regressions"]
fn write_controls() {
    let twins = |replica, other| FaultKind::Twins { replica: id(replica), group: vec![id(other), id(2)] };
    let one_way = |from, to| FaultKind::OneWay { from: vec![id(from)], to: vec![id(to)] };
    let plan = FaultPlan::default()
        .with_lasting(Duration::ZERO, twins(0, 1))
        .with_lasting(Duration::ZERO, twins(1, 0))
        .with_lasting(Duration::ZERO, one_way(2, 3))
        .with_lasting(Duration::ZERO, one_way(3, 2));
    let setup = CampaignSetup { validators: vec![4], ..CampaignSetup::of(pbft()) };
    let seed = (0..40)
        .find(|seed| run_plan(&setup, *seed, &plan).violation().is_some_and(|v| v.invariant == "pbft-prepared-unique"));
    let about = "negative control: two of four replicas lie, each half believes another block".to_owned();
    let expected = Expected::Breaks("pbft-prepared-unique".to_owned());
    let control = Regression { about, seed: seed.unwrap(), expected, setup, plan };
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    std::fs::write(folder.join("pbft-two-twins.toml"), control.to_toml().unwrap()).unwrap();
}
