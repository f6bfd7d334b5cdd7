//! Proof of authority: Clique (EIP-225) with the block choice of EIP-3436.
//!
//! The signers take turns; votes in blocks change them. A signer signs at most one of any `floor(N/2) + 1` consecutive
//! blocks. A block in turn has difficulty 2, another 1, and a signer out of turn waits a random delay, so that the signer
//! in turn usually comes first. The branch with the highest total difficulty wins. Clique has no finality: a replica reports
//! as safe and finalized the *settled* block, the newest one with more than half of the signers above it. This is a
//! heuristic: when messages take longer than the period, or signers sign two branches, a heavier branch may exclude it, and
//! the replica switches to that branch. Blocks more than 128 below the settled block are never reverted.
//!
//! Where genesis has the validators' contract, the members come from it, and votes are refused: a block takes over what its parent's execution
//! changed, names it in its payload and is sealed by the signers before.
//!
//! Clique encodes votes and checkpoints in header fields. Here they are in the [`Payload`] beside the header, whose keccak
//! is in `extraData`, so that standard clients read the headers; [`clique`] converts to and from Clique's own encoding.

mod blocks;
#[cfg(any(test, feature = "internals"))]
pub mod clique;
mod config;
mod family;
mod fork_choice;
mod light;
mod payload;
mod record;
mod rules;
mod sealing;
mod snapshot;
mod tree;

use std::sync::Arc;

use imbl::OrdMap;

use self::{
    blocks::INTAKE,
    tree::{Node, Tree},
};
use super::{
    Admin, Authenticator, BlockId, ConsensusMessage, Effect, Encoder, Event, Finality, FinalityKind, Protocol, Records,
    Rejection, Signer, Ticket, TimerId, ValidatorSet, impl_by_encoding,
    intake::{BlockIntake, Intake, PendingBlock},
};
use crate::{
    chain::Block,
    primitives::{Address, Timestamp},
};

pub use config::{PoaConfig, PoaError};
pub use fork_choice::ForkChoiceKey;
pub use light::LightVerifier;
pub use payload::{Payload, PayloadError, Vote};
#[cfg(feature = "internals")]
pub use record::BLOCK_PREFIX;
pub use record::{HEAD_KEY, SEALED_PREFIX, SIGNED_KEY};
pub use rules::{HeaderContext, HeaderError, check_header};
#[cfg(feature = "internals")]
pub use snapshot::{CastVote, DIFFICULTY_IN_TURN, DIFFICULTY_OUT_OF_TURN};
pub use snapshot::{Snapshot, SnapshotError};

/// Fires when the replica may make its next block.
pub const SEAL_TIMER: TimerId = TimerId::new(1);
/// Fires when the head has to be rebroadcast because no block was received for twice the longest delay.
pub const ANNOUNCE_TIMER: TimerId = TimerId::new(2);

/// One replica of proof of authority.
#[derive(Clone, Debug)]
pub struct Poa {
    config: PoaConfig,
    authenticator: Authenticator,
    signer: Option<Signer>,
    tree: Tree,
    /// Blocks that are not adopted yet.
    intake: Intake<Node>,
    /// Votes requested by the operator: target address, and whether to authorize it.
    pending_votes: OrdMap<Address, bool>,
    production: Production,
    /// The newest block sealed by this replica, which seals no other on its parent.
    signed: Option<ForkChoiceKey>,
    /// The head, to rebroadcast when the chain stalls; after a crash, the newest block sealed by this replica.
    newest: Option<Arc<Block>>,
    /// After a crash, the stored blocks sealed by this replica that are not in its chain yet.
    sealed: Vec<Arc<Block>>,
    next_ticket: Ticket,
}

/// The state of this replica's production of the block after its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Production {
    /// The replica is not a signer or signed recently, or its block is pending execution.
    Idle,
    /// Out of turn: a random delay was requested.
    DrawingDelay(Ticket),
    /// The seal timer is armed.
    Scheduled,
    /// A block was requested.
    Building(Ticket),
}

impl Poa {
    /// Returns a replica at genesis. Without a `signer` it follows and never seals.
    ///
    /// # Errors
    /// [`PoaError::Epoch`] for an epoch of 0.
    pub fn new(
        config: PoaConfig,
        genesis: (BlockId, Timestamp),
        signers: ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        Self::at(config, Tree::new(Node::genesis(genesis, signers), genesis.0), authenticator, signer)
    }

    /// Returns a replica at a stored head, from the record under [`HEAD_KEY`] that was written with it.
    ///
    /// # Errors
    /// [`PoaError::Record`] when the record does not decode, [`PoaError::Epoch`] for an epoch of 0.
    pub fn restore(
        config: PoaConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        let tree = record::decode_head(head_record).ok_or(PoaError::Record { key: "head" })?;
        Self::at(config, tree, authenticator, signer)
    }

    /// Returns a replica after a crash, from all of its durable records. It seals on a head only that the fork choice prefers
    /// to the block that it sealed last.
    ///
    /// # Errors
    /// [`PoaError::Record`] when a record does not decode, [`PoaError::Epoch`] for an epoch of 0.
    pub fn recover(
        config: PoaConfig,
        genesis: (BlockId, Timestamp),
        signers: ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        let mut poa = match records.get(HEAD_KEY) {
            Some(head) => Self::restore(config, head, authenticator, signer)?,
            None => Self::new(config, genesis, signers.clone(), authenticator, signer)?,
        };
        let below = record::branch_below(poa.tree.head(), records).ok_or(PoaError::Record { key: "block" })?;
        poa.tree = poa.tree.with_ancestors(below);
        if poa.tree.lowest_parent() == genesis.0 {
            poa.tree = poa.tree.with_ancestors(vec![Node::genesis(genesis, signers)]);
        }
        if let Some(signed) = records.get(SIGNED_KEY) {
            poa.signed = Some(record::decode_signed(signed).ok_or(PoaError::Record { key: "signed" })?);
        }
        poa.sealed = record::all_sealed(records).ok_or(PoaError::Record { key: "sealed" })?;
        poa.newest = poa.sealed.last().cloned();
        Ok(poa)
    }

