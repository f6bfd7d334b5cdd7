//! A chained protocol in two phases, after HotStuff-2 (Malkhi and Nayak, 2023), simplified: votes go to everybody.
//!
//! View `v` has one leader, who proposes a block on the block of the newest certificate it knows. A block's payload has its view and
//! that certificate. A replica votes once per view, and only for a block whose certificate is at least as new as its own newest one (its
//! lock). A quorum of votes is the next certificate, and begins the next view. Two certificates in consecutive views commit the
//! block of the first. A view without a certificate ends by a quorum of new-view messages, which carry the newest certificates.

use std::{collections::BTreeMap, sync::Arc};

use chainbox::{
    chain::Block,
    consensus::{
        Authenticator, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Deadline, Effect, Encoder, Event, Finality,
        FinalityKind, OwnMessage, OwnProtocol, Protocol, Purpose, Recipients, Record, Rejection, ReplicaId,
        ReplicaStart, RoundRole, RoundStatus, Signer, Ticket, TimerId, ValidatorSet,
    },
    primitives::{Address, B64, B256, Bytes, Height, Timestamp, keccak256},
};

/// Beginning of the keys of blocks that it voted for.
const BODY: &[u8] = b"block/";
const BUILD: TimerId = TimerId::new(1);
const TIMEOUT: TimerId = TimerId::new(2);
/// Wait of a leader after a timeout, for certificates newer than its own: longer than a message takes.
const WAIT_NANOS: u64 = 200_000_000;
const TIMEOUT_NANOS: u64 = 3_000_000_000;
/// Bound of blocks, votes and views that are kept ahead.
const AHEAD_MAX: usize = 256;
const MARKS: &[&str] = &["two-phase/timeout", "two-phase/join", "two-phase/catch-up", "two-phase/restart"];

/// The protocol; `missing_votes` fewer votes than a quorum make a certificate: none, unless a test wants a bug.
pub(crate) fn two_phase(missing_votes: usize) -> OwnProtocol {
    OwnProtocol::new("two-phase", move |start| TwoPhase::new(&start, missing_votes))
        .with_labels(&["vote", "new-view"])
        .with_marks(MARKS)
        .with_rounds_max(20)
        .with_byzantine_tolerance()
        .with_parameters(missing_votes)
}

/// A quorum's votes for one block in one view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) view: u64,
    pub(crate) block: BlockId,
    votes: Vec<Bytes>,
}

/// The head, or a block above it.
#[derive(Clone, Debug)]
struct Known {
    id: BlockId,
    view: u64,
    timestamp: Timestamp,
    justify: Certificate,
    /// Without it for a head from before a restart.
    body: Option<Arc<Block>>,
}

/// One replica.
#[derive(Clone, Debug)]
pub(crate) struct TwoPhase {
    authenticator: Authenticator,
    signer: Option<Signer>,
    validators: ValidatorSet,
    /// Leaders in turn, which are the replicas by number.
    leaders: Vec<Address>,
    missing_votes: usize,
    view: u64,
    /// Newest view in which it voted, and in which it proposed.
    voted: u64,
    proposed: u64,
    /// The newest certificate, which is its lock.
    newest: Certificate,
    head: BlockId,
    /// The head and executed blocks above it.
    tree: BTreeMap<B256, Known>,
    /// Blocks under execution, and blocks whose parent is missing.
    judged: BTreeMap<B256, Known>,
    orphans: BTreeMap<B256, (ReplicaId, Arc<Block>)>,
    votes: BTreeMap<(u64, BlockId), BTreeMap<Address, Bytes>>,
    /// The view that each validator wants to be in.
    wanted: BTreeMap<Address, u64>,
    timeouts: u32,
    tickets: u64,
    is_restarted: bool,
    /// Blocks from before a restart that it voted for, to be executed again.
    restored: Vec<Arc<Block>>,
}

chainbox::impl_by_encoding!(TwoPhase);

