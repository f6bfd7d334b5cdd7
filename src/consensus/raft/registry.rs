//! Members by the validators' contract: the change that the next block makes of what the contract changed.
//!
//! A block's execution leaves changes pending. The next block takes all of them over as one change of members: of one voter alone, or of
//! several through a joint configuration, which the block after it leaves (Ongaro's dissertation, 4.1 to 4.3). It is safe as a change that an
//! operator asks for is:
//!
//! - The change is part of an entry of the log, and in effect once that block is applied. A leader makes a block only when its log is committed
//!   and applied to its end, with an entry of its own term; so no two changes are under way at once (the bug of 2015 in single-server
//!   changes), and none is made over an uncommitted one.
//! - One voter's difference leaves majorities that intersect; more differences need a majority of both sets until the joint configuration
//!   is left.
//! - The change follows from the parent's execution, which every replica repeats before it applies the next entry: a leader that names another one
//!   makes an invalid block.
//!
//! What changes while a configuration is joint waits until it is left. Who is removed follows the log as a learner. An address that no
//! replica seals as is a voter that is down for ever.

use std::collections::BTreeSet;

use super::{Assignment, Change, Membership, RaftConfig, Role};
use crate::{
    consensus::{
        ReplicaId,
        mutation::{self, Mutation},
    },
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// First number of the members that no replica is.
const ABSENT_FIRST: u32 = 1 << 31;

/// Returns the change of members that the next block has to make, where these changes by the contract wait.
pub(super) fn next_change(config: &RaftConfig, membership: &Membership, pending: &ValidatorUpdates) -> Option<Change> {
    if membership.is_joint() {
        return Some(Change::LeaveJoint);
    }
    let mut taken = BTreeSet::new();
    let assignments = pending.iter().filter_map(|update| assignment(config, membership, update, &mut taken));
    let assignments: Vec<_> = assignments.collect();
    let change = match assignments.len() {
        0 => return None,
        1 => Change::Simple(assignments),
        _ => Change::EnterJoint { assignments, auto_leave: true },
    };
    // The contract never removes the last validator.
    membership.after(&change).is_ok().then_some(change)
}

/// Returns the changes that wait after a block: what its parent's execution left is taken over, unless the block left a joint configuration.
pub(super) fn still_pending(membership: &Membership, pending: &ValidatorUpdates) -> ValidatorUpdates {
    if membership.is_joint() { pending.clone() } else { ValidatorUpdates::NONE }
}

fn assignment(
    config: &RaftConfig,
    membership: &Membership,
    update: &ValidatorUpdate,
    taken: &mut BTreeSet<ReplicaId>,
) -> Option<Assignment> {
    let address = update.address;
    match (membership.voter_of(&address), update.weight) {
        (Some(_), 0) if mutation::active(Mutation::RaftKeepsRemovedMembers) => None,
        (Some(replica), 0) => {
            let role = if replica.get() < ABSENT_FIRST { Role::Learner } else { Role::Removed };
            Some(Assignment { replica, address, role })
        }
        (None, 1..) => {
            let replica = config.replica_of(&address).or_else(|| absent(membership, taken))?;
            Some(Assignment { replica, address, role: Role::Voter })
        }
        _ => None,
    }
}

/// Returns a number for a member that no replica is.
fn absent(membership: &Membership, taken: &mut BTreeSet<ReplicaId>) -> Option<ReplicaId> {
    let mut numbers = (ABSENT_FIRST..=u32::MAX).map(ReplicaId::new);
    let free = numbers.find(|number| !membership.is_member(*number) && !taken.contains(number))?;
    taken.insert(free);
    Some(free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::Address;

    fn at(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn config() -> RaftConfig {
        RaftConfig::default()
            .with_roster(vec![at(0), at(1), at(2)], vec![ReplicaId::new(3)])
            .with_candidates(vec![at(3)])
    }

    fn members() -> Membership {
        Membership::new((0..3).map(|number| (ReplicaId::new(number), at(number as u8))), [ReplicaId::new(3)])
    }

    fn updates(changes: &[(u8, u64)]) -> ValidatorUpdates {
        ValidatorUpdates::new(
            changes.iter().map(|(byte, weight)| ValidatorUpdate { address: at(*byte), weight: *weight }),
        )
    }

    fn after(changes: &[(u8, u64)]) -> Option<Membership> {
        let change = next_change(&config(), &members(), &updates(changes))?;
        let mut after = members().after(&change).unwrap();
        if after.is_joint() {
            assert_eq!(still_pending(&after, &updates(&[(2, 0)])), updates(&[(2, 0)]), "what comes now waits");
            after = after.after(&next_change(&config(), &after, &updates(&[(2, 0)])).unwrap()).unwrap();
        }
        assert_eq!(still_pending(&after, &updates(changes)), ValidatorUpdates::NONE);
        Some(after)
    }

    #[test]
    fn one_voter_changes_alone_and_several_through_a_joint_configuration() {
        let addresses = |changes: &[(u8, u64)]| {
            after(changes).unwrap().validators().addresses().map(|address| address[0]).collect::<Vec<_>>()
        };
        assert_eq!(addresses(&[(3, 1)]), [0, 1, 2, 3]);
        assert_eq!(addresses(&[(1, 0)]), [0, 2]);
        assert_eq!(addresses(&[(1, 0), (3, 1)]), [0, 2, 3], "a rotation");
        assert_eq!(addresses(&[(0, 0), (1, 0), (3, 1)]), [2, 3]);
        let one = next_change(&config(), &members(), &updates(&[(3, 1)]));
        assert!(matches!(one, Some(Change::Simple(_))));
        let learner = after(&[(1, 0)]).unwrap();
        assert!(learner.learners().contains(&ReplicaId::new(1)), "it goes on following");
    }

    #[test]
    fn what_changes_nothing_is_no_change() {
        assert!(after(&[(1, 1)]).is_none());
        assert!(after(&[(9, 0)]).is_none());
        assert!(after(&[]).is_none());
        assert!(after(&[(0, 0), (1, 0), (2, 0)]).is_none(), "someone has to be left");
    }

    #[test]
    fn addresses_of_no_replica_are_members_that_are_down() {
        let strangers = after(&[(8, 1), (9, 1)]).unwrap();
        let numbers = [8, 9].map(|byte| strangers.voter_of(&at(byte)).unwrap().get());
        assert_eq!(numbers, [ABSENT_FIRST, ABSENT_FIRST + 1]);
        let change = next_change(&config(), &strangers, &updates(&[(8, 0)])).unwrap();
        let left = strangers.after(&change).unwrap();
        assert!(!left.is_member(ReplicaId::new(ABSENT_FIRST)));
    }
}
