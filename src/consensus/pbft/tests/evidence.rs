//! Validators that equivocate: detected, recorded in a block, removed at the next checkpoint.

use std::{collections::BTreeSet, sync::Arc};

use super::lab::{Lab, config};
use crate::{
    consensus::{
        BlockId, ConsensusMessage, Encoder, Event, Evidence, Protocol, ReplicaId, SealedHeader,
        encoding::Decoder,
        mutation::{self, Mutation},
        pbft::{
            Body, CommitteeTransition, DoubleSigning, EVIDENCE_BLOCKS_MAX, EVIDENCE_PER_BLOCK_MAX, EvidenceError,
            HeaderError, LightVerifier, MessageError, Payload, Phase, View,
        },
    },
    primitives::{Address, B256, Bytes, Height},
    system::staking::StakingParams,
};

/// Double signing of `signer` in one phase.
fn proof(lab: &Lab, signer: usize, phase: Phase, view: u64, height: u64) -> DoubleSigning {
    let (view, height) = (View::new(view), Height::new(height));
    let signed = |byte: u8| {
        let block = BlockId { height, hash: B256::repeat_byte(byte) };
        let body = match phase {
            Phase::Commit => Body::Commit { view, block },
            _ => Body::Prepare { view, block },
        };
        (block.hash, lab.signed(signer, body).signature)
    };
    DoubleSigning::new(phase, view, height, signed(2), signed(1))
}

fn convicted(lab: &Lab, index: usize) -> Vec<Address> {
    lab.replica(index).transition.convicted().iter().copied().collect()
}

/// The primary proposes one block to half of the backups and another block to the other half.
fn equivocate(lab: &mut Lab, halves: [&[usize]; 2]) {
    lab.nodes[0].is_faulty = true;
    let genesis = lab.genesis.clone();
    for half in halves {
        let (_, message) = lab.proposal(&genesis, 0, 0);
        half.iter().for_each(|to| lab.inject(0, *to, message.clone()));
    }
}

#[test]
fn conflicting_proposals_are_detected_by_their_votes_and_remove_the_primary() {
    let mut lab = Lab::new(7);
    equivocate(&mut lab, [&[1, 2, 3], &[4, 5, 6]]);
    lab.settle();
    let offender = lab.signers[0].address();
    for index in 1..7 {
        let found = lab.evidence.iter().any(|(at, evidence)| {
            *at == index && matches!(evidence, Evidence::DoubleSign { offender: who, .. } if *who == offender)
        });
        assert!(found && lab.replica(index).evidence.contains_key(&offender), "replica {index}");
    }
    assert_eq!((lab.views()[1..].to_vec(), lab.violations.len()), (vec![1; 6], 0));
    lab.produce();
    let first = Payload::decode(lab.canonical(1, 1).payload()).unwrap();
    assert_eq!((first.evidence.len(), first.successor), (1, None));
    assert_eq!(first.evidence[0].offender(&lab.authenticator), Ok(offender));
    assert!((1..7).all(|index| convicted(&lab, index) == [offender] && lab.replica(index).evidence.is_empty()));
    // It is known after a restart, too.
    lab.restart(5);
    lab.settle();
    assert_eq!(convicted(&lab, 5), [offender]);
    (0..3).for_each(|_| lab.produce());
    let change = Payload::decode(lab.canonical(5, 4).payload()).unwrap();
    assert!(
        change.successor.is_some_and(|set| set.len() == 6 && !set.contains(&offender)) && change.evidence.is_empty()
    );
    (0..4).for_each(|_| lab.produce());
    for index in 1..7 {
        assert!(!lab.replica(index).committee().contains(&offender) && convicted(&lab, index).is_empty());
        assert!(lab.heights()[index] >= 7, "{:?}", lab.heights());
    }
    let mut light = LightVerifier::new(config(), lab.genesis.header(), lab.set(), lab.authenticator.clone()).unwrap();
    for height in 1..=lab.heights()[3] {
        light.follow(&SealedHeader::from(lab.canonical(3, height).as_ref())).unwrap();
    }
    assert_eq!(light.validators(), lab.replica(3).committee().validators());
}

