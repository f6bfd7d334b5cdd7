//! Validators join and leave at checkpoints.

use super::lab::{Lab, config};
use crate::consensus::{
    SealedHeader,
    pbft::{LightVerifier, PbftError},
};

/// Returns seven replicas of which the first `count` are validators of genesis.
fn lab(count: usize) -> Lab {
    Lab::with_validators(7, count, config())
}

fn follow_by_headers(lab: &Lab, index: usize) {
    let (genesis, set) = (lab.genesis.header(), lab.set());
    let mut light = LightVerifier::new(config(), genesis, set, lab.authenticator.clone()).unwrap();
    for height in 1..=lab.heights()[index] {
        let block = lab.canonical(index, height);
        let mut forged = SealedHeader::from(block.as_ref());
        forged.payload = vec![0xc0].into();
        assert!(light.follow(&forged).is_err());
        light.follow(&SealedHeader::from(block.as_ref())).unwrap();
    }
    assert_eq!(light.validators(), lab.replica(index).committee().validators());
}

#[test]
fn joiners_vote_and_leavers_follow_from_the_next_checkpoint_on() {
    let mut lab = lab(4);
    lab.change(2, &[(4, 5), (5, 5), (6, 5)]);
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.members(0), [0, 1, 2, 3]);
    lab.produce();
    (0..7).for_each(|index| assert_eq!(lab.members(index), [0, 1, 2, 3, 4, 5, 6], "replica {index}"));
    assert!(!lab.canonical(1, 4).payload().is_empty() && lab.canonical(1, 3).payload().is_empty());
    assert_eq!((lab.mark("pbft/joined"), lab.mark("pbft/validators-changed")), (3, 7));
    // Two of seven may be silent now.
    [1, 2].into_iter().for_each(|index| lab.isolate(index));
    (0..3).for_each(|_| lab.produce());
    assert!(lab.heights()[0] >= 7, "{:?}", lab.heights());
    [1, 2].into_iter().for_each(|index| lab.reconnect(index));
    lab.change(9, &[(0, 0), (3, 0), (5, 0)]);
    (0..8).for_each(|_| lab.produce());
    (0..7).for_each(|index| assert_eq!(lab.members(index), [1, 2, 4, 6], "replica {index}: {:?}", lab.heights()));
    assert_eq!((lab.violations.len(), lab.mark("pbft/left")), (0, 3));
    let top = lab.heights()[1];
    assert!(top >= 12 && lab.heights()[4] == top, "{:?}", lab.heights());
    follow_by_headers(&lab, 6);
}

#[test]
fn the_new_primary_can_be_voted_out_and_restarts_keep_the_set() {
    let mut lab = lab(4);
    lab.change(1, &[(0, 0), (4, 9), (5, 9), (6, 9)]);
    (0..4).for_each(|_| lab.produce());
    assert_eq!(lab.members(2), [1, 2, 3, 4, 5, 6]);
    // Of six the quorum is four; the primary of view 0 is the first of them.
    lab.isolate(1);
    lab.suspect();
    (0..3).for_each(|_| lab.produce());
    assert!(lab.heights()[4] >= 7 && lab.views()[4] == 1, "{:?} {:?}", lab.heights(), lab.views());
    lab.reconnect(1);
    for index in 0..7 {
        lab.restart(index);
    }
    lab.settle();
    assert_eq!(lab.members(1), [1, 2, 3, 4, 5, 6]);
    (0..6).for_each(|_| lab.produce());
    assert_eq!(lab.violations, []);
    assert!(lab.heights().iter().all(|height| *height >= 9), "{:?}", lab.heights());
    follow_by_headers(&lab, 5);
}

#[test]
fn a_set_too_small_is_refused_until_others_join() {
    let mut lab = lab(4);
    lab.change(2, &[(3, 0)]);
    (0..6).for_each(|_| lab.produce());
    assert_eq!(lab.members(0), [0, 1, 2, 3]);
    let want = PbftError::TooFewValidators { validators: 3, faulty: 1, want: 4 };
    assert_eq!(lab.replica(0).refused_change(), Some(want));
    lab.change(7, &[(0, 0), (1, 0), (2, 0)]);
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.replica(0).refused_change(), Some(PbftError::NoValidators));
    lab.change(10, &[(0, 1), (1, 1), (2, 1), (5, 1)]);
    (0..4).for_each(|_| lab.produce());
    assert_eq!((lab.members(0), lab.replica(0).refused_change()), (vec![0, 1, 2, 5], None));
}

#[test]
fn a_replica_that_missed_the_change_learns_it_from_certified_blocks() {
    let mut lab = lab(4);
    lab.isolate(3);
    lab.change(2, &[(4, 1), (5, 1), (6, 1)]);
    lab.change(6, &[(0, 0)]);
    (0..9).for_each(|_| lab.produce());
    assert_eq!(lab.members(1), [1, 2, 3, 4, 5, 6]);
    lab.reconnect(3);
    (0..3).for_each(|_| lab.produce());
    assert_eq!(lab.members(3), [1, 2, 3, 4, 5, 6], "{:?}", lab.heights());
    assert_eq!(lab.replica(3).head, lab.replica(1).head);
}
