//! Delegated proof of stake: elected producers with a last irreversible block, after EOSIO's DPOS 3.
//!
//! Holders of the native token delegate stake to candidates; the `producers` candidates with the most stake are
//! the producers, and take turns in slots of fixed length. A block's nonce has its vote ([`Confirmation`]): how many of the newest
//! heights its producer confirms, and the height that is prepared at its parent. A height that two thirds of the producers
//! confirmed is prepared, and one that two thirds voted for is irreversible ([`Irreversibility`]). The chain may fork above the
//! last irreversible block; the branch with the greatest [`ForkChoiceKey`] wins.
//!
//! Safety, with the argument in `docs/protocols/dpos.md`:
//!
//! - No producer confirms a height twice, on any branch, or implies a lower prepared height than before: its *watermark* and its
//!   *lock* are durable before the block is sent ([`SafetyState`]). Nor does it produce twice in a slot. EOSIO keeps its
//!   watermark in memory and has no lock.
//! - A producer whose watermark or lock excludes its branch still produces, so that the chain grows; the block confirms
//!   nothing. (EOSIO's producer makes no block, and when all are in that position, the chain stops.)
//! - Two headers of one producer that break one of these rules are evidence ([`ConflictingBlocks`]), which later blocks report to the
//!   staking contract. While less than a third of the producers break them, no two conflicting blocks are irreversible.
//!
//! The first block of a round counts the stake: when other producers are elected than are active, it proposes their schedule.
//! The schedule is pending until that block is irreversible, and no other is proposed meanwhile. What is above that block becomes
//! irreversible by the new producers alone.
//!
//! [`FinalityRule::Classic`] is EOSIO's rule, without the lock.

mod blocks;
mod catch_up;
mod config;
mod confirmation;
mod evidence;
mod family;
mod fork_choice;
mod irreversibility;
mod light;
mod payload;
mod production;
mod record;
mod rules;
mod safety_state;
mod schedule;
mod state;
mod tree;

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use self::{
    blocks::Verified,
    catch_up::CatchUp,
    production::Production,
    tree::{Node, Tree},
};
use super::{
    Admin, Authenticator, BlockId, ChainEvent, ConsensusMessage, Effect, Encoder, Event, Finality, FinalityKind,
    Protocol, Records, Rejection, Signer, Ticket, TimerId, ValidatorSet, impl_by_encoding,
    intake::{Intake, PendingBlock},
    mutation::{self, Mutation},
};
use crate::primitives::{Address, Timestamp};

#[cfg(feature = "internals")]
pub use config::BLOCKS_PER_TURN_MAX;
pub use config::{DposConfig, DposError, FinalityRule, PRODUCERS_MAX, Shuffle};
pub use confirmation::{CONFIRMED_MAX, Confirmation, Conflict, Prepared};
#[cfg(feature = "internals")]
pub use confirmation::{IMPLIED_BELOW_MAX, VERSION_MAX};
#[cfg(feature = "internals")]
pub use evidence::EVIDENCE_SLOTS_MAX;
pub use evidence::{ConflictingBlocks, EVIDENCE_PER_BLOCK_MAX, EvidenceError, Infraction};
pub use fork_choice::ForkChoiceKey;
#[cfg(feature = "internals")]
pub use irreversibility::TRACKED_MAX;
#[cfg(any(feature = "internals", feature = "scenarios"))]
pub use irreversibility::quorum;
pub use irreversibility::{ConfirmError, Irreversibility};
#[cfg(any(test, feature = "internals"))]
pub use irreversibility::{Confirmer, Vote};
pub use light::LightVerifier;
#[cfg(feature = "internals")]
pub use payload::PAYLOAD_BYTES_MAX;
pub use payload::{Payload, PayloadError};
#[cfg(feature = "internals")]
pub use record::ROOT_KEY;
pub use record::{BLOCK_PREFIX, HEAD_KEY, SAFETY_STATE_KEY};
pub use rules::{HeaderError, check_header};
pub use safety_state::{NothingToConfirm, SafetyState};
pub use schedule::{Schedule, elect};
#[cfg(any(test, feature = "internals"))]
pub use state::DerivedPayload;
pub use state::{BlockInputs, Election, HeaderContext};
#[cfg(feature = "internals")]
pub use state::{Candidates, Pending, State};

/// Fires when the replica's next slot begins.
pub const SLOT_TIMER: TimerId = TimerId::new(1);
/// Fires every two rounds; a replica whose head has not moved since then shows it.
pub const QUIET_TIMER: TimerId = TimerId::new(2);
/// Most pieces of evidence against one producer that are kept to be reported: as many as a block takes.
const OFFENCES_OF_ONE_MAX: usize = EVIDENCE_PER_BLOCK_MAX;

/// Evidence by [`Infraction::slot`] and offender.
type Offences = OrdMap<(u64, Address), Arc<ConflictingBlocks>>;

