//! Proof of stake: Gasper (Buterin and others, "Combining GHOST and Casper", 2020) for a small validator set.
//!
//! Time is divided into slots, and slots into epochs. In each slot one validator, drawn by its stake from the chain's own
//! randomness, proposes a block; every validator votes (attests) once an epoch, for its head and for the epoch's checkpoint.
//! Fork choice follows the subtree with most weight of latest votes (LMD-GHOST, [`ForkChoice`]). A checkpoint with votes of two
//! thirds of the stake is justified; it is final once the next checkpoint is justified with it as source ([`Casper`]). `safe` is
//! the justified and `finalized` the final checkpoint. When absent validators prevent finality, the inactivity leak reduces their
//! stake until the others have two thirds. Conflicting votes are slashable offences ([`SlashingEvidence`]).
//!
//! The rules follow Ethereum's consensus specifications (phase 0 to Deneb), except for these differences:
//!
//! - Votes are single signatures without aggregation.
//! - A validator that missed its attestation slot may vote later in the epoch, still once.
//! - Duties are drawn by a Fisher-Yates shuffle, and seeds look one epoch ahead.
//! - Changes of stake take effect with finality (see [`State`]), and offenders lose their vote two epochs after the evidence.
//! - With a period of 0 each block takes the next slot without delay, and validators vote as soon as they receive it.

mod blocks;
mod calls;
mod casper;
mod config;
mod duties;
mod epoch;
mod family;
mod fork_choice;
mod light;
mod message;
mod participation;
mod payload;
mod proof;
mod proposal;
mod record;
mod reveal;
mod rewards;
mod rules;
mod set_change;
mod shuffling;
mod slashing_evidence;
mod slot_length;
mod slot_times;
mod state;
mod sync;
mod tree;
mod vote;
mod votes;

use std::{collections::BTreeMap, sync::Arc};

use imbl::{OrdMap, OrdSet};

use self::{
    blocks::Verified,
    record::{HeadRecord, SlashingProtection},
    reveal::OwnReveals,
    slot_times::SlotTimes,
    tree::{Node, Tree},
    votes::UnknownBlockVote,
};
use super::{
    Admin, Authenticator, BlockId, ChainEvent, ConsensusMessage, Effect, Encoder, Event, Finality, FinalityKind,
    HeaderChainRules, Protocol, Record, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, ValidatorSet,
    branch_tree::HeadMove,
    common::records::records_under,
    impl_by_encoding,
    intake::{BlockIntake, Intake, PendingBlock},
    mutation::{self, Mutation},
    orphans::Orphans,
};
use crate::{
    chain::Block,
    primitives::{Address, B256, Timestamp},
};

#[cfg(feature = "internals")]
pub use casper::Tally;
pub use casper::{Casper, Checkpoint, Turnout};
pub use config::{PosConfig, PosError, Trusted};
#[cfg(feature = "internals")]
pub use fork_choice::ForkBlock;
pub use fork_choice::{ForkChoice, LatestMessage, View};
pub use light::LightVerifier;
pub use message::{MessageError, PosMessage};
pub use payload::{EpochAccounting, OFFENCES_MAX, Payload, PayloadError, VOTES_MAX};
pub use proof::FinalityProof;
pub use proposal::Proposal;
#[cfg(feature = "internals")]
pub use proposal::proposal_hash;
pub use record::{HEAD_KEY, NODE_PREFIX, SLASHING_PROTECTION_KEY};
pub use reveal::{Reveal, RevealChain, RevealError};
#[cfg(feature = "internals")]
pub use rules::OffenderError;
#[cfg(feature = "internals")]
pub use rules::VoteError;
pub use rules::{HeaderContext, HeaderError, StakeSource, check_header};
pub use set_change::Electorate;
#[cfg(feature = "internals")]
pub use set_change::SetChange;
#[cfg(feature = "internals")]
pub use shuffling::{SeedStream, attestation_slots, permutation, proposer};
pub use slashing_evidence::{SlashingCondition, SlashingEvidence, SlashingEvidenceError, offenders};
pub use state::{Epoch, State};
pub use vote::{Vote, VoteData};

/// Fires when the next slot begins.
pub const SLOT_TIMER: TimerId = TimerId::new(1);
/// Fires when it is time to propose.
pub const PROPOSE_TIMER: TimerId = TimerId::new(2);
/// Fires when it is time to attest, a third into the slot.
pub const ATTEST_TIMER: TimerId = TimerId::new(3);

