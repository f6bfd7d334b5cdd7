//! Forks, crashes and double production, also without watermark and lock.

use std::collections::BTreeSet;

use super::{super::*, lab::*};
use crate::{
    consensus::{Evidence, mutation},
    primitives::Height,
};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// Runs four replicas with random partitions, crashes and restarts for 60 slots, then 40 slots without faults.
fn random_run(seed: u64, per_turn: u32) -> Lab {
    let mut random = Dice(seed);
    let mut lab = Lab::with_config(4, 4, DposConfig::default().with_blocks_per_turn(per_turn));
    for _ in 0..60 {
        match random.below(8) {
            0 => (0..4).for_each(|index| lab.groups[index] = random.below(2)),
            1 => lab.heal(),
            2 => lab.stop(random.below(4)),
            3 => {
                let index = random.below(4);
                lab.restart(index);
            }
            _ => {}
        }
        if random.below(4) == 0 {
            // Blocks of two slots are reordered.
            lab.begin_slot();
            lab.begin_slot();
            lab.settle();
        } else {
            lab.slot();
        }
    }
    lab.heal();
    (0..4).filter(|index| !lab.nodes[*index].is_up).collect::<Vec<_>>().into_iter().for_each(|i| lab.restart(i));
    lab.slots(40);
    lab
}

/// Names of the properties that do not hold in the runs up to the one that violates `want`.
fn violated_within(seeds: u64, want: &str) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for seed in 0..seeds {
        if names.contains(want) {
            break;
        }
        names.extend(random_run(seed, 1 + seed as u32 % 2).violations.iter().map(|violation| violation.property));
    }
    names
}

#[test]
fn random_partitions_crashes_and_reordering_violate_no_property() {
    let mut forks = 0;
    for seed in 0..60 {
        let lab = random_run(seed, 1 + seed as u32 % 2);
        assert!(lab.violations.is_empty(), "seed {seed}: {:?}", lab.violations);
        assert!(lab.evidence.is_empty(), "seed {seed}: {:?}", lab.evidence);
        assert!(lab.is_agreed(), "seed {seed}: {:?}", lab.heads());
        let lag = lab.heads()[0].height.get() - lab.irreversible(0);
        assert!(lag <= 16, "seed {seed}: {lag} blocks are not irreversible");
        forks += lab.mark("dpos/reorg");
    }
    assert!(forks > 60, "{forks}");
}

#[test]
fn lost_safety_states_and_other_bugs_are_detected_by_the_checker() {
    for (bug, want) in [
        (Mutation::DposPromiseForgotten, CONFIRMED_TWICE),
        (Mutation::DposConfirmsTwice, CONFIRMED_TWICE),
        (Mutation::DposSlotTwice, SLOT_TWICE),
        (Mutation::DposWrongProducer, SLOT_OWNER),
    ] {
        let found = mutation::with(bug, || violated_within(40, want));
        assert!(found.contains(want), "{bug:?}: {found:?}");
    }
}

/// Two of four producers were offline for many slots, so that many blocks become irreversible at once: one restarts and gives the last
/// confirmation, the other is partitioned. No other replica receives the block that makes them irreversible, and all except the
/// partitioned one stop until its branch is longer. Then all restart except the producer of that block. By length alone they
/// follow the partitioned one, and a second block of the same height becomes irreversible.
fn restarted_producers(rule: FinalityRule) -> Lab {
    let mut lab = Lab::with_config(4, 4, DposConfig::default().with_finality(rule));
    lab.slots(8);
    let (loner, back) = (lab.owner(0, 9), lab.owner(0, 10));
    let others: Vec<_> = (0..4).filter(|index| *index != loner).collect();
    lab.stop(loner);
    lab.stop(back);
    lab.slots(16);
    let steady = lab.owner(0, 11);
    while [loner, back].contains(&lab.owner(steady, lab.fixture.now + 1)) {
        lab.slot();
    }
    lab.restart(loner);
    lab.slot();
    let fork = lab.replica(loner).head().height;
    assert_eq!(lab.replica(loner).head(), lab.replica(steady).head());
    let groups: Vec<_> = (0..4).map(|index| usize::from(index == loner)).collect();
    lab.split(&groups);
    lab.slots(12);
    lab.restart(back);
    let knows = |lab: &Lab, index: usize| lab.replica(index).finality().finalized.height > fork;
    while !others.iter().any(|index| knows(&lab, *index)) {
        lab.settle();
        lab.begin_slot();
    }
    lab.queue.clear();
    let (wise, unaware): (Vec<_>, Vec<_>) = others.iter().copied().partition(|index| knows(&lab, *index));
    assert_eq!(wise.len(), 1);
    let longest = lab.heads().iter().map(|head| head.height).max().unwrap();
    others.iter().for_each(|index| lab.stop(*index));
    while lab.replica(loner).head().height.get() < longest.get() + 4 {
        lab.slot();
    }
    lab.heal();
    unaware.iter().for_each(|index| lab.restart(*index));
    lab.slots(60);
    lab.restart(wise[0]);
    lab.slots(20);
    lab
}

