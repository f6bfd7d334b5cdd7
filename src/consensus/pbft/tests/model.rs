//! Model check of PBFT's own step function: four replicas of which the primary of view 0 is Byzantine, agreement on one height
//! through a view change, every order and loss of a bounded number of messages in flight.
//!
//! The Byzantine replica sends nothing, or any of [`OneByzantine::messages`] to any replica, up to a bound. Time is not
//! modelled: a running request timer may expire at any moment.

use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::{
    super::{log::Votes, view_change::view_of, vote::pre_prepare, *},
    lab::config,
};
use crate::{
    chain::Block,
    consensus::{
        BuildRequest, Purpose, Records,
        model_check::{EnvelopeKey, Input, Replica, ReplicaKey, Setup, TransitionTable, assert_states, post, take},
        mutation::Mutation,
        testing::{Content, Envelope, build},
    },
    primitives::{B64, B256, Bytes, Header, KeyPair, keccak256},
};

const REPLICAS: usize = 4;
/// The primary of view 0.
const BYZANTINE: u32 = 0;
const HONEST: [usize; 3] = [1, 2, 3];
const HEIGHT: Height = Height::new(1);

/// Bounds of the exploration.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The highest view.
    views: u64,
    /// Messages of the Byzantine replica that are delivered; `u8::MAX` for no bound.
    byzantine_messages: u8,
    /// Honest messages in flight at one time; when there are more, any of them is lost.
    wire: usize,
}

struct OneByzantine {
    signers: Vec<Signer>,
    authenticator: Authenticator,
    genesis: Arc<Block>,
    views: u64,
}

/// The part of a replica's state that the properties read.
#[derive(Debug)]
struct ReplicaView {
    view: View,
    is_changing: bool,
    /// The block committed at [`HEIGHT`].
    committed: Option<B256>,
    prepared: Option<(View, B256)>,
    armed: Vec<TimerId>,
    /// Whether the new view chose a block.
    is_chosen: bool,
    /// The proposal that it accepted in its view.
    accepted: Option<(View, B256)>,
    /// Whether the Byzantine replica's prepare would count.
    lacks_prepares: bool,
    /// Whether the Byzantine replica's commit would count.
    lacks_commits: bool,
    /// The latest view of a view-change of the Byzantine replica.
    byzantine_view_change: Option<View>,
}

impl OneByzantine {
    fn new(views: u64) -> Self {
        let authenticator = Authenticator::symbolic(7);
        let keys = (0..REPLICAS as u64).map(|index| KeyPair::from_seed(index, "pbft"));
        let mut signers: Vec<_> = keys.map(|key| authenticator.signer(&key)).collect();
        signers.sort_by_key(Signer::address);
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        Self { signers, authenticator, genesis, views }
    }

    /// The block that `author` builds on genesis; other ones have another salt.
    fn block(&self, author: usize, salt: u64) -> Block {
        build(&BuildRequest {
            ticket: Ticket::default(),
            parent: BlockId::of(&self.genesis),
            beneficiary: self.signers[author].address(),
            difficulty: 0,
            timestamp_min: config().earliest_after(Timestamp::from_secs(self.genesis.timestamp().as_secs() + salt)),
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: Bytes::new(),
        })
    }

