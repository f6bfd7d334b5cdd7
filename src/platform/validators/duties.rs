//! What one validator had to do for the newest blocks, and what it missed, as the blocks say it.
//!
//! | protocol | duties | missed |
//! |---|---|---|
//! | proof of authority | the blocks of its turn (EIP-225) | those that another sealed |
//! | delegated proof of stake | the blocks that it sealed, and its empty slots | the blocks that report an empty slot of it |
//! | proof of stake | the blocks that it sealed, and its votes of the epochs that the blocks account for | the votes that did not come; no empty slots |
//! | PBFT | a commit of each block | the blocks that report it as absent |
//! | Raft | none: blocks say nothing of followers | none |
//!
//! The first block of an epoch of proof of stake accounts for the epoch before the last one, whose votes can come no more. It names who had to
//! vote there, in what is earned and lost, and reports who did not; the other blocks of its epoch repeat that report. Where epochs pass without a
//! block, one block accounts for several, and they are one vote. Named without a vote are who included others' votes before an epoch of
//! its own, and an offender that pays for those who offended with it, after it is out.
//!
//! Empty slots of proof of stake are nobody's here. No block names their proposer, which is drawn from the seed and the stakes in force in
//! the epoch of the slot. Blocks have the seed, and of the stakes only what changes them. Replicas keep the stakes of the epochs since the
//! final checkpoint, which are fewer than the window has; the older ones follow from all headers since genesis, which a pruned chain has
//! no more. A validator that stays down misses its votes, too, and they count: one for an epoch.
//!
//! Turns and committees are those of the present validators, so that the count goes back to their newest change, and over 100 blocks at
//! most.

use alloy_primitives::Address;

use crate::{
    chain::Block,
    consensus::{ConsensusKind, dpos, pbft, poa, pos},
    node::{BlockRef, NodeView, QueryError},
    platform::{PlatformError, blockchain::metrics::WINDOW_BLOCKS},
    primitives::Height,
};

/// Duties of a validator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidatorDuties {
    /// Blocks that were looked at, the newest ones.
    pub blocks: u64,
    /// Blocks of them that it sealed.
    pub sealed: u64,
    /// What it had to do: blocks, commits, votes.
    pub duties: u64,
    /// What it missed of that.
    pub missed: u64,
}

impl ValidatorDuties {
    /// Part of its duties that it did, in percent; `None` without any.
    pub fn uptime(&self) -> Option<f64> {
        (self.duties > 0).then(|| 100.0 * self.duties.saturating_sub(self.missed) as f64 / self.duties as f64)
    }
}

/// What a block says of a validator.
struct Report {
    duties: u64,
    missed: u64,
    /// Whether the validators are others from the next block on.
    changes: bool,
}

/// Measures the validator with a key on the newest blocks. `keys` are those of the present validators, ascending.
pub(super) fn measure(
    view: &NodeView,
    kind: ConsensusKind,
    keys: &[Address],
    key: Address,
) -> Result<ValidatorDuties, PlatformError> {
    let mut found = ValidatorDuties::default();
    let head = view.head().height().get();
    for height in (1..=head).rev().take(usize::try_from(WINDOW_BLOCKS).unwrap_or(usize::MAX)) {
        let block = match view.block(BlockRef::Number(Height::new(height))) {
            Ok(block) => block,
            Err(QueryError::Pruned { .. }) => break,
            Err(cause) => return Err(PlatformError::from_query(cause)),
        };
        let block = block.block();
        let report = report(kind, keys, key, block);
        if report.changes {
            break;
        }
        found.blocks += 1;
        found.sealed += u64::from(block.header().beneficiary == key);
        found.duties += report.duties;
        found.missed += report.missed;
    }
    Ok(found)
}

