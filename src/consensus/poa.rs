//! Proof of authority: Clique (EIP-225) with the block choice of EIP-3436.
//!
//! A fixed list of signers, changed by votes in blocks, takes turns. A signer signs at most one of any
//! `floor(N/2) + 1` consecutive blocks; a block in turn weighs 2, another 1, and a signer out of turn waits a random
//! while so that the one in turn is mostly alone. The heaviest branch wins. Nothing is ever final for certain: the
//! newest block with more than half of the signers above it, its *settled* block, is what a replica reports as safe and
//! finalized. That is advice: when messages take longer than the period, or signers sign two branches, a heavier branch
//! may leave it out, and the replica follows. Only 128 blocks further down it takes nothing back.
//!
//! Where Clique squeezes votes and checkpoints into header fields, this engine keeps them in the [`Payload`] beside
//! the header, whose keccak is in `extraData`, so that standard clients read the headers; [`clique`] translates to and
//! from Clique's own bytes.

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
    Admin, Authenticator, BlockId, Effect, Encoder, Event, Finality, FinalityKind, Message, Protocol, Records,
    Rejection, Signer, Ticket, TimerId, ValidatorSet, impl_by_encoding,
    intake::{BlockIntake, Intake},
};
use crate::{
    chain::Block,
    primitives::{Address, Timestamp},
};

pub use config::{PoaConfig, PoaError};
pub use fork_choice::Standing;
pub use light::LightVerifier;
pub use payload::{Payload, PayloadError, Vote};
#[cfg(feature = "internals")]
pub use record::BLOCK_PREFIX;
pub use record::{HEAD_KEY, SEALED_PREFIX, SIGNED_KEY};
pub use rules::{HeaderError, Link, PoaRules, check_header};
#[cfg(feature = "internals")]
pub use snapshot::{CastVote, DIFFICULTY_IN_TURN, DIFFICULTY_OUT_OF_TURN};
pub use snapshot::{Snapshot, SnapshotError};

/// Fires when the replica may make its next block.
pub const SEAL_TIMER: TimerId = TimerId::new(1);
/// Fires when no block came for so long that others may have missed this replica's.
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
    /// What the operator wishes to vote for.
    wishes: OrdMap<Address, bool>,
    duty: Duty,
    /// The newest block that this replica sealed; it never seals another of that height.
    signed: Option<BlockId>,
    /// The head, to announce it again when the chain stands still; after a crash, the newest block that it sealed.
    newest: Option<Arc<Block>>,
    /// After a crash, the blocks that it had sealed and kept, until it finds them in the chain.
    sealed: Vec<Arc<Block>>,
    next_ticket: Ticket,
}

/// What this replica is doing about the block after its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    /// Nothing: not a signer, or it signed lately, or its block is being judged.
    Idle,
    /// Out of turn: how long to wait was asked.
    Drawing(Ticket),
    /// The timer runs.
    Waiting,
    /// A block was asked for.
    Building(Ticket),
}

impl Poa {
    /// A replica at genesis. Without a `signer` it follows and never seals.
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

    /// A replica that goes on at a stored head, from the record under [`HEAD_KEY`] that was written with it.
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

    /// A replica after a crash, from everything that it had made durable: what it sealed last binds it, whatever its head
    /// is.
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
        // A block that may be said again binds it as if its name had been kept, too.
        poa.signed = poa.signed.max(poa.newest.as_deref().map(BlockId::of));
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
            wishes: OrdMap::new(),
            duty: Duty::Idle,
            signed: None,
            newest: None,
            sealed: Vec::new(),
            next_ticket: Ticket::default(),
        })
    }

    /// The signers and open votes after the head.
    pub fn snapshot(&self) -> &Snapshot {
        &self.tree.head().link.snapshot
    }

    /// What header rules need of the head, for a [`PoaRules`] that did not see it judged.
    pub fn head_link(&self) -> &Link {
        &self.tree.head().link
    }

    /// The epoch of the next block: checkpoints begin one.
    pub fn epoch(&self) -> u64 {
        self.tree.head().link.block.height.next().get() / self.config.epoch.max(1)
    }

    /// Total difficulty of the head's branch.
    pub fn total_difficulty(&self) -> u128 {
        self.tree.head().standing.total_difficulty
    }

    fn on_admin(&mut self, admin: Admin, effects: &mut Vec<Effect>) {
        match admin {
            Admin::Vote { .. } | Admin::WithdrawVote { .. } if self.signer.is_none() => {
                let reason = "only a signer votes; this replica observes".to_owned();
                return effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
            Admin::Vote { target, authorize } => {
                self.wishes.insert(target, authorize);
            }
            Admin::WithdrawVote { target } => {
                self.wishes.remove(&target);
            }
            _ => {
                let reason = "proof of authority has neither leader nor stake; signers change by votes".to_owned();
                return effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
        }
        // A block that was asked for and not built yet takes the wish along.
        if matches!(self.duty, Duty::Building(_)) {
            self.ask_for_block(effects);
        }
    }
}

impl Protocol for Poa {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Start => {
                self.plan(effects);
                self.say_sealed_again(effects);
            }
            Event::Message { from, message: Message::Block(block) } => self.on_block(Some(from), block, effects),
            Event::Message { .. } => {
                effects.push(Effect::Reject(Rejection::Unexpected { what: "message of another protocol" }));
            }
            Event::BlockSynced { from, block } => self.on_block(Some(from), block, effects),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, block, effects),
            Event::Random { ticket, value } if self.duty == Duty::Drawing(ticket) => self.wait(value, effects),
            Event::Timer(SEAL_TIMER) if self.duty == Duty::Waiting => self.ask_for_block(effects),
            Event::Timer(ANNOUNCE_TIMER) if self.config.period > 0 => self.announce_again(effects),
            Event::Timer(_) | Event::Random { .. } => effects.push(Effect::Mark("poa/stale-answer")),
            Event::Persisted(_) => {}
            Event::Admin(admin) => self.on_admin(admin, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator judges signatures alike in every replica of a chain; a signer is known by its address.
        let Self {
            config: PoaConfig { period, epoch, wiggle_ms },
            authenticator: _,
            signer,
            tree,
            intake,
            wishes,
            duty,
            signed,
            newest,
            sealed,
            next_ticket,
        } = self;
        // Without a catch-up: missing parents are requested one by one.
        let (pending, orphans, _) = intake.encoded_parts();
        out.u64(*period);
        out.u64(*epoch);
        out.u64(*wiggle_ms);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        tree.encode(out);
        out.list(pending.iter(), |out, (id, block)| {
            id.encode(out);
            out.bytes(block.block.seal());
            out.option(block.own, |out, ticket| out.u64(ticket.get()));
        });
        orphans.encode(out);
        out.list(wishes.iter(), |out, (target, authorize)| {
            out.address(target);
            out.bool(*authorize);
        });
        let (kind, ticket) = match *duty {
            Duty::Idle => (0, Ticket::default()),
            Duty::Drawing(ticket) => (1, ticket),
            Duty::Waiting => (2, Ticket::default()),
            Duty::Building(ticket) => (3, ticket),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.option(signed.as_ref(), |out, block| block.encode(out));
        out.option(newest.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.u64(next_ticket.get());
        out.list(sealed.iter(), |out, block| BlockId::of(block).encode(out));
    }

    fn head(&self) -> BlockId {
        self.tree.head().link.block
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
