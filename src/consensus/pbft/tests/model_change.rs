//! Model check of a change of the committee, and of altered copies of honest proposals, with PBFT's own step function.
//!
//! Block 1 removes replica 0, the first primary, and puts 4 in its place; block 2 is agreed upon by the new committee. Replica 3 is a
//! member of both and Byzantine: it votes for any block, requests views, and relays the honest primaries' proposals, and answers
//! requests for blocks, with another payload. Its messages are delivered in any order up to a bound; honest messages beyond those
//! in flight are lost. A running request timer of the first committee may expire at any moment.

use std::{collections::BTreeSet, sync::Arc};

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::{
    super::{log::ProposalStatus, view_change::view_of, *},
    lab::{config, with_payload},
};
use crate::{
    chain::Block,
    consensus::{
        BuildRequest, Records, Verdict,
        model_check::{EnvelopeKey, Input, Replica, ReplicaKey, Setup, TransitionTable, assert_states, post, take},
        mutation::Mutation,
        testing::{Content, Envelope, build},
    },
    primitives::{B256, Bytes, Header, KeyPair},
    system::{ValidatorUpdate, ValidatorUpdates},
};

const REPLICAS: usize = 5;
const MEMBERS: usize = 4;
const LEAVER: usize = 0;
const BYZANTINE: usize = 3;
const JOINER: usize = 4;
const HONEST: [usize; 4] = [0, 1, 2, 4];
/// The highest block.
const TOP: u64 = 2;

/// Bounds of the exploration.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The highest view of the first committee; the second one stays in its first view.
    views: u64,
    /// Messages of the Byzantine replica that are delivered.
    byzantine_messages: u8,
    /// Honest messages in flight at one time; when there are more, all but any so many of them are lost.
    wire: usize,
    /// Replicas that have block 1 from the first on.
    ahead: &'static [usize],
}

struct Changing {
    signers: Vec<Signer>,
    authenticator: Authenticator,
    genesis: Arc<Block>,
    views: u64,
    ahead: &'static [usize],
}

/// The part of a replica's state that the properties read.
#[derive(Debug)]
struct ReplicaView {
    head: BlockId,
    since: Height,
    members: Vec<Address>,
    view: View,
    is_changing: bool,
    armed: Vec<TimerId>,
    /// Its proposal of the next height.
    proposal: Option<B256>,
    is_refused: bool,
    /// Whether the proposal is its own.
    is_primary: bool,
    prepared: Option<(View, B256)>,
    /// Whether the Byzantine replica's prepare or commit would count.
    lacks: [bool; 2],
    byzantine_view_change: Option<View>,
    wanted: Vec<BlockId>,
}