/// Whether one more piece of evidence against a producer is kept, beside what there is against it and others.
fn has_room_for(offences: &Offences, offender: Address) -> bool {
    if mutation::active(Mutation::DposSharesEvidence) {
        return offences.len() < 256;
    }
    offences.keys().filter(|(_, known)| *known == offender).count() < OFFENCES_OF_ONE_MAX
}

/// One replica of delegated proof of stake.
#[derive(Clone, Debug)]
pub struct Dpos {
    config: DposConfig,
    authenticator: Authenticator,
    signer: Option<Signer>,
    tree: Tree,
    /// Blocks that are not adopted yet.
    intake: Intake<Verified>,
    catch_up: CatchUp,
    production: Production,
    safety_state: SafetyState,
    /// Newest time known to be past, from a block that was built too late for its slot: slots that had begun by then are over.
    elapsed: Timestamp,
    /// Evidence that no irreversible block reports.
    offences: Offences,
    /// Ticket of the head's record, which has to be durable before the head is shown; `None` after a restart.
    head_ticket: Option<Ticket>,
    /// The head when [`QUIET_TIMER`] fired last.
    quiet_head: BlockId,
    /// Irreversible blocks to report once the record with this ticket is durable, because the chain then drops other branches.
    unreported_finality: Vector<(Ticket, BlockId)>,
    next_ticket: Ticket,
}

impl Dpos {
    /// Returns a replica at genesis, whose heaviest validators are the first producers. Without a `signer` it follows.
    ///
    /// # Errors
    /// [`DposError`] for invalid parameters.
    pub fn new(
        config: DposConfig,
        genesis: (BlockId, Timestamp),
        validators: &ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let block = genesis.0;
        let tree = Tree::new(&config, genesis_node(&config, genesis, validators), block);
        Self::at(config, tree, SafetyState::default(), authenticator, signer)
    }

    /// Iterates over the slots and authors of the infractions that this replica can prove, and no irreversible block reports yet.
    pub(crate) fn proven_infractions(&self) -> impl Iterator<Item = (u64, Address)> {
        self.offences.keys().copied()
    }

    /// Returns a replica at a stored head, from the record under [`HEAD_KEY`] that was written with it. Other branches than the
    /// head's are lost, so this is for networks whose replicas all restart at once.
    ///
    /// # Errors
    /// [`DposError::Record`] when the record does not decode, otherwise as [`Dpos::new`].
    pub fn restore(
        config: DposConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let (tree, safety_state) =
            record::decode_head(&config, head_record).ok_or(DposError::Record { key: "head" })?;
        Self::at(config, tree, safety_state, authenticator, signer)
    }

    /// Returns a replica after a crash, from all of its records. It verifies the blocks above the last irreversible one again.
    ///
    /// # Errors
    /// As [`Dpos::restore`].
    pub fn recover(
        config: DposConfig,
        genesis: (BlockId, Timestamp),
        validators: &ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let root = genesis_node(&config, genesis, validators);
        let (mut tree, offences) = record::rebuild(&config, &authenticator, root, records)?;
        let mut safety_state = match records.get(SAFETY_STATE_KEY) {
            Some(_) if mutation::active(Mutation::DposPromiseForgotten) => SafetyState::default(),
            Some(bytes) => SafetyState::decode(bytes).ok_or(DposError::Record { key: "promise" })?,
            None => SafetyState::default(),
        };
        if let Some(record) = records.get(HEAD_KEY) {
            let (of_head, stored) = record::decode_head(&config, record).ok_or(DposError::Record { key: "head" })?;
            // A chain that was loaded from a dump has no records of the blocks below its head.
            if of_head.head().context.block.height > tree.head().context.block.height {
                tree = of_head;
                if !records.contains_key(SAFETY_STATE_KEY) {
                    safety_state = stored;
                }
            }
        }
        let is_forgotten = mutation::active(Mutation::DposForgetsEvidence);
        let offences = if is_forgotten { Offences::new() } else { offences };
        Ok(Self { offences, ..Self::at(config, tree, safety_state, authenticator, signer)? })
    }

    fn at(
        config: DposConfig,
        tree: Tree,
        safety_state: SafetyState,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        config.check()?;
        Ok(Self {
            config,
            authenticator,
            signer,
            tree,
            intake: Intake::new(blocks::INTAKE),
            catch_up: CatchUp::default(),
            production: Production::Idle,
            safety_state,
            elapsed: Timestamp::default(),
            offences: Offences::new(),
            head_ticket: None,
            quiet_head: BlockId::default(),
            unreported_finality: Vector::new(),
            next_ticket: Ticket::default(),
        })
    }

    /// Returns the parameters.
    pub const fn config(&self) -> &DposConfig {
        &self.config
    }

    /// Returns the header context of the head, with schedules and confirmations after it.
    pub fn head_context(&self) -> &HeaderContext {
        &self.tree.head().context
    }

