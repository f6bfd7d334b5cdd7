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

pub mod clique;
mod config;
mod fork_choice;
mod light;
mod payload;
mod record;
mod rules;
mod snapshot;
mod tree;

use core::hash;
use std::sync::Arc;

use imbl::OrdMap;

use self::tree::{Moved, Node, Tree};
use super::{
    Admin, Authenticator, BlockId, BuildRequest, ChainEvent, Deadline, Effect, Encoder, Event, Evidence, Finality,
    FinalityKind, Message, Protocol, Recipients, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, ValidatorSet,
    Verdict,
    orphans::{ORPHANS_MAX, Orphan, Orphans},
};
use crate::{
    chain::Block,
    primitives::{Address, B256, Timestamp},
};

pub use config::{PoaConfig, PoaError};
pub use fork_choice::Standing;
pub use light::LightVerifier;
pub use payload::{Payload, PayloadError, Vote};
pub(super) use record::sealed_height;
pub use record::{HEAD_KEY, SEALED_PREFIX, SIGNED_KEY};
pub use rules::{HeaderError, Link, PoaRules, check_header};
pub use snapshot::{CastVote, DIFFICULTY_IN_TURN, DIFFICULTY_OUT_OF_TURN, Snapshot, SnapshotError};

/// Fires when the replica may make its next block.
pub const SEAL_TIMER: TimerId = TimerId::new(1);
/// Fires when no block came for so long that others may have missed this replica's.
pub const ANNOUNCE_TIMER: TimerId = TimerId::new(2);
/// Blocks being executed at once.
const PENDING_MAX: usize = 1_024;
/// How far above the head a block may be to be kept waiting.
const AHEAD_MAX: u64 = 8_192;

/// One replica of proof of authority.
#[derive(Clone, Debug)]
pub struct Poa {
    config: PoaConfig,
    authenticator: Authenticator,
    signer: Option<Signer>,
    tree: Tree,
    /// Blocks that obey the header rules and are being executed.
    pending: OrdMap<BlockId, Pending>,
    /// Blocks whose parent is not judged yet.
    orphans: Orphans,
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

/// A block between header rules and verdict.
#[derive(Clone, Debug)]
struct Pending {
    block: Arc<Block>,
    node: Node,
    /// Of the record that has to be durable before the block is announced; `None` for blocks of others.
    own: Option<Ticket>,
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
        let (block, timestamp) = genesis;
        let snapshot = Arc::new(Snapshot::new(signers, Arc::default()));
        let standing = Standing { total_difficulty: 0, block, blocks_since_turn: 0 };
        let root = Node {
            link: Link { block, timestamp, snapshot },
            parent: BlockId::default(),
            author: Address::ZERO,
            standing,
        };
        Self::at(config, Tree::new(root, block), authenticator, signer)
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
            None => Self::new(config, genesis, signers, authenticator, signer)?,
        };
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
            pending: OrdMap::new(),
            orphans: Orphans::default(),
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