#[test]
fn a_committee_of_four_removes_nobody_and_reports_evidence_once() {
    let mut lab = Lab::new(4);
    equivocate(&mut lab, [&[1], &[2, 3]]);
    lab.settle();
    lab.isolate(0);
    (0..6).for_each(|_| lab.produce());
    let offender = lab.signers[0].address();
    assert!(lab.heights()[1] >= 5 && convicted(&lab, 1) == [offender], "{:?}", lab.heights());
    let pieces = (1..=lab.heights()[1]).map(|height| Payload::decode(lab.canonical(1, height).payload()).unwrap());
    assert_eq!(pieces.map(|payload| payload.evidence.len()).sum::<usize>(), 1);
    assert_eq!(lab.replica(1).committee().validators().len(), 4);
}

#[test]
fn conflicting_votes_of_a_backup_are_reported() {
    for phase in [Phase::Prepare, Phase::Commit] {
        let mut lab = Lab::new(7);
        lab.nodes[6].is_faulty = true;
        for byte in [1, 2] {
            let (view, block) = (View::new(0), BlockId { height: Height::new(1), hash: B256::repeat_byte(byte) });
            let body = match phase {
                Phase::Commit => Body::Commit { view, block },
                _ => Body::Prepare { view, block },
            };
            let message = lab.signed(6, body);
            lab.inject(6, 2, message);
        }
        lab.settle();
        let offender = lab.signers[6].address();
        assert!((0..6).all(|index| lab.replica(index).evidence.contains_key(&offender)), "{phase:?}");
        lab.produce();
        assert_eq!(convicted(&lab, 0), [offender]);
    }
}

#[test]
fn invalid_evidence_changes_nothing() {
    let lab = Lab::new(4);
    let good = proof(&lab, 3, Phase::Prepare, 0, 2);
    assert_eq!(good.offender(&lab.authenticator), Ok(lab.signers[3].address()));
    let other = proof(&lab, 2, Phase::Prepare, 0, 2);
    let stranger = {
        let elsewhere = Lab::with_validators(7, 4, config());
        let index = elsewhere.signers.iter().position(|one| !lab.set().contains(&one.address())).unwrap();
        proof(&elsewhere, index, Phase::Prepare, 0, 2)
    };
    let cases = [
        ("one block twice", DoubleSigning { second: good.first, ..good.clone() }),
        ("out of order", DoubleSigning { first: B256::repeat_byte(9), ..good.clone() }),
        ("no such phase", DoubleSigning { kind: 9, ..good.clone() }),
        ("another phase than signed", DoubleSigning { kind: 3, ..good.clone() }),
        ("another view than signed", DoubleSigning { view: 1, ..good.clone() }),
        ("a height far ahead", proof(&lab, 3, Phase::Prepare, 0, 99)),
        ("two signers", DoubleSigning { second_signature: other.second_signature, ..good.clone() }),
        ("no signature", DoubleSigning { first_signature: Bytes::new(), ..good.clone() }),
        ("a stranger", stranger),
    ];
    let before = lab.replica(1).clone();
    for (name, proof) in cases {
        let (mut replica, mut effects) = (before.clone(), Vec::new());
        let message = ConsensusMessage::Pbft(Arc::new(lab.signed(0, Body::Evidence(proof.clone()))));
        replica.step(Event::Message { from: ReplicaId::new(0), message }, &mut effects);
        let refused = matches!(
            effects.as_slice(),
            [crate::consensus::Effect::Reject(crate::consensus::Rejection::Pbft(MessageError::Evidence(_)))]
        );
        assert!(refused && replica == before, "{name}: {effects:?}");
        // Nor is it valid in a block.
        let payload = Payload { evidence: vec![proof], ..Payload::default() }.encoded();
        let after = before.transition.after(&config(), Height::new(2), &payload, &lab.authenticator);
        assert!(matches!(after, Err(HeaderError::Evidence(_))), "{name}: {after:?}");
    }
}

