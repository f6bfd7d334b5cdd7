//! Votes, pending schedules, churn, and light verifiers.

use super::{super::*, lab::*};
use crate::{
    consensus::{HeaderFieldError, Purpose, SealedHeader, mutation},
    primitives::Height,
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// Returns seven replicas, the first four of which are validators of genesis; four produce.
fn seven() -> Lab {
    Lab::with_config(7, 4, DposConfig::default().with_producers(4))
}

fn weigh(lab: &Lab, weights: &[(usize, u64)]) -> ValidatorUpdates {
    let update =
        |(index, weight): &(usize, u64)| ValidatorUpdate { address: lab.signers[*index].address(), weight: *weight };
    ValidatorUpdates::new(weights.iter().map(update))
}

fn producers(lab: &Lab, of: usize) -> Vec<usize> {
    let set = lab.replica(of).validators();
    (0..lab.signers.len()).filter(|index| set.contains(&lab.signers[*index].address())).collect()
}

/// Returns the heights at which schedules were proposed and activated on a replica's chain.
fn changes(lab: &Lab, of: usize) -> (Vec<u64>, Vec<u64>) {
    let payload = |height: &u64| Payload::decode(&lab.sealed(of, *height).payload).unwrap();
    let heights = || 1..=lab.replica(of).head().height.get();
    (
        heights().filter(|height| payload(height).proposes.is_some()).collect(),
        heights().filter(|height| payload(height).activates.is_some()).collect(),
    )
}

fn light(lab: &Lab) -> LightVerifier {
    LightVerifier::new(lab.fixture.config, lab.genesis.header(), &lab.set(4), lab.authenticator.clone()).unwrap()
}

#[test]
fn the_elected_produce_once_the_block_that_proposed_them_is_irreversible() {
    let mut lab = seven();
    let votes = weigh(&lab, &[(4, 9), (5, 9), (0, 0)]);
    lab.updates.insert(Height::new(10), votes);
    lab.slots(60);
    assert!(lab.is_agreed() && lab.violations.is_empty());
    // By weight 4 and 5, then by address the first of those with weight 1.
    assert_eq!(producers(&lab, 0), [1, 2, 4, 5]);
    let (proposed, activated) = changes(&lab, 0);
    assert_eq!((proposed.len(), activated.len()), (1, 1));
    // The first block of the round after the votes; irreversible five blocks later.
    assert_eq!((proposed[0], activated[0]), (12, 17));
    assert_eq!(lab.irreversible(6), lab.heads()[6].height.get() - 5);
    let after = (activated[0] + 1..=60).map(|height| lab.sealed(0, height).header.beneficiary);
    assert!(after.into_iter().all(|author| producers(&lab, 0).iter().any(|i| lab.signers[*i].address() == author)));
}

#[test]
fn a_pending_schedule_is_not_activated_early() {
    let mut lab = seven();
    let first = weigh(&lab, &[(4, 9)]);
    let second = weigh(&lab, &[(5, 99)]);
    lab.updates.insert(Height::new(10), first);
    lab.updates.insert(Height::new(13), second);
    lab.slots(16);
    // The first schedule is pending, and a round with other votes has started.
    let pending = lab.link(0).state.pending().unwrap().clone();
    assert_eq!(pending.proposed_at, Height::new(12));
    // A block that proposes the second one now, or activates the first one now, is refused.
    let other = elect(&lab.link(0).candidates, 4).unwrap();
    assert!(!other.addresses().eq(pending.schedule.producers().addresses()));
    let mut early = lab.clone();
    for index in 0..7 {
        early.groups[index] = index;
    }
    let regular = Payload::decode(lab.block(0, 17, &Odd::default()).payload()).unwrap();
    let jump = Payload { proposes: Some(other), ..regular.clone() };
    early.announce(0, &lab.block(0, 17, &Odd { payload: Some(jump), ..Odd::default() }));
    assert!(early.rejections.pop().unwrap().1.to_string().contains("proposes"));
    let another = Schedule::new(1, crate::primitives::B256::ZERO, lab.set(3)).hash();
    let hasty = Payload { activates: Some(another), ..regular };
    early.announce(0, &lab.block(0, 17, &Odd { payload: Some(hasty), ..Odd::default() }));
    assert!(early.rejections.pop().unwrap().1.to_string().contains("activates"));
    lab.slots(40);
    let (proposed, activated) = changes(&lab, 0);
    assert_eq!(proposed.len(), 2);
    assert!(proposed[0] < activated[0] && activated[0] < proposed[1] && proposed[1] < activated[1]);
    assert_eq!(producers(&lab, 0), [0, 1, 4, 5]);
    assert!(lab.violations.is_empty());
}

#[test]
fn schedules_activated_early_are_reported_by_the_checker() {
    let lab = mutation::with(Mutation::DposScheduleEarly, || {
        let mut lab = seven();
        let votes = weigh(&lab, &[(4, 9)]);
        lab.updates.insert(Height::new(10), votes);
        lab.slots(30);
        lab
    });
    assert!(lab.is_violated(SCHEDULE_EARLY), "{:?}", lab.violations);
}

#[test]
fn constant_churn_of_votes_stops_neither_the_chain_nor_irreversibility_and_light_verifiers_follow() {
    let mut lab = seven();
    for height in 1..400 {
        let (up, down) = (height as usize % 7, (height as usize + 3) % 7);
        let votes = weigh(&lab, &[(up, 100 + height), (down, 1)]);
        lab.updates.insert(Height::new(height), votes);
    }
    lab.slots(300);
    assert!(lab.is_agreed() && lab.violations.is_empty(), "{:?}", lab.violations);
    let (proposed, activated) = changes(&lab, 0);
    assert!(activated.len() > 15, "{activated:?}");
    assert!(proposed.len() <= activated.len() + 1);
    let head = lab.heads()[0].height.get();
    assert!(head - lab.irreversible(0) < 20, "{} of {head}", lab.irreversible(0));
    let mut light = light(&lab);
    for height in 1..=head {
        light.follow(&lab.sealed(0, height)).unwrap();
    }
    assert_eq!(light.irreversible(), lab.replica(0).finality().finalized);
    assert_eq!(light.schedule(), lab.link(0).state.active());
}

#[test]
fn churn_forks_and_restarts_violate_no_property() {
    let mut lab = seven();
    for height in 1..400 {
        let votes = weigh(&lab, &[(height as usize * 5 % 7, 50 + height * 13 % 97)]);
        lab.updates.insert(Height::new(height), votes);
    }
    for round in 0..20 {
        let groups: Vec<_> = (0..7).map(|index| (index + round) % 7 / 4).collect();
        lab.split(&groups);
        lab.slots(6);
        lab.heal();
        lab.restart(round % 7);
        lab.slots(8);
    }
    lab.slots(20);
    assert!(lab.is_agreed() && lab.violations.is_empty(), "{:?}", lab.violations);
    assert!(lab.evidence.is_empty());
    let head = lab.heads()[0].height.get();
    assert!(head - lab.irreversible(0) < 30, "{} of {head}", lab.irreversible(0));
    assert!(changes(&lab, 0).1.len() > 5);
}

#[test]
fn a_light_verifier_ignores_bad_headers() {
    let mut lab = seven();
    let votes = weigh(&lab, &[(4, 9)]);
    lab.updates.insert(Height::new(10), votes);
    lab.slots(30);
    let mut light = light(&lab);
    for height in 1..=30 {
        let good = lab.sealed(0, height);
        let before = (light.head(), light.irreversible());
        let other_seal =
            SealedHeader { seal: lab.signers[0].sign(Purpose::Block, crate::primitives::B256::ZERO), ..good.clone() };
        assert!(matches!(light.follow(&other_seal), Err(HeaderError::Seal(_))));
        let mut header = good.header.clone();
        header.timestamp += 1;
        let author = lab.signers.iter().find(|signer| signer.address() == header.beneficiary).unwrap();
        let seal = author.sign(Purpose::Block, header.hash_slow());
        assert!(light.follow(&SealedHeader { header, seal, ..good.clone() }).is_err());
        assert_eq!((light.head(), light.irreversible()), before);
        light.follow(&good).unwrap();
        assert!(matches!(light.follow(&good), Err(HeaderError::Field(HeaderFieldError::Parent { .. }))));
    }
    assert_eq!(light.irreversible(), lab.replica(0).finality().finalized);
}
