//! Reports of absent validators, and of a primary that reports wrongly.

use super::lab::{Lab, config};
use crate::{
    consensus::{
        Protocol,
        pbft::{Body, CommitteeTransition, DowntimeWindow, HeaderError, Payload, downtime_window::WRONG_REPORTS_MAX},
    },
    primitives::{Address, Height},
    system::staking::StakingParams,
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

/// Views of a primary that reports the present, one after another, have no more reports between them than one alone.
#[test]
fn primaries_in_turn_share_the_reports_that_nobody_believes() {
    let mut lab = lab(7);
    lab.produce();
    // Replica 6 is reported by the first two primaries; the others have its commits.
    lab.cut.extend([(6, 0), (6, 1)]);
    (0..=WRONG_REPORTS_MAX).for_each(|_| lab.produce());
    assert_eq!(lab.views(), [1; 7]);
    assert_eq!(lab.primary_of(2), 1);
    let before = reported(&lab, 1).iter().filter(|absent| !absent.is_empty()).count();
    assert_eq!(before, WRONG_REPORTS_MAX as usize);
    // The commits for the head were sent before: the second primary lacks that of replica 6 at once.
    lab.produce();
    assert_eq!(lab.views(), [2; 7], "{:?}", reported(&lab, 1));
    let height = lab.heights()[1];
    (0..4).for_each(|_| lab.produce());
    assert_eq!(lab.views(), [2; 7]);
    assert!(reported(&lab, height + 2).iter().all(Vec::is_empty));
}

/// A primary that proposes before the commits of others arrive reports them wrongly all the same.
#[test]
fn commits_that_come_after_the_report_contradict_it() {
    let mut lab = lab(4);
    lab.produce();
    let mut wrong = 0;
    for _ in 0..=WRONG_REPORTS_MAX {
        // The commits of replica 3 for this block are late, to everybody.
        lab.cut.extend([(3, 0), (3, 1), (3, 2)]);
        lab.produce();
        lab.cut.clear();
        let head = lab.replica(1).head();
        let late = lab.signed(3, Body::Commit { view: lab.replica(1).view(), block: head });
        lab.produce();
        let count = reported(&lab, lab.heights()[1]).iter().flatten().filter(|member| **member == 3).count();
        assert_eq!(count, 1, "block {}", lab.heights()[1]);
        wrong += 1;
        assert_eq!(lab.views(), [0; 4], "{wrong}");
        [1, 2].into_iter().for_each(|other| lab.inject(3, other, late.clone()));
        lab.settle();
        if wrong == WRONG_REPORTS_MAX {
            break;
        }
    }
    assert_eq!(lab.views(), [1; 4]);
}

/// Who came with the last block's change of the committee did not vote for it, and nobody is reported for it.
#[test]
fn a_block_after_a_change_of_the_committee_reports_nobody() {
    let mut lab = Lab::with_validators(8, 7, config().with_reported_absences());
    lab.change(2, &[(0, 0), (1, 0), (2, 0), (7, 1)]);
    (0..3).for_each(|_| lab.produce());
    // Commits for block 4 come to the members of the next committee before and after it: all but that of the new member.
    lab.produce();
    assert_eq!(lab.members(3), [3, 4, 5, 6, 7]);
    (0..2).for_each(|_| lab.produce());
    assert_eq!(lab.heights()[3], 6);
    let (mut block, mut named) = (lab.nodes[3].blocks[&lab.replica(3).head().hash].clone(), Vec::new());
    while block.height() > Height::GENESIS {
        named.extend(Payload::decode(block.payload()).unwrap().absent);
        block = lab.nodes[3].blocks[&block.parent_hash()].clone();
    }
    assert_eq!(named, Vec::<Address>::new());
}

#[test]
fn fewer_reports_are_tolerated_where_fewer_absences_are() {
    let window = |blocks, min_signed_ppm| {
        let params = StakingParams {
            downtime_window: blocks,
            downtime_min_signed_ppm: min_signed_ppm,
            ..StakingParams::default()
        };
        config().with_reported_absences().with_staking(&params).downtime
    };
    for (blocks, min_signed_ppm, want) in
        [(100, 500_000, 8), (20, 500_000, 2), (20, 900_000, 1), (1, 500_000, 1), (256, 0, 8)]
    {
        let want = DowntimeWindow { blocks, wrong_reports_max: want };
        assert_eq!(window(blocks, min_signed_ppm), want);
    }
    let silent = config().with_staking(&StakingParams { downtime_window: 20, ..StakingParams::default() });
    assert_eq!(silent.downtime, DowntimeWindow::default(), "a chain without reports has what it had");
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