/// One replica of proof of stake.
#[derive(Clone, Debug)]
pub struct Pos {
    config: PosConfig,
    authenticator: Authenticator,
    signer: Option<Signer>,
    /// Current slot, as the head's branch counts; with a period of 0, the slot of the newest block received.
    slot: u64,
    /// Beginnings of the slots of the head's branch.
    times: SlotTimes,
    /// Whether the attestation deadline of the slot is over, so that a block is no longer timely.
    is_late: bool,
    tree: Tree,
    /// Blocks that are not adopted yet.
    intake: Intake<Verified>,
    /// Blocks of the next slot, from replicas whose clock is ahead.
    future_blocks: Orphans,
    /// First vote of each validator for each epoch of the history kept, by validator and target epoch.
    votes: OrdMap<(Address, u64), Arc<Vote>>,
    /// Votes of the current slot, which count in fork choice from the time of the next, by validator.
    queued_votes: OrdMap<Address, (Timestamp, Arc<Vote>)>,
    /// Votes for blocks that are not in the tree, by validator and slot.
    unknown_block_votes: OrdMap<(Address, u64), UnknownBlockVote>,
    /// First proposal of each proposer in each slot.
    proposals: OrdMap<(u64, Address), Arc<Proposal>>,
    /// Number of blocks of each proposer in each slot that were taken.
    taken: OrdMap<(u64, Address), u32>,
    /// Evidence of one offence of each offender.
    offences: OrdMap<Address, Arc<SlashingEvidence>>,
    slashing_protection: SlashingProtection,
    /// Ticket of the newest slashing protection record, which has to be durable before votes are rebroadcast.
    protection_ticket: Option<Ticket>,
    production: Production,
    /// Newest epoch in which a block was taken in its slot, or up to which nobody went on without this replica: until then it was online.
    active_epoch: u64,
    /// Hash chains of this replica's own reveals.
    own_reveals: OwnReveals,
    peers: OrdSet<ReplicaId>,
    /// Number of requests made, which selects the next peer.
    requests: u64,
    next_ticket: Ticket,
}

/// The state of this replica's own block production.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Production {
    /// No block is requested.
    Idle,
    /// A block was requested.
    Building { ticket: Ticket, slot: u64, parent: BlockId },
}

impl Pos {
    /// Returns a replica at genesis. Without a `signer` it follows and never votes.
    ///
    /// # Errors
    /// [`PosError`] for invalid parameters.
    pub fn new(
        config: PosConfig,
        genesis: &Block,
        validators: &ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        config.check()?;
        let root = genesis_node(&config, genesis, validators);
        Ok(Self::at(config, Tree::new(root), authenticator, signer))
    }

    /// Returns a replica at a stored head, from the record under [`HEAD_KEY`] that was written with it.
    ///
    /// # Errors
    /// [`PosError::Record`] when the record does not decode, otherwise as [`Pos::new`].
    pub fn restore(
        config: PosConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        config.check()?;
        let stored = HeadRecord::decode(&config, head_record).ok_or(PosError::Record { key: "head" })?;
        let tree = stored.tree(&config, &BTreeMap::new());
        Ok(Self::at(config, tree, authenticator, signer).with_head_record(stored))
    }