    /// Returns every message of the Byzantine replica in views up to `views`: two proposals in its own, votes for any block,
    /// and view-changes that omit or invent a prepared block.
    fn messages(&self) -> Vec<(ByzantineMessage, PbftMessage)> {
        let (signer, views) = (&self.signers[BYZANTINE as usize], self.views);
        let own = [self.block(0, 0), self.block(0, 1)];
        let others = (1..=views).map(|view| self.block(View::new(view).primary(REPLICAS), 0));
        let all: Vec<_> = own.iter().cloned().chain(others).map(|block| BlockId::of(&block)).collect();
        let stable = BlockId::of(&self.genesis);
        let mut messages = Vec::new();
        for (which, block) in own.iter().enumerate() {
            let (view, id) = (View::default(), BlockId::of(block));
            let signature = signer.sign(Purpose::Message, keccak256(pre_prepare(view, &id)));
            let seal = Seal::Proposal { view, signature: signature.clone() }.encoded();
            let block = Arc::new(block.clone().with_seal(seal));
            let message = PbftMessage { body: Body::PrePrepare { view, block }, signature };
            messages.push((ByzantineMessage::Proposal { is_second: which == 1 }, message));
        }
        for view in (0..=views).map(View::new) {
            for block in all.iter().copied() {
                if view.get() > 0 {
                    let message = PbftMessage::signed(Body::Prepare { view, block }, signer);
                    messages.push((ByzantineMessage::Prepare(view, block.hash), message));
                }
                let message = PbftMessage::signed(Body::Commit { view, block }, signer);
                messages.push((ByzantineMessage::Commit(view, block.hash), message));
            }
        }
        for view in (1..=views).map(View::new) {
            for claim in [None, Some(all[0]), Some(all[1])] {
                let entries: Vec<_> = claim.map(|block| InView { block, view: View::default() }).into_iter().collect();
                let (prepared, pre_prepared) = (entries.clone(), entries);
                let checkpoints = vec![stable];
                let body = Body::ViewChange(ViewChange {
                    since: Height::GENESIS,
                    view,
                    stable,
                    checkpoints,
                    prepared,
                    pre_prepared,
                });
                messages.push((
                    ByzantineMessage::ViewChange { view, is_claim: claim.is_some() },
                    PbftMessage::signed(body, signer),
                ));
            }
        }
        messages
    }
}

/// The kind of a message of the Byzantine replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByzantineMessage {
    Proposal { is_second: bool },
    Prepare(View, B256),
    Commit(View, B256),
    ViewChange { view: View, is_claim: bool },
}

impl ByzantineMessage {
    /// Returns whether it changes a replica's state now. A vote is sent only when it counts at once: an earlier one would be
    /// stored until then. A second proposal makes a replica leave the view, which it may do at any time; and the prepared
    /// block of a view-change matters only to the primary of that view.
    fn is_effective(self, number: usize, seen: &ReplicaView) -> bool {
        match self {
            Self::Proposal { .. } => seen.view.get() == 0 && !seen.is_changing && seen.accepted.is_none(),
            Self::Prepare(view, hash) => seen.lacks_prepares && seen.accepted == Some((view, hash)),
            Self::Commit(view, hash) => seen.lacks_commits && seen.accepted == Some((view, hash)),
            Self::ViewChange { view, is_claim } => {
                let is_new_view = seen.byzantine_view_change.is_none_or(|wanted| wanted < view);
                let is_later = view > seen.view || (view == seen.view && seen.is_changing);
                is_new_view && is_later && (!is_claim || view.primary(REPLICAS) == number)
            }
        }
    }
}

impl Setup for OneByzantine {
    const CRASHES: bool = false;
    const BUILDS_AT_ONCE: bool = true;
    type Protocol = Pbft;
    type View = ReplicaView;

    fn count(&self) -> u32 {
        REPLICAS as u32
    }

    fn is_stepped(&self, number: u32) -> bool {
        number != BYZANTINE
    }

    fn recover(&self, number: u32, _records: &Records) -> Pbft {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let validators = ValidatorSet::equal(self.signers.iter().map(Signer::address)).unwrap();
        let signer = Some(self.signers[number as usize].clone());
        Pbft::new(config(), genesis, validators, self.authenticator.clone(), signer).unwrap()
    }

    /// Nothing is requested or written between two inputs. Every peer is known, and the length of a timeout has no effect.
    fn normalize(&self, replica: &mut Replica<Pbft>) {
        let number = replica.number as usize;
        let pbft = &mut replica.protocol;
        assert!(!matches!(pbft.build_state, BuildState::Building(_)));
        let others = (0..REPLICAS).filter(|peer| *peer != number);
        pbft.peers = others.map(|peer| (self.signers[peer].address(), vec![ReplicaId::new(peer as u32)])).collect();
        core::mem::take(&mut pbft.journal);
        (pbft.next_ticket, pbft.last_write, pbft.doublings, pbft.ticks_without_block) = (Ticket::new(1), None, 0, 0);
        pbft.wanted.values_mut().for_each(|requests| *requests = 0);
        pbft.answered.clear();
        replica.armed.remove(&RESEND_TIMER);
        let (view, is_changing) = (pbft.view(), pbft.is_changing());
        let is_last = view.get() == self.views;
        if is_last {
            // No later view is explored: only this view's primary uses view-changes.
            replica.armed.remove(&SUSPECT_TIMER);
            pbft.is_awaited = true;
            if !is_changing || view.primary(REPLICAS) != number {
                pbft.view_changes.clear();
            }
        }
        if !is_changing {
            // A resent message is for replicas that missed it; delivering the first one late covers that.
            pbft.new_view = None;
        }
        let Some(slot) = pbft.log.slot_mut(HEIGHT) else { return };
        if is_changing {
            // These belong to an earlier view.
            slot.proposal = None;
            slot.prepares.retain(|_, vote| vote.view >= view);
            slot.commits.retain(|_, vote| vote.view >= view);
        } else if is_last {
            // No message about earlier views follows.
            slot.pre_prepared.retain(|_, at| *at == view);
            slot.prepared = slot.prepared.filter(|(at, _)| *at == view);
            slot.bodies.retain(|hash, _| slot.proposal.is_some_and(|proposal| proposal.hash == *hash));
        }
        if slot.prepared.is_some_and(|(at, _)| at == view) {
            slot.prepares.clear();
        }
        if slot.committed.is_some() {
            slot.commits.clear();
        }
    }