#[test]
fn evidence_in_a_block_is_bounded_unique_and_recent() {
    let lab = Lab::new(7);
    let transition = lab.replica(1).transition.clone();
    let judge = |height: u64, evidence: Vec<DoubleSigning>| {
        let payload = Payload { evidence, ..Payload::default() }.encoded();
        transition.after(&config(), Height::new(height), &payload, &lab.authenticator)
    };
    let good = proof(&lab, 3, Phase::Commit, 5, 2);
    let after = judge(3, vec![good.clone()]).unwrap();
    assert_eq!(after.convicted(), &BTreeSet::from([lab.signers[3].address()]));
    let offender = lab.signers[3].address();
    let twice = judge(3, vec![good.clone(), proof(&lab, 3, Phase::Prepare, 0, 1)]);
    assert_eq!(twice, Err(EvidenceError::Convicted { offender }.into()));
    let payload = Payload { evidence: vec![good.clone()], ..Payload::default() }.encoded();
    let again = after.after(&config(), Height::new(5), &payload, &lab.authenticator);
    assert_eq!(again, Err(EvidenceError::Convicted { offender }.into()));
    let many: Vec<_> = (1..=5).map(|signer| proof(&lab, signer, Phase::Prepare, 0, 1)).collect();
    assert_eq!(judge(3, many.clone()), Err(EvidenceError::TooMuch { got: EVIDENCE_PER_BLOCK_MAX + 1 }.into()));
    assert!(judge(3, many[1..].to_vec()).is_ok());
    // As long as stake is locked: 21 days of blocks of a second.
    let oldest = 1_814_400.max(EVIDENCE_BLOCKS_MAX);
    assert!(judge(2 + oldest, vec![good.clone()]).is_ok());
    let old = judge(3 + oldest, vec![good.clone()]);
    assert!(matches!(old, Err(HeaderError::Evidence(EvidenceError::Age { .. }))), "{old:?}");
    // In the block of a checkpoint the set is chosen already; the next checkpoint removes the offender.
    let joins = crate::system::ValidatorUpdate { address: Address::repeat_byte(0xaa), weight: 3 };
    let waiting = transition.with(&crate::system::ValidatorUpdates::new([joins]));
    let payload = waiting.payload(&config(), Height::new(4), vec![good], Vec::new());
    let after = waiting.after(&config(), Height::new(4), &payload, &lab.authenticator).unwrap();
    assert_eq!((after.committee().validators().len(), after.convicted().len()), (8, 1));
    assert_eq!(transition.after_proven(&config(), Height::new(4), &payload, &lab.authenticator), Ok(after.clone()));
    assert_eq!(after.successor(&config()).unwrap().unwrap().validators().len(), 7);
}

/// Returns the judgement of evidence against a validator that left with block 4, in the block at `height`. Stake is locked for
/// 100 seconds.
fn judged_after_leaving(height: u64) -> Result<BTreeSet<Address>, HeaderError> {
    let params = StakingParams { unbonding_secs: 100, ..StakingParams::default() };
    let config = config().with_staking(&params);
    let lab = Lab::new(7);
    let leaver = lab.signers[3].address();
    let leaves = crate::system::ValidatorUpdate { address: leaver, weight: 0 };
    let before = lab.replica(1).transition.with(&crate::system::ValidatorUpdates::new([leaves]));
    let payload = before.payload(&config, Height::new(4), Vec::new(), Vec::new());
    let left = before.after(&config, Height::new(4), &payload, &lab.authenticator)?;
    assert!(!left.committee().contains(&leaver));
    let payload = Payload { evidence: vec![proof(&lab, 3, Phase::Commit, 5, 2)], ..Payload::default() }.encoded();
    // A replica that restarts knows who left.
    let mut out = Encoder::new();
    left.encode_rest(&mut out);
    let restored = CommitteeTransition::new(left.committee().clone());
    let restored = restored.with_rest(&mut Decoder::new(out.as_bytes())).unwrap();
    let after = restored.after(&config, Height::new(height), &payload, &lab.authenticator)?;
    let again = after.after(&config, Height::new(height), &payload, &lab.authenticator);
    assert!(
        matches!(again, Err(HeaderError::Evidence(EvidenceError::Withdrawable { .. }))),
        "punished once: {again:?}"
    );
    Ok(after.convicted().clone())
}

#[test]
fn who_left_is_convicted_until_its_stake_is_withdrawable() {
    assert!(judged_after_leaving(30).is_ok());
    let late = judged_after_leaving(120);
    assert!(matches!(late, Err(HeaderError::Evidence(EvidenceError::Withdrawable { .. }))), "{late:?}");
    mutation::with(Mutation::PbftForgetsLeavers, || {
        assert!(judged_after_leaving(30).is_err(), "as long as it is a member only");
    });
}