    /// Returns a replica after a crash, from all of its durable records.
    ///
    /// # Errors
    /// As [`Pos::restore`].
    pub fn recover(
        config: PosConfig,
        genesis: &Block,
        validators: &ValidatorSet,
        records: &Records,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, PosError> {
        let slashing_protection = match records.get(SLASHING_PROTECTION_KEY) {
            Some(record) => SlashingProtection::decode(record).ok_or(PosError::Record { key: "promises" })?,
            None => SlashingProtection::default(),
        };
        config.check()?;
        let mut replica = match records.get(HEAD_KEY) {
            None => Self::new(config, genesis, validators, authenticator, signer)?,
            Some(record) => {
                let stored = HeadRecord::decode(&config, record).ok_or(PosError::Record { key: "head" })?;
                let of_nodes = records_under(records, NODE_PREFIX);
                let nodes = of_nodes.map(|(_, record)| record::decode_node(&config, record));
                let nodes = nodes.chain([Some(genesis_node(&config, genesis, validators))]);
                let nodes: Option<BTreeMap<_, _>> =
                    nodes.map(|node| node.map(|it| (it.context.block.hash, it))).collect();
                let nodes = nodes.ok_or(PosError::Record { key: "node" })?;
                Self::at(config, stored.tree(&config, &nodes), authenticator, signer).with_head_record(stored)
            }
        };
        replica.slashing_protection = slashing_protection;
        if mutation::active(Mutation::PosForgetsVote) {
            replica.slashing_protection.vote = None;
        }
        Ok(replica)
    }

    fn at(config: PosConfig, tree: Tree, authenticator: Authenticator, signer: Option<Signer>) -> Self {
        let slot = tree.head_node().map(|node| node.context.state.slot).unwrap_or_default();
        let active_epoch = config.epoch_of(slot);
        let times = tree.head_node().map(|node| node.context.state.times.clone());
        let times = times.unwrap_or_else(|| SlotTimes::from_genesis(Timestamp::default(), config.period));
        Self {
            config,
            authenticator,
            signer,
            slot,
            times,
            is_late: false,
            tree,
            intake: Intake::new(blocks::INTAKE),
            future_blocks: Orphans::default(),
            votes: OrdMap::new(),
            queued_votes: OrdMap::new(),
            unknown_block_votes: OrdMap::new(),
            proposals: OrdMap::new(),
            taken: OrdMap::new(),
            offences: OrdMap::new(),
            slashing_protection: SlashingProtection::default(),
            protection_ticket: None,
            production: Production::Idle,
            active_epoch,
            own_reveals: OwnReveals::default(),
            peers: OrdSet::new(),
            requests: 0,
            next_ticket: Ticket::default(),
        }
    }

    fn with_head_record(mut self, stored: HeadRecord) -> Self {
        self.slot = stored.slot;
        self.times = stored.head.context.state.times_at(&self.config, self.slot);
        self.next_ticket = Ticket::new(stored.next_ticket);
        self.offences = stored.offences.into_iter().map(|(offender, offence)| (offender, Arc::new(offence))).collect();
        self
    }

    /// Returns the current slot.
    pub const fn slot(&self) -> u64 {
        self.slot
    }

    /// Returns the current epoch.
    pub const fn epoch(&self) -> u64 {
        self.config.epoch_of(self.slot)
    }

    /// Returns the newest justified checkpoint.
    pub const fn justified(&self) -> Checkpoint {
        self.tree.justified
    }

    /// Returns the newest final checkpoint.
    pub const fn finalized(&self) -> Checkpoint {
        self.tree.finalized
    }

    /// Returns the header context of the head, for header rules that have not verified it.
    pub fn head_context(&self) -> Option<&HeaderContext> {
        self.tree.head_node().map(|node| &node.context)
    }

    /// Returns the state of the branch after the head.
    pub fn head_state(&self) -> Option<&State> {
        self.head_context().map(|context| context.state.as_ref())
    }

    /// Returns the state after a block that is known and not below the final checkpoint.
    pub fn state_of(&self, block: &B256) -> Option<&State> {
        self.tree.get(block).map(|node| node.context.state.as_ref())
    }

    /// Returns evidence of one offence of each known offender.
    pub fn offences(&self) -> impl Iterator<Item = (&Address, &SlashingEvidence)> {
        self.offences.iter().map(|(offender, offence)| (offender, offence.as_ref()))
    }

    /// Returns the first vote of each validator for each epoch of the history kept.
    pub fn votes(&self) -> impl Iterator<Item = (&Address, &Vote)> {
        self.votes.iter().map(|((validator, _), vote)| (validator, vote.as_ref()))
    }

    /// Returns the branches and votes of fork choice.
    pub const fn fork_choice(&self) -> &ForkChoice {
        &self.tree.forks
    }

    /// Whether the head's branch has justified the newest justified checkpoint, or a recent one (`filter_block_tree`).
    pub fn is_head_viable(&self) -> bool {
        let (justified, epoch) = (self.tree.justified, self.epoch());
        let Some(node) = self.tree.head_node().filter(|node| node.context.block != justified.block) else {
            return true;
        };
        let is_over = epoch > node.context.state.epoch();
        let source = if is_over { node.unrealized.justified } else { node.context.state.casper.justified };
        justified.epoch == 0 || source.epoch == justified.epoch || source.epoch + 2 >= epoch
    }

    /// Returns the number of slots that stay empty before this replica's block on demand; of several replicas the one with the
    /// fewest builds.
    pub fn slots_skipped(&self) -> u64 {
        let head = self.head_state().map(|state| state.slot).unwrap_or_default();
        match self.production {
            Production::Building { slot, .. } => slot.saturating_sub(head + 1),
            Production::Idle => u64::MAX,
        }
    }

    /// Whether slots follow the clock; otherwise blocks are made on demand.
    pub(super) const fn has_timers(&self) -> bool {
        self.config.period > 0
    }

    /// Updates the head by fork choice and reports the changes.
    fn update_head(&mut self, effects: &mut Vec<Effect>) {
        let moved = self.tree.choose(&self.config, self.slot);
        let before = (self.tree.root(), self.tree.justified, self.tree.finalized);
        self.publish_changes(before, moved, Vec::new(), effects);
    }

    /// Persists and reports the changes since `before`: the head, the justified and the final checkpoint.
    fn publish_changes(
        &mut self,
        (root, justified, finalized): (BlockId, Checkpoint, Checkpoint),
        moved: Option<HeadMove>,
        mut records: Vec<Record>,
        effects: &mut Vec<Effect>,
    ) {
        let moved = moved.and_then(|moved| self.follow_head(moved, effects));
        let removed = self.tree.prune();
        records.extend(removed.iter().map(record::no_node));
        if self.tree.root() != root {
            self.remove_below_root();
        }
        let has_new_checkpoint = self.tree.justified != justified || self.tree.finalized != finalized;
        if moved.is_some() || has_new_checkpoint {
            let ticket = self.next_ticket.take_next();
            let offences = self.offences.iter().map(|(offender, offence)| (offender, offence.as_ref()));
            records.extend(record::head(&self.tree, self.slot, self.next_ticket.get(), offences));
            effects.push(Effect::Persist { ticket, records });
        } else if !records.is_empty() {
            let ticket = self.next_ticket.take_next();
            effects.push(Effect::Persist { ticket, records });
        }
        if let Some(head_move) = moved {
            head_move.report("pos/reorg", effects);
        }
        if self.tree.justified != justified {
            effects.push(Effect::Chain(ChainEvent::Justified(self.tree.justified.block)));
            effects.push(Effect::Mark("pos/justified"));
        }
        if self.tree.finalized != finalized {
            effects.push(Effect::Mark("pos/finalized"));
        }
        if has_new_checkpoint {
            let proof = (self.tree.finalized != finalized).then(|| self.finality_proof()).flatten();
            effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof }));
        }
    }

    /// Removes orphans, proposals and votes below the final checkpoint.
    fn remove_below_root(&mut self) {
        let root = self.tree.root().height;
        let slot = self.tree.get(&self.tree.root().hash).map(|node| node.context.state.slot).unwrap_or_default();
        self.intake.orphans.keep_above(root);
        let history = votes::HISTORY_EPOCHS * self.config.slots_per_epoch;
        remove_old(&mut self.proposals, |(at, _), _| *at + history < slot);
        remove_old(&mut self.taken, |(at, _), _| *at + history < slot);
        self.remove_old_votes();
    }

    /// Returns the votes with the final checkpoint as their source, if any are kept.
    fn finality_proof(&self) -> Option<crate::primitives::Bytes> {
        let finalized = self.tree.finalized;
        let from_it = self
            .votes
            .values()
            .filter(|vote| vote.data.source == finalized && vote.data.target.epoch > finalized.epoch);
        let mut votes: Vec<Vote> = from_it.map(|vote| vote.as_ref().clone()).collect();
        votes.sort_by_key(|vote| vote.data.target);
        // The target with most votes; of equal ones the later.
        let best = votes.chunk_by(|one, other| one.data.target == other.data.target).max_by_key(|group| group.len())?;
        let target = best[0].data.target;
        Some(FinalityProof { finalized, target, votes: best.to_vec() }.encoded())
    }
}