    fn view(&self, replica: &Replica<Pbft>) -> ReplicaView {
        let pbft = &replica.protocol;
        let (slot, byzantine) = (pbft.log.slot(HEIGHT), self.signers[BYZANTINE as usize].address());
        let proposal = slot.and_then(|slot| slot.proposal);
        let voted = |votes: &Votes| votes.of(&byzantine).is_some_and(|vote| vote.view == pbft.view());
        ReplicaView {
            view: pbft.view(),
            is_changing: pbft.is_changing(),
            committed: slot.and_then(|slot| slot.committed).map(|(_, hash)| hash),
            prepared: slot.and_then(|slot| slot.prepared),
            armed: replica.armed.iter().copied().collect(),
            is_chosen: proposal.is_some_and(|proposal| proposal.is_chosen),
            accepted: proposal.map(|proposal| (pbft.view(), proposal.hash)),
            lacks_prepares: slot
                .is_some_and(|slot| !voted(&slot.prepares) && slot.prepared.is_none_or(|(view, _)| view < pbft.view())),
            lacks_commits: slot.is_some_and(|slot| !voted(&slot.commits) && slot.committed.is_none()),
            byzantine_view_change: pbft.view_changes.get(&byzantine).map(|message| view_of(message)),
        }
    }

    /// Returns whether a message can no longer change the replica: it is of an earlier view, or a vote for a block that the
    /// replica did not accept or has committed.
    fn is_dead(&self, seen: &ReplicaView, content: &Content) -> bool {
        let Content::Message(ConsensusMessage::Pbft(message)) = content else { return false };
        let is_other = |view: View, hash: B256| seen.accepted.is_some_and(|own| own.0 == view && own.1 != hash);
        match &message.body {
            Body::PrePrepare { view, .. } => *view < seen.view || seen.committed.is_some(),
            Body::Prepare { view, block } => {
                *view < seen.view || is_other(*view, block.hash) || (*view == seen.view && !seen.lacks_prepares)
            }
            Body::Commit { view, block } => {
                *view < seen.view || is_other(*view, block.hash) || seen.committed.is_some()
            }
            Body::NewView(new_view) => new_view.view < seen.view || (new_view.view == seen.view && !seen.is_changing),
            Body::ViewChange(change) => change.view < seen.view || (change.view == seen.view && !seen.is_changing),
            Body::Checkpoint { .. } => false,
            // Evidence takes effect in later blocks; this model has one.
            Body::Evidence(_) | Body::Suspicion(_) => true,
        }
    }
}