#[test]
fn restarted_producers_return_to_the_block_they_implied() {
    let lab = restarted_producers(FinalityRule::Locked);
    assert!(lab.violations.is_empty(), "{:?}", lab.violations);
    assert!(lab.is_agreed() && lab.irreversible(0) > 30);
    assert!(lab.mark("dpos/below-watermark") > 0);
}

#[test]
fn by_the_classic_rule_two_blocks_become_irreversible() {
    let classic = restarted_producers(FinalityRule::Classic);
    assert!(classic.is_violated(AGREEMENT), "{:?}", classic.violations);
}

/// Locks keep the chain from a second irreversible block even where the fork choice does not know what is prepared; but producers
/// whose locks exclude the longest branch remain on it, and nothing more becomes irreversible.
#[test]
fn by_length_alone_locked_producers_stop_irreversibility() {
    let by_length = mutation::with(Mutation::DposLengthAlone, || restarted_producers(FinalityRule::Locked));
    assert!(!by_length.is_violated(AGREEMENT), "{:?}", by_length.violations);
    assert!(by_length.mark("dpos/locked-out") > 0);
}

#[test]
fn two_blocks_of_one_producer_in_one_slot_are_evidence_and_are_reported() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let owner = lab.owner(0, 9);
    lab.nodes[owner].is_faulty = true;
    lab.stop(owner);
    let one = lab.block((owner + 1) % 4, 9, &Odd { salt: 100, ..Odd::default() });
    let two = lab.block((owner + 1) % 4, 9, &Odd { salt: 101, ..Odd::default() });
    for index in (0..4).filter(|index| *index != owner) {
        let (first, second) = if index % 2 == 0 { (&one, &two) } else { (&two, &one) };
        lab.announce(index, first);
        lab.announce(index, second);
    }
    lab.fixture.now += 1;
    assert_eq!(lab.evidence.len(), 3);
    let offender = lab.signers[owner].address();
    for (_, evidence) in &lab.evidence {
        let want = Evidence::DoubleSign { offender, height: Height::new(9), first: one.hash(), second: two.hash() };
        let swapped = Evidence::DoubleSign { offender, height: Height::new(9), first: two.hash(), second: one.hash() };
        assert!(*evidence == want || *evidence == swapped, "{evidence:?}");
    }
    lab.slots(8);
    let told: Vec<_> = (10..=lab.heads()[0].height.get())
        .filter(|height| {
            let payload = Payload::decode(&lab.sealed((owner + 1) % 4, *height).payload).unwrap();
            payload
                .evidence
                .iter()
                .any(|evidence| evidence.hashes() == (one.hash().min(two.hash()), one.hash().max(two.hash())))
        })
        .collect();
    assert_eq!(told, [10], "reported once, by the next block");
    assert!(lab.replica((owner + 1) % 4).offences.is_empty());
    let sealed = lab.sealed((owner + 1) % 4, 10);
    let header = crate::primitives::Header::default();
    let rules = crate::consensus::common::header_rules::CachedHeaderRules::<Dpos>::new(
        lab.fixture.config,
        lab.set(4),
        lab.authenticator.clone(),
    );
    let context = crate::system::SystemContext {
        header: &sealed.header,
        parent: &header,
        payload: &sealed.payload,
        has_stake: true,
        has_validators: false,
    };
    let calls = crate::chain::HeaderRules::system_calls(&rules, &context).unwrap();
    let time = crate::primitives::Timestamp::from_secs(9);
    let slash =
        crate::system::staking::slash(offender, crate::system::staking::Offence::DoubleSign, Height::new(9), time);
    assert_eq!(calls, [crate::system::staking::begin_block(sealed.header.beneficiary, &[]), slash]);
}