impl TwoPhase {
    fn new(start: &ReplicaStart<'_>, missing_votes: usize) -> Result<Self, String> {
        let genesis = Known {
            id: BlockId::of(start.genesis),
            view: 0,
            timestamp: start.genesis.timestamp(),
            justify: Certificate { view: 0, block: BlockId::of(start.genesis), votes: Vec::new() },
            body: None,
        };
        let mut replica = Self {
            authenticator: start.authenticator.clone(),
            signer: start.signer.cloned(),
            validators: start.validators.clone(),
            leaders: start.addresses.to_vec(),
            missing_votes,
            view: 1,
            voted: 0,
            proposed: 0,
            newest: genesis.justify.clone(),
            head: genesis.id,
            tree: BTreeMap::from([(genesis.id.hash, genesis)]),
            judged: BTreeMap::new(),
            orphans: BTreeMap::new(),
            votes: BTreeMap::new(),
            wanted: BTreeMap::new(),
            timeouts: 0,
            tickets: 0,
            is_restarted: false,
            restored: Vec::new(),
        };
        let bodies = start.records.range(Bytes::from_static(BODY)..).take_while(|(key, _)| key.starts_with(BODY));
        for (_, record) in bodies {
            let block = Record::content(record).and_then(|content| Block::decode_stored(content).ok());
            replica.restored.push(Arc::new(block.ok_or("a block's record is damaged")?));
        }
        replica.restored.sort_by_key(|block| block.height());
        if let Some(record) = start.records.get(b"state".as_slice()) {
            let content = Record::content(record).ok_or("its record is damaged")?;
            replica.recover(&mut Reader(content)).ok_or("its record is malformed")?;
        }
        Ok(replica)
    }

    /// Views, lock and head.
    fn recover(&mut self, record: &mut Reader<'_>) -> Option<()> {
        (self.view, self.voted, self.proposed) = (record.u64()?, record.u64()?, record.u64()?);
        (self.tickets, self.is_restarted) = (record.u64()?, true);
        let (view, timestamp) = (record.u64()?, Timestamp::from_secs(record.u64()?));
        let justify = record.certificate()?;
        self.newest = record.certificate()?;
        self.head = record.block()?;
        self.tree = BTreeMap::from([(self.head.hash, Known { id: self.head, view, timestamp, justify, body: None })]);
        Some(())
    }

    /// Makes views, lock and head durable, with other records; returns the ticket that messages wait for.
    fn persist(&mut self, mut records: Vec<Record>, out: &mut Vec<Effect>) -> Option<Ticket> {
        self.tickets += 1;
        let mut record = Encoder::new();
        [self.view, self.voted, self.proposed, self.tickets].into_iter().for_each(|number| record.u64(number));
        let head = self.tree.get(&self.head.hash)?;
        record.u64(head.view);
        record.timestamp(head.timestamp);
        head.justify.encode(&mut record);
        self.newest.encode(&mut record);
        encode_block(&mut record, self.head);
        let ticket = Ticket::new(self.tickets);
        records.push(Record::whole(b"state".as_slice(), record.as_bytes()));
        out.push(Effect::Persist { ticket, records });
        Some(ticket)
    }

    /// The newest certificate.
    pub(crate) const fn newest(&self) -> &Certificate {
        &self.newest
    }

    fn leader(&self, view: u64) -> Address {
        self.leaders[(view % self.leaders.len() as u64) as usize]
    }

    /// A replica to ask, another one each time.
    const fn someone(&self) -> ReplicaId {
        ReplicaId::new(((self.view + self.tickets + self.timeouts as u64) % self.leaders.len() as u64) as u32)
    }

    fn me(&self) -> Option<Address> {
        self.signer.as_ref().map(Signer::address)
    }

    fn voter(&self) -> Option<Signer> {
        self.signer.clone().filter(|signer| self.validators.contains(&signer.address()))
    }

    /// Number of validators of which fewer than a third misbehave, two of whose quorums share an honest one.
    fn quorum(&self) -> usize {
        (2 * self.validators.len()).div_euclid(3) + 1 - self.missing_votes
    }

    /// Enters a view; its leader builds when the parent is a second old, or after a wait when the view before timed out.
    fn enter(&mut self, view: u64, is_timeout: bool, out: &mut Vec<Effect>) {
        (self.view, self.timeouts) = (view, if is_timeout { self.timeouts } else { 0 });
        self.votes.retain(|(voted, _), _| *voted + 1 >= view);
        out.push(Effect::ArmTimer {
            timer: TIMEOUT,
            deadline: Deadline::After { nanos: TIMEOUT_NANOS << self.timeouts },
        });
        if self.me() == Some(self.leader(view)) {
            let parent =
                self.tree.get(&self.newest.block.hash).map_or(Timestamp::from_secs(0), |known| known.timestamp);
            let deadline = match is_timeout {
                true => Deadline::After { nanos: WAIT_NANOS },
                false => Deadline::AtTimestamp { timestamp: parent.saturating_add_secs(1), then_nanos: 0 },
            };
            out.push(Effect::ArmTimer { timer: BUILD, deadline });
        }
        self.vote(out);
    }