/// Removes the entries that are old, which are few of all.
fn remove_old<K: Ord + Clone, V: Clone>(map: &mut OrdMap<K, V>, is_old: impl Fn(&K, &V) -> bool) {
    let old: Vec<K> = map.iter().filter(|(key, value)| is_old(key, value)).map(|(key, _)| key.clone()).collect();
    for key in &old {
        map.remove(key);
    }
}

fn genesis_node(config: &PosConfig, genesis: &Block, validators: &ValidatorSet) -> Node {
    Node::new(Pos::genesis_context(config, validators, genesis.hash(), genesis.header()), genesis.parent_hash())
}

impl Protocol for Pos {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let outcome = match event {
            Event::Start => {
                self.start(effects);
                Ok(())
            }
            Event::Message { from, message: ConsensusMessage::Block(block) } | Event::BlockSynced { from, block } => {
                match mutation::active(Mutation::PosTakesAnyBody) {
                    true => self.admit(Some(from), block, None, effects),
                    false => self.take_block(Some(from), block, effects),
                }
            }
            Event::Message { from, message: ConsensusMessage::Pos(message) } => match message.as_ref() {
                PosMessage::Vote(vote) => self.on_vote(from, vote, effects),
                PosMessage::Offence(offence) => self.on_offence(offence, effects),
            },
            Event::Message { message, .. } => Err(Rejection::Unexpected { what: message.constant_label() }),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => {
                self.on_built(ticket, block, effects);
                Ok(())
            }
            Event::Timer(timer) => {
                self.on_timer(timer, effects);
                Ok(())
            }
            Event::Persisted(_) => Ok(()),
            Event::Random { .. } => Err(Rejection::Unexpected { what: "random draw" }),
            Event::Admin(Admin::Resumed { now, stood_still_secs }) => {
                self.resume(now, stood_still_secs, effects);
                Ok(())
            }
            Event::Admin(_) => {
                let reason = "proof of stake has no admin commands: stake changes by transactions".to_owned();
                Err(Rejection::Admin { reason })
            }
        };
        if let Err(rejection) = outcome {
            effects.push(Effect::Reject(rejection));
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator is the same in every replica of a chain; a signer is known by its address, and its reveals follow.
        let Self {
            config,
            authenticator: _,
            signer,
            slot,
            times,
            is_late,
            tree,
            intake,
            future_blocks,
            votes,
            queued_votes,
            unknown_block_votes,
            proposals,
            taken,
            offences,
            slashing_protection: SlashingProtection { vote, proposed },
            protection_ticket,
            production,
            active_epoch,
            own_reveals: _,
            peers,
            requests,
            next_ticket,
        } = self;
        let (pending, orphans, catch_up) = intake.encoded_parts();
        config.encode(out);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        out.u64(*slot);
        out.bool(*is_late);
        tree.encode(out);
        out.list(pending.iter(), |out, (id, pending)| {
            // Author and node follow from the block.
            let PendingBlock { block, author: _, own, verified: Verified { node: _, is_timely } } = pending;
            id.encode(out);
            out.bytes(block.seal());
            out.option(*own, |out, ticket| out.u64(ticket.get()));
            out.bool(*is_timely);
        });
        orphans.encode(out);
        future_blocks.encode(out);
        out.option(catch_up, |out, catch_up| {
            catch_up.encode(out);
            out.u64(catch_up.progress_slot);
        });
        out.list(votes.values(), |out, vote| vote.encode(out));
        out.list(queued_votes.values(), |out, (_, vote)| vote.encode(out));
        out.list(unknown_block_votes.values(), |out, UnknownBlockVote { from, vote }| {
            out.u32(from.map_or(u32::MAX, ReplicaId::get));
            vote.encode(out);
        });
        out.list(proposals.values(), |out, proposal| proposal.encode(out));
        out.list(taken.iter(), |out, ((slot, author), count)| {
            out.u64(*slot);
            out.address(author);
            out.u32(*count);
        });
        out.list(offences.values(), |out, offence| offence.encode(out));
        out.option(vote.as_ref(), |out, vote| vote.encode(out));
        out.option(*proposed, Encoder::u64);
        out.option(protection_ticket.as_ref(), |out, ticket| out.u64(ticket.get()));
        let (kind, ticket, slot, parent) = match *production {
            Production::Idle => (0, Ticket::default(), 0, BlockId::default()),
            Production::Building { ticket, slot, parent } => (1, ticket, slot, parent),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.u64(slot);
        parent.encode(out);
        out.u64(*active_epoch);
        out.list(peers.iter(), |out, peer| out.u32(peer.get()));
        out.u64(*requests);
        out.u64(next_ticket.get());
        if !times.is_of_genesis() {
            times.encode(out);
            queued_votes.values().for_each(|(ends, _)| out.timestamp(*ends));
        }
    }

    fn head(&self) -> BlockId {
        self.tree.head()
    }

    fn finality(&self) -> Finality {
        let (safe, finalized) = (self.tree.justified.block, self.tree.finalized.block);
        Finality { safe, finalized, irreversible: finalized.height, kind: FinalityKind::Checkpoint }
    }

    fn validators(&self) -> ValidatorSet {
        self.head_state().map_or_else(|| self.tree.weights.clone(), |state| state.current.set().clone())
    }
}

impl_by_encoding!(Pos);

#[cfg(test)]
mod tests;