/// A producer confirms the same heights on two branches.
#[test]
fn votes_that_contradict_each_other_are_evidence_and_are_reported() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let liar = lab.owner(0, 9);
    let honest = (liar + 1) % 4;
    lab.nodes[liar].is_faulty = true;
    lab.stop(liar);
    // Beside its block in slot 9, three others make blocks on its parent, and it confirms their branch too.
    let mut fork = lab.clone();
    let one = lab.block(honest, 9, &Odd::default());
    lab.announce(honest, &one);
    for slot in 10..13 {
        let block = fork.block(honest, slot, &Odd { confirmed: Some(0), salt: 7, ..Odd::default() });
        fork.announce(honest, &block);
        lab.announce(honest, &block);
    }
    let two = fork.block(honest, 13, &Odd { confirmed: Some(4), ..Odd::default() });
    assert_eq!((fork.owner(honest, 13), two.height().get()), (liar, 12));
    lab.announce(honest, &two);
    assert!(lab.mark("dpos/conflicting-votes") > 0);
    let proof = lab.replica(honest).offences.values().next().cloned().unwrap();
    assert_eq!(proof.conflict(&lab.fixture.config), Some(Conflict::ConfirmedTwice));
    lab.fixture.now = 13;
    lab.queue.clear();
    lab.slots(8);
    let reported = (9..=lab.replica(honest).head().height.get()).any(|height| {
        let payload = Payload::decode(&lab.sealed(honest, height).payload).unwrap();
        payload.evidence.contains(&proof)
    });
    assert!(reported);
}

/// A producer that implies less than before, under the same schedule or an earlier one, proves it by two headers, except by the
/// classic rule, which has no lock.
#[test]
fn a_lower_implied_height_is_evidence_only_where_there_are_locks() {
    let lab = Lab::new(4);
    let sealed = |number: u64, implied: u64| {
        let vote = Confirmation { confirmed: 1, implied: Prepared { version: 0, height: Height::new(implied) } };
        let nonce = vote.nonce(Height::new(number)).unwrap();
        let header = crate::primitives::Header { number, nonce, timestamp: number, ..Default::default() };
        let seal = lab.signers[0].sign(crate::consensus::Purpose::Block, header.hash_slow());
        (header, seal)
    };
    let at = (12, crate::primitives::Timestamp::from_secs(12));
    let check = |config: DposConfig, proof: &ConflictingBlocks| proof.check(&config, at, &lab.authenticator);
    let less = ConflictingBlocks::new(sealed(8, 5), sealed(10, 4));
    let want = Infraction { slot: 10, offender: lab.signers[0].address(), height: Height::new(10) };
    assert_eq!(check(DposConfig::default(), &less), Ok(want));
    let classic = DposConfig::default().with_finality(FinalityRule::Classic);
    assert_eq!(check(classic, &less), Err(EvidenceError::NoConflict));
    let equal = ConflictingBlocks::new(sealed(8, 5), sealed(10, 5));
    assert_eq!(check(DposConfig::default(), &equal), Err(EvidenceError::NoConflict));
}

#[test]
fn a_replica_that_extends_a_worse_branch_is_sent_the_better_head() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    // Two of four continue together, but no block becomes irreversible.
    lab.split(&[0, 0, 1, 2]);
    lab.slots(16);
    // The replica that was alone sends first: without a response it would receive the better head in the others' slots only.
    while lab.owner(3, lab.fixture.now + 1) != 3 {
        lab.slot();
    }
    assert!(lab.heads()[3].height < lab.heads()[0].height);
    assert_eq!(lab.mark("dpos/show-head"), 0);
    lab.heal();
    lab.slot();
    assert!(lab.mark("dpos/show-head") > 0);
    assert_eq!(lab.heads()[3], lab.heads()[0]);
    assert!(lab.violations.is_empty(), "{:?}", lab.violations);
}
