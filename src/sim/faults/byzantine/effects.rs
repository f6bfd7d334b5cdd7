//! Effects of misbehaviour: changed, withheld and additional messages, second blocks, censored transactions.

use std::{collections::VecDeque, sync::Arc};

use super::garble;
use crate::{
    chain::{Block, BlockAttributes},
    consensus::{Effect, Event, Message, Protocol, Recipients, ReplicaId},
    primitives::{Address, Gas},
    sim::{
        engine::rng::SimRng,
        faults::plan::{Behaviour, Trigger},
        network::{environment::World, error::NetworkError, replica::Replica},
    },
};

/// Own messages that a replica remembers, to say them again.
const SAID_MAX: usize = 256;
/// Events that the other half of an equivocation takes at most.
const SECOND_EVENTS_MAX: usize = 64;
/// How far ahead invented heights and views are.
const FUTURE: u64 = 1 << 20;

/// A message on its way out.
struct Outgoing {
    to: ReplicaId,
    message: Message,
    late_ms: u64,
}

impl Replica {
    /// The behaviours of now.
    fn behaviours(&self, rng: &mut SimRng) -> Vec<Behaviour> {
        let height = self.head().height.next().get();
        let is_time = |when: &Trigger, rng: &mut SimRng| match when {
            Trigger::Never => false,
            Trigger::Always => true,
            Trigger::Chance { per_mille } => rng.chance(*per_mille),
            Trigger::Heights { heights } => heights.contains(&height),
            Trigger::Rounds { rounds } => rounds.contains(&self.machine().round()),
        };
        let rules = self.conduct.rules.iter();
        rules.filter(|(_, _, when)| is_time(when, rng)).map(|(_, behaviour, _)| behaviour.clone()).collect()
    }

    /// Says something, or what misbehaviour makes of it.
    pub(in crate::sim) fn misbehave(&mut self, to: Recipients, message: &Message, world: &mut World) {
        let Some(mut rng) = world.trouble.as_ref().map(|trouble| trouble.byzantine.clone()) else { return };
        let others = (0..world.replica_count).map(ReplicaId::new).filter(|other| *other != self.id);
        let heard: Vec<_> = match to {
            Recipients::One(one) => vec![one],
            Recipients::Others => others.clone().collect(),
        };
        let height = self.head().height;
        self.conduct.audience.take_if(|(until, _)| height > *until);
        let audience = self.conduct.audience.as_ref();
        let heard = heard.into_iter().filter(|to| audience.is_none_or(|(_, some)| some.contains(to)));
        let mut outgoing: Vec<_> = heard.map(|to| Outgoing { to, message: message.clone(), late_ms: 0 }).collect();
        let behaviours = self.behaviours(&mut rng);
        for behaviour in behaviours {
            match behaviour {
                Behaviour::Silent => outgoing.clear(),
                Behaviour::SelectiveSend { to } => outgoing.retain(|one| to.contains(&one.to)),
                Behaviour::Withhold { ms } => outgoing.iter_mut().for_each(|one| one.late_ms += ms),
                Behaviour::Invalid => {
                    for one in &mut outgoing {
                        one.message = garble::garbled(&one.message, self.conduct.signer.as_ref(), &mut rng);
                    }
                }
                Behaviour::Replay => {
                    let old = self.conduct.said.get(rng.below(self.conduct.said.len() as u64) as usize).cloned();
                    let again = old.into_iter().flat_map(|old| others.clone().map(move |to| (to, old.clone())));
                    outgoing.extend(again.map(|(to, message)| Outgoing { to, message, late_ms: 0 }));
                }
                Behaviour::FutureSpam => {
                    let spam = garble::from_the_future(message, FUTURE, self.conduct.signer.as_ref());
                    let spam = spam.into_iter().flat_map(|spam| others.clone().map(move |to| (to, spam.clone())));
                    outgoing.extend(spam.map(|(to, message)| Outgoing { to, message, late_ms: 0 }));
                }
                Behaviour::Equivocate | Behaviour::Censor { .. } => {}
            }
        }
        if self.conduct.said.len() >= SAID_MAX {
            self.conduct.said.pop_front();
        }
        self.conduct.said.push_back(message.clone());
        if let Some(trouble) = &mut world.trouble {
            trouble.byzantine = rng;
        }
        for Outgoing { to, message, late_ms } in outgoing {
            world.send_late(self.slot, to, message, late_ms);
        }
    }

    /// Makes a second block where the protocol is about to be given one, and shows each half of the others another: this
    /// replica's protocol goes on with the first.
    pub(in crate::sim) fn equivocate(&mut self, event: &Event, world: &mut World) -> Result<(), NetworkError> {
        let Event::BlockBuilt { ticket, block } = event else { return Ok(()) };
        let Some(mut rng) = world.trouble.as_ref().map(|trouble| trouble.byzantine.clone()) else { return Ok(()) };
        let wants = self.behaviours(&mut rng).contains(&Behaviour::Equivocate);
        let mut others: Vec<_> = (0..world.replica_count).map(ReplicaId::new).filter(|id| *id != self.id).collect();
        let first: Vec<_> = (0..others.len().div_ceil(2))
            .map(|_| others.swap_remove(rng.below(others.len() as u64) as usize))
            .collect();
        if let Some(trouble) = &mut world.trouble {
            trouble.byzantine = rng;
        }
        let Some(second) = self.second_block(block).filter(|_| wants) else { return Ok(()) };
        let mut machine = self.machine().clone();
        let mut inbox = VecDeque::from([Event::BlockBuilt { ticket: *ticket, block: Arc::new(second) }]);
        let mut effects = Vec::new();
        for _ in 0..SECOND_EVENTS_MAX {
            let Some(event) = inbox.pop_front() else { break };
            machine.step(event, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { to, message, .. } => {
                        let hears = |id: &&ReplicaId| to == Recipients::Others || to == Recipients::One(**id);
                        others.iter().filter(hears).for_each(|id| world.send_late(self.slot, *id, message.clone(), 0));
                    }
                    Effect::Persist { ticket, .. } => inbox.push_back(Event::Persisted(ticket)),
                    Effect::Validate { block } => inbox.extend(self.validate(block)?),
                    _ => {}
                }
            }
        }
        self.conduct.audience = Some((block.height(), first));
        Ok(())
    }

    /// A block in the same place as `block` with another gas limit and no transactions.
    pub(in crate::sim) fn second_block(&self, block: &Block) -> Option<Block> {
        let header = block.header();
        let attributes = BlockAttributes {
            timestamp: block.timestamp(),
            beneficiary: header.beneficiary,
            difficulty: header.difficulty,
            mix_hash: header.mix_hash,
            nonce: header.nonce,
            payload: block.payload().clone(),
            gas_limit: Some(Gas::new(header.gas_limit.saturating_sub(1))),
            ..BlockAttributes::default()
        };
        let built = self.chain().build(header.parent_hash, &attributes, &mut Vec::new().into_iter()).ok()?.block;
        (built.hash() != block.hash()).then_some(built)
    }

    /// Whose transactions it leaves out of the block that it makes now; `None` for nobody's.
    pub(in crate::sim) fn censored(&self, world: &mut World) -> Option<Vec<Address>> {
        let rng = &mut world.trouble.as_mut()?.byzantine;
        self.behaviours(rng).into_iter().find_map(|behaviour| match behaviour {
            Behaviour::Censor { senders } => Some(senders),
            _ => None,
        })
    }
}
