//! Misbehaviour above the protocol: what a replica says and builds is changed on its way out.

mod effects;
mod garble;

use std::sync::Arc;

use imbl::Vector;

use super::plan::{Behaviour, FaultId, Trigger};
use crate::{
    chain::{Candidates, InvalidTransaction},
    consensus::{Message, ReplicaId, Signer},
    primitives::{Address, Height, Transaction},
};

/// How a replica misbehaves now. Cloning is O(1) in what it remembers.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Conduct {
    rules: Vec<(FaultId, Behaviour, Trigger)>,
    signer: Option<Signer>,
    /// What it said, oldest first.
    said: Vector<Message>,
    /// Who hears it until its head is at this height, while it shows others something else.
    audience: Option<(Height, Vec<ReplicaId>)>,
}

impl Conduct {
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
        (self.said, self.audience) = (Vector::new(), None);
    }
}

/// Candidates without those of some senders; without all when none is named.
pub(in crate::sim) struct Censored<'a> {
    pub(in crate::sim) from: &'a mut dyn Candidates,
    pub(in crate::sim) senders: Vec<Address>,
}

impl Candidates for Censored<'_> {
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
