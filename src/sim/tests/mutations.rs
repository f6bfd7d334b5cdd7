//! Tests of the checkers: every deliberate bug of [`Mutation`] is found by the default campaign of its protocol, by a
//! named invariant, and without bugs it finds nothing.
//!
//! `scripts/mutations` runs the whole table and writes `docs/mutations.md`.

mod tables;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    thread,
};

use self::tables::{BY_PLAN, BY_PROFILE, BY_TEST, TABLE};
use super::*;
use crate::consensus::{
    ConsensusKind,
    mutation::{self, Mutation},
};
use crate::sim::Expected;
use crate::sim::faults::profile::{Profile, Weights};

/// Seeds that a campaign may take to find a bug.
const SEEDS_MAX: u64 = 1_000;

/// The protocol that a bug is of, as `chainbox campaign` runs it.
fn setup(protocol: &str) -> CampaignSetup {
    let kind = match ConsensusKind::from_name(&protocol.to_lowercase()) {
        Some(kind) => kind,
        None if protocol == "Staking" => ConsensusKind::Pos,
        // What every chain has is looked for with the simplest protocol.
        None => ConsensusKind::Poa,
    };
    CampaignSetup::of(default_sim_config(kind))
}

/// The setup in which continuous integration looks for a bug: the default one, or for a rare bug one with the faults that it needs.
fn quick_setup(mutation: Mutation) -> CampaignSetup {
    let mut setup = setup(&names(mutation).0);
    if mutation == Mutation::PbftForgetsPromises {
        // A primary that is back before its view is over.
        let none = Weights {
            link: 0,
            partition: 0,
            crash: 0,
            pause: 0,
            clock: 0,
            disk: 0,
            execution: 0,
            byzantine: 0,
            twins: 0,
            amnesia: 0,
        };
        let profile = Profile {
            weights: Weights { crash: 1, ..none },
            faults_max: 24,
            fault_max: Duration::from_secs(1),
            ..setup.profile
        };
        setup.profile = profile;
    }
    if matches!(mutation, Mutation::DposBoundsGaps | Mutation::PosBoundsGaps | Mutation::PosTakesSleepForAbsence) {
        setup.profile.sleep_per_mille = 1_000;
    }
    setup
}

/// The protocol and the bug's own name.
fn names(mutation: Mutation) -> (String, String) {
    let name = format!("{mutation:?}");
    let end = name.char_indices().skip(1).find(|(_, letter)| letter.is_uppercase()).map_or(name.len(), |(at, _)| at);
    (name[..end].to_owned(), name[end..].to_owned())
}

/// The first of these seeds that something is found with, and by which invariant.
fn first_finding(setup: &CampaignSetup, seeds: core::ops::Range<u64>) -> Option<(u64, String)> {
    seeds.into_iter().find_map(|seed| match run_seed(setup, seed).outcome {
        RunOutcome::Passed => None,
        RunOutcome::Violated(violation) => Some((seed, violation.invariant.into_owned())),
        RunOutcome::Failed { error } => Some((seed, format!("no invariant: {error}"))),
    })
}

fn finding_of(mutation: Mutation, setup: &CampaignSetup, seeds: u64) -> Option<(u64, String)> {
    mutation::with(mutation, || first_finding(setup, 0..seeds))
}

/// Does `work` for every item, on as many threads as there are cores.
fn in_parallel<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let taken = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(item) = items.get(taken) else { return };
                    work(item);
                }
            });
        }
    });
}

