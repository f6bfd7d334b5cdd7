//! Invariants of proof of stake.

use std::collections::{BTreeMap, BTreeSet};

use super::{Invariant, Violation, honest};
use crate::{
    consensus::{
        AnyProtocol, ReplicaId, ValidatorSet,
        pos::{Checkpoint, Electorate, Payload, Pos, SlashingCondition},
    },
    primitives::Address,
    sim::network::{Network, replica::Replica, step::SimStep},
};

/// Returns all of them.
pub(super) fn all() -> Vec<Box<dyn Invariant>> {
    vec![Box::new(JustifiedFinality::default()), Box::new(FairForkChoice), Box::new(HonestStake)]
}

pub(super) fn pos(replica: &Replica) -> Option<&Pos> {
    match replica.protocol() {
        AnyProtocol::Pos(pos) => Some(pos),
        _ => None,
    }
}

/// A final checkpoint of an honest replica has the votes of two thirds of the stake, from it to one of the next two checkpoints.
/// The votes are counted from the blocks, independently of the protocol's own count.
#[derive(Clone, Debug, Default)]
pub struct JustifiedFinality {
    seen: BTreeMap<ReplicaId, Checkpoint>,
}

impl Invariant for JustifiedFinality {
    fn name(&self) -> &'static str {
        "finality-is-earned"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, pos)) = honest(network, step).and_then(|replica| Some((replica, pos(replica)?))) else {
            return Ok(());
        };
        let finalized = pos.finalized();
        let before = self.seen.insert(replica.id(), finalized).unwrap_or_default();
        if finalized.epoch <= before.epoch {
            return Ok(());
        }
        let voters = voters_from(network, replica, pos, finalized);
        let mut most = (0, 0);
        for (target, voters) in &voters {
            for electorate in electorates_of(pos, target.epoch) {
                let shares = quorum_sets(electorate).map(|set| (weight(set, voters), set.total_weight()));
                // The smaller one in a change.
                let least = shares.min_by(|(got, total), (other, of)| (got * of).cmp(&(other * total)));
                let (got, total) = least.unwrap_or_default();
                if 3 * got >= 2 * total {
                    return Ok(());
                }
                most = most.max((got, total));
            }
        }
        let (got, total) = most;
        let detail = format!("{} holds {finalized:?} for final with votes of {got} of {total}", replica.id());
        Err(Violation::new(self.name(), network, detail))
    }
}

/// Returns the validators of an epoch on each branch above the final checkpoint. The head may be epochs ahead of the votes that
/// made a checkpoint final: a replica that catches up, or changes its branch, learns of them late.
fn electorates_of(pos: &Pos, epoch: u64) -> impl Iterator<Item = &Electorate> {
    let states = pos.fork_choice().blocks().filter_map(|block| pos.state_of(&block.block.hash));
    let epochs = states.flat_map(|state| [&state.previous, &state.current]);
    epochs.filter(move |known| known.number == epoch).map(|known| &known.electorate)
}

/// Returns the sets that each need two thirds.
fn quorum_sets(electorate: &Electorate) -> impl Iterator<Item = &ValidatorSet> {
    let [first, second] = match &electorate.change {
        Some(change) => [&change.rear, &change.forward],
        None => [&electorate.set; 2],
    };
    [first, second].into_iter()
}

/// Returns the voters from `source` to each of the checkpoints after it, in the blocks and votes that the replica has. A known
/// equivocator may have voted for any of them.
fn voters_from(
    network: &Network,
    replica: &Replica,
    pos: &Pos,
    source: Checkpoint,
) -> BTreeMap<Checkpoint, BTreeSet<Address>> {
    let mut voters: BTreeMap<Checkpoint, BTreeSet<Address>> = BTreeMap::new();
    let is_next = |target: &Checkpoint| (1..=2).any(|distance| source.epoch + distance == target.epoch);
    let payloads = pos.fork_choice().blocks().filter_map(|block| {
        Payload::decode(replica.chain().block(block.block.hash).ok()?.block().protocol_payload()).ok()
    });
    let packed: Vec<_> = payloads.flat_map(|payload| payload.votes).collect();
    let packed = packed.iter().filter_map(|vote| Some((vote.signer(network.authenticator()).ok()?, vote)));
    for (signer, vote) in pos.votes().map(|(signer, vote)| (*signer, vote)).chain(packed) {
        if vote.data.source == source && is_next(&vote.data.target) {
            voters.entry(vote.data.target).or_default().insert(signer);
        }
    }
    for who in voters.values_mut() {
        who.extend(pos.offences().map(|(offender, _)| *offender));
    }
    voters
}

fn weight(set: &ValidatorSet, of: &BTreeSet<Address>) -> u128 {
    let members = set.members().iter().filter(|member| of.contains(&member.address));
    members.map(|member| u128::from(member.weight)).sum()
}

/// The proposer boost lasts for its slot only, equivocators have no weight, and the head descends from the justified checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct FairForkChoice;

impl Invariant for FairForkChoice {
    fn name(&self) -> &'static str {
        "fork-choice-is-fair"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, pos)) = honest(network, step).and_then(|replica| Some((replica, pos(replica)?))) else {
            return Ok(());
        };
        let forks = pos.fork_choice();
        let refuse = |detail: String| Err(Violation::new(self.name(), network, format!("{} {detail}", replica.id())));
        let boosted = forks.boosted().and_then(|boosted| forks.get(&boosted));
        if let Some(block) = boosted.filter(|block| block.slot != pos.slot()) {
            return refuse(format!("boosts {} of slot {} in slot {}", block.block, block.slot, pos.slot()));
        }
        let voted_twice = |kind| matches!(kind, SlashingCondition::DoubleVote | SlashingCondition::SurroundVote);
        let mut offenders = pos.offences().filter(|(_, offence)| voted_twice(offence.condition()));
        if let Some((offender, _)) = offenders.find(|(offender, _)| forks.votes().contains_key(*offender)) {
            return refuse(format!("counts the vote of {offender}, who voted twice"));
        }
        if !pos.is_head_viable() {
            return refuse(format!("follows a branch that does not know {:?}", pos.justified()));
        }
        Ok(())
    }
}

/// No honest validator loses stake for an offence.
#[derive(Clone, Copy, Debug, Default)]
pub struct HonestStake;

impl Invariant for HonestStake {
    fn name(&self) -> &'static str {
        "honest-stake-is-safe"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some((replica, pos)) = honest(network, step).and_then(|replica| Some((replica, pos(replica)?))) else {
            return Ok(());
        };
        let Some(state) = pos.head_state() else { return Ok(()) };
        let mut others = network.replicas().iter().filter(|other| network.is_honest(other.id()));
        let slashed = others.find_map(|other| other.address().filter(|address| state.is_slashed(address)));
        match slashed {
            Some(address) => {
                let detail = format!("honest {address} is slashed on the chain of {}", replica.id());
                Err(Violation::new(self.name(), network, detail))
            }
            None => Ok(()),
        }
    }
}