    fn on_block(&mut self, from: Option<ReplicaId>, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if let Err(rejection) = self.consider(from, block, None, effects) {
            effects.push(Effect::Reject(rejection));
        }
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
        if self.tree.get(&id).is_some() || self.pending.contains_key(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        if self.orphans.contains(&id) {
            // Whoever says it again may have what the first one did not send.
            from.into_iter().for_each(|from| self.fetch_ancestor(&block, from, effects));
            return Ok(());
        }
        let oldest = self.tree.oldest();
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        if self.pending.len() >= PENDING_MAX && own.is_none() {
            return Err(Rejection::Overloaded { limit: PENDING_MAX });
        }
        let author = self.authenticator.author(id.hash, block.seal())?;
        let parent = BlockId::parent_of(&block);
        let Some(parent_node) = self.tree.get(&parent).cloned() else {
            return self.keep_waiting(from, block, author, effects);
        };
        let link = check_header(&self.config, &parent_node.link, id.hash, block.header(), block.payload(), author)
            .map_err(|error| Rejection::Header { block: id, reason: error.to_string() })?;
        let before = &parent_node.link.snapshot;
        let standing = Standing {
            total_difficulty: parent_node.standing.total_difficulty + u128::from(before.difficulty(id.height, &author)),
            block: id,
            blocks_since_turn: before.blocks_since_turn(id.height, &author).unwrap_or_default(),
        };
        let node = Node { link, parent, author, standing };
        self.pending.insert(id, Pending { block: block.clone(), node, own });
        effects.push(Effect::Validate { block });
        Ok(())
    }

    fn keep_waiting(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        author: Address,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        let head = self.tree.head().link.block;
        if id.height.get() > head.height.get().saturating_add(AHEAD_MAX) {
            return Err(Rejection::TooFarAhead { block: id, limit: AHEAD_MAX });
        }
        if self.orphans.len() >= ORPHANS_MAX {
            // The way down to the chain comes first: what is above is fetched again when its turn comes.
            let Some(highest) = self.orphans.highest().filter(|highest| highest.height > id.height) else {
                return Err(Rejection::Overloaded { limit: ORPHANS_MAX });
            };
            self.orphans.remove(&highest);
        }
        from.into_iter().for_each(|from| self.fetch_ancestor(&block, from, effects));
        self.orphans.insert(Orphan { from, author, block });
        Ok(())
    }

    /// Asks for the lowest ancestor that is not here: everything above it waits already.
    fn fetch_ancestor(&self, block: &Block, from: ReplicaId, effects: &mut Vec<Effect>) {
        let missing = self.orphans.missing_below(BlockId::parent_of(block));
        if !self.pending.contains_key(&missing) {
            effects.push(Effect::Fetch { block: missing, from });
            effects.push(Effect::Mark("poa/fetch-parent"));
        }
    }

    fn on_judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let Some(pending) = self.pending.get(&id).cloned() else {
            return effects.push(Effect::Reject(Rejection::Unexpected { what: "verdict" }));
        };
        self.pending.remove(&id);
        match verdict {
            Verdict::Valid { .. } => self.adopt(pending, effects),
            Verdict::Invalid { reason } => {
                effects.push(Effect::Reject(Rejection::Header { block: id, reason }));
                self.orphans.drop_descendants(id);
            }
        }
    }

