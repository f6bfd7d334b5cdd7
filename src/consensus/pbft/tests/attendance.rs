//! Reports of absent validators, and of a primary that reports wrongly.

use super::lab::{Lab, config};
use crate::{
    consensus::{
        Protocol,
        pbft::{CommitteeTransition, HeaderError, Payload, attendance::WRONG_REPORTS_MAX},
    },
    primitives::{Address, Height},
};

fn lab(validators: usize) -> Lab {
    Lab::with_config(validators, config().with_reported_absences())
}

/// The replicas that each block of replica 1's chain reports, from `first` on.
fn reported(lab: &Lab, first: u64) -> Vec<Vec<usize>> {
    let (mut block, mut found) = (lab.nodes[1].blocks[&lab.replica(1).head().hash].clone(), Vec::new());
    while block.height().get() >= first {
        let absent = Payload::decode(block.payload()).unwrap().absent;
        let place = |who: &Address| lab.signers.iter().position(|signer| signer.address() == *who).unwrap();
        found.push(absent.iter().map(place).collect());
        block = lab.nodes[1].blocks[&block.parent_hash()].clone();
    }
    found.reverse();
    found
}

#[test]
fn whose_commit_arrives_within_the_period_is_present() {
    let mut lab = lab(4);
    // Across checkpoints at 4 and 8, whose blocks leave the log.
    (0..9).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [9; 4]);
    assert_eq!(reported(&lab, 1), vec![Vec::<usize>::new(); 9]);
    lab.isolate(3);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(reported(&lab, 10), [vec![], vec![3], vec![3], vec![3], vec![3]], "of the parent each");
    lab.heal();
    lab.run(&[0, 1, 2, 3], 3);
    let height = lab.heights()[1];
    (0..3).for_each(|_| lab.produce());
    assert_eq!(reported(&lab, height + 2), vec![Vec::<usize>::new(); 2]);
    // Who is told nothing of absences is what it was.
    let mut silent = Lab::new(4);
    silent.isolate(3);
    (0..5).for_each(|_| silent.produce());
    assert_eq!(reported(&silent, 1), vec![Vec::<usize>::new(); 5]);
}

#[test]
fn a_primary_without_a_quorums_commits_reports_nobody() {
    let mut lab = lab(4);
    (0..2).for_each(|_| lab.produce());
    // Its memory of the commits is lost.
    lab.stop(0);
    lab.restart(0);
    lab.settle();
    lab.isolate(3);
    (0..3).for_each(|_| lab.produce());
    assert_eq!(reported(&lab, 3), [vec![], vec![3], vec![3]]);
}

#[test]
fn a_primary_that_reports_the_present_loses_its_view() {
    let mut lab = lab(4);
    lab.produce();
    assert_eq!(lab.primary_of(1), 0);
    // To the others the commits of replica 3 arrive: from here the primary reports it as one that lies would.
    lab.cut.insert((3, 0));
    let wrong = u64::from(WRONG_REPORTS_MAX);
    (0..wrong).for_each(|_| lab.produce());
    assert_eq!(lab.views(), [0; 4]);
    lab.produce();
    assert_eq!(lab.views(), [1; 4], "{:?}", reported(&lab, 1));
    assert!(lab.replicas().all(|replica| !replica.is_changing()));
    assert!(lab.mark("pbft/wrong-absence") >= 2 * wrong, "of each backup");
    let height = lab.heights()[1];
    (0..4).for_each(|_| lab.produce());
    assert_eq!(reported(&lab, 3)[..wrong as usize], vec![vec![3]; wrong as usize]);
    assert!(reported(&lab, height + 2).iter().all(Vec::is_empty));
}

#[test]
fn a_block_may_report_as_many_members_as_a_quorum_leaves() {
    let lab = lab(7);
    let committee = lab.replica(0).committee().clone();
    let members: Vec<Address> = committee.validators().addresses().collect();
    let transition = CommitteeTransition::new(committee);
    let after = |absent: Vec<Address>, is_on: bool| {
        let payload = Payload { absent, ..Payload::default() };
        let encoded = payload.encoded();
        assert_eq!(Payload::decode(&encoded).unwrap(), payload);
        let config = if is_on { config().with_reported_absences() } else { config() };
        let (height, authenticator) = (Height::new(3), &lab.authenticator);
        let proven = transition.after_proven(&config, height, &encoded, authenticator);
        let after = transition.after(&config, height, &encoded, authenticator);
        assert_eq!(after, proven);
        after
    };
    assert_eq!(after(members[..2].to_vec(), true).unwrap(), transition);
    for (name, absent, is_on, max) in [
        ("one more", members[..3].to_vec(), true, 2),
        ("not in order", vec![members[1], members[0]], true, 2),
        ("twice", vec![members[1]; 2], true, 2),
        ("no member", vec![Address::repeat_byte(7)], true, 2),
        ("not reported on this chain", members[..1].to_vec(), false, 0),
    ] {
        let got = absent.len();
        assert_eq!(after(absent, is_on), Err(HeaderError::Absent { got, max }), "{name}");
    }
}
