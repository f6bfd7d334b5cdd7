//! What votes of proof of stake earn and cost.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation, honest, pos::pos};
use crate::{
    consensus::{
        ConsensusConfig, ReplicaId,
        pos::{Epoch, EpochAccounting, Payload, Pos, PosConfig, State},
    },
    primitives::{Address, B256},
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// The first block of an epoch pays those alone who voted or included votes, nobody in a leak; it takes from everyone who was absent,
/// and from nobody whose vote was in time. All who had duties are named. The votes are counted from the blocks, independently of the protocol's
/// own count.
#[derive(Clone, Debug, Default)]
pub struct RewardedVotes {
    seen: BTreeMap<ReplicaId, B256>,
}

impl Invariant for RewardedVotes {
    fn name(&self) -> &'static str {
        "votes-are-rewarded"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, pos)) = honest(network, step).and_then(|replica| Some((replica, pos(replica)?))) else {
            return Ok(());
        };
        let head = replica.head().hash;
        if self.seen.insert(replica.id(), head) == Some(head) {
            return Ok(());
        }
        let Some(account) = Account::of_head(network, replica, pos) else { return Ok(()) };
        account.check().map_err(|(who, what)| {
            let detail = format!("{}: {who} {what} for epoch {}", replica.id(), account.epoch.number);
            Violation::new(self.name(), network, detail)
        })
    }
}

/// The accounting of an epoch and what it must follow from.
struct Account<'a> {
    config: &'a PosConfig,
    epoch: &'a Epoch,
    /// The state before the accounting.
    before: &'a State,
    accounting: EpochAccounting,
    is_leaking: bool,
    /// Slot of the block that includes each validator's vote for the epoch.
    voters: BTreeMap<Address, u64>,
    /// Who made those blocks.
    proposers: BTreeSet<Address>,
}

impl<'a> Account<'a> {
    /// Returns the accounting in the head, when the head ends one epoch and its parent is in the tree.
    fn of_head(network: &'a Network, replica: &Replica, pos: &'a Pos) -> Option<Self> {
        let ConsensusConfig::Pos(config) = network.config() else { return None };
        let block = |hash| {
            let block = replica.chain().block(hash).ok()?;
            Some((Payload::decode(block.block().protocol_payload()).ok()?, block.block().header().clone()))
        };
        let (payload, header) = block(replica.head().hash)?;
        let accounting = payload.accounting?;
        let (after, before) = (pos.head_state()?, pos.state_of(&header.parent_hash)?);
        if before.epoch() == 0 || before.epoch() + 1 != after.epoch() {
            return None;
        }
        let epoch = before.previous.as_ref();
        let is_leaking = epoch.number.saturating_sub(after.casper.finalized.epoch) > config.leak_after;
        let (mut voters, mut proposers) = (BTreeMap::new(), BTreeSet::new());
        let mut hash = header.parent_hash;
        while let Some((payload, header)) = block(hash) {
            if header.number == 0 || payload.slot < config.start_of(epoch.number) {
                break;
            }
            for vote in payload.votes.iter().filter(|vote| vote.data.target.epoch == epoch.number) {
                voters.insert(vote.signer(network.authenticator()).ok()?, payload.slot);
                proposers.insert(header.beneficiary);
            }
            hash = header.parent_hash;
        }
        Some(Self { config, epoch, before, accounting, is_leaking, voters, proposers })
    }

    /// Returns who earns or loses what it must not, and how.
    fn check(&self) -> Result<(), (Address, &'static str)> {
        let is_right = |who: &Address| !self.before.is_slashed(who);
        for (who, _) in self.accounting.rewards.iter().filter(|(_, gwei)| *gwei > 0) {
            if self.is_leaking {
                return Err((*who, "earns in a leak"));
            }
            if !is_right(who) || !(self.voters.contains_key(who) || self.proposers.contains(who)) {
                return Err((*who, "earns without a vote"));
            }
        }
        let is_costly = self.config.period > 0 && self.config.base_reward_factor > 0;
        for member in self.epoch.set().members() {
            let who = &member.address;
            let pays = self.accounting.penalties.iter().any(|(validator, _)| validator == who);
            if !pays && !self.accounting.rewards.iter().any(|(validator, _)| validator == who) {
                return Err((*who, "had duties and is not named"));
            }
            let vote = self.voters.get(who).filter(|_| is_right(who));
            let is_absent = vote.is_none() && !self.proposers.contains(who);
            if is_absent && !pays && is_costly {
                return Err((*who, "was absent and pays nothing"));
            }
            let duty = self.epoch.attestation_slot(self.config, who).unwrap_or_default();
            let is_in_time = vote.is_some_and(|slot| slot.saturating_sub(duty) <= self.config.slots_per_epoch.isqrt());
            if is_in_time && pays && !self.is_leaking {
                return Err((*who, "voted in time and pays"));
            }
        }
        Ok(())
    }
}
