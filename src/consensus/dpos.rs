//! Delegated proof of stake: elected producers with a last irreversible block, after EOSIO's DPOS 3.
//!
//! Holders of the native token delegate stake to candidates; the heaviest [`DposConfig::producers`] are the producers, and
//! take turns in slots of fixed length. Blocks say how far back their producer confirms; when two thirds confirmed a block and
//! two thirds built upon that, it is irreversible ([`Irreversibility`]). Between the last irreversible block and the head the
//! chain may fork; [`Standing`] says which branch wins.
//!
//! What is safe under which faults:
//!
//! - No producer confirms a height twice, whatever branch it is on: the newest height confirmed is a *watermark* that is durable
//!   before the block leaves ([`Promise`]). Nor does it confirm a branch without the proposed block that it implied last
//!   ([`Lock`]), or take a slot twice. EOSIO keeps its watermark in memory and has no lock.
//! - A producer whose watermark or lock stands against its branch still produces, so the chain goes on; the block confirms
//!   nothing. (EOSIO's producer stays silent, and when all are in that position, so does the chain.)
//! - Two blocks of one producer in one slot are evidence, carried by later blocks to the staking contract.
//!
//! A round's first block counts the votes: when others are elected than produce, it proposes their schedule. It is pending until
//! that block is irreversible, and no other is proposed meanwhile.

mod config;
mod evidence;
mod family;
mod fork_choice;
mod irreversibility;
mod light;
mod payload;
mod production;
mod record;
mod rules;
mod schedule;
mod state;
mod sync;
mod tree;

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use self::{
    production::Duty,
    sync::CatchUp,
    tree::{Moved, Node, SIDE_BLOCKS_MAX, Tree},
};
use super::{
    Authenticator, BlockId, ChainEvent, Effect, Encoder, Event, Evidence, Finality, FinalityKind, Message, Protocol,
    Recipients, Records, Rejection, ReplicaId, SealedHeader, Signer, Ticket, TimerId, UnverifiedHeader, ValidatorSet,
    Verdict, impl_by_encoding,
    mutation::{self, Mutation},
    orphans::Orphans,
};
use crate::{
    chain::Block,
    primitives::{Address, Timestamp},
    system::ValidatorUpdates,
};

pub use config::{BLOCKS_PER_TURN_MAX, DposConfig, DposError, PRODUCERS_MAX, Shuffle};
pub use evidence::{DoubleProduction, EVIDENCE_PER_BLOCK_MAX, EVIDENCE_SLOTS_MAX, EvidenceError, Offence};
pub use fork_choice::Standing;
pub use irreversibility::{ConfirmError, Confirmer, Irreversibility, TRACKED_MAX, quorum};
pub use light::LightVerifier;
pub use payload::{PAYLOAD_BYTES_MAX, Payload, PayloadError};
pub use record::{BLOCK_PREFIX, HEAD_KEY, Lock, PROMISE_KEY, Promise, ROOT_KEY};
pub use rules::{DposRules, HeaderError, check_header};
pub use schedule::{Schedule, elect};
pub use state::{Candidates, Draft, Election, Link, Pending, Says, State};

/// Fires when the replica's next slot begins.
pub const SLOT_TIMER: TimerId = TimerId::new(1);
/// Blocks being executed at once.
const PENDING_MAX: usize = 1_024;
/// Of them, blocks of one author.
const PENDING_PER_AUTHOR_MAX: usize = 256;
/// How many slots above the head, or the replica's own clock, a block may be: twelve days of seconds.
pub const SLOTS_AHEAD_MAX: u64 = 1 << 20;
/// Offences that wait to be told.
const OFFENCES_MAX: usize = 256;

