use core::{convert::Infallible, time::Duration};

use super::*;
use crate::{
    consensus::{ConsensusConfig, ConsensusKind, ReplicaId, StakeUse, pbft::PbftConfig, raft::RaftConfig},
    sim::default_sim_config,
};

fn campaign(seeds: Range<u64>) -> Campaign {
    Campaign::new(CampaignSetup::of(ConsensusConfig::Pbft(PbftConfig::default())), seeds)
}

/// The file that a campaign writes.
fn file(campaign: &Campaign) -> Vec<u8> {
    let mut lines = serde_json::to_vec(&Origin::of(&campaign.setup)).unwrap();
    lines.push(b'\n');
    lines.extend(results(campaign, &BTreeSet::new()));
    lines
}

fn results(campaign: &Campaign, done: &BTreeSet<u64>) -> Vec<u8> {
    let mut lines = Vec::new();
    let written = campaign.run(done, |report| {
        lines.extend(serde_json::to_vec(&report).unwrap());
        lines.push(b'\n');
        Ok::<(), Infallible>(())
    });
    written.unwrap();
    lines
}

fn read(file: &[u8]) -> (Vec<RunReport>, ReadResults) {
    let mut reports = Vec::new();
    let read = read_results(file, |report| reports.push(report)).unwrap();
    (reports, read)
}

#[test]
fn shards_are_parts_of_the_whole() {
    let whole = campaign(3..13);
    let mut seeds = Vec::new();
    for index in 0..3 {
        seeds.extend(whole.clone().with_shard(Shard::new(index, 3).unwrap()).seeds());
    }
    assert_eq!(seeds, [3, 6, 9, 12, 4, 7, 10, 5, 8, 11]);
    assert_eq!("2/3".parse(), Shard::new(2, 3));
    assert_eq!("3/3".parse::<Shard>(), Err(ShardError::Range { index: 3, count: 3 }));
    assert_eq!("0/0".parse::<Shard>(), Err(ShardError::Range { index: 0, count: 0 }));
    for wrong in ["", "3", "a/b", "1/-2"] {
        assert!(matches!(wrong.parse::<Shard>(), Err(ShardError::Form { .. })), "{wrong}");
    }
}

#[test]
fn a_killed_shard_goes_on_where_it_was_and_gives_the_same() {
    let campaign = campaign(0..6);
    let full = file(&campaign);
    let want: Summary = read(&full).0.into_iter().collect();
    let read_whole = read(&full).1;
    assert_eq!((want.seeds, read_whole.whole_bytes), (6, full.len() as u64));
    assert_eq!(read_whole.origin, Some(Origin::of(&campaign.setup)));
    let head = full.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [0, 10, head, full.len() / 3, full.len() - 1] {
        let torn = &full[..cut];
        let (reports, read) = read(torn);
        let done: BTreeSet<u64> = reports.iter().map(|report| report.seed).collect();
        let mut file_again = torn[..read.whole_bytes as usize].to_vec();
        if read.origin.is_none() {
            file_again.extend(&full[..head]);
        }
        file_again.extend(results(&campaign, &done));
        assert_eq!(file_again, full);
    }
    let damaged = [&full[..head], b"nonsense\n", &full[head..]].concat();
    assert!(matches!(read_results(damaged.as_slice(), drop), Err(ResultsError::Line { line: 2, .. })));
    assert!(matches!(read_results(&full[head..], drop), Err(ResultsError::Origin { .. })));
}

#[test]
fn results_of_another_setup_are_told_apart() {
    let (pbft, mut other) = (campaign(0..6).setup, campaign(0..6).setup);
    let origin = Origin::of(&pbft);
    assert_eq!(origin.check(&Origin::of(&pbft)), Ok(()));
    other.fault_phase += Duration::from_millis(1);
    let raft = CampaignSetup::of(ConsensusConfig::Raft(RaftConfig::default()));
    for wrong in [other, raft] {
        let error = Origin::of(&wrong).check(&origin).unwrap_err();
        assert_eq!((&error.got, &error.want), (&Origin::of(&wrong), &origin));
    }
    let text = Origin::of(&pbft).to_string();
    assert!(text.starts_with("pbft (setup 0x") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

#[test]
fn a_part_contains_its_own_seeds() {
    let part = campaign(3..13).with_shard(Shard::new(1, 3).unwrap());
    let own: Vec<_> = (0..20).filter(|seed| part.contains(*seed)).collect();
    assert_eq!(own, part.seeds().collect::<Vec<_>>());
}

#[test]
fn parts_sum_up_to_the_whole() {
    let whole: Summary = read(&file(&campaign(0..6))).0.into_iter().collect();
    let mut sum = Summary::default();
    for index in 0..2 {
        let part = campaign(0..6).with_shard(Shard::new(index, 2).unwrap());
        sum.merge(read(&file(&part)).0.into_iter().collect());
    }
    assert_eq!(sum, whole);
    assert_eq!(serde_json::from_str::<Summary>(&serde_json::to_string(&sum).unwrap()).unwrap(), sum);
}

#[cfg(feature = "cli")]
#[test]
fn several_threads_give_what_one_gives() {
    let campaign = campaign(0..6);
    let mut reports = Vec::new();
    let done = BTreeSet::from([2]);
    run_parallel(&campaign, &done, 3, |report| {
        reports.push(report);
        Ok::<(), Infallible>(())
    })
    .unwrap();
    reports.sort_by_key(|report| report.seed);
    assert_eq!(
        reports,
        read(
            &[file(&campaign).split_inclusive(|byte| *byte == b'\n').next().unwrap(), &results(&campaign, &done)]
                .concat()
        )
        .0
    );
    let stopped = run_parallel(&campaign, &BTreeSet::new(), 2, Err);
    assert!(stopped.is_err());
}

#[test]
fn a_long_setup_is_written_and_read_and_lets_candidates_lie_within_the_budget() {
    for kind in ConsensusKind::ALL {
        let setup = CampaignSetup::long(default_sim_config(kind));
        let text = toml::to_string(&setup).unwrap();
        assert_eq!(toml::from_str::<CampaignSetup>(&text).unwrap(), setup);
        assert_eq!(setup.staking.is_some(), setup.consensus.info().stake_use != StakeUse::Never);
        let (mut candidates_lie, mut late) = (0, 0);
        for seed in 0..200 {
            let (plan, validators) = (setup.plan_of(seed), setup.validators_of(seed));
            setup.network(seed, &plan).unwrap();
            let liars: Vec<_> =
                plan.byzantine().into_iter().filter(|id| !is_observer(&setup, validators, *id)).collect();
            assert!(liars.len() as u32 <= setup.profile.byzantine.of(validators), "{kind:?} {seed}: {liars:?}");
            candidates_lie += liars.iter().filter(|id| id.get() >= validators).count();
            late += plan.faults.iter().filter(|fault| fault.at > Duration::from_secs(200)).count();
        }
        assert!(late > 100, "{late}");
        assert_eq!(candidates_lie > 0, setup.consensus.info().is_byzantine_tolerant, "{kind:?}");
    }
}

fn is_observer(setup: &CampaignSetup, validators: u32, id: ReplicaId) -> bool {
    id.get() >= validators + setup.candidates
}