impl Changing {
    fn new(Bounds { views, ahead, .. }: Bounds) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let keys = (0..REPLICAS as u64).map(|index| KeyPair::from_seed(index, "pbft"));
        let mut signers: Vec<_> = keys.map(|key| authenticator.signer(&key)).collect();
        signers.sort_by_key(Signer::address);
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        Self { signers, authenticator, genesis, views, ahead }
    }

    fn config() -> PbftConfig {
        config().with_checkpoints(1, 2)
    }

    /// The transition at genesis, with the change pending.
    fn transition(&self) -> CommitteeTransition {
        let members = ValidatorSet::equal(self.signers[..MEMBERS].iter().map(Signer::address)).unwrap();
        let weight = |index: usize, weight| ValidatorUpdate { address: self.signers[index].address(), weight };
        let updates = ValidatorUpdates::new([weight(LEAVER, 0), weight(JOINER, 1)]);
        CommitteeTransition::new(Committee::new(&Self::config(), members).unwrap()).with(&updates)
    }

    /// The block that `author` builds on `parent`.
    fn block(&self, parent: &Block, author: usize) -> Block {
        let height = parent.height().next();
        let payload = if height.get() == 1 {
            self.transition().payload(&Self::config(), height, Vec::new(), Vec::new())
        } else {
            Bytes::new()
        };
        build(&BuildRequest {
            ticket: Ticket::default(),
            parent: BlockId::of(parent),
            beneficiary: self.signers[author].address(),
            difficulty: 0,
            timestamp_min: Self::config().earliest_after(parent.timestamp()),
            mix_hash: B256::ZERO,
            nonce: crate::primitives::B64::ZERO,
            payload,
        })
    }

    /// The block that the first primary proposes.
    fn first_block(&self) -> Block {
        self.block(&self.genesis, LEAVER)
    }

    /// Every proposal of an honest primary: height, view, author and block.
    fn proposals(&self) -> Vec<(View, usize, Arc<Block>)> {
        let first: Vec<_> = (0..=self.views)
            .map(View::new)
            .map(|view| (view, view.primary(MEMBERS), Arc::new(self.block(&self.genesis, view.primary(MEMBERS)))))
            .collect();
        let second: Vec<_> =
            first.iter().map(|(_, _, parent)| (View::default(), 1, Arc::new(self.block(parent, 1)))).collect();
        first.into_iter().chain(second).collect()
    }

    /// Every message of the Byzantine replica.
    fn messages(&self) -> Vec<(ByzantineMessage, Content)> {
        let signer = &self.signers[BYZANTINE];
        let content = |message: PbftMessage| Content::Message(ConsensusMessage::Pbft(Arc::new(message)));
        let mut messages = Vec::new();
        for (view, author, block) in self.proposals() {
            let id = BlockId::of(&block);
            for place in 0..2 {
                let views = if id.height.get() == 1 { view.get()..=self.views } else { 0..=0 };
                for view in views.map(View::new) {
                    let body = [Body::Prepare { view, block: id }, Body::Commit { view, block: id }][place].clone();
                    messages
                        .push((ByzantineMessage::Vote { view, id, place }, content(PbftMessage::signed(body, signer))));
                }
            }
            let unsealed = PbftMessage::signed(Body::PrePrepare { view, block: block.clone() }, &self.signers[author]);
            let signature = unsealed.signature;
            let seal = Seal::Proposal { view, signature: signature.clone() }.encoded();
            let sealed = block.as_ref().clone().with_seal(seal);
            let altered = Arc::new(with_payload(&sealed, &Bytes::from_static(&[1])));
            let body = Body::PrePrepare { view, block: altered.clone() };
            messages.push((ByzantineMessage::Relay { view, id, author }, content(PbftMessage { body, signature })));
            messages.push((ByzantineMessage::Answer(id), Content::Block(altered)));
        }
        let stable = BlockId::of(&self.genesis);
        for view in (1..=self.views).map(View::new) {
            let (checkpoints, prepared, pre_prepared) = (vec![stable], Vec::new(), Vec::new());
            let since = Height::GENESIS;
            let body = Body::ViewChange(ViewChange { since, view, stable, checkpoints, prepared, pre_prepared });
            messages.push((ByzantineMessage::ViewChange(view), content(PbftMessage::signed(body, signer))));
        }
        messages
    }
}

/// The kind of a message of the Byzantine replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByzantineMessage {
    /// A prepare (place 0) or commit (1).
    Vote {
        view: View,
        id: BlockId,
        place: usize,
    },
    /// The proposal of `author` with another payload.
    Relay {
        view: View,
        id: BlockId,
        author: usize,
    },
    /// The body of a chosen block, with another payload.
    Answer(BlockId),
    ViewChange(View),
}

impl ByzantineMessage {
    /// Returns whether it can change a replica's state now. A vote is sent only when it counts at once, a proposal is relayed only
    /// once its author made it, and a request is answered only once it was made.
    fn is_effective(self, seen: &ReplicaView, all: &[(usize, Arc<ReplicaView>)]) -> bool {
        let next = seen.head.height.next();
        match self {
            Self::Vote { view, id, place } => {
                let is_proposed = seen.proposal == Some(id.hash) && seen.view == view && !seen.is_changing;
                id.height == next && is_proposed && seen.lacks[place]
            }
            Self::Relay { view, id, author } => {
                let made = |(number, other): &(usize, Arc<ReplicaView>)| {
                    *number == author && other.is_primary && other.view == view && other.proposal == Some(id.hash)
                };
                let is_open = id.height == next && seen.view == view && !seen.is_changing && seen.proposal.is_none();
                is_open && all.iter().any(made)
            }
            Self::Answer(id) => seen.wanted.contains(&id),
            Self::ViewChange(view) => {
                let is_later = view > seen.view || (view == seen.view && seen.is_changing);
                seen.since == Height::GENESIS && is_later && seen.byzantine_view_change.is_none_or(|other| other < view)
            }
        }
    }
}

impl Setup for Changing {
    const CRASHES: bool = false;
    const BUILDS_AT_ONCE: bool = true;
    type Protocol = Pbft;
    type View = ReplicaView;

    fn count(&self) -> u32 {
        REPLICAS as u32
    }

    fn is_stepped(&self, number: u32) -> bool {
        number as usize != BYZANTINE
    }