/// One replica of delegated proof of stake.
#[derive(Clone, Debug)]
pub struct Dpos {
    config: DposConfig,
    authenticator: Authenticator,
    signer: Option<Signer>,
    tree: Tree,
    /// Blocks that obey the header rules and are being executed.
    pending: OrdMap<BlockId, Judging>,
    /// Blocks whose parent is not judged yet.
    orphans: Orphans,
    catch_up: Option<CatchUp>,
    duty: Duty,
    promise: Promise,
    /// Slots up to this one have passed, as a late build showed.
    passed: u64,
    /// Double productions to tell, by slot and offender.
    offences: OrdMap<(u64, Address), Arc<DoubleProduction>>,
    /// The head, to tell it to whoever goes on elsewhere, and its record, which has to be durable before; not kept over a restart.
    head_block: Option<(Ticket, Arc<Block>)>,
    /// Irreversible blocks that the chain is told of once their record is durable: it forgets other branches then.
    untold_final: Vector<(Ticket, BlockId)>,
    next_ticket: Ticket,
}

/// A block between header rules and verdict.
#[derive(Clone, Debug)]
struct Judging {
    block: Arc<Block>,
    node: Node,
    /// Who sent it; `None` for an own block.
    from: Option<ReplicaId>,
    /// Of the record that has to be durable before the block is announced; `None` for blocks of others.
    own: Option<Ticket>,
}

impl Dpos {
    /// A replica at genesis, whose heaviest validators are the first producers. Without a `signer` it follows.
    ///
    /// # Errors
    /// [`DposError`] for parameters that are refused.
    pub fn new(
        config: DposConfig,
        genesis: (BlockId, Timestamp),
        validators: &ValidatorSet,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let block = genesis.0;
        let tree = Tree::new(genesis_node(&config, genesis, validators), block);
        Self::at(config, tree, Promise::default(), authenticator, signer)
    }

    /// A replica that goes on at a stored head, from the record under [`HEAD_KEY`] that was written with it: branches beside the
    /// head are forgotten, so this is for networks that restart as a whole.
    ///
    /// # Errors
    /// [`DposError::Record`] when the record does not decode, otherwise as [`Dpos::new`].
    pub fn restore(
        config: DposConfig,
        head_record: &[u8],
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        let (tree, promise) = record::decode_head(head_record).ok_or(DposError::Record { key: "head" })?;
        Self::at(config, tree, promise, authenticator, signer)
    }

