//! Misbehaviour above the protocol: what a replica says and builds is changed on its way out.

mod answers;
mod effects;
mod forbidden;
mod garble;
mod relays;

use std::sync::Arc;

use imbl::Vector;

pub(in crate::sim) use forbidden::stranger;

use super::plan::{Behaviour, FaultId, Trigger};
use crate::{
    chain::{Candidates, InvalidTransaction},
    consensus::{ConsensusMessage, ReplicaId, Signer},
    primitives::{Address, Height, Transaction},
};

/// Misbehaviour of a replica. Cloning is O(1) in the remembered messages.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Misbehaviour {
    rules: Vec<(FaultId, Behaviour, Trigger)>,
    signer: Option<Signer>,
    /// Messages that it sent, oldest first; bounded.
    sent: Vector<ConsensusMessage>,
    /// While it equivocates: the replicas that receive its real messages, until its head is above this height.
    audience: Option<(Height, Vec<ReplicaId>)>,
    /// Number of messages that it passed on altered since its head had this height.
    relayed: (Height, u32),
}

impl Misbehaviour {
    pub(in crate::sim) const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(in crate::sim) fn add(&mut self, fault: FaultId, behaviour: Behaviour, when: Trigger, signer: Option<Signer>) {
        self.rules.push((fault, behaviour, when));
        self.signer = signer;
    }

    pub(in crate::sim) fn end(&mut self, fault: FaultId) {
        self.rules.retain(|(id, ..)| *id != fault);
    }

    pub(in crate::sim) fn forget(&mut self) {
        (self.sent, self.audience, self.relayed) = (Vector::new(), None, (Height::GENESIS, 0));
    }
}

/// Candidates without those of `senders`; none at all when `senders` is empty.
pub(in crate::sim) struct CensoredCandidates<'a> {
    pub(in crate::sim) from: &'a mut dyn Candidates,
    pub(in crate::sim) senders: Vec<Address>,
}

impl Candidates for CensoredCandidates<'_> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        if self.senders.is_empty() {
            return None;
        }
        loop {
            let candidate = self.from.next()?;
            if !self.senders.contains(&candidate.sender()) {
                return Some(candidate);
            }
        }
    }

    fn mark_invalid(&mut self, transaction: &Transaction, reason: &InvalidTransaction) {
        self.from.mark_invalid(transaction, reason);
    }
}