    fn build(&mut self, out: &mut Vec<Effect>) {
        let Some(beneficiary) = self.me().filter(|me| *me == self.leader(self.view) && self.proposed < self.view)
        else {
            return;
        };
        let Some(parent) = self.tree.get(&self.newest.block.hash).cloned() else {
            self.fetch(self.newest.block, self.someone(), out);
            out.push(Effect::ArmTimer { timer: BUILD, deadline: Deadline::After { nanos: WAIT_NANOS } });
            return;
        };
        self.tickets += 1;
        let mut payload = Encoder::new();
        payload.u64(self.view);
        self.newest.encode(&mut payload);
        out.push(Effect::Build(BuildRequest {
            ticket: Ticket::new(self.tickets),
            parent: parent.id,
            beneficiary,
            difficulty: 0,
            timestamp_min: parent.timestamp.saturating_add_secs(1),
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: payload.into_bytes().into(),
        }));
    }

    fn propose(&mut self, block: &Block, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        let view = Reader(block.payload()).u64().unwrap_or_default();
        let Some(signer) = self.signer.clone().filter(|_| view == self.view && self.proposed < view) else {
            return Ok(());
        };
        self.proposed = view;
        let after = self.persist(Vec::new(), out);
        let block = Arc::new(block.clone().with_seal(signer.sign(Purpose::Block, block.hash())));
        out.push(Effect::Send { to: Recipients::Others, message: ConsensusMessage::Block(block.clone()), after });
        self.on_block(ReplicaId::default(), block, out)
    }

    /// A proposal, or a block that was asked for: it is executed once its parent is.
    fn on_block(&mut self, from: ReplicaId, block: Arc<Block>, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        let (id, parent) = (BlockId::of(&block), BlockId::parent_of(&block));
        let is_new = id.height > self.head.height && !self.tree.contains_key(&id.hash);
        if !is_new || self.judged.contains_key(&id.hash) || self.orphans.contains_key(&id.hash) {
            return Err(Rejection::Unexpected { what: "a block" });
        }
        let wrong = |reason: &str| Rejection::Header { block: id, reason: reason.to_owned() };
        let mut payload = Reader(block.payload());
        let content = payload.u64().and_then(|view| Some((view, payload.certificate()?)));
        let (view, justify) = content.filter(|_| payload.0.is_empty()).ok_or_else(|| wrong("a malformed payload"))?;
        let author = self.authenticator.author(Purpose::Block, id.hash, block.seal())?;
        if !block.commits_to_payload() || view <= justify.view || justify.block != parent {
            return Err(wrong("its parent is not the block of its certificate"));
        }
        if author != self.leader(view) || block.header().beneficiary != author || !self.is_valid(&justify) {
            return Err(wrong("not by the leader of its view, or its certificate is none"));
        }
        let known = Known { id, view, timestamp: block.timestamp(), justify, body: Some(block.clone()) };
        self.learn(known.justify.clone(), from, out);
        match self.tree.get(&parent.hash) {
            Some(parent) if known.timestamp <= parent.timestamp => Err(wrong("not later than its parent")),
            Some(_) => {
                self.judged.insert(id.hash, known);
                out.push(Effect::Validate { block });
                Ok(())
            }
            None if self.orphans.len() < AHEAD_MAX => {
                self.orphans.insert(id.hash, (from, block));
                out.push(Effect::Mark("two-phase/catch-up"));
                self.fetch(parent, from, out);
                Ok(())
            }
            None => Err(Rejection::Overloaded { limit: AHEAD_MAX }),
        }
    }