    /// A replica after a crash, from all of its records: what is above the last irreversible block is judged again.
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
        let mut tree = record::rebuild(&config, &authenticator, root, records)?;
        let mut promise = match records.get(PROMISE_KEY) {
            Some(_) if mutation::active(Mutation::DposPromiseForgotten) => Promise::default(),
            Some(bytes) => Promise::decode(bytes).ok_or(DposError::Record { key: "promise" })?,
            None => Promise::default(),
        };
        if let Some(record) = records.get(HEAD_KEY) {
            let (of_head, promised) = record::decode_head(record).ok_or(DposError::Record { key: "head" })?;
            // A chain that was taken over from a dump has no record of the blocks below its head.
            if of_head.head().link.block.height > tree.head().link.block.height {
                tree = of_head;
                if !records.contains_key(PROMISE_KEY) {
                    promise = promised;
                }
            }
        }
        Self::at(config, tree, promise, authenticator, signer)
    }

    fn at(
        config: DposConfig,
        tree: Tree,
        promise: Promise,
        authenticator: Authenticator,
        signer: Option<Signer>,
    ) -> Result<Self, DposError> {
        config.check()?;
        Ok(Self {
            config,
            authenticator,
            signer,
            tree,
            pending: OrdMap::new(),
            orphans: Orphans::default(),
            catch_up: None,
            duty: Duty::Idle,
            promise,
            passed: 0,
            offences: OrdMap::new(),
            head_block: None,
            untold_final: Vector::new(),
            next_ticket: Ticket::default(),
        })
    }

    /// The parameters.
    pub const fn config(&self) -> &DposConfig {
        &self.config
    }

    /// What header rules need of the head, with schedules and confirmations after it.
    pub fn head_link(&self) -> &Link {
        &self.tree.head().link
    }

    /// The same of another block from the last irreversible one up, on whatever branch.
    pub fn link_of(&self, block: &BlockId) -> Option<&Link> {
        self.tree.get(block).map(|node| &node.link)
    }

    /// The round of the slot after the head's, in the schedule that is in force there.
    pub fn round(&self) -> u64 {
        let link = self.head_link();
        link.state.active().round(link.slot.saturating_add(1), &self.config)
    }

    /// What this replica may not contradict as a producer.
    pub const fn promise(&self) -> &Promise {
        &self.promise
    }

    /// Judges a block's header and asks for its execution; without its parent it waits.
    fn consider(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.tree.get(&id).is_some() || self.pending.contains_key(&id) || self.orphans.contains(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        let oldest = self.tree.root().height;
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        let author = self.authenticator.author(id.hash, block.seal())?;
        let parent = BlockId::parent_of(&block);
        let Some(before) = self.tree.get(&parent).cloned() else {
            return self.keep_waiting(from, block, author, effects);
        };
        if own.is_none() {
            self.check_room(&id, parent, author)?;
        }
        let candidate = UnverifiedHeader::from(block.as_ref());
        let link = check_header(&self.config, &self.authenticator, &before.link, &candidate, author, true)
            .map_err(|error| Rejection::Header { block: id, reason: error.to_string() })?;
        if link.slot > self.tree.head().link.slot.max(self.passed).saturating_add(SLOTS_AHEAD_MAX) {
            return Err(Rejection::TooFarAhead { block: id, limit: SLOTS_AHEAD_MAX });
        }
        let node = Node { link, parent, author, sealed: Some(Arc::new(SealedHeader::from(block.as_ref()))) };
        self.pending.insert(id, Judging { block: block.clone(), node, from, own });
        effects.push(Effect::Validate { block });
        Ok(())
    }

    /// Bounds what others can make this replica keep.
    fn check_room(&self, id: &BlockId, parent: BlockId, author: Address) -> Result<(), Rejection> {
        if self.pending.len() >= PENDING_MAX {
            return Err(Rejection::Overloaded { limit: PENDING_MAX });
        }
        if self.pending.values().filter(|judging| judging.node.author == author).count() >= PENDING_PER_AUTHOR_MAX {
            return Err(Rejection::Overloaded { limit: PENDING_PER_AUTHOR_MAX });
        }
        let is_longest = id.height > self.tree.head().link.block.height;
        if parent != self.tree.head().link.block && !is_longest && self.tree.side_blocks() >= SIDE_BLOCKS_MAX {
            return Err(Rejection::Overloaded { limit: SIDE_BLOCKS_MAX as usize });
        }
        Ok(())
    }

    fn on_judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let Some(judging) = self.pending.get(&id).cloned() else {
            return effects.push(Effect::Reject(Rejection::Unexpected { what: "verdict" }));
        };
        self.pending.remove(&id);
        // What it stands on may have been left for good meanwhile.
        let is_connected = self.tree.get(&judging.node.parent).is_some();
        match verdict {
            Verdict::Valid { updates } if is_connected => self.adopt(judging, &updates, effects),
            Verdict::Valid { .. } => effects.push(Effect::Mark("dpos/judged-too-late")),
            Verdict::Invalid { reason } => {
                effects.push(Effect::Reject(Rejection::Header { block: id, reason }));
                self.orphans.drop_descendants(id);
                if judging.own.is_some() {
                    self.plan(effects);
                }
            }
        }
    }

    fn adopt(&mut self, judging: Judging, updates: &ValidatorUpdates, effects: &mut Vec<Effect>) {
        let Judging { block, mut node, from, own } = judging;
        node.link = node.link.with_updates(updates);
        let (id, slot, old) = (node.link.block, node.link.slot, self.tree.head().link.block);
        self.look_for_twin(&node, effects);
        let irreversible = self.tree.finalized();
        let mut records: Vec<_> = node.sealed.iter().map(|sealed| record::judged(id, sealed, updates)).collect();
        let moved = self.tree.insert(node);
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if let Some(Moved { forgotten, .. }) = &moved {
            if self.tree.finalized() != irreversible {
                records.extend(self.tree.get(&self.tree.root()).map(|root| record::root(root)));
            }
            records.push(record::head(&self.tree, &self.promise));
            records.extend(forgotten.iter().map(|block| record::forgotten(*block)));
            records.extend((self.tree.finalized() != irreversible).then(|| record::forgotten(self.tree.root())));
        }
        let ticket = self.next_ticket.take_next();
        effects.push(Effect::Persist { ticket, records });
        if self.tree.finalized() != irreversible {
            self.untold_final.push_back((ticket, self.tree.finalized()));
        }
        if let Some(Moved { reorg_depth, .. }) = moved {
            self.head_block = Some((ticket, block.clone()));
            self.tell_head(old, id, reorg_depth, irreversible, effects);
        } else if let Some(from) = from.filter(|_| slot > self.tree.head().link.slot) {
            self.show_head(from, effects);
        }
        if let Some(ticket) = own {
            let message = Message::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        if moved.is_some() || own.is_some() {
            self.plan(effects);
        }
        self.go_on_fetching(id, effects);
        self.release_children(id, effects);
    }

    /// Sends the head to a replica whose branch goes on later than this one, and is worse. When the producers that the head's
    /// branch has elected were cut off from it, they produce where they still are, and nobody else may produce here: without
    /// this they would never hear of their election.
    fn show_head(&self, to: ReplicaId, effects: &mut Vec<Effect>) {
        if let Some((ticket, block)) = &self.head_block {
            effects.push(Effect::Mark("dpos/show-head"));
            let message = Message::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::One(to), message, after: Some(*ticket) });
        }
    }

    fn tell_head(
        &mut self,
        old: BlockId,
        new: BlockId,
        reorg_depth: u64,
        finalized_before: BlockId,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new, reorg_depth }));
        if reorg_depth > 0 {
            effects.push(Effect::Mark("dpos/reorg"));
        }
        let head = self.tree.head().link.clone();
        if head.state.pending().is_some_and(|pending| pending.proposed_at == head.block.height) {
            effects.push(Effect::Mark("dpos/schedule-proposed"));
        }
        if self.tree.finalized() != finalized_before {
            effects.push(Effect::Mark("dpos/irreversible"));
            self.orphans.keep_above(self.tree.root().height);
        }
        let is_open = |(slot, offender): &(u64, Address)| {
            let offence = Offence { slot: *slot, offender: *offender, height: head.block.height };
            !head.state.was_told(&offence) && slot.saturating_add(EVIDENCE_SLOTS_MAX) > head.slot
        };
        if self.offences.keys().any(|offence| !is_open(offence)) {
            self.offences = self.offences.iter().filter(|(offence, _)| is_open(offence)).map(clone_pair).collect();
        }
    }

    /// Tells the chain what is irreversible by records up to this one.
    fn on_persisted(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        let mut newest = None;
        while let Some((_, block)) = self.untold_final.front().filter(|(waits_for, _)| *waits_for <= ticket) {
            newest = Some(*block);
            self.untold_final.pop_front();
        }
        if let Some(finalized) = newest {
            let finality = Finality::both(finalized, FinalityKind::Irreversible);
            effects.push(Effect::Chain(ChainEvent::Final { finality, proof: None }));
        }
    }

    /// Looks for another block of this producer in this slot.
    fn look_for_twin(&mut self, node: &Node, effects: &mut Vec<Effect>) {
        let Some(twin) = self.tree.twin(node) else { return };
        let (first, second) = (twin.link.block, node.link.block);
        let (offender, height) = (node.author, first.height.max(second.height));
        effects.push(Effect::Mark("dpos/double-production"));
        let evidence = Evidence::DoubleSign { offender, height, first: first.hash, second: second.hash };
        effects.push(Effect::Evidence(evidence));
        if let (Some(one), Some(other)) = (&twin.sealed, &node.sealed) {
            let sealed = |sealed: &SealedHeader| (sealed.header.clone(), sealed.seal.clone());
            let proof = DoubleProduction::new(sealed(one), sealed(other));
            if self.offences.len() < OFFENCES_MAX {
                self.offences.insert((node.link.slot, offender), Arc::new(proof));
            }
        }
    }
}

