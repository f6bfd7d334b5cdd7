//! Effects of misbehaviour: changed, withheld and additional messages, second blocks, censored transactions.

use core::time::Duration;
use std::{collections::VecDeque, sync::Arc};

use super::garble;
use crate::{
    chain::{Block, BlockAttributes},
    consensus::{AnyProtocol, BlockId, ConsensusMessage, Effect, Event, Protocol, Recipients, ReplicaId, Verdict, pos},
    primitives::{Address, B64, Bytes, Gas},
    sim::{
        engine::rng::SimRng,
        faults::plan::{Behaviour, Trigger},
        network::{envelope::Envelope, environment::Environment, error::NetworkError, replica::Replica},
    },
    system::ValidatorUpdates,
};

/// Own messages that a replica remembers for replay.
const REMEMBERED_MESSAGES_MAX: usize = 256;
/// Most events that the second half of an equivocation processes.
const SECOND_EVENTS_MAX: usize = 64;
/// Distance of invented heights and views from real ones.
const FUTURE: u64 = 1 << 20;

/// Returns the payload of a block whose votes, in it or in the header's nonce, may be left out.
fn without_votes(protocol: &AnyProtocol, payload: &Bytes) -> Option<Bytes> {
    match protocol {
        AnyProtocol::Pos(_) => {
            let payload = pos::Payload::decode(payload).ok()?;
            Some(pos::Payload { votes: Vec::new(), ..payload }.encoded())
        }
        AnyProtocol::Dpos(_) => Some(payload.clone()),
        _ => None,
    }
}

/// An outgoing message.
struct Outgoing {
    to: ReplicaId,
    message: ConsensusMessage,
    late: Duration,
}

impl Replica {
    /// Returns the behaviours whose trigger applies now.
    pub(super) fn behaviours(&self, rng: &mut SimRng) -> Vec<Behaviour> {
        let height = self.head().height.next();
        let applies = |when: &Trigger, rng: &mut SimRng| match when {
            Trigger::Never => false,
            Trigger::Always => true,
            Trigger::Chance { per_mille } => rng.chance(*per_mille),
            Trigger::Heights { heights } => heights.contains(&height),
            Trigger::Rounds { rounds } => rounds.contains(&self.protocol().round()),
        };
        let rules = self.misbehaviour.rules.iter();
        rules.filter(|(_, _, when)| applies(when, rng)).map(|(_, behaviour, _)| behaviour.clone()).collect()
    }

    /// Sends a message as misbehaviour changes it.
    pub(in crate::sim) fn misbehave(&mut self, to: Recipients, message: &ConsensusMessage, env: &mut Environment) {
        let Some(mut rng) = env.faults.as_ref().map(|faults| faults.byzantine.clone()) else { return };
        let id = self.id();
        let others = (0..env.replica_count).map(ReplicaId::new).filter(move |other| *other != id);
        let receivers: Vec<_> = match to {
            Recipients::One(one) => vec![one],
            Recipients::Others => others.clone().collect(),
        };
        let height = self.head().height;
        self.misbehaviour.audience.take_if(|(until, _)| height > *until);
        let audience = self.misbehaviour.audience.as_ref();
        let receivers = receivers.into_iter().filter(|to| audience.is_none_or(|(_, some)| some.contains(to)));
        let mut outgoing: Vec<_> =
            receivers.map(|to| Outgoing { to, message: message.clone(), late: Duration::ZERO }).collect();
        let behaviours = self.behaviours(&mut rng);
        for behaviour in behaviours {
            match behaviour {
                Behaviour::Silent => outgoing.clear(),
                Behaviour::SelectiveSend { to } => outgoing.retain(|one| to.contains(&one.to)),
                Behaviour::DoubleVote { to } => {
                    let other = garble::contradicting(message, self.misbehaviour.signer.as_ref());
                    let sent = outgoing.iter().map(|one| one.to).filter(|one| to.contains(one)).collect::<Vec<_>>();
                    outgoing.extend(other.into_iter().flat_map(|other| {
                        sent.iter().map(move |to| Outgoing { to: *to, message: other.clone(), late: Duration::ZERO })
                    }));
                }
                Behaviour::Withhold { delay } => outgoing.iter_mut().for_each(|one| one.late += delay),
                Behaviour::Invalid => {
                    for one in &mut outgoing {
                        one.message = garble::garbled(&one.message, self.misbehaviour.signer.as_ref(), &mut rng);
                    }
                }
                Behaviour::Replay => {
                    let old =
                        self.misbehaviour.sent.get(rng.below(self.misbehaviour.sent.len() as u64) as usize).cloned();
                    let again = old.into_iter().flat_map(|old| others.clone().map(move |to| (to, old.clone())));
                    outgoing.extend(again.map(|(to, message)| Outgoing { to, message, late: Duration::ZERO }));
                }
                Behaviour::FutureSpam => {
                    let spam = garble::from_the_future(message, FUTURE, self.misbehaviour.signer.as_ref());
                    let spam = spam.into_iter().flat_map(|spam| others.clone().map(move |to| (to, spam.clone())));
                    outgoing.extend(spam.map(|(to, message)| Outgoing { to, message, late: Duration::ZERO }));
                }
                Behaviour::Equivocate
                | Behaviour::Censor { .. }
                | Behaviour::LyingAnswers
                | Behaviour::AlteredRelays
                | Behaviour::FalseAbsences
                | Behaviour::ForbiddenTransaction => {}
            }
        }
        if self.misbehaviour.sent.len() >= REMEMBERED_MESSAGES_MAX {
            self.misbehaviour.sent.pop_front();
        }
        self.misbehaviour.sent.push_back(message.clone());
        if let Some(faults) = &mut env.faults {
            faults.byzantine = rng;
        }
        for Outgoing { to, message, late } in outgoing {
            env.send_late(self.slot, to, Envelope::Message(message), late);
        }
    }

