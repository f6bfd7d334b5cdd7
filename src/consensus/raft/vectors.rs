//! etcd's published tables of quorums and configuration changes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Assignment, Change, Membership, Role,
    progress::{Progress, track_members},
    quorum::{VoteResult, joint_committed, joint_vote, majority_committed, majority_vote},
};
use crate::{consensus::ReplicaId, primitives::Address};

const VECTORS: &str = include_str!("../../../tests/vectors/etcd_raft_quorum_confchange.json");

#[test]
fn every_quorum_case_holds() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let mut passed = 0;
    for case in file["quorum"].as_array().unwrap() {
        let set = |field: &str| -> Option<BTreeSet<ReplicaId>> {
            Some(case[field].as_array()?.iter().map(|id| ReplicaId::new(id.as_u64().unwrap() as u32)).collect())
        };
        let (incoming, outgoing) = (set("incoming").unwrap(), set("outgoing"));
        let name = format!("{} {}: {}", case["file"], case["n"], case["raw"]);
        if case["kind"] == "committed" {
            let matched = |id: ReplicaId| case["match_index"][id.get().to_string()].as_u64().unwrap_or_default();
            let want = case["expected_committed"].as_u64().unwrap_or(u64::MAX);
            let got = match &outgoing {
                Some(outgoing) => joint_committed(&incoming, outgoing, matched),
                None => majority_committed(&incoming, matched),
            };
            assert_eq!(got, want, "{name}");
        } else {
            let vote = |id: ReplicaId| case["votes"][id.get().to_string()].as_bool();
            let got = match &outgoing {
                Some(outgoing) => joint_vote(&incoming, outgoing, vote),
                None => majority_vote(&incoming, vote),
            };
            let want = match case["expected"].as_str().unwrap() {
                "VoteWon" => VoteResult::Won,
                "VoteLost" => VoteResult::Lost,
                "VotePending" => VoteResult::Pending,
                other => panic!("{name}: unknown result {other}"),
            };
            assert_eq!(got, want, "{name}");
        }
        passed += 1;
    }
    assert_eq!(passed, 85);
}

#[test]
fn every_configuration_change_case_holds() {
    let file: Value = serde_json::from_str(VECTORS).unwrap();
    let mut passed = 0;
    for case in file["confchange"].as_array().unwrap() {
        let mut membership = Membership::default();
        let mut progress = imbl::OrdMap::new();
        for (last_index, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            let want: Vec<_> = step["expected"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect();
            let got = match membership.after(&change(step)) {
                Ok(after) => {
                    membership = after;
                    track_members(&mut progress, &membership, last_index as u64);
                    describe(&membership, &progress)
                }
                Err(error) => vec![error.to_string()],
            };
            assert_eq!(got, want, "{} step {last_index}", case["file"]);
            passed += 1;
        }
    }
    assert_eq!(passed, 47);
}

fn change(step: &Value) -> Change {
    let assignments = step["ops"].as_array().unwrap().iter().filter_map(|op| {
        let (kind, id) = op.as_str().unwrap().split_at(1);
        // An update ("u") is for etcd's application and changes no configuration.
        let role = match kind {
            "v" => Role::Voter,
            "l" => Role::Learner,
            "r" => Role::Removed,
            _ => return None,
        };
        let replica: u8 = id.parse().unwrap();
        Some(Assignment { replica: ReplicaId::new(replica.into()), address: Address::repeat_byte(replica), role })
    });
    let assignments = assignments.collect();
    match step["command"].as_str().unwrap() {
        "simple" => Change::Simple(assignments),
        "leave-joint" => Change::LeaveJoint,
        enter => Change::EnterJoint { assignments, auto_leave: enter.ends_with("autoleave=true") },
    }
}

/// The configuration and each member's progress, as the tables print them.
fn describe(membership: &Membership, progress: &imbl::OrdMap<ReplicaId, Progress>) -> Vec<String> {
    let list = |set: &BTreeSet<ReplicaId>| {
        let ids: Vec<_> = set.iter().map(|id| id.get().to_string()).collect();
        format!("({})", ids.join(" "))
    };
    let mut config = format!("voters={}", list(membership.incoming()));
    if membership.is_joint() {
        config += &format!("&&{}", list(membership.outgoing()));
    }
    for (name, set) in [("learners", membership.learners()), ("learners_next", membership.learners_next())] {
        if !set.is_empty() {
            config += &format!(" {name}={}", list(set));
        }
    }
    if membership.auto_leave() {
        config += " autoleave";
    }
    let sorted: BTreeMap<_, _> = progress.iter().collect();
    let members = sorted.into_iter().map(|(id, progress)| {
        let learner = if membership.learners().contains(id) { " learner" } else { "" };
        let (matched, next) = (progress.matched(), progress.next_index());
        format!("{}: StateProbe match={matched} next={next}{learner}", id.get())
    });
    core::iter::once(config).chain(members).collect()
}