    fn on_judged(&mut self, block: BlockId, is_valid: bool, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        let Some(known) = self.judged.remove(&block.hash).filter(|_| is_valid) else { return Ok(()) };
        let justify = known.justify.clone();
        self.tree.insert(block.hash, known);
        out.push(Effect::Chain(ChainEvent::Inserted(block)));
        self.commit(&justify, out);
        let newest = self.newest.clone();
        self.commit(&newest, out);
        self.vote(out);
        let children = self.orphans.extract_if(.., |_, (_, orphan)| orphan.parent_hash() == block.hash);
        let children: Vec<_> = children.map(|(_, child)| child).collect();
        children.into_iter().try_for_each(|(from, child)| self.on_block(from, child, out))
    }

    /// Votes for the leader's block, if its certificate is the newest: that is the lock.
    fn vote(&mut self, out: &mut Vec<Effect>) {
        let Some(signer) = self.voter().filter(|_| self.view > self.voted) else { return };
        let is_on_newest = |known: &&Known| known.justify.block == self.newest.block;
        let proposal = self.tree.values().filter(is_on_newest).find(|known| known.view == self.view);
        let Some((view, block, body)) = proposal.map(|known| (known.view, known.id, known.body.clone())) else {
            return;
        };
        self.voted = view;
        // Whoever votes for a block has it after a crash, too: a certificate is of no use without its block.
        let body = body.map(|body| Record::whole(body_key(block), &body.encode_stored()));
        let after = self.persist(body.into_iter().collect(), out);
        let vote = signer.sign(Purpose::Message, vote_hash(view, block));
        let mut content = Encoder::new();
        content.u64(view);
        encode_block(&mut content, block);
        content.bytes(&vote);
        let message = OwnMessage::new("vote", content.into_bytes()).into();
        out.push(Effect::Send { to: Recipients::Others, message, after });
        self.count(view, block, signer.address(), vote, ReplicaId::default(), out);
    }

    fn count(&mut self, view: u64, block: BlockId, by: Address, vote: Bytes, from: ReplicaId, out: &mut Vec<Effect>) {
        let votes = self.votes.entry((view, block)).or_default();
        votes.insert(by, vote);
        if votes.len() >= self.quorum() {
            let votes = self.votes.remove(&(view, block)).unwrap_or_default().into_values().collect();
            self.learn(Certificate { view, block, votes }, from, out);
        }
    }

    /// Takes a valid certificate: a newer lock, the next view, perhaps a commit.
    fn learn(&mut self, certificate: Certificate, from: ReplicaId, out: &mut Vec<Effect>) {
        if certificate.view <= self.newest.view {
            return;
        }
        self.newest = certificate.clone();
        self.fetch(certificate.block, from, out);
        self.commit(&certificate, out);
        if certificate.view >= self.view {
            self.enter(certificate.view + 1, false, out);
        }
    }

    /// Asks for a block, or for the oldest of its ancestors that is missing.
    fn fetch(&self, mut block: BlockId, from: ReplicaId, out: &mut Vec<Effect>) {
        while let Some((_, orphan)) = self.orphans.get(&block.hash) {
            block = BlockId::parent_of(orphan);
        }
        let is_here = self.tree.contains_key(&block.hash) || self.judged.contains_key(&block.hash);
        if !is_here && block.height > self.head.height {
            out.push(Effect::Fetch { block, from });
        }
    }

    /// Commits the block of the certificate before this one, if their views are consecutive.
    fn commit(&mut self, certificate: &Certificate, out: &mut Vec<Effect>) {
        let Some(child) = self.tree.get(&certificate.block.hash) else { return };
        let (new, old) = (child.justify.block, self.head);
        if child.justify.view + 1 != child.view || new.height <= old.height || !self.descends(new, old) {
            return;
        }
        self.head = new;
        let settled = self.tree.values().filter(|known| known.id.height <= new.height);
        let settled = settled.map(|known| Record::forgotten(body_key(known.id))).collect();
        self.tree.retain(|_, known| known.id.height >= new.height);
        self.orphans.retain(|_, (_, orphan)| orphan.height() > new.height);
        self.persist(settled, out);
        out.push(Effect::Chain(ChainEvent::HeadMoved { old, new, reorg_depth: 0 }));
        out.push(Effect::Chain(ChainEvent::Final { finality: self.finality(), proof: None }));
    }

    fn descends(&self, block: BlockId, ancestor: BlockId) -> bool {
        let mut at = block;
        while at.height > ancestor.height {
            let Some(known) = self.tree.get(&at.hash) else { return false };
            at = known.justify.block;
        }
        at == ancestor
    }