    fn adopt(&mut self, Pending { block, node, own }: Pending, effects: &mut Vec<Effect>) {
        let (id, author, old) = (node.link.block, node.author, self.tree.head().link.block);
        if let Some(first) = self.tree.sibling_by(&id, &author) {
            let (first, second) = (first.hash, id.hash);
            effects.push(Effect::Evidence(Evidence::DoubleSign { offender: author, height: id.height, first, second }));
        }
        let settled_before = self.tree.settled();
        let moved = self.tree.insert(node);
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if let Some(Moved { reorg_depth, left_settled }) = moved {
            let ticket = self.next_ticket.take_next();
            effects.push(Effect::Persist { ticket, records: vec![record::head(&self.tree)] });
            effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new: id, reorg_depth }));
            if reorg_depth > 0 {
                effects.push(Effect::Mark("poa/reorg"));
            }
            if left_settled {
                effects.push(Effect::Mark("poa/left-settled"));
            }
            if self.tree.settled() != settled_before {
                effects.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: None }));
            }
        }
        if moved.is_some() {
            self.newest = Some(block.clone());
        }
        if let Some(ticket) = own {
            let message = Message::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        if moved.is_some() {
            self.plan(effects);
        }
        self.release_children(id, effects);
    }

    /// Looks again at the blocks that waited for `parent`.
    fn release_children(&mut self, parent: BlockId, effects: &mut Vec<Effect>) {
        for child in self.orphans.children(parent) {
            if let Some(orphan) = self.orphans.remove(&child) {
                self.on_block(orphan.from, orphan.block, effects);
            }
        }
    }

    /// Decides anew what to do about the block after the head (EIP-225, "Authorization strategies").
    fn plan(&mut self, effects: &mut Vec<Effect>) {
        self.watch(effects);
        match self.duty {
            Duty::Waiting => effects.push(Effect::DisarmTimer(SEAL_TIMER)),
            Duty::Building(_) => effects.push(Effect::CancelBuild),
            Duty::Idle | Duty::Drawing(_) => {}
        }
        self.duty = Duty::Idle;
        let Some(signer) = self.signer.as_ref().map(Signer::address) else { return };
        let link = &self.tree.head().link;
        let height = link.block.height.next();
        if link.snapshot.may_sign(height, &signer).is_err() {
            return;
        }
        if self.signed.is_some_and(|signed| signed.height >= height) {
            return effects.push(Effect::Mark("poa/refuse-double-sign"));
        }
        if self.config.period == 0 {
            self.ask_for_block(effects);
        } else if link.snapshot.is_in_turn(height, &signer) {
            self.wait(0, effects);
        } else {
            let (bound, ticket) =
                (self.config.wiggle_nanos(link.snapshot.signers().len()), self.next_ticket.take_next());
            self.duty = Duty::Drawing(ticket);
            effects.push(Effect::Draw { ticket, bound });
        }
    }

    /// Signers that were cut off from each other may all have to wait for others' blocks when they are connected again, and
    /// then nobody says anything: so each says its head again, whoever made it, when none came for twice the longest wait.
    fn watch(&self, effects: &mut Vec<Effect>) {
        if self.config.period > 0 && self.signer.is_some() {
            let longest = self.config.wiggle_nanos(self.snapshot().signers().len());
            let nanos = self.config.period.saturating_mul(1_000_000_000).saturating_add(longest).saturating_mul(2);
            effects.push(Effect::ArmTimer { timer: ANNOUNCE_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Says the blocks again that it had sealed and does not find in the chain: when everybody comes back at once, some of
    /// them ahead of the chain that was kept, nobody else has them, and whoever sealed may not seal other blocks in their
    /// place.
    fn say_sealed_again(&mut self, effects: &mut Vec<Effect>) {
        let settled = self.tree.settled().height;
        let is_lost = |block: &Arc<Block>| block.height() > settled && self.tree.get(&BlockId::of(block)).is_none();
        let (lost, found): (Vec<_>, Vec<_>) = core::mem::take(&mut self.sealed).into_iter().partition(is_lost);
        let newest = self.signed.map(|block| block.height);
        let of_no_use = found.iter().map(|block| block.height()).filter(|height| Some(*height) != newest);
        let records: Vec<_> = of_no_use.map(record::no_sealed).collect();
        if !records.is_empty() {
            let ticket = self.next_ticket.take_next();
            effects.push(Effect::Persist { ticket, records });
        }
        self.sealed.clone_from(&lost);
        for block in lost {
            let message = Message::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/say-sealed-again"));
            self.on_block(None, block, effects);
        }
    }

    fn announce_again(&mut self, effects: &mut Vec<Effect>) {
        if let Some(block) = &self.newest {
            let message = Message::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/announce-again"));
        }
        self.say_sealed_again(effects);
        self.watch(effects);
    }

    /// Waits for the time of the next block and `then_nanos` more.
    fn wait(&mut self, then_nanos: u64, effects: &mut Vec<Effect>) {
        let timestamp = self.config.earliest_after(self.tree.head().link.timestamp);
        self.duty = Duty::Waiting;
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos };
        effects.push(Effect::ArmTimer { timer: SEAL_TIMER, deadline });
    }

    fn ask_for_block(&mut self, effects: &mut Vec<Effect>) {
        let Some(beneficiary) = self.signer.as_ref().map(Signer::address) else { return };
        let ticket = self.next_ticket.take_next();
        let link = &self.tree.head().link;
        let height = link.block.height.next();
        self.duty = Duty::Building(ticket);
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: link.block,
            beneficiary,
            difficulty: link.snapshot.difficulty(height, &beneficiary),
            timestamp_min: self.config.earliest_after(link.timestamp),
            mix_hash: B256::ZERO,
            payload: self.payload(link, beneficiary).encoded(),
        }));
    }

    /// What the next block says: the signers at a checkpoint, otherwise one of the operator's wishes, each in its turn.
    fn payload(&self, link: &Link, signer: Address) -> Payload {
        let height = link.block.height.next();
        if height.get().is_multiple_of(self.config.epoch) {
            return Payload::checkpoint(link.snapshot.signers());
        }
        let wishes = self.wishes.iter().map(|(target, authorize)| Vote { target: *target, authorize: *authorize });
        let meaningful: Vec<_> = wishes.filter(|vote| link.snapshot.is_meaningful(*vote)).collect();
        let chosen = height.get().checked_rem(meaningful.len() as u64).unwrap_or_default();
        let mut payload = Payload { vote: meaningful.get(chosen as usize).copied(), ..Payload::default() };
        if let Ok(after) = link.snapshot.apply(height, signer, &payload, self.config.epoch) {
            payload.next_signers = rules::next_signers(&link.snapshot, &after);
        }
        payload
    }

    fn on_built(&mut self, ticket: Ticket, block: &Block, effects: &mut Vec<Effect>) {
        let head = self.tree.head().link.block;
        let (Duty::Building(asked), Some(signer)) = (self.duty, &self.signer) else {
            return effects.push(Effect::Mark("poa/stale-build"));
        };
        if asked != ticket || BlockId::parent_of(block) != head {
            return effects.push(Effect::Mark("poa/stale-build"));
        }
        let sealed = Arc::new(block.clone().with_seal(signer.sign(block.hash())));
        let (record, id) = (self.next_ticket, BlockId::of(block));
        let mut records = vec![record::signed(id)];
        if self.config.period > 0 {
            records.push(record::sealed(&sealed));
            records.extend(self.signed.map(|before| record::no_sealed(before.height)));
        }
        match self.consider(None, sealed, Some(record), effects) {
            Ok(()) => {
                let ticket = self.next_ticket.take_next();
                effects.push(Effect::Persist { ticket, records });
                self.signed = Some(id);
                self.duty = Duty::Idle;
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
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

    fn encoding(&self) -> Vec<u8> {
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.into_bytes()
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
            Event::BlockBuilt { ticket, block } => self.on_built(ticket, &block, effects),
            Event::Random { ticket, value } if self.duty == Duty::Drawing(ticket) => self.wait(value, effects),
            Event::Timer(SEAL_TIMER) if self.duty == Duty::Waiting => self.ask_for_block(effects),
            Event::Timer(ANNOUNCE_TIMER) if self.config.period > 0 => self.announce_again(effects),
            Event::Timer(_) | Event::Random { .. } => effects.push(Effect::Mark("poa/stale-answer")),
            Event::Persisted(_) => {}
            Event::Admin(admin) => self.on_admin(admin, effects),
        }
    }

    fn encode(&self, out: &mut Encoder) {
        out.u64(self.config.period);
        out.u64(self.config.epoch);
        out.u64(self.config.wiggle_ms);
        out.option(self.signer.as_ref(), |out, signer| out.address(&signer.address()));
        self.tree.encode(out);
        out.list(self.pending.iter(), |out, (id, pending)| {
            id.encode(out);
            out.bytes(pending.block.seal());
            out.option(pending.own, |out, ticket| out.u64(ticket.get()));
        });
        self.orphans.encode(out);
        out.list(self.wishes.iter(), |out, (target, authorize)| {
            out.address(target);
            out.bool(*authorize);
        });
        let (duty, ticket) = match self.duty {
            Duty::Idle => (0, Ticket::default()),
            Duty::Drawing(ticket) => (1, ticket),
            Duty::Waiting => (2, Ticket::default()),
            Duty::Building(ticket) => (3, ticket),
        };
        out.u8(duty);
        out.u64(ticket.get());
        out.option(self.signed, |out, block| block.encode(out));
        out.option(self.newest.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.u64(self.next_ticket.get());
        if !self.sealed.is_empty() {
            out.list(self.sealed.iter(), |out, block| BlockId::of(block).encode(out));
        }
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

impl PartialEq for Poa {
    fn eq(&self, other: &Self) -> bool {
        self.encoding() == other.encoding()
    }
}

impl Eq for Poa {}

impl hash::Hash for Poa {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        state.write(&self.encoding());
    }
}

#[cfg(test)]
mod tests;