#[test]
fn every_bug_is_in_the_table_or_has_a_reason() {
    let source = include_str!("../../primitives/mutation.rs");
    let variants = source.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    let variants: BTreeSet<_> =
        variants.filter(|name| name.chars().all(char::is_alphanumeric)).map(str::to_owned).collect();
    let listed = TABLE.iter().map(|(mutation, _)| mutation).chain(BY_TEST.iter().map(|(mutation, ..)| mutation));
    let listed: Vec<_> = listed.map(|mutation| format!("{mutation:?}")).collect();
    assert_eq!(variants, listed.iter().cloned().collect());
    assert_eq!(variants.len(), listed.len(), "each once");
    for (mutation, test, why) in BY_TEST {
        let (module, name) = test.rsplit_once("::").unwrap();
        let file = format!("{}/src/{}.rs", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
        let tests = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{mutation:?}: {file}: {error}"));
        assert!(tests.contains(&format!("fn {name}(")) && !why.is_empty(), "{mutation:?}: {test}");
        assert!(tests.contains(&format!("Mutation::{mutation:?}")), "{mutation:?}: {file} does not switch it on");
    }
    let table = include_str!("../../../docs/mutations.md");
    for (mutation, ..) in BY_TEST {
        let (protocol, bug) = names(*mutation);
        assert!(table.contains(&format!("| {protocol} | {bug} | ")), "{mutation:?}");
    }
}

/// Half a minute in an unoptimised build: a hundred whole runs of networks, a part of them until they are known to be stuck. Those of
/// [`quick_setup`] find nothing without their bug.
#[test]
fn quick_bugs_are_found_by_named_invariants() {
    println!("\n| protocol | mutation | seeds until found | invariant |");
    for (mutation, seeds) in TABLE.iter().filter(|(_, seeds)| *seeds > 0) {
        let found = finding_of(*mutation, &quick_setup(*mutation), *seeds);
        let (protocol, bug) = names(*mutation);
        match found {
            Some((seed, invariant)) if !invariant.starts_with("no invariant") => {
                println!("| {protocol} | {bug} | {} | {invariant} |", seed + 1);
            }
            other => panic!("{mutation:?} in {seeds} seeds: {other:?}"),
        }
        let setup = quick_setup(*mutation);
        assert!(setup == self::setup(&protocol) || first_finding(&setup, 0..*seeds).is_none(), "{mutation:?}");
    }
}

/// Returns the invariant that finds a bug at its seed of [`BY_PROFILE`].
fn finding_at((mutation, profile, seed): (Mutation, &str, u64)) -> String {
    let setup = setup_of_profile(mutation, profile);
    let seeds = seed..seed + 1;
    assert_eq!(
        first_finding(&setup, seeds.clone()),
        None,
        "{mutation:?}, {profile}: seed {seed} finds something without the bug"
    );
    let found = mutation::with(mutation, || first_finding(&setup, seeds));
    let invariant = found.map(|(_, invariant)| invariant).filter(|invariant| !invariant.starts_with("no invariant"));
    invariant.unwrap_or_else(|| panic!("{mutation:?}, {profile}: seed {seed} does not find it any more"))
}

/// Rows of the table of [`BY_PROFILE`].
fn rows_by_profile() -> Vec<String> {
    let rows = Mutex::new(BTreeMap::new());
    in_parallel(BY_PROFILE, |(mutation, profile, seed)| {
        let (protocol, bug) = names(*mutation);
        let invariant = finding_at((*mutation, profile, *seed));
        rows.lock().unwrap().insert(*mutation, format!("| {protocol} | {bug} | {profile} | {seed} | {invariant} |"));
    });
    rows.into_inner().unwrap().into_values().collect()
}

/// Whole runs of networks whose validators are all replaced, most of them until they are known to be stuck: some 20 s in an unoptimised build.
#[test]
fn bugs_are_found_at_their_seeds_of_other_profiles() {
    let table = include_str!("../../../docs/mutations.md");
    for row in rows_by_profile() {
        assert!(table.contains(&row), "not in docs/mutations.md: {row}");
    }
    let is_by_test = |mutation: &Mutation| BY_TEST.iter().any(|(other, ..)| other == mutation);
    assert!(BY_PROFILE.iter().all(|(mutation, ..)| is_by_test(mutation)));
}

/// Whole runs of kept plans, each with its bug and without: some of five minutes of virtual time.
#[test]
fn bugs_are_found_by_kept_plans() {
    let table = include_str!("../../../docs/mutations.md");
    in_parallel(BY_PLAN, |(mutation, plan, invariant)| {
        let file = format!("{}/tests/regressions/{plan}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{mutation:?}: {file}: {error}"));
        let regression = Regression::from_toml(&text).unwrap();
        assert_eq!(regression.replay().0.outcome, RunOutcome::Passed, "{plan}");
        let outcome = mutation::with(*mutation, || regression.replay().0.outcome);
        let RunOutcome::Violated(violation) = outcome else { panic!("{mutation:?}, {plan}: {outcome:?}") };
        assert_eq!(violation.invariant, *invariant, "{mutation:?}, {plan}");
        let (protocol, bug) = names(*mutation);
        let row = format!("| {protocol} | {bug} | `{plan}` | {invariant} |");
        assert!(table.contains(&row), "not in docs/mutations.md: {row}");
        assert!(BY_TEST.iter().any(|(other, ..)| other == mutation), "{mutation:?}");
    });
}