    fn at(
        config: PoaConfig,
        tree: Tree,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PoaError> {
        config.check()?;
        Ok(Self {
            config,
            authenticator,
            signer,
            tree,
            intake: Intake::new(INTAKE),
            pending_votes: OrdMap::new(),
            production: Production::Idle,
            signed: None,
            newest: None,
            sealed: Vec::new(),
            next_ticket: Ticket::default(),
        })
    }

    /// Returns the signers and open votes after the head.
    pub fn snapshot(&self) -> &Snapshot {
        &self.tree.head().context.snapshot
    }

    /// Returns the header context of the head, for header rules that have not verified it.
    pub fn head_context(&self) -> &HeaderContext {
        &self.tree.head().context
    }

    /// Returns the epoch of the next block; each epoch begins with a checkpoint.
    pub fn epoch(&self) -> u64 {
        self.tree.head().context.block.height.next().get() / self.config.epoch.max(1)
    }

    /// Returns the total difficulty of the head's branch.
    pub fn total_difficulty(&self) -> u128 {
        self.tree.head().fork_choice_key.total_difficulty
    }

    fn on_admin(&mut self, admin: Admin, effects: &mut Vec<Effect>) {
        match admin {
            Admin::Vote { .. } | Admin::WithdrawVote { .. } if self.config.by_contract => {
                let reason = "the validators' contract of this chain decides who signs; its administrator adds and removes signers";
                return effects.push(Effect::Reject(Rejection::Admin { reason: reason.to_owned() }));
            }
            Admin::Vote { .. } | Admin::WithdrawVote { .. } if self.signer.is_none() => {
                let reason = "only a signer votes; this replica has no signer key".to_owned();
                return effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
            Admin::Vote { target, authorize } => {
                self.pending_votes.insert(target, authorize);
            }
            Admin::WithdrawVote { target } => {
                self.pending_votes.remove(&target);
            }
            _ => {
                let reason = "proof of authority has neither leader nor stake; signers change by votes".to_owned();
                return effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
        }
        // A block that was requested and is not built yet is requested again with the present votes.
        if matches!(self.production, Production::Building(_)) {
            self.request_block(effects);
        }
    }
}

impl Protocol for Poa {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Start => {
                self.plan(effects);
                self.rebroadcast_sealed(effects);
            }
            Event::Message { from, message: ConsensusMessage::Block(block) } => self.on_announced(from, block, effects),
            Event::Message { .. } => {
                effects.push(Effect::Reject(Rejection::Unexpected { what: "message of another protocol" }));
            }
            Event::BlockSynced { from, block } => self.on_block(Some(from), block, effects),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, block, effects),
            Event::Random { ticket, value } if self.production == Production::DrawingDelay(ticket) => {
                self.schedule(value, effects)
            }
            Event::Timer(SEAL_TIMER) if self.production == Production::Scheduled => self.request_block(effects),
            Event::Timer(ANNOUNCE_TIMER) if self.config.period > 0 => self.rebroadcast_head(effects),
            Event::Timer(_) | Event::Random { .. } => effects.push(Effect::Mark("poa/stale-answer")),
            Event::Persisted(_) => {}
            Event::Admin(admin) => self.on_admin(admin, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator is the same in every replica of a chain; a signer is known by its address.
        let Self {
            config: PoaConfig { period, epoch, wiggle_ms, future_secs, by_contract },
            authenticator: _,
            signer,
            tree,
            intake,
            pending_votes,
            production,
            signed,
            newest,
            sealed,
            next_ticket,
        } = self;
        // There is no catch-up: missing parents are requested one by one.
        let (pending, orphans, _) = intake.encoded_parts();
        out.u64(*period);
        out.u64(*epoch);
        out.u64(*wiggle_ms);
        out.u64(*future_secs);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        tree.encode(out);
        out.list(pending.iter(), |out, (id, pending)| {
            // Author and context follow from the block.
            let PendingBlock { block, author: _, own, verified: _ } = pending;
            id.encode(out);
            out.bytes(block.seal());
            out.option(*own, |out, ticket| out.u64(ticket.get()));
        });
        orphans.encode(out);
        out.list(pending_votes.iter(), |out, (target, authorize)| {
            out.address(target);
            out.bool(*authorize);
        });
        let (kind, ticket) = match *production {
            Production::Idle => (0, Ticket::default()),
            Production::DrawingDelay(ticket) => (1, ticket),
            Production::Scheduled => (2, Ticket::default()),
            Production::Building(ticket) => (3, ticket),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.option(signed.as_ref(), |out, signed| signed.encode(out));
        out.option(newest.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.u64(next_ticket.get());
        out.list(sealed.iter(), |out, block| BlockId::of(block).encode(out));
        // Written where it is so alone: the digests of other chains stay.
        if *by_contract {
            out.bool(true);
        }
    }

    fn head(&self) -> BlockId {
        self.tree.head().context.block
    }

    fn finality(&self) -> Finality {
        let settled = self.tree.settled();
        Finality { irreversible: self.tree.irreversible(), ..Finality::both(settled, FinalityKind::Depth) }
    }

    fn validators(&self) -> ValidatorSet {
        self.snapshot().signers().clone()
    }
}

impl_by_encoding!(Poa);

#[cfg(test)]
mod tests;