    fn on_message(&mut self, from: ReplicaId, message: &OwnMessage, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        let wrong = |reason: &str| Rejection::Message { from, reason: reason.to_owned() };
        let mut content = Reader(message.content());
        let view = content.u64().ok_or_else(|| wrong("no view"))?;
        if view + 1 < self.view || view > self.view + AHEAD_MAX as u64 {
            return Err(wrong("a view that is past or far away"));
        }
        match message.label() {
            "vote" => {
                let read = content.block().and_then(|block| Some((block, content.bytes()?)));
                let (block, vote) = read.ok_or_else(|| wrong("a malformed vote"))?;
                let by = self.authenticator.author(Purpose::Message, vote_hash(view, block), &vote)?;
                if !self.validators.contains(&by) || self.votes.len() >= AHEAD_MAX {
                    return Err(wrong("a vote of no validator, or one of too many"));
                }
                self.count(view, block, by, vote, from, out);
            }
            "new-view" => {
                let read = content.certificate().and_then(|newest| Some((newest, content.bytes()?)));
                let (newest, seal) = read.ok_or_else(|| wrong("a malformed new-view"))?;
                let by = self.authenticator.author(Purpose::Message, new_view_hash(view, &newest), &seal)?;
                if !self.validators.contains(&by) || !self.is_valid(&newest) {
                    return Err(wrong("a new-view of no validator, or its certificate is none"));
                }
                self.learn(newest, from, out);
                let wanted = self.wanted.entry(by).or_default();
                *wanted = view.max(*wanted);
                self.follow(out);
            }
            other => return Err(wrong(&format!("label {other}"))),
        }
        Ok(())
    }

    /// Wants the next view, and says so with the newest certificate.
    fn want(&mut self, view: u64, out: &mut Vec<Effect>) {
        let Some(signer) = self.voter() else { return };
        self.wanted.insert(signer.address(), view);
        let mut content = Encoder::new();
        content.u64(view);
        self.newest.encode(&mut content);
        content.bytes(&signer.sign(Purpose::Message, new_view_hash(view, &self.newest)));
        let message = OwnMessage::new("new-view", content.into_bytes()).into();
        out.push(Effect::Send { to: Recipients::Others, message, after: None });
    }

    /// Wants what some honest validator wants, and enters what a quorum wants.
    fn follow(&mut self, out: &mut Vec<Effect>) {
        let mut views: Vec<_> = self.wanted.values().copied().collect();
        views.sort_unstable_by(|one, other| other.cmp(one));
        let own = self.me().and_then(|me| self.wanted.get(&me).copied()).unwrap_or_default();
        let honest = views.get(self.validators.len().saturating_sub(1) / 3).copied().unwrap_or_default();
        if self.voter().is_some() && honest > own.max(self.view) {
            out.push(Effect::Mark("two-phase/join"));
            self.want(honest, out);
            return self.follow(out);
        }
        if let Some(view) = views.get(self.quorum() - 1).copied().filter(|view| *view > self.view) {
            self.enter(view, true, out);
        }
    }

    fn is_valid(&self, certificate: &Certificate) -> bool {
        let hash = vote_hash(certificate.view, certificate.block);
        let authors =
            certificate.votes.iter().filter_map(|vote| self.authenticator.author(Purpose::Message, hash, vote).ok());
        let authors: std::collections::BTreeSet<_> = authors.filter(|by| self.validators.contains(by)).collect();
        let is_genesis = certificate.view == 0 && certificate.block.height == Height::new(0);
        is_genesis || authors.len() >= self.quorum()
    }