fn report(kind: ConsensusKind, keys: &[Address], key: Address, block: &Block) -> Report {
    let (payload, is_own) = (block.protocol_payload(), block.header().beneficiary == key);
    let counted = |absent: &[Address], is_member: bool, changes: bool| {
        let is_missed = absent.contains(&key);
        Report { duties: u64::from(is_missed || is_member), missed: u64::from(is_missed), changes }
    };
    match kind {
        ConsensusKind::Poa => {
            let payload = poa::Payload::decode(payload).unwrap_or_default();
            let turn = block.height().get().checked_rem(keys.len() as u64).unwrap_or_default();
            let is_turn = usize::try_from(turn).ok().and_then(|turn| keys.get(turn)) == Some(&key);
            let (duties, missed) = (u64::from(is_turn), u64::from(is_turn && !is_own));
            Report { duties, missed, changes: payload.next_signers.is_some() }
        }
        ConsensusKind::Pos => {
            let (votes, missed) = votes_accounted(&pos::Payload::decode(payload).unwrap_or_default(), key);
            Report { duties: u64::from(is_own) + votes, missed, changes: false }
        }
        ConsensusKind::Dpos => {
            let absent = dpos::Payload::decode(payload).map(|payload| payload.absent).unwrap_or_default();
            counted(&absent, is_own, false)
        }
        ConsensusKind::Pbft => {
            let payload = pbft::Payload::decode(payload).unwrap_or_default();
            counted(&payload.absent, keys.contains(&key), payload.successor.is_some())
        }
        ConsensusKind::Raft => Report { duties: 0, missed: 0, changes: false },
    }
}

/// Returns the votes of the validator with a key that a block of proof of stake accounts for, and how many of them are missing: one vote of the
/// newest epoch whose votes can come no more, in the first block that says so.
fn votes_accounted(payload: &pos::Payload, key: Address) -> (u64, u64) {
    let Some(accounting) = &payload.accounting else { return (0, 0) };
    let mut named = accounting.rewards.iter().chain(&accounting.penalties);
    let is_missed = payload.absent.contains(&key);
    let has_duty = is_missed || named.any(|(validator, _)| *validator == key);
    (u64::from(has_duty), u64::from(is_missed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Address = Address::repeat_byte(1);
    const OTHER: Address = Address::repeat_byte(2);

    fn accounting(rewards: &[(Address, u64)], penalties: &[(Address, u64)]) -> pos::EpochAccounting {
        pos::EpochAccounting { rewards: rewards.to_vec(), penalties: penalties.to_vec(), ..Default::default() }
    }

    fn counted(accounting: Option<pos::EpochAccounting>, absent: &[Address]) -> (u64, u64) {
        votes_accounted(&pos::Payload { accounting, absent: absent.to_vec(), ..pos::Payload::default() }, KEY)
    }

    #[test]
    fn a_vote_is_a_duty_where_its_epoch_is_accounted_for_and_missed_where_it_did_not_come() {
        let nobody = accounting(&[], &[]);
        for (named, absent, expected) in [
            (accounting(&[(KEY, 7), (OTHER, 7)], &[]), vec![], (1, 0)),
            // Finality stalls, or base rewards are 0: votes earn nothing.
            (accounting(&[(KEY, 0)], &[]), vec![OTHER], (1, 0)),
            // A late vote costs more than it earns, and came.
            (accounting(&[], &[(KEY, 7)]), vec![], (1, 0)),
            (accounting(&[(OTHER, 7)], &[(KEY, 7)]), vec![KEY], (1, 1)),
            // It sealed blocks with others' votes, which earned more than its own vote would have.
            (accounting(&[(KEY, 7)], &[]), vec![KEY], (1, 1)),
            (nobody.clone(), vec![KEY], (1, 1)),
            (accounting(&[(OTHER, 7)], &[]), vec![OTHER], (0, 0)),
            (nobody, vec![], (0, 0)),
        ] {
            assert_eq!(counted(Some(named.clone()), &absent), expected, "{named:?}, absent {absent:?}");
        }
    }

    /// Each block of an epoch repeats who is absent; the first one accounts for it.
    #[test]
    fn an_epoch_of_which_one_vote_is_missing_costs_one_vote() {
        let of_epoch = |is_missed: bool| {
            let absent = if is_missed { vec![KEY] } else { Vec::new() };
            let first = match is_missed {
                true => accounting(&[(OTHER, 7)], &[(KEY, 7)]),
                false => accounting(&[(KEY, 7), (OTHER, 7)], &[]),
            };
            let accountings = core::iter::once(Some(first)).chain(core::iter::repeat_n(None, 7));
            accountings.map(move |accounting| counted(accounting, &absent))
        };
        let counts = (0..12).flat_map(|epoch| of_epoch(epoch == 5));
        let (duties, missed) = counts.fold((0_u64, 0_u64), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert_eq!((duties, missed), (12, 1));
        let sealed = 24;
        let found = ValidatorDuties { blocks: 96, sealed, duties: duties + sealed, missed };
        assert_eq!(found.uptime(), Some(100.0 * 35.0 / 36.0));
        assert_eq!(ValidatorDuties::default().uptime(), None);
    }
}