    fn recover(&self, number: u32, _records: &Records) -> Pbft {
        let (config, signer) = (Self::config(), Some(self.signers[number as usize].clone()));
        let (mut top, mut transition) = (self.genesis.as_ref().clone(), self.transition());
        if self.ahead.contains(&(number as usize)) {
            top = self.first_block();
            transition = transition.after(&config, top.height(), top.payload(), &self.authenticator).unwrap();
        }
        let log = Log::new(BlockId::of(&top), config.log_window);
        Pbft::at(config, self.authenticator.clone(), transition, signer, (BlockId::of(&top), top.timestamp()), log)
    }

    /// Nothing is requested or written between two inputs, and no block is synced: a replica that misses one stays behind.
    fn normalize(&self, replica: &mut Replica<Pbft>) {
        let (number, pbft) = (replica.number as usize, &mut replica.protocol);
        let others = (0..REPLICAS).filter(|peer| *peer != number);
        pbft.peers = others.map(|peer| (self.signers[peer].address(), vec![ReplicaId::new(peer as u32)])).collect();
        core::mem::take(&mut pbft.journal);
        (pbft.next_ticket, pbft.last_write, pbft.doublings, pbft.ticks_without_block) = (Ticket::new(1), None, 0, 0);
        pbft.wanted.values_mut().for_each(|requests| *requests = 0);
        (pbft.claims, pbft.fetching, pbft.answered) = Default::default();
        replica.armed.remove(&RESEND_TIMER);
        let is_last = pbft.view().get() == self.views || pbft.transition.since() > Height::GENESIS;
        if is_last {
            replica.armed.remove(&SUSPECT_TIMER);
            pbft.is_awaited = true;
        }
        if pbft.head.height.get() == TOP {
            replica.armed.clear();
        }
        if !pbft.is_changing() {
            pbft.new_view = None;
            pbft.view_changes.retain(|_, message| !is_last && view_of(message) > View::default());
        }
    }

    fn view(&self, replica: &Replica<Pbft>) -> ReplicaView {
        let (pbft, byzantine) = (&replica.protocol, self.signers[BYZANTINE].address());
        let slot = pbft.log.slot(pbft.head.height.next());
        let proposal = slot.and_then(|slot| slot.proposal);
        let counts = |place: usize| {
            slot.is_some_and(|slot| {
                let votes = [&slot.prepares, &slot.commits][place];
                votes.of(&byzantine).is_none_or(|vote| vote.view < pbft.view())
            })
        };
        ReplicaView {
            head: pbft.head,
            since: pbft.transition.since(),
            members: pbft.committee().validators().addresses().collect(),
            view: pbft.view(),
            is_changing: pbft.is_changing(),
            armed: replica.armed.iter().copied().collect(),
            proposal: proposal.map(|proposal| proposal.hash),
            is_refused: proposal.is_some_and(|proposal| proposal.status == ProposalStatus::Rejected),
            is_primary: pbft.is_primary(),
            prepared: slot.and_then(|slot| slot.prepared),
            lacks: [0, 1].map(counts),
            byzantine_view_change: pbft.view_changes.get(&byzantine).map(|message| view_of(message)),
            wanted: pbft.wanted.keys().copied().collect(),
        }
    }

    /// As a chain judges that executes every block anew.
    fn judge(&self, block: &Block) -> Verdict {
        match block.check_body() {
            Ok(()) => Verdict::VALID,
            Err(error) => Verdict::Invalid { reason: error.to_string() },
        }
    }

    fn is_lost(&self, content: &Content) -> bool {
        matches!(content, Content::Message(message) if matches!(message.label(), "checkpoint" | "suspicion" | "evidence"))
    }