    fn apply(&mut self, event: Event, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        match event {
            Event::Start => {
                out.extend(self.is_restarted.then_some(Effect::Mark("two-phase/restart")));
                self.enter(self.view, self.is_restarted, out);
                for block in std::mem::take(&mut self.restored) {
                    let refused = self.on_block(self.someone(), block, out).err();
                    out.extend(refused.map(Effect::Reject));
                }
            }
            Event::Message { from, message: ConsensusMessage::Block(block) } | Event::BlockSynced { from, block } => {
                self.on_block(from, block, out)?;
            }
            Event::Message { from, message: ConsensusMessage::Own(message) } => self.on_message(from, &message, out)?,
            Event::Timer(BUILD) => self.build(out),
            Event::Timer(TIMEOUT) => {
                self.timeouts = (self.timeouts + 1).min(3);
                let nanos = TIMEOUT_NANOS << self.timeouts;
                out.push(Effect::Mark("two-phase/timeout"));
                out.push(Effect::ArmTimer { timer: TIMEOUT, deadline: Deadline::After { nanos } });
                let own = self.me().and_then(|me| self.wanted.get(&me).copied()).unwrap_or_default();
                self.want(own.max(self.view + 1), out);
                self.fetch(self.newest.block, self.someone(), out);
                self.follow(out);
            }
            Event::BlockBuilt { block, .. } => self.propose(&block, out)?,
            Event::BlockJudged { block, verdict } => self.on_judged(block, verdict.is_valid(), out)?,
            _ => {}
        }
        Ok(())
    }
}

impl Protocol for TwoPhase {
    fn step(&mut self, event: Event, effects: &mut Vec<Effect>) {
        if let Err(rejection) = self.apply(event, effects) {
            effects.push(Effect::Reject(rejection));
        }
    }

    fn encode(&self, out: &mut Encoder) {
        [self.view, self.voted, self.proposed, self.tickets].into_iter().for_each(|number| out.u64(number));
        out.u32(self.timeouts);
        encode_block(out, self.head);
        self.newest.encode(out);
        let keys = [&self.tree, &self.judged].map(|blocks| blocks.keys());
        keys.into_iter().for_each(|keys| out.list(keys, |out, hash| out.hash(hash)));
        out.list(self.orphans.keys(), |out, hash| out.hash(hash));
        out.list(self.wanted.iter(), |out, (by, view)| {
            out.address(by);
            out.u64(*view);
        });
        out.list(self.votes.iter(), |out, ((view, block), votes)| {
            out.u64(*view);
            encode_block(out, *block);
            out.list(votes.keys(), |out, by| out.address(by));
        });
    }

    fn head(&self) -> BlockId {
        self.head
    }

    fn finality(&self) -> Finality {
        Finality::both(self.head, FinalityKind::Certificate)
    }

    fn validators(&self) -> ValidatorSet {
        self.validators.clone()
    }

    fn status(&self) -> Option<RoundStatus> {
        let leader = ReplicaId::new((self.view % self.leaders.len() as u64) as u32);
        let role = match self.me() == Some(self.leader(self.view)) {
            true => RoundRole::Leader,
            false if self.timeouts > 0 => RoundRole::Seeking,
            false => RoundRole::Follower,
        };
        Some(RoundStatus { round: self.view, role, leader: Some(leader) })
    }
}

impl Certificate {
    fn encode(&self, out: &mut Encoder) {
        out.u64(self.view);
        encode_block(out, self.block);
        out.list(self.votes.iter(), |out, vote| out.bytes(vote));
    }
}

fn body_key(block: BlockId) -> Vec<u8> {
    [BODY, block.hash.as_slice()].concat()
}

fn encode_block(out: &mut Encoder, block: BlockId) {
    out.u64(block.height.get());
    out.hash(&block.hash);
}

fn vote_hash(view: u64, block: BlockId) -> B256 {
    let mut out = Encoder::new();
    out.u64(view);
    encode_block(&mut out, block);
    keccak256([b"two-phase vote".as_slice(), out.as_bytes()].concat())
}

fn new_view_hash(view: u64, newest: &Certificate) -> B256 {
    let mut out = Encoder::new();
    out.u64(view);
    newest.encode(&mut out);
    keccak256([b"two-phase new-view".as_slice(), out.as_bytes()].concat())
}

/// Reads what an [`Encoder`] wrote.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_be_bytes)
    }

    fn bytes(&mut self) -> Option<Bytes> {
        let length = self.u32()? as usize;
        self.take(length).map(Bytes::copy_from_slice)
    }

    fn block(&mut self) -> Option<BlockId> {
        Some(BlockId { height: Height::new(self.u64()?), hash: B256::from_slice(self.take(32)?) })
    }

    fn certificate(&mut self) -> Option<Certificate> {
        let (view, block, count) = (self.u64()?, self.block()?, self.u32()?);
        let votes = (0..count.min(AHEAD_MAX as u32)).map(|_| self.bytes()).collect::<Option<_>>()?;
        Some(Certificate { view, block, votes })
    }
}
