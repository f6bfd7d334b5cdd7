//! Stake of those who have duties.

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ExecutedBlock, SystemViewError},
    consensus::{AnyProtocol, Protocol},
    primitives::{Address, Height},
    sim::network::{Network, replica::Replica, step::SimStep},
    system::staking::{ValidatorStatus, interface::stakeLockedUntilCall},
};

/// Heights between two heads that are checked.
const EVERY: u64 = 8;

/// On a chain with stake, nobody in the protocol's set, or in a schedule that waits to come in force, can withdraw its own stake, whether or not
/// the staking contract counts it still: what it signs may be evidence, which needs stake to slash. The first honest replica at every eighth
/// height is asked.
#[derive(Clone, Debug, Default)]
pub struct MembersAreLocked {
    checked: Height,
    left: u64,
}

impl Invariant for MembersAreLocked {
    fn name(&self) -> &'static str {
        "members-are-locked"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let (chain, head) = (replica.chain(), replica.chain().head());
        let is_due = head.height() > self.checked && head.height().get().is_multiple_of(EVERY);
        if !is_due || !chain.has_stake() {
            return Ok(());
        }
        self.checked = head.height();
        let wrong = match self.free_member(chain, head, members(replica)) {
            Ok(None) => return Ok(()),
            Ok(Some(member)) => format!("{member} is in the set and may withdraw its stake"),
            Err(error) => format!("the staking contract can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

/// Returns who signs now, and who was elected to.
fn members(replica: &Replica) -> Vec<Address> {
    let mut members: Vec<_> = replica.protocol().validators().addresses().collect();
    if let AnyProtocol::Dpos(dpos) = replica.protocol() {
        let pending = dpos.head_context().state.pending();
        members.extend(pending.iter().flat_map(|pending| pending.schedule.producers().addresses()));
    }
    members
}

impl MembersAreLocked {
    /// Returns how often a member was met that the staking contract no longer counts.
    #[cfg(test)]
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// Returns a member with stake that is free after a block. Who is tombstoned is punished already.
    fn free_member(
        &mut self,
        chain: &Chain,
        head: &ExecutedBlock,
        members: Vec<Address>,
    ) -> Result<Option<Address>, SystemViewError> {
        for key in members {
            let record = chain.staked_validator_of_key(head, key)?;
            let is_out =
                record.weight == 0 && !matches!(record.status, ValidatorStatus::Unknown | ValidatorStatus::Tombstoned);
            if !is_out {
                continue;
            }
            self.left += 1;
            let until = chain.staking_view(head, &stakeLockedUntilCall { validator: record.address })?;
            if until <= head.timestamp().as_secs() {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}
