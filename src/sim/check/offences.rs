//! Conflicting signed messages that reached honest replicas, whatever their protocols made of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    consensus::{
        AnyProtocol, ConsensusMessage, Protocol, ReplicaId,
        dpos::Dpos,
        pbft::{Pbft, PbftMessage, Phase, View},
        pos::{Pos, PosMessage, SlashingEvidence},
    },
    primitives::{Address, B256, Height},
    sim::network::{Network, replica::Replica, step::SimStep},
    system::staking::ValidatorStatus,
};

/// What reached each honest replica's process and proves an offence of a replica that misbehaves: two votes of PBFT in one view, height and
/// phase; evidence of PBFT and of proof of stake. It is judged by signatures alone, so that a protocol that takes no notice is found. Of delegated
/// proof of stake, whose offences are blocks, it is what the process has held itself at any time, so that one that forgets is found.
///
/// Left out is what a replica need not keep: votes of other views, of committed heights and of who was no member; evidence of heights and
/// slots to come.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct SeenOffences {
    /// Keys of the replicas that misbehave. That others sign nothing that conflicts is an invariant of its own.
    suspects: BTreeSet<Address>,
    seen: BTreeMap<ReplicaId, Seen>,
}

/// What reached one process since it started.
#[derive(Clone, Debug, Default)]
struct Seen {
    restarts: u64,
    messages: u64,
    /// Height since which the committee of these votes is in force.
    since: Height,
    /// First vote of each suspect in its latest view, by height and phase.
    votes: BTreeMap<(Height, Phase, Address), (View, B256)>,
    offenders: BTreeMap<Address, Proof>,
}

/// Evidence against one replica.
#[derive(Clone, Debug)]
enum Proof {
    /// Of PBFT: it counts as long as stake is locked.
    DoubleSigning,
    /// Of proof of stake: it may become too old.
    Slashing(Box<SlashingEvidence>),
    /// Of delegated proof of stake: it may become too old.
    Infraction { slot: u64 },
}

impl SeenOffences {
    /// Creates it for a network of which these replicas misbehave.
    pub(in crate::sim) fn new(network: &Network, misbehaving: &[ReplicaId]) -> Self {
        let address = |id: &ReplicaId| network.replica(*id).ok()?.address();
        Self { suspects: misbehaving.iter().filter_map(address).collect(), seen: BTreeMap::new() }
    }

    /// Notes the message that a step gave to an honest replica.
    pub(in crate::sim) fn on_step(&mut self, network: &Network, step: &SimStep) {
        if self.suspects.is_empty() {
            return;
        }
        let Ok(replica) = network.replica(step.replica) else { return };
        let (messages, last) = replica.last_message();
        let seen = self.seen.entry(step.replica).or_default();
        seen.begin_anew_after(replica.counters().restarts);
        if let AnyProtocol::Dpos(dpos) = replica.protocol()
            && network.is_honest(step.replica)
        {
            seen.note_held(dpos, &self.suspects);
        }
        if core::mem::replace(&mut seen.messages, messages) == messages || !network.is_honest(step.replica) {
            return;
        }
        let proven = match (replica.protocol(), last) {
            (AnyProtocol::Pbft(pbft), Some(ConsensusMessage::Pbft(message))) => {
                let told = told_by_pbft(pbft, message, network);
                told.or_else(|| seen.second_vote(pbft, message, &self.suspects))
            }
            (AnyProtocol::Pos(pos), Some(ConsensusMessage::Pos(message))) => told_by_pos(pos, message, network),
            _ => None,
        };
        if let Some((offender, proof)) = proven
            && self.suspects.contains(&offender)
            && is_accountable(replica, offender)
        {
            seen.offenders.insert(offender, proof);
        }
    }

    /// Iterates over those whose offences are proven to a replica by what reached it, and may be punished still as far as their age goes.
    pub(in crate::sim) fn proven_to(&self, replica: &Replica) -> impl Iterator<Item = Address> {
        let seen = self.seen.get(&replica.id());
        let seen = seen.filter(|seen| seen.restarts == replica.counters().restarts);
        let proven = seen.into_iter().flat_map(|seen| &seen.offenders);
        proven.filter(|(_, proof)| proof.counts(replica)).map(|(offender, _)| *offender)
    }
}

impl Seen {
    /// Forgets what reached the process before its last start.
    fn begin_anew_after(&mut self, restarts: u64) {
        if self.restarts != restarts {
            *self = Self { restarts, messages: self.messages, ..Self::default() };
        }
    }

    /// Notes the infractions of delegated proof of stake that a process holds proof of. What its blocks prove it holds again after a restart.
    fn note_held(&mut self, dpos: &Dpos, suspects: &BTreeSet<Address>) {
        for (slot, offender) in dpos.proven_infractions().filter(|(_, offender)| suspects.contains(offender)) {
            self.offenders.insert(offender, Proof::Infraction { slot });
        }
    }

    /// Notes a vote, and returns whose second one it is.
    fn second_vote(
        &mut self,
        pbft: &Pbft,
        message: &PbftMessage,
        suspects: &BTreeSet<Address>,
    ) -> Option<(Address, Proof)> {
        let (sender, phase, view, block) =
            pbft.logged_vote(message).filter(|(sender, ..)| suspects.contains(sender))?;
        let (head, since) = (pbft.head().height, pbft.in_force_since());
        if core::mem::replace(&mut self.since, since) != since {
            self.votes.clear();
        }
        self.votes.retain(|(height, ..), _| *height > head);
        let first = self.votes.entry((block.height, phase, sender)).or_insert((view, block.hash));
        if first.0 < view {
            *first = (view, block.hash);
        }
        (first.0 == view && first.1 != block.hash).then_some((sender, Proof::DoubleSigning))
    }
}

/// Returns whom a message of PBFT proves guilty.
fn told_by_pbft(pbft: &Pbft, message: &PbftMessage, network: &Network) -> Option<(Address, Proof)> {
    let offender = pbft.evidence_of(message)?.offender(network.authenticator()).ok()?;
    Some((offender, Proof::DoubleSigning))
}

/// Returns whom a message of proof of stake proves guilty.
fn told_by_pos(pos: &Pos, message: &PosMessage, network: &Network) -> Option<(Address, Proof)> {
    let PosMessage::Offence(offence) = message else { return None };
    let offender = offence.offender(network.authenticator()).ok().filter(|_| offence.slot() <= pos.slot())?;
    Some((offender, Proof::Slashing(Box::new(offence.clone()))))
}

/// Whether somebody is a validator at a replica's head, or has left and its stake is locked. A replica that is far behind knows of neither.
fn is_accountable(replica: &Replica, offender: Address) -> bool {
    let chain = replica.chain();
    let is_locked = || {
        let record = chain.staked_validator_of_key(chain.head(), offender);
        record.is_ok_and(|record| record.status == ValidatorStatus::Unbonding)
    };
    replica.protocol().validators().contains(&offender) || is_locked()
}

impl Proof {
    /// Whether it is not too old at the replica's head.
    fn counts(&self, replica: &Replica) -> bool {
        match (self, replica.protocol()) {
            (Self::Slashing(offence), AnyProtocol::Pos(pos)) => !pos.is_expired(offence),
            (Self::Infraction { slot }, AnyProtocol::Dpos(dpos)) => !dpos.is_expired(*slot),
            _ => true,
        }
    }
}
