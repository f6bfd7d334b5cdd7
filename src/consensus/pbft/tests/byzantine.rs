//! Byzantine replicas, whose messages the test makes.

use super::lab::Lab;
use crate::consensus::{
    BlockId, Evidence,
    pbft::{Body, View},
    testing::Violation,
};

/// The primary offers another block to each backup, and votes for all.
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
fn an_equivocating_primary_is_replaced_when_time_runs_out() {
    let mut lab = Lab::new(4);
    equivocate(&mut lab);
    // No replica receives what the others agree to, so none can detect it.
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
fn a_backup_that_sees_both_proposals_asks_for_another_view_at_once() {
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

/// Negative control: f + 1 = 2 liars among 4 make two honest replicas commit other blocks, and the checker reports it.
#[test]
fn f_plus_1_byzantine_break_agreement_and_the_checker_reports_it() {
    let mut lab = Lab::new(4);
    (lab.nodes[0].is_faulty, lab.nodes[3].is_faulty) = (true, true);
    let (genesis, view) = (lab.genesis.clone(), View::new(0));
    let (a, for_a) = lab.proposal(&genesis, 0, 0);
    let (b, for_b) = lab.proposal(&genesis, 0, 0);
    for (victim, proposal, block) in [(1, for_a, a), (2, for_b, b)] {
        lab.inject(0, victim, proposal);
        for liar in [0, 3] {
            if liar != 0 {
                let prepare = lab.signed(liar, Body::Prepare { view, block });
                lab.inject(liar, victim, prepare);
            }
            let commit = lab.signed(liar, Body::Commit { view, block });
            lab.inject(liar, victim, commit);
        }
    }
    lab.settle();
    let Some(Violation { property, at, blocks: [first, second] }) = lab.violations.first() else {
        panic!("two liars of four were survived")
    };
    assert!(["committed", "prepared", "finality"].contains(property), "{property}");
    assert_eq!(*at, 1);
    assert_ne!(first, second);
    let committed = [1, 2].map(|index| BlockId::of(&lab.canonical(index, 1)));
    assert_eq!(committed, [a, b], "both with certificates");
}

/// The same script with one liar: nothing of it takes hold.
#[test]
fn f_byzantine_do_not() {
    for liar in [0, 3] {
        let mut lab = Lab::new(4);
        lab.nodes[liar].is_faulty = true;
        let (genesis, view) = (lab.genesis.clone(), View::new(0));
        let (a, for_a) = lab.proposal(&genesis, 0, 0);
        let (b, for_b) = lab.proposal(&genesis, 0, 0);
        for (victim, proposal, block) in [(1, for_a, a), (2, for_b, b)] {
            if liar == 0 {
                lab.inject(0, victim, proposal);
            } else {
                let prepare = lab.signed(liar, Body::Prepare { view, block });
                lab.inject(liar, victim, prepare);
            }
            let commit = lab.signed(liar, Body::Commit { view, block });
            lab.inject(liar, victim, commit);
        }
        lab.settle();
        assert_eq!(lab.violations, []);
        assert_eq!(lab.heights(), [0; 4]);
    }
}
