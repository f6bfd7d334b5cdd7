//! Accountable safety of proof of stake.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{
        AnyProtocol, ReplicaId,
        pos::{Checkpoint, Payload, Pos, Vote, offenders},
    },
    primitives::{Address, Height},
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// When two honest replicas finalise conflicting checkpoints, validators with at least a third of the stake have provably
/// violated a slashing condition, and no honest one has (Buterin and Griffith, "Casper the Friendly Finality Gadget", theorem 1).
///
/// It is checked before [`Agreement`](super::Agreement), which then reports the conflict itself, with the offenders.
#[derive(Clone, Debug, Default)]
pub struct AccountableSafety {
    finalized: BTreeMap<ReplicaId, Checkpoint>,
}

/// Validators responsible for a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SlashableConflict {
    /// Validators that signed two slashable votes.
    pub(super) offenders: BTreeSet<Address>,
    /// Their stake, in the validator set in which it is the largest part.
    weight: u128,
    /// All stake of that set.
    total: u128,
    /// Offenders that are honest replicas.
    honest: BTreeSet<Address>,
}

impl Invariant for AccountableSafety {
    fn name(&self) -> &'static str {
        "pos-accountable-safety"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let AnyProtocol::Pos(own) = replica.protocol() else { return Ok(()) };
        let finalized = own.finalized();
        if self.finalized.insert(replica.id(), finalized) == Some(finalized) {
            return Ok(());
        }
        let others =
            network.replicas().iter().filter(|other| other.id() != replica.id() && network.is_honest(other.id()));
        for other in others {
            let AnyProtocol::Pos(pos) = other.protocol() else { continue };
            if !conflict((replica, own), (other, pos)) {
                continue;
            }
            let blame = SlashableConflict::of(network, [replica, other]);
            if 3 * blame.weight < blame.total || !blame.honest.is_empty() {
                let (id, theirs, whose) = (replica.id(), pos.finalized(), other.id());
                let detail = format!("{id} holds {finalized:?} for final and {whose} {theirs:?}; {blame}");
                return Err(Violation::new(self.name(), network, detail));
            }
        }
        Ok(())
    }
}

/// Returns whether neither final checkpoint is on the other's branch.
fn conflict((one, of_one): (&Replica, &Pos), (other, of_other): (&Replica, &Pos)) -> bool {
    let (first, second) = (of_one.finalized().block, of_other.finalized().block);
    let (low, above) = if first.height <= second.height { (first, other) } else { (second, one) };
    above.chain().hash_at(low.height).is_ok_and(|hash| hash != low.hash)
}

impl SlashableConflict {
    /// Collects the offenders from all votes that these replicas have.
    pub(super) fn of(network: &Network, replicas: [&Replica; 2]) -> Self {
        let [one, other] = replicas.map(votes_of);
        let offenders = offenders(&one, &other, network.authenticator());
        let is_honest = |address: &Address| {
            let named = network.replicas().iter().find(|replica| replica.address() == Some(*address));
            named.is_some_and(|named| network.is_honest(named.id()))
        };
        let honest = offenders.iter().copied().filter(is_honest).collect();
        // Slashed validators leave the set: their stake at the time of signing counts.
        let states = replicas.into_iter().filter_map(|replica| match replica.protocol() {
            AnyProtocol::Pos(pos) => pos.head_state(),
            _ => None,
        });
        let electorates =
            states.flat_map(|state| [&state.previous.electorate, &state.current.electorate, &state.next.0]);
        let sets = electorates.flat_map(|electorate| [&electorate.set].into_iter().chain(electorate.quorum_sets()));
        let shares = sets.chain([network.genesis_validators()]).map(|set| {
            let guilty = set.members().iter().filter(|member| offenders.contains(&member.address));
            (guilty.map(|member| u128::from(member.weight)).sum::<u128>(), set.total_weight())
        });
        let largest = shares.max_by(|(weight, total), (other, of)| (weight * of).cmp(&(other * total)));
        let (weight, total) = largest.unwrap_or_default();
        Self { offenders, weight, total, honest }
    }
}

impl core::fmt::Display for SlashableConflict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<_> = self.offenders.iter().map(ToString::to_string).collect();
        write!(f, "offenders with {} of {} stake: {}", self.weight, self.total, names.join(", "))?;
        if !self.honest.is_empty() {
            let names: Vec<_> = self.honest.iter().map(ToString::to_string).collect();
            write!(f, "; honest among them: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Returns every vote that a replica has: in its chain, in its records, and in its evidence.
fn votes_of(replica: &Replica) -> Vec<Vote> {
    let chain = replica.chain();
    let blocks = (1..=chain.head().height().get()).filter_map(|height| chain.block_at(Height::new(height)).ok());
    let payloads = blocks.filter_map(|executed| Payload::decode(executed.block().protocol_payload()).ok());
    let mut votes: Vec<_> = payloads.flat_map(|payload| payload.votes).collect();
    if let AnyProtocol::Pos(pos) = replica.protocol() {
        votes.extend(pos.votes().map(|(_, vote)| vote.clone()));
        votes.extend(pos.offences().flat_map(|(_, offence)| offence.votes()));
    }
    votes
}