    /// Returns the header context of a block of any branch from the last irreversible one up.
    pub fn context_of(&self, block: &BlockId) -> Option<&HeaderContext> {
        self.tree.get(block).map(|node| &node.context)
    }

    /// Returns the round of the slot after the head's, in the schedule in force there.
    pub fn round(&self) -> u64 {
        let context = self.head_context();
        context.state.active().round(context.slot.saturating_add(1), &self.config)
    }

    /// Returns the blocks and confirmations that this replica as a producer must not contradict.
    pub const fn safety_state(&self) -> &SafetyState {
        &self.safety_state
    }

    /// Reports the newest irreversible block whose record is durable now.
    fn on_persisted(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        let mut newest = None;
        while let Some((_, block)) = self.unreported_finality.front().filter(|(awaited, _)| *awaited <= ticket) {
            newest = Some(*block);
            self.unreported_finality.pop_front();
        }
        if let Some(finalized) = newest {
            let finality = Finality::both(finalized, FinalityKind::Irreversible);
            effects.push(Effect::Chain(ChainEvent::Final { finality, proof: None }));
        }
    }
}

fn genesis_node(config: &DposConfig, (block, timestamp): (BlockId, Timestamp), validators: &ValidatorSet) -> Node {
    let context = HeaderContext::genesis(config, block, timestamp, validators);
    Node { context, parent: BlockId::default(), author: Address::ZERO, sealed: None }
}

impl Protocol for Dpos {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Start => {
                self.arm_quiet_timer(effects);
                self.plan(effects);
            }
            Event::Message { from, message: ConsensusMessage::Block(block) } => {
                self.on_announced(from, block, effects);
            }
            Event::Message { .. } => {
                effects.push(Effect::Reject(Rejection::Unexpected { what: "message of another protocol" }));
            }
            Event::BlockSynced { from, block } => self.on_synced(from, block, effects),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, block, effects),
            Event::Timer(SLOT_TIMER) => self.on_slot(effects),
            Event::Timer(QUIET_TIMER) => self.on_quiet(effects),
            Event::Timer(_) | Event::Random { .. } => effects.push(Effect::Mark("dpos/stale-answer")),
            Event::Persisted(ticket) => self.on_persisted(ticket, effects),
            Event::Admin(Admin::Offence(proof)) => {
                if let Err(rejection) = self.on_offence(*proof, effects) {
                    effects.push(Effect::Reject(rejection));
                }
            }
            Event::Admin(_) => {
                let reason =
                    "producers are elected by stake: vote with transactions to the staking contract".to_owned();
                effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator is the same in every replica of a chain; a signer is known by its address.
        let Self {
            // The age of evidence is the same in every replica of a chain.
            config: DposConfig { period, producers, blocks_per_turn, shuffle, finality, evidence: _, clock: _ },
            authenticator: _,
            signer,
            tree,
            intake,
            catch_up,
            production,
            safety_state,
            elapsed,
            offences,
            head_ticket,
            quiet_head,
            unreported_finality,
            next_ticket,
        } = self;
        // The intake's own catch-up is not used.
        let (pending, orphans, _) = intake.encoded_parts();
        out.u64(*period);
        out.u32(*producers);
        out.u32(*blocks_per_turn);
        out.bool(*shuffle == Shuffle::Round);
        out.bool(*finality == FinalityRule::Classic);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        tree.encode(out);
        out.list(pending.iter(), |out, (id, pending)| {
            // Author and node follow from the block.
            let PendingBlock { block, author: _, own, verified: Verified { node: _, from } } = pending;
            id.encode(out);
            out.bytes(block.seal());
            out.option(*from, |out, from| out.u32(from.get()));
            out.option(*own, |out, ticket| out.u64(ticket.get()));
        });
        orphans.encode(out);
        catch_up.encode(out);
        production.encode(out);
        safety_state.encode(out);
        out.timestamp(*elapsed);
        out.list(offences.iter(), |out, ((slot, offender), proof)| {
            out.u64(*slot);
            out.address(offender);
            let (first, second) = proof.hashes();
            out.hash(&first);
            out.hash(&second);
        });
        out.option(*head_ticket, |out, ticket| out.u64(ticket.get()));
        quiet_head.encode(out);
        out.list(unreported_finality.iter(), |out, (ticket, block)| {
            out.u64(ticket.get());
            block.encode(out);
        });
        out.u64(next_ticket.get());
        safety_state.began.iter().for_each(|began| out.timestamp(*began));
    }

    fn head(&self) -> BlockId {
        self.tree.head().context.block
    }

    fn finality(&self) -> Finality {
        Finality::both(self.tree.finalized(), FinalityKind::Irreversible)
    }

    fn validators(&self) -> ValidatorSet {
        self.head_context().state.active().producers().clone()
    }
}

impl_by_encoding!(Dpos);

#[cfg(test)]
mod tests;