    /// Equivocates when the protocol is about to receive its own block: builds a second block and sends each to one half of
    /// the other replicas; or sends all of them one with a forbidden transaction. This replica's own protocol continues with the first.
    pub(in crate::sim) fn equivocate(&mut self, event: &Event, env: &mut Environment) -> Result<(), NetworkError> {
        let Event::BlockBuilt { ticket, block } = event else { return Ok(()) };
        let Some(mut rng) = env.faults.as_ref().map(|faults| faults.byzantine.clone()) else { return Ok(()) };
        let behaviours = self.behaviours(&mut rng);
        let [wants, forbids] =
            [Behaviour::Equivocate, Behaviour::ForbiddenTransaction].map(|wanted| behaviours.contains(&wanted));
        let mut others: Vec<_> = (0..env.replica_count).map(ReplicaId::new).filter(|id| *id != self.id()).collect();
        let first: Vec<_> = (0..others.len().div_ceil(2))
            .map(|_| others.swap_remove(rng.below(others.len() as u64) as usize))
            .collect();
        if let Some(faults) = &mut env.faults {
            faults.byzantine = rng;
        }
        let forbidden = if forbids { self.forbidden_block(block) } else { None };
        let is_forbidden = forbidden.is_some();
        if is_forbidden {
            others.extend(&first);
        }
        let Some(second) = forbidden.or_else(|| self.second_block(block).filter(|_| wants)) else { return Ok(()) };
        let mut protocol = self.protocol().clone();
        let mut inbox = VecDeque::from([Event::BlockBuilt { ticket: *ticket, block: Arc::new(second) }]);
        let mut effects = Vec::new();
        for _ in 0..SECOND_EVENTS_MAX {
            let Some(event) = inbox.pop_front() else { break };
            protocol.step(event, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { to, message, .. } => {
                        let receives = |id: &&ReplicaId| to == Recipients::Others || to == Recipients::One(**id);
                        let late = Duration::ZERO;
                        others
                            .iter()
                            .filter(receives)
                            .for_each(|id| env.send_late(self.slot, *id, Envelope::Message(message.clone()), late));
                    }
                    Effect::Persist { ticket, .. } => inbox.push_back(Event::Persisted(ticket)),
                    Effect::Validate { block } if is_forbidden => {
                        let verdict = Verdict::Valid { updates: ValidatorUpdates::NONE };
                        inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict });
                    }
                    Effect::Validate { block } => {
                        let id = BlockId::of(&block);
                        inbox.extend(self.validate(block)?.map(|verdict| Event::BlockJudged { block: id, verdict }));
                    }
                    _ => {}
                }
            }
        }
        self.misbehaviour.audience = Some((block.height(), if is_forbidden { Vec::new() } else { first }));
        Ok(())
    }

    /// Returns a block with the same parent as `block`, another gas limit and no transactions. Where the chain's parameters decide the gas
    /// limit, a block that has no transactions itself gets a second one that votes for less.
    pub(in crate::sim) fn second_block(&self, block: &Block) -> Option<Block> {
        let header = block.header();
        let build = |nonce, payload| {
            let attributes = BlockAttributes {
                timestamp: block.timestamp(),
                beneficiary: header.beneficiary,
                difficulty: header.difficulty,
                mix_hash: header.mix_hash,
                nonce,
                payload,
                gas_limit: Some(Gas::new(header.gas_limit.saturating_sub(1))),
                ..BlockAttributes::default()
            };
            let built = self.chain().build(header.parent_hash, &attributes, &mut Vec::new().into_iter()).ok()?.block;
            (built.hash() != block.hash()).then_some(built)
        };
        let payload = block.protocol_payload();
        build(header.nonce, payload.clone()).or_else(|| build(B64::ZERO, without_votes(self.protocol(), payload)?))
    }

    /// Returns the senders whose transactions the next block omits (empty for all); `None` without censorship.
    pub(in crate::sim) fn censored(&self, env: &mut Environment) -> Option<Vec<Address>> {
        let rng = &mut env.faults.as_mut()?.byzantine;
        self.behaviours(rng).into_iter().find_map(|behaviour| match behaviour {
            Behaviour::Censor { senders } => Some(senders),
            _ => None,
        })
    }
}