/// Prints the table; `MUTATION` in the environment chooses those whose name has it.
#[test]
#[ignore = "minutes: scripts/mutations"]
fn table_of_mutations() {
    let wanted = std::env::var("MUTATION").unwrap_or_default();
    let chosen: Vec<_> = TABLE.iter().filter(|(mutation, _)| format!("{mutation:?}").starts_with(&wanted)).collect();
    let rows = Mutex::new(Vec::new());
    in_parallel(&chosen, |(mutation, _)| {
        let (protocol, bug) = names(*mutation);
        let row = match finding_of(*mutation, &setup(&protocol), SEEDS_MAX) {
            Some((seed, invariant)) => format!("| {protocol} | {bug} | {} | {invariant} |", seed + 1),
            None => format!("| {protocol} | {bug} | not in {SEEDS_MAX} | - |"),
        };
        eprintln!("{row}");
        let place = TABLE.iter().position(|(other, _)| other == mutation);
        rows.lock().unwrap().push((place, row));
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort();
    println!("\n| protocol | mutation | seeds until found | invariant |");
    rows.iter().for_each(|(_, row)| println!("{row}"));
    println!("\n| protocol | mutation | found by | why no campaign finds it |");
    for (mutation, test, why) in BY_TEST {
        let (protocol, bug) = names(*mutation);
        println!("| {protocol} | {bug} | `{test}` | {why} |");
    }
    println!("\n| protocol | mutation | plan in `tests/regressions` | invariant |");
    for (mutation, plan, invariant) in BY_PLAN {
        let (protocol, bug) = names(*mutation);
        println!("| {protocol} | {bug} | `{plan}` | {invariant} |");
    }
    println!("\n| protocol | mutation | profile | seed | invariant |");
    rows_by_profile().iter().for_each(|row| println!("{row}"));
    let missed = |row: &&(Option<usize>, String)| row.1.contains("not in") || row.1.contains("no invariant");
    assert_eq!(rows.iter().filter(missed).count(), 0);
}

/// Profiles of campaigns that find bugs of any protocol, and then those for what only some have: parameters that change, the validators' contract,
/// keys of validators that are replaced.
const PROFILES: [&str; 7] = ["short", "long", "turnover", "governance", "parameters", "registry", "rotation"];

/// Profiles of [`PROFILES`] that are searched unless one is named.
const SEARCHED: usize = 4;

/// Prints what campaigns find of some bugs, by profile and invariant: the first seed and how many. `MUTATION` in the environment is the
/// beginning of their names, `PROFILE` one of [`PROFILES`] (the first [`SEARCHED`] without it), `FROM` the first seed and `SEEDS` the number of seeds; with
/// `FIRST` each campaign ends with its first finding.
#[test]
#[ignore = "prints the findings of some mutations"]
fn print_findings_of_mutations() {
    let env = |name: &str| std::env::var(name).ok();
    let number = |name: &str, default: u64| env(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let (wanted, profile) = (env("MUTATION").unwrap_or_default(), env("PROFILE"));
    let (from, seeds) = (number("FROM", 0), number("SEEDS", SEEDS_MAX));
    let searched = PROFILES.into_iter().enumerate().filter(|(place, name)| match &profile {
        Some(wanted) => name == wanted,
        None => *place < SEARCHED,
    });
    let searched: Vec<_> = searched.map(|(_, name)| name).collect();
    assert!(!searched.is_empty(), "PROFILE is none of {PROFILES:?}");
    let all = TABLE.iter().map(|(mutation, _)| *mutation).chain(BY_TEST.iter().map(|(mutation, ..)| *mutation));
    let campaigns: Vec<_> = all
        .filter(|mutation| format!("{mutation:?}").starts_with(&wanted))
        .flat_map(|mutation| searched.iter().map(move |profile| (mutation, *profile)))
        .collect();
    in_parallel(&campaigns, |(mutation, profile)| {
        let setup = setup_of_profile(*mutation, profile);
        let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut rest = from..from + seeds;
        while let Some((seed, invariant)) = mutation::with(*mutation, || first_finding(&setup, rest.clone())) {
            found.entry(invariant).or_insert((seed, 0)).1 += 1;
            rest.start = if env("FIRST").is_some() { rest.end } else { seed + 1 };
        }
        println!("{mutation:?}, {profile}, {seeds} seeds from {from}: {found:?}");
    });
}

/// Prints which plans of `tests/regressions` that pass find some bugs, and by which invariant. `MUTATION` in the environment is the beginning of
/// their names, `PLAN` the one of the plans'; `SEEDS` runs each plan with so many seeds, from its own on, of which those count that pass without a bug.
#[test]
#[ignore = "prints the findings of some mutations"]
fn print_plans_of_mutations() {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let folder = format!("{}/tests/regressions", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted = |name: &str| name.ends_with(".toml") && name.starts_with(&env("PLAN"));
    let mut files: Vec<_> = files.filter(|path| is_wanted(&path.file_name().unwrap().to_string_lossy())).collect();
    files.sort();
    let bugs: Vec<_> =
        BY_TEST.iter().map(|(bug, ..)| *bug).filter(|bug| format!("{bug:?}").starts_with(&env("MUTATION"))).collect();
    let seeds = env("SEEDS").parse().unwrap_or(1);
    let runs: Vec<_> = files.iter().flat_map(|path| (0..seeds).map(move |more| (path, more))).collect();
    in_parallel(&runs, |(path, more)| {
        let mut regression = Regression::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
        regression.seed += more;
        if regression.expected != Expected::Passes || regression.replay().0.outcome != RunOutcome::Passed {
            return;
        }
        for bug in &bugs {
            let outcome = mutation::with(*bug, || regression.replay().0.outcome);
            if let RunOutcome::Violated(violation) = outcome {
                println!("{bug:?}, {}, seed {}: {}", path.display(), regression.seed, violation.invariant);
            }
        }
    });
}

fn setup_of_profile(mutation: Mutation, profile: &str) -> CampaignSetup {
    let setup = setup(&names(mutation).0);
    match profile {
        "short" => setup,
        "long" => CampaignSetup::long(setup.consensus),
        "turnover" => CampaignSetup::turnover(setup.consensus),
        "governance" => CampaignSetup::governance(setup.consensus),
        "parameters" => CampaignSetup::parameters(setup.consensus),
        "registry" => CampaignSetup::registry(setup.consensus),
        "rotation" => CampaignSetup::rotation(setup.consensus),
        other => panic!("no profile {other}"),
    }
}

/// Prints what the campaigns find without a bug; the environment variable `SEEDS` sets the number of seeds of each protocol.
#[test]
#[ignore = "minutes: scripts/mutations"]
fn table_without_mutations() {
    const CHUNK: u64 = 100;
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS_MAX);
    println!("\n| protocol | seeds | findings |");
    let mut findings = 0;
    for protocol in ["Pbft", "Raft", "Pos", "Dpos", "Poa"] {
        let setup = setup(protocol);
        let found = Mutex::new(Vec::new());
        let chunks: Vec<u64> = (0..seeds.div_ceil(CHUNK)).collect();
        in_parallel(&chunks, |chunk| {
            let mut rest = chunk * CHUNK..seeds.min((chunk + 1) * CHUNK);
            while let Some((seed, invariant)) = first_finding(&setup, rest.clone()) {
                eprintln!("{protocol} seed {seed}: {invariant}");
                found.lock().unwrap().push(seed);
                rest.start = seed + 1;
            }
        });
        let found = found.into_inner().unwrap();
        findings += found.len();
        println!("| {protocol} | {seeds} | {} |", found.len());
    }
    assert_eq!(findings, 0);
}