    fn is_dead(&self, seen: &ReplicaView, content: &Content) -> bool {
        let Content::Message(ConsensusMessage::Pbft(message)) = content else { return seen.head.height.get() > 0 };
        let is_over = |view: View, height: Height| {
            height <= seen.head.height || (height == seen.head.height.next() && view < seen.view)
        };
        match &message.body {
            Body::PrePrepare { view, block } => is_over(*view, block.height()),
            Body::Prepare { view, block } | Body::Commit { view, block } => is_over(*view, block.height),
            Body::NewView(new_view) => seen.since > Height::GENESIS || new_view.view < seen.view,
            Body::ViewChange(change) => seen.since > change.since || change.view < seen.view,
            Body::Checkpoint { .. } | Body::Evidence(_) | Body::Suspicion(_) => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The honest replicas.
    replicas: [ReplicaKey; HONEST.len()],
    /// Envelopes in flight, in order.
    wire: Vec<EnvelopeKey>,
    byzantine_messages: u8,
    /// The first block that an honest replica committed at each height.
    committed: [Option<B256>; TOP as usize],
    /// The first block that one prepared, by height and view.
    prepared: Vec<(Height, View, B256)>,
    /// Two of one height were committed, or of one height and view prepared.
    is_split: bool,
    is_refused: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Step {
        replica: usize,
        input: Input,
    },
    Byzantine {
        replica: usize,
        envelope: EnvelopeKey,
    },
    /// Loss of all messages in flight but these.
    Keep(Vec<EnvelopeKey>),
}

struct ChangeModel {
    table: TransitionTable<Changing>,
    bounds: Bounds,
    byzantine_messages: Vec<(ByzantineMessage, usize, EnvelopeKey)>,
}

impl ChangeModel {
    fn new(bounds: Bounds, mutation: Option<Mutation>) -> Self {
        let table = TransitionTable::new(Changing::new(bounds), mutation);
        let mut byzantine_messages = Vec::new();
        for (kind, content) in table.setup().messages() {
            for (place, to) in HONEST.iter().enumerate() {
                let (from, to) = (ReplicaId::new(BYZANTINE as u32), ReplicaId::new(*to as u32));
                let envelope = table.envelope_key(Envelope { from, to, content: content.clone() });
                byzantine_messages.push((kind, place, envelope));
            }
        }
        Self { table, bounds, byzantine_messages }
    }

    fn seen(&self, state: &State) -> Vec<(usize, Arc<ReplicaView>)> {
        HONEST.into_iter().zip(self.table.views(state.replicas)).collect()
    }
}

/// Every choice of `count` of these, which are in order, each once.
fn choices(all: &[EnvelopeKey], count: usize) -> BTreeSet<Vec<EnvelopeKey>> {
    if count == 0 {
        return BTreeSet::from([Vec::new()]);
    }
    let mut found = BTreeSet::new();
    for (place, first) in all.iter().enumerate() {
        for rest in choices(&all[place + 1..], count - 1) {
            found.insert(core::iter::once(*first).chain(rest).collect());
        }
    }
    found
}

fn place(replica: ReplicaId) -> usize {
    HONEST.iter().position(|number| *number == replica.index()).expect("an honest replica")
}

impl Model for ChangeModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replicas = HONEST.map(|number| self.table.first(number as u32));
        vec![State {
            replicas,
            wire: Vec::new(),
            byzantine_messages: 0,
            committed: [(!self.bounds.ahead.is_empty()).then(|| self.table.setup().first_block().hash()), None],
            prepared: Vec::new(),
            is_split: false,
            is_refused: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let mut wire = state.wire.clone();
        wire.dedup();
        if state.wire.len() > self.bounds.wire {
            return actions.extend(choices(&state.wire, self.bounds.wire).into_iter().map(Action::Keep));
        }
        for envelope in wire {
            let replica = place(self.table.envelope(envelope).to);
            actions.push(Action::Step { replica, input: Input::Deliver(envelope) });
        }
        let seen = self.seen(state);
        if state.byzantine_messages < self.bounds.byzantine_messages {
            let effective =
                self.byzantine_messages.iter().filter(|(kind, to, _)| kind.is_effective(&seen[*to].1, &seen));
            actions.extend(effective.map(|(_, to, envelope)| Action::Byzantine { replica: *to, envelope: *envelope }));
        }
        for (replica, (_, seen)) in seen.iter().enumerate() {
            let timers = seen.armed.iter().map(|timer| Action::Step { replica, input: Input::Timer(*timer) });
            actions.extend(timers);
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        let (replica, input) = match action {
            Action::Keep(kept) => {
                next.wire = kept;
                return Some(next);
            }
            Action::Byzantine { replica, envelope } => {
                next.byzantine_messages += 1;
                (replica, Input::Deliver(envelope))
            }
            Action::Step { replica, input } => {
                if let Input::Deliver(envelope) = input {
                    take(&mut next.wire, envelope);
                }
                (replica, input)
            }
        };
        let before = self.table.view(state.replicas[replica]);
        let outcome = self.table.step(state.replicas[replica], input, false)?;
        next.replicas[replica] = outcome.replica;
        post(&mut next.wire, &outcome.sent);
        self.table.forget_dead(&next.replicas, &mut next.wire);
        let seen = self.table.view(outcome.replica);
        next.is_refused |= seen.is_refused;
        if seen.head != before.head {
            let first = next.committed[seen.head.height.get() as usize - 1].get_or_insert(seen.head.hash);
            next.is_split |= *first != seen.head.hash;
        }
        if let Some((view, hash)) = seen.prepared {
            let height = seen.head.height.next();
            match next.prepared.iter().find(|(at, in_view, _)| (*at, *in_view) == (height, view)) {
                Some((_, _, first)) => next.is_split |= *first != hash,
                None => {
                    next.prepared.push((height, view, hash));
                    next.prepared.sort_unstable();
                }
            }
        }
        let is_vain = next.replicas == state.replicas && next.wire == state.wire;
        (!is_vain).then_some(next)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Keep(kept) => format!("all lost but {}", kept.len()),
            Action::Byzantine { envelope, .. } => format!("Byzantine: {:?}", self.table.envelope(*envelope)),
            Action::Step { input: Input::Deliver(envelope), .. } => format!("{:?}", self.table.envelope(*envelope)),
            Action::Step { replica, input } => format!("{}: {input:?}", HONEST[*replica]),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("agreement", |_, state: &State| !state.is_split),
            Property::always("one committee follows each block", |model: &Self, state: &State| {
                let seen = model.seen(state);
                let changed = seen.iter().filter(|(_, seen)| seen.head.height > Height::GENESIS);
                changed.map(|(_, seen)| (seen.since, &seen.members)).collect::<BTreeSet<_>>().len() <= 1
            }),
            Property::always("no proposal of an honest primary is refused", |_, state: &State| !state.is_refused),
            Property::sometimes("the leaver alone committed", |model: &Self, state: &State| {
                model.seen(state).iter().all(|(number, seen)| (seen.head.height.get() == 1) == (*number == LEAVER))
            }),
            Property::sometimes("the new committee commits", |_, state: &State| state.committed[1].is_some()),
        ]
    }
}

const ALWAYS: [&str; 3] =
    ["agreement", "one committee follows each block", "no proposal of an honest primary is refused"];

/// Explores all states within `bounds`, checks the properties and that `reached` are reached, and returns the number of states.
fn explore(bounds: Bounds, reached: &[&'static str]) -> usize {
    let checker = ChangeModel::new(bounds, None).checker().spawn_bfs().join();
    let (replicas, steps) = checker.model().table.sizes();
    let unique = checker.unique_state_count();
    println!(
        "pbft, change of the committee, {bounds:?}: all {unique} states explored ({} reached, {} inputs deep) from {steps} \
         steps between {replicas} states of single replicas",
        checker.state_count(),
        checker.max_depth(),
    );
    assert!(checker.is_done());
    ALWAYS.into_iter().for_each(|name| checker.assert_no_discovery(name));
    reached.iter().for_each(|name| drop(checker.assert_any_discovery(name)));
    unique
}

/// The least bounds: the first committee commits the block that changes it.
const FIRST: Bounds = Bounds { views: 0, byzantine_messages: 9, wire: 1, ahead: &[] };
/// A view change of the first committee while some commit.
const VIEW_CHANGE: Bounds = Bounds { views: 1, byzantine_messages: 1, wire: 1, ahead: &[] };
/// Two members of the new committee have the block, and two of the former one do not.
const SPLIT: Bounds = Bounds { views: 1, byzantine_messages: 4, wire: 1, ahead: &[1, 4] };

#[test]
fn a_change_of_the_committee_without_a_view_change() {
    assert_states(explore(FIRST, &["the leaver alone committed"]), 1_292);
}

#[test]
fn a_change_of_the_committee_during_a_view_change() {
    assert_states(explore(VIEW_CHANGE, &[]), 98_916);
}

#[test]
fn a_new_committee_beside_those_who_do_not_know_it() {
    assert_states(explore(SPLIT, &["the new committee commits"]), 338_850);
}

/// `scripts/model-check-pbft` runs it in release and keeps its output.
#[test]
#[ignore = "minutes: scripts/model-check-pbft"]
fn a_change_of_the_committee_with_more_messages() {
    explore(Bounds { byzantine_messages: 3, wire: 2, ..FIRST }, &["the leaver alone committed"]);
    explore(Bounds { byzantine_messages: 2, ..VIEW_CHANGE }, &[]);
}

#[test]
fn a_replica_that_takes_any_body_refuses_an_honest_primary() {
    let bounds = Bounds { byzantine_messages: 1, ..FIRST };
    let checker = ChangeModel::new(bounds, Some(Mutation::PbftTakesAnyBody)).checker();
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    assert!(checker.discovery("no proposal of an honest primary is refused").is_some());
}