fn genesis_node(config: &DposConfig, (block, timestamp): (BlockId, Timestamp), validators: &ValidatorSet) -> Node {
    let link = Link::genesis(config, block, timestamp, validators);
    Node { link, parent: BlockId::default(), author: Address::ZERO, sealed: None }
}

fn clone_pair<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

impl Protocol for Dpos {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        match event {
            Event::Start => self.plan(effects),
            Event::Message { from, message: Message::Block(block) } => self.on_block(from, block, effects),
            Event::Message { .. } => {
                effects.push(Effect::Reject(Rejection::Unexpected { what: "message of another protocol" }));
            }
            Event::BlockSynced { from, block } => self.on_synced(from, block, effects),
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict, effects),
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, block, effects),
            Event::Timer(SLOT_TIMER) => self.on_slot(effects),
            Event::Timer(_) | Event::Random { .. } => effects.push(Effect::Mark("dpos/stale-answer")),
            Event::Persisted(ticket) => self.on_persisted(ticket, effects),
            Event::Admin(_) => {
                let reason =
                    "producers are elected by stake: vote with transactions to the staking contract".to_owned();
                effects.push(Effect::Reject(Rejection::Admin { reason }));
            }
        }
    }

    fn encode(&self, out: &mut Encoder) {
        // The authenticator judges signatures alike in every replica of a chain; a signer is known by its address.
        let Self {
            config: DposConfig { period, producers, blocks_per_turn, shuffle },
            authenticator: _,
            signer,
            tree,
            pending,
            orphans,
            catch_up,
            duty,
            promise,
            passed,
            offences,
            head_block,
            untold_final,
            next_ticket,
        } = self;
        out.u64(*period);
        out.u32(*producers);
        out.u32(*blocks_per_turn);
        out.bool(*shuffle == Shuffle::Round);
        out.option(signer.as_ref(), |out, signer| out.address(&signer.address()));
        tree.encode(out);
        out.list(pending.iter(), |out, (id, judging)| {
            id.encode(out);
            out.bytes(judging.block.seal());
            out.option(judging.from, |out, from| out.u32(from.get()));
            out.option(judging.own, |out, ticket| out.u64(ticket.get()));
        });
        orphans.encode(out);
        out.option(catch_up.as_ref(), |out, catch_up| catch_up.encode(out));
        duty.encode(out);
        promise.encode(out);
        out.u64(*passed);
        out.list(offences.iter(), |out, ((slot, offender), proof)| {
            out.u64(*slot);
            out.address(offender);
            let (first, second) = proof.hashes();
            out.hash(&first);
            out.hash(&second);
        });
        out.option(head_block.as_ref(), |out, (ticket, _)| out.u64(ticket.get()));
        out.list(untold_final.iter(), |out, (ticket, block)| {
            out.u64(ticket.get());
            block.encode(out);
        });
        out.u64(next_ticket.get());
    }

    fn head(&self) -> BlockId {
        self.tree.head().link.block
    }

    fn finality(&self) -> Finality {
        Finality::both(self.tree.finalized(), FinalityKind::Irreversible)
    }

    fn validators(&self) -> ValidatorSet {
        self.head_link().state.active().producers().clone()
    }
}

impl_by_encoding!(Dpos);

#[cfg(test)]
mod tests;
