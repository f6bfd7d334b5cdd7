//! Building of the blocks that a replica's protocol requests.

use std::sync::Arc;

use super::Replica;
use crate::{
    chain::{BlockAttributes, BuiltBlock, Candidates, InvalidTransaction, ReadError},
    consensus::{BlockId, BuildRequest, Event},
    primitives::{Timestamp, Transaction, U256},
    sim::{
        faults::byzantine::CensoredCandidates,
        network::{environment::Environment, error::NetworkError, production::BlockOrder},
    },
};

/// Candidates that a block leaves out, with the reason.
pub(super) type LeftOut = Vec<(Arc<Transaction>, InvalidTransaction)>;

impl Replica {
    /// Builds the block that a slow processor has come to, unless it is not wanted any more or finality has passed its parent, so that
    /// the chain no longer has it.
    pub(in crate::sim::network) fn build_deferred(
        &mut self,
        request: &BuildRequest,
        timestamp: Timestamp,
        life: u64,
        env: &mut Environment,
    ) -> Result<(), NetworkError> {
        if life != self.disk.life() || !self.processor.end_building(request.ticket) {
            return Ok(());
        }
        if matches!(self.chain.block(request.parent.hash), Err(ReadError::UnknownBlock { .. })) {
            return Ok(());
        }
        let order = BlockOrder::default();
        let built = self.build(request, &attributes(request, timestamp, &order), &order, env)?;
        self.handle(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(built.block) }, env)
    }

    /// Returns the attributes of the block that its protocol requested, at the earliest time that it allows.
    pub(in crate::sim::network) fn wanted_attributes(&self) -> Option<BlockAttributes> {
        let request = self.wanted.as_ref()?;
        Some(attributes(request, self.earliest(request), &BlockOrder::new()))
    }

    fn earliest(&self, request: &BuildRequest) -> Timestamp {
        request.timestamp_min.max(self.chain.head().block().timestamp())
    }

    /// Builds the requested block and passes it to the protocol. It may become the head later only, if the protocol needs the
    /// votes of other replicas.
    pub(in crate::sim) fn produce(
        &mut self,
        order: &BlockOrder,
        env: &mut Environment,
    ) -> Result<(BlockId, LeftOut), NetworkError> {
        let parent = self.head();
        let height = parent.height.next();
        let request = self.wanted.clone().ok_or(NetworkError::NobodyBuilds { height })?;
        let earliest = self.earliest(&request);
        let timestamp = match order.timestamp {
            Some(got) if got < earliest => return Err(NetworkError::TooEarly { got, earliest }),
            Some(ordered) => ordered,
            None => earliest.max(env.timestamp()),
        };
        let attributes = attributes(&request, timestamp, order);
        let built = self.build(&request, &attributes, order, env)?;
        let block = BlockId::of(&built.block);
        self.wanted = None;
        let rejected = self.observations.counters.rejected;
        let event = Event::BlockBuilt { ticket: request.ticket, block: Arc::new(built.block) };
        self.handle(event, env)?;
        if self.observations.counters.rejected > rejected && self.head() != block {
            // Nothing has changed: the request is still open.
            self.wanted = Some(request);
            let reason = self.observations.last_rejection.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(NetworkError::NotAdopted { height, reason });
        }
        Ok((block, built.left_out))
    }

    pub(super) fn build(
        &mut self,
        request: &BuildRequest,
        attributes: &BlockAttributes,
        order: &BlockOrder,
        env: &mut Environment,
    ) -> Result<BuiltBlock, NetworkError> {
        let parent = request.parent.hash;
        let censored = if self.misbehaviour.is_empty() { None } else { self.censored(env) };
        let built = match &order.transactions {
            Some(only) => self.chain.build(parent, attributes, &mut Only { rest: only.iter() }),
            None => {
                let base_fee = self.chain.next_base_fee().unwrap_or_default();
                let mut best = self.pool.best(base_fee);
                match censored {
                    None => self.chain.build(parent, attributes, &mut best),
                    Some(senders) => {
                        self.chain.build(parent, attributes, &mut CensoredCandidates { from: &mut best, senders })
                    }
                }
            }
        };
        let built = built.map_err(|error| self.chain_error(error))?;
        self.observations.counters.blocks_built += 1;
        if order.transactions.is_none() && parent == self.chain.head().hash() {
            self.refuse(&built.left_out)?;
        }
        Ok(built)
    }
}

/// Returns the attributes of a requested block.
pub(super) fn attributes(request: &BuildRequest, timestamp: Timestamp, order: &BlockOrder) -> BlockAttributes {
    BlockAttributes {
        timestamp,
        beneficiary: request.beneficiary,
        difficulty: U256::from(request.difficulty),
        mix_hash: request.mix_hash,
        nonce: request.nonce,
        payload: request.payload.clone(),
        gas_limit: order.gas_limit,
        interventions: order.interventions.clone(),
        ..BlockAttributes::default()
    }
}

/// Exactly the ordered transactions, in their order.
struct Only<'a> {
    rest: core::slice::Iter<'a, Arc<Transaction>>,
}

impl Candidates for Only<'_> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        self.rest.next().cloned()
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}