/// Returns whether a message can change the replica now. A vote for a block that it has not accepted yet can come later too.
fn is_timely(seen: &ReplicaView, content: &Content) -> bool {
    let Content::Message(ConsensusMessage::Pbft(message)) = content else { return true };
    match &message.body {
        Body::Prepare { view, block } | Body::Commit { view, block } => seen.accepted == Some((*view, block.hash)),
        _ => true,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The honest replicas.
    replicas: [ReplicaKey; HONEST.len()],
    /// Envelopes in flight, in order.
    wire: Vec<EnvelopeKey>,
    byzantine_messages: u8,
    /// The block that a replica prepared, by view.
    prepared: Vec<Option<B256>>,
    two_prepared: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Step {
        replica: usize,
        input: Input,
    },
    Byzantine(EnvelopeKey),
    /// Loss of a message beyond [`Bounds::wire`].
    Lose(EnvelopeKey),
}

struct PbftModel {
    table: TransitionTable<OneByzantine>,
    bounds: Bounds,
    byzantine_messages: Vec<(ByzantineMessage, EnvelopeKey)>,
}

impl PbftModel {
    fn new(bounds: Bounds, mutation: Option<Mutation>) -> Self {
        let table = TransitionTable::new(OneByzantine::new(bounds.views), mutation);
        let messages = table.setup().messages();
        let byzantine_messages = messages.into_iter().flat_map(|(kind, message)| {
            let content = Content::Message(ConsensusMessage::Pbft(Arc::new(message)));
            HONEST.map(|to| {
                (
                    kind,
                    table.envelope_key(Envelope {
                        from: ReplicaId::new(BYZANTINE),
                        to: ReplicaId::new(to as u32),
                        content: content.clone(),
                    }),
                )
            })
        });
        let byzantine_messages = byzantine_messages.collect();
        Self { table, bounds, byzantine_messages }
    }

    fn seen(&self, state: &State) -> [Arc<ReplicaView>; HONEST.len()] {
        self.table.views(state.replicas)
    }
}

fn place(replica: ReplicaId) -> usize {
    replica.index() - 1
}

impl Model for PbftModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let replicas = HONEST.map(|number| self.table.first(number as u32));
        vec![State { replicas, wire: Vec::new(), byzantine_messages: 0, prepared: Vec::new(), two_prepared: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let mut wire = state.wire.clone();
        wire.dedup();
        if state.wire.len() > self.bounds.wire {
            return actions.extend(wire.into_iter().map(Action::Lose));
        }
        let seen = self.seen(state);
        for envelope in wire {
            let Envelope { to, content, .. } = &*self.table.envelope(envelope);
            let replica = place(*to);
            if is_timely(&seen[replica], content) {
                actions.push(Action::Step { replica, input: Input::Deliver(envelope) });
            }
        }
        // The two blocks are symmetric: the one proposed first is taken as the first.
        let is_first = seen.iter().all(|seen| seen.view.get() == 0 && seen.accepted.is_none());
        for (kind, envelope) in
            self.byzantine_messages.iter().filter(|_| state.byzantine_messages < self.bounds.byzantine_messages)
        {
            let to = self.table.envelope(*envelope).to;
            let is_renamed = is_first && *kind == ByzantineMessage::Proposal { is_second: true };
            if !is_renamed && kind.is_effective(to.index(), &seen[place(to)]) {
                actions.push(Action::Byzantine(*envelope));
            }
        }
        for (replica, seen) in seen.iter().enumerate() {
            for timer in &seen.armed {
                let is_bounded = match *timer {
                    SUSPECT_TIMER => seen.view.get() < self.bounds.views,
                    _ => seen.committed.is_none(),
                };
                if is_bounded {
                    actions.push(Action::Step { replica, input: Input::Timer(*timer) });
                }
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        let (replica, input) = match action {
            Action::Lose(envelope) => {
                take(&mut next.wire, envelope);
                return Some(next);
            }
            Action::Byzantine(envelope) => {
                next.byzantine_messages += u8::from(self.bounds.byzantine_messages < u8::MAX);
                (place(self.table.envelope(envelope).to), Input::Deliver(envelope))
            }
            Action::Step { replica, input } => {
                if let Input::Deliver(envelope) = input {
                    take(&mut next.wire, envelope);
                }
                (replica, input)
            }
        };
        let before = state.replicas[replica];
        let outcome = self.table.step(before, input, false)?;
        next.replicas[replica] = outcome.replica;
        post(&mut next.wire, &outcome.sent);
        self.table.forget_dead(&next.replicas, &mut next.wire);
        if let Some((view, hash)) = self.table.view(outcome.replica).prepared {
            let view = view.get() as usize;
            if next.prepared.len() <= view {
                next.prepared.resize(view + 1, None);
            }
            next.two_prepared |= *next.prepared[view].get_or_insert(hash) != hash;
        }
        let is_vain = next.replicas == state.replicas && next.wire == state.wire;
        (!is_vain).then_some(next)
    }

    fn format_action(&self, action: &Action) -> String {
        match action {
            Action::Lose(envelope) => format!("lost: {:?}", self.table.envelope(*envelope)),
            Action::Byzantine(envelope) => format!("the Byzantine replica sends {:?}", self.table.envelope(*envelope)),
            Action::Step { input: Input::Deliver(envelope), .. } => format!("{:?}", self.table.envelope(*envelope)),
            Action::Step { replica, input } => format!("{}: {input:?}", HONEST[*replica]),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("agreement", |model: &Self, state: &State| {
                let mut committed = model.seen(state).into_iter().filter_map(|seen| seen.committed);
                let first = committed.next();
                committed.all(|hash| Some(hash) == first)
            }),
            Property::always("prepared is unique in a view", |_, state: &State| !state.two_prepared),
            Property::sometimes("the first view commits", |model: &Self, state: &State| {
                model.seen(state).iter().any(|seen| seen.view.get() == 0 && seen.committed.is_some())
            }),
            Property::sometimes("the second view commits what the first prepared", |model: &Self, state: &State| {
                let committed = model.seen(state).into_iter().find(|seen| seen.view.get() == 1 && seen.is_chosen);
                committed.is_some_and(|seen| {
                    seen.committed.is_some() && state.prepared.first().copied().flatten() == seen.committed
                })
            }),
            Property::sometimes("the second view commits a block of its own", |model: &Self, state: &State| {
                let committed = model.seen(state).into_iter().find(|seen| seen.view.get() == 1 && !seen.is_chosen);
                committed
                    .is_some_and(|seen| seen.committed.is_some() && state.prepared.first().copied().flatten().is_none())
            }),
        ]
    }
}

/// Explores all states within `bounds`, checks the properties and returns the number of states.
fn explore(bounds: Bounds) -> usize {
    let checker = PbftModel::new(bounds, None).checker().spawn_bfs().join();
    let (replicas, steps) = checker.model().table.sizes();
    let unique = checker.unique_state_count();
    println!(
        "pbft, {bounds:?}: all {unique} states explored ({} reached, {} inputs deep) from {steps} steps between \
         {replicas} states of single replicas",
        checker.state_count(),
        checker.max_depth(),
    );
    assert!(checker.is_done());
    checker.assert_no_discovery("agreement");
    checker.assert_no_discovery("prepared is unique in a view");
    checker.assert_any_discovery("the second view commits a block of its own");
    if bounds.byzantine_messages > 0 {
        checker.assert_any_discovery("the first view commits");
        checker.assert_any_discovery("the second view commits what the first prepared");
    }
    unique
}

/// Returns the first property that a deliberate bug violates.
fn find(mutation: Mutation, bounds: Bounds) -> &'static str {
    let checker = PbftModel::new(bounds, Some(mutation)).checker();
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let always = ["agreement", "prepared is unique in a view"];
    let found = always.into_iter().find_map(|name| Some((name, checker.discovery(name)?)));
    let (name, path) = found.expect("the bug is found");
    println!("{mutation:?}: {name} is violated, after {} states:", checker.unique_state_count());
    for action in path.into_actions() {
        println!("  {}", checker.model().format_action(&action));
    }
    name
}

#[test]
fn a_silent_byzantine_primary() {
    assert_states(explore(Bounds { views: 1, byzantine_messages: 0, wire: 3 }), 1_980);
}

/// Takes about 10 seconds.
#[test]
fn a_byzantine_primary_through_a_view_change() {
    assert_states(explore(Bounds { views: 1, byzantine_messages: 3, wire: 2 }), 337_943);
}

/// Takes about 10 seconds.
#[test]
fn a_byzantine_primary_with_unbounded_messages() {
    assert_states(explore(Bounds { views: 1, byzantine_messages: u8::MAX, wire: 1 }), 420_334);
}

#[test]
fn a_quorum_one_short_prepares_two_blocks_in_a_view() {
    let found = find(Mutation::PbftQuorumOneShort, Bounds { views: 1, byzantine_messages: 4, wire: 2 });
    assert_eq!(found, "prepared is unique in a view");
}

/// The bug has an effect only when a view change follows a commit.
#[test]
fn a_view_change_without_prepared_blocks_breaks_agreement() {
    assert_eq!(
        find(Mutation::PbftForgetsPrepared, Bounds { views: 1, byzantine_messages: u8::MAX, wire: 1 }),
        "agreement"
    );
}
