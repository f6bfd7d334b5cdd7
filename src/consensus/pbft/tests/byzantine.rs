//! Byzantine replicas, whose messages are constructed by the tests.

use super::lab::Lab;
use crate::consensus::{
    BlockId, Evidence,
    pbft::{Body, View},
    testing::Violation,
};

/// The primary proposes a different block to each backup, and votes for all of them.
fn equivocate(lab: &mut Lab) {
    lab.nodes[0].is_faulty = true;
    let genesis = lab.genesis.clone();
    for to in 1..4 {
        let (block, message) = lab.proposal(&genesis, 0, 0);
        lab.inject(0, to, message);
        let commit = lab.signed(0, Body::Commit { view: View::new(0), block });
        lab.inject(0, to, commit);
    }
}

#[test]
fn an_equivocating_primary_is_replaced_after_the_timeout() {
    let mut lab = Lab::new(4);
    equivocate(&mut lab);
    // No replica receives a vote for another block, so none can detect it.
    lab.lose(&["prepare"]);
    lab.settle();
    lab.lose_nothing();
    lab.isolate(0);
    assert_eq!(lab.heights(), [0; 4], "no block has a quorum");
    lab.suspect();
    lab.produce();
    lab.produce();
    assert_eq!(lab.violations, []);
    assert_eq!(lab.views()[1..], [1; 3]);
    assert!(lab.heights()[1..].iter().all(|height| *height >= 2), "{:?}", lab.heights());
}

#[test]
fn a_backup_with_both_proposals_starts_a_view_change_at_once() {
    let mut lab = Lab::new(4);
    equivocate(&mut lab);
    let genesis = lab.genesis.clone();
    let (_, third) = lab.proposal(&genesis, 0, 0);
    for to in 1..4 {
        lab.inject(0, to, third.clone());
    }
    lab.settle();
    let offender = lab.signers[0].address();
    let named = lab
        .evidence
        .iter()
        .filter(|(_, evidence)| matches!(evidence, Evidence::DoubleSign { offender: who, .. } if *who == offender));
    assert!(named.count() >= 3);
    assert!(lab.mark("pbft/equivocating-primary") > 0);
    assert_eq!(lab.views()[1..], [1; 3]);
    lab.produce();
    assert!(lab.heights()[1..].iter().all(|height| *height >= 1));
    assert_eq!(lab.violations, []);
}

/// Negative control: f + 1 = 2 Byzantine replicas of 4 make two honest ones commit different blocks, and the checker reports it.
#[test]
fn f_plus_1_byzantine_break_agreement_and_the_checker_reports_it() {
    let mut lab = Lab::new(4);
    (lab.nodes[0].is_faulty, lab.nodes[3].is_faulty) = (true, true);
    let (genesis, view) = (lab.genesis.clone(), View::new(0));
    let (a, for_a) = lab.proposal(&genesis, 0, 0);
    let (b, for_b) = lab.proposal(&genesis, 0, 0);
    for (victim, proposal, block) in [(1, for_a, a), (2, for_b, b)] {
        lab.inject(0, victim, proposal);
        for byzantine in [0, 3] {
            if byzantine != 0 {
                let prepare = lab.signed(byzantine, Body::Prepare { view, block });
                lab.inject(byzantine, victim, prepare);
            }
            let commit = lab.signed(byzantine, Body::Commit { view, block });
            lab.inject(byzantine, victim, commit);
        }
    }
    lab.settle();
    let Some(Violation { property, at, blocks: [first, second] }) = lab.violations.first() else {
        panic!("two Byzantine replicas of four broke nothing")
    };
    assert!(["committed", "prepared", "finality"].contains(property), "{property}");
    assert_eq!(*at, 1);
    assert_ne!(first, second);
    let committed = [1, 2].map(|index| BlockId::of(&lab.canonical(index, 1)));
    assert_eq!(committed, [a, b], "both with certificates");
}

/// The same script with one Byzantine replica: nothing is committed by it.
#[test]
fn f_byzantine_do_not_break_agreement() {
    for byzantine in [0, 3] {
        let mut lab = Lab::new(4);
        lab.nodes[byzantine].is_faulty = true;
        let (genesis, view) = (lab.genesis.clone(), View::new(0));
        let (a, for_a) = lab.proposal(&genesis, 0, 0);
        let (b, for_b) = lab.proposal(&genesis, 0, 0);
        for (victim, proposal, block) in [(1, for_a, a), (2, for_b, b)] {
            if byzantine == 0 {
                lab.inject(0, victim, proposal);
            } else {
                let prepare = lab.signed(byzantine, Body::Prepare { view, block });
                lab.inject(byzantine, victim, prepare);
            }
            let commit = lab.signed(byzantine, Body::Commit { view, block });
            lab.inject(byzantine, victim, commit);
        }
        lab.settle();
        assert_eq!(lab.violations, []);
        assert_eq!(lab.heights(), [0; 4]);
    }
}
