//! PBFT's real step function, model-checked: four replicas, the primary of view 0 a liar, agreement upon one height
//! through a view change, every order and loss of messages of which so many are under way.
//!
//! The liar sends nothing, or any of [`OneLiar::words`] to any replica, up to a number of times. Time is free: a request
//! timer that runs may expire at any moment.

use std::sync::Arc;

use stateright::{Checker, HasDiscoveries, Model, Property};

use super::{
    super::{log::Votes, view_change::view_of, vote::pre_prepare, *},
    lab::config,
};
use crate::{
    chain::Block,
    consensus::{
        BuildRequest, Records,
        model_check::{EnvelopeKey, Input, Replica, ReplicaKey, Setup, TransitionTable, post, take},
        mutation::Mutation,
        testing::{Content, Envelope, build},
    },
    primitives::{B256, Bytes, Header, KeyPair, keccak256},
};

const REPLICAS: usize = 4;
/// The primary of view 0.
const LIAR: u32 = 0;
const HONEST: [usize; 3] = [1, 2, 3];
const HEIGHT: Height = Height::new(1);

/// How far the exploration goes.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The highest view.
    views: u64,
    /// Words of the liar that are heard.
    lies: u8,
    /// Honest messages under way at one time; when there are more, any of them is lost.
    wire: usize,
}

struct OneLiar {
    signers: Vec<Signer>,
    authenticator: Authenticator,
    genesis: Arc<Block>,
    views: u64,
}

/// What properties ask of one replica.
#[derive(Debug)]
struct Seen {
    view: View,
    is_changing: bool,
    /// What it committed at [`HEIGHT`].
    committed: Option<B256>,
    prepared: Option<(View, B256)>,
    armed: Vec<TimerId>,
    /// Whether the new view chose a block.
    is_chosen: bool,
    /// The proposal that it agreed to in its view.
    accepted: Option<(View, B256)>,
    /// Whether the liar's prepare would count.
    lacks_prepares: bool,
    /// Whether the liar's commit would count.
    lacks_commits: bool,
    /// The latest view that the liar asked it for.
    liar_wants: Option<View>,
}

impl OneLiar {
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
            payload: Bytes::new(),
        })
    }

    /// Everything that the liar may say in views up to `views`: two proposals in its own, votes for any block, and
    /// view-changes that deny or invent what it prepared.
    fn words(&self) -> Vec<(Word, PbftMessage)> {
        let (signer, views) = (&self.signers[LIAR as usize], self.views);
        let own = [self.block(0, 0), self.block(0, 1)];
        let others = (1..=views).map(|view| self.block(View::new(view).primary(REPLICAS), 0));
        let all: Vec<_> = own.iter().cloned().chain(others).map(|block| BlockId::of(&block)).collect();
        let stable = BlockId::of(&self.genesis);
        let mut words = Vec::new();
        for (which, block) in own.iter().enumerate() {
            let (view, id) = (View::default(), BlockId::of(block));
            let signature = signer.sign(keccak256(pre_prepare(view, &id)));
            let seal = Seal::Proposal { view, signature: signature.clone() }.encoded();
            let block = Arc::new(block.clone().with_seal(seal));
            let message = PbftMessage { body: Body::PrePrepare { view, block }, signature };
            words.push((Word::Proposal { is_second: which == 1 }, message));
        }
        for view in (0..=views).map(View::new) {
            for block in all.iter().copied() {
                if view.get() > 0 {
                    let message = PbftMessage::signed(Body::Prepare { view, block }, signer);
                    words.push((Word::Prepare(view, block.hash), message));
                }
                let message = PbftMessage::signed(Body::Commit { view, block }, signer);
                words.push((Word::Commit(view, block.hash), message));
            }
        }
        for view in (1..=views).map(View::new) {
            for claim in [None, Some(all[0]), Some(all[1])] {
                let entries: Vec<_> = claim.map(|block| InView { block, view: View::default() }).into_iter().collect();
                let (prepared, pre_prepared) = (entries.clone(), entries);
                let checkpoints = vec![stable];
                let body = Body::ViewChange(ViewChange { view, stable, checkpoints, prepared, pre_prepared });
                words.push((Word::ViewChange { view, is_claim: claim.is_some() }, PbftMessage::signed(body, signer)));
            }
        }
        words
    }
}

/// A message of the liar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Proposal { is_second: bool },
    Prepare(View, B256),
    Commit(View, B256),
    ViewChange { view: View, is_claim: bool },
}

impl Word {
    /// Whether a replica uses it now. A vote is only sent when it counts at once: sent earlier it would wait. A second
    /// proposal to one replica makes it leave the view, which it may do at any time; and what a view-change claims
    /// matters only to the primary of that view.
    fn is_heeded(self, number: usize, seen: &Seen) -> bool {
        match self {
            Self::Proposal { .. } => seen.view.get() == 0 && !seen.is_changing && seen.accepted.is_none(),
            Self::Prepare(view, hash) => seen.lacks_prepares && seen.accepted == Some((view, hash)),
            Self::Commit(view, hash) => seen.lacks_commits && seen.accepted == Some((view, hash)),
            Self::ViewChange { view, is_claim } => {
                let is_new_offence = seen.liar_wants.is_none_or(|wanted| wanted < view);
                let is_later = view > seen.view || (view == seen.view && seen.is_changing);
                is_new_offence && is_later && (!is_claim || view.primary(REPLICAS) == number)
            }
        }
    }
}

impl Setup for OneLiar {
    const CRASHES: bool = false;
    const BUILDS_AT_ONCE: bool = true;
    type Protocol = Pbft;
    type View = Seen;

    fn count(&self) -> u32 {
        REPLICAS as u32
    }

    fn is_stepped(&self, number: u32) -> bool {
        number != LIAR
    }

    fn recover(&self, number: u32, _records: &Records) -> Pbft {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let validators = ValidatorSet::equal(self.signers.iter().map(Signer::address)).unwrap();
        let signer = Some(self.signers[number as usize].clone());
        Pbft::new(config(), genesis, validators, self.authenticator.clone(), signer).unwrap()
    }

    /// Nothing is requested or written between two inputs. Every peer is known, and the length of a wait means nothing.
    fn normalize(&self, replica: &mut Replica<Pbft>) {
        let number = replica.number as usize;
        let pbft = &mut replica.protocol;
        assert!(!matches!(pbft.build_state, BuildState::Building(_)));
        let others = (0..REPLICAS).filter(|peer| *peer != number);
        pbft.peers = others.map(|peer| (self.signers[peer].address(), ReplicaId::new(peer as u32))).collect();
        core::mem::take(&mut pbft.journal);
        (pbft.next_ticket, pbft.last_write, pbft.requests, pbft.doublings) = (Ticket::new(1), None, 0, 0);
        replica.armed.remove(&RESEND_TIMER);
        let (view, is_changing) = (pbft.view(), pbft.is_changing());
        let is_last = view.get() == self.views;
        if is_last {
            // No later view is explored, so that only this one's primary has a use for view-changes.
            replica.armed.remove(&SUSPECT_TIMER);
            pbft.is_awaited = true;
            if !is_changing || view.primary(REPLICAS) != number {
                pbft.view_changes.clear();
            }
        }
        if !is_changing {
            // It is for replicas that missed it, which may as well get the first one late.
            pbft.new_view = None;
        }
        let Some(slot) = pbft.log.slot_mut(HEIGHT) else { return };
        if is_changing {
            // The view that these belong to is over.
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

    fn view(&self, replica: &Replica<Pbft>) -> Seen {
        let pbft = &replica.protocol;
        let (slot, liar) = (pbft.log.slot(HEIGHT), self.signers[LIAR as usize].address());
        let proposal = slot.and_then(|slot| slot.proposal);
        let voted = |votes: &Votes| votes.of(&liar).is_some_and(|vote| vote.view == pbft.view());
        Seen {
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
            liar_wants: pbft.view_changes.get(&liar).map(|message| view_of(message)),
        }
    }

    /// What a replica has no more use for: messages of views that are over, votes for what it did not agree to or is done
    /// with.
    fn is_dead(&self, seen: &Seen, content: &Content) -> bool {
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
            // What it proves counts in later blocks; this model has one.
            Body::Evidence(_) => true,
        }
    }
}

/// Whether a replica makes use of a message now. A vote for what it did not agree to yet can as well come later.
fn is_timely(seen: &Seen, content: &Content) -> bool {
    let Content::Message(ConsensusMessage::Pbft(message)) = content else { return true };
    match &message.body {
        Body::Prepare { view, block } | Body::Commit { view, block } => seen.accepted == Some((*view, block.hash)),
        _ => true,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The honest ones.
    replicas: [ReplicaKey; HONEST.len()],
    /// Under way, in order.
    wire: Vec<EnvelopeKey>,
    lies: u8,
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
    Lie(EnvelopeKey),
    /// The network holds no more.
    Lose(EnvelopeKey),
}

struct PbftModel {
    table: TransitionTable<OneLiar>,
    bounds: Bounds,
    lies: Vec<(Word, EnvelopeKey)>,
}

impl PbftModel {
    fn new(bounds: Bounds, mutation: Option<Mutation>) -> Self {
        let table = TransitionTable::new(OneLiar::new(bounds.views), mutation);
        let words = table.setup().words();
        let lies = words.into_iter().flat_map(|(word, message)| {
            let content = Content::Message(ConsensusMessage::Pbft(Arc::new(message)));
            HONEST.map(|to| {
                (
                    word,
                    table.envelope_key(Envelope {
                        from: ReplicaId::new(LIAR),
                        to: ReplicaId::new(to as u32),
                        content: content.clone(),
                    }),
                )
            })
        });
        let lies = lies.collect();
        Self { table, bounds, lies }
    }

    fn seen(&self, state: &State) -> [Arc<Seen>; HONEST.len()] {
        state.replicas.map(|key| self.table.view(key))
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
        vec![State { replicas, wire: Vec::new(), lies: 0, prepared: Vec::new(), two_prepared: false }]
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
        // The two blocks differ by their names alone: the one that is proposed first may be called the first.
        let is_first = seen.iter().all(|seen| seen.view.get() == 0 && seen.accepted.is_none());
        for (word, envelope) in self.lies.iter().filter(|_| state.lies < self.bounds.lies) {
            let to = self.table.envelope(*envelope).to;
            let is_renamed = is_first && *word == Word::Proposal { is_second: true };
            if !is_renamed && word.is_heeded(to.index(), &seen[place(to)]) {
                actions.push(Action::Lie(*envelope));
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
            Action::Lie(envelope) => {
                next.lies += u8::from(self.bounds.lies < u8::MAX);
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
        for key in next.replicas {
            self.table.forget_dead(key, &mut next.wire);
        }
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
            Action::Lie(envelope) => format!("the liar says {:?}", self.table.envelope(*envelope)),
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

/// Explores everything within `bounds` and shows what it found.
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
    if bounds.lies > 0 {
        checker.assert_any_discovery("the first view commits");
        checker.assert_any_discovery("the second view commits what the first prepared");
    }
    unique
}

/// What breaks first with a deliberate bug.
fn find(mutation: Mutation, bounds: Bounds) -> &'static str {
    let checker = PbftModel::new(bounds, Some(mutation)).checker();
    let checker = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let always = ["agreement", "prepared is unique in a view"];
    let found = always.into_iter().find_map(|name| Some((name, checker.discovery(name)?)));
    let (name, path) = found.expect("the bug is found");
    println!("{mutation:?}: {name} is broken, after {} states:", checker.unique_state_count());
    for action in path.into_actions() {
        println!("  {}", checker.model().format_action(&action));
    }
    name
}

#[test]
fn a_silent_primary() {
    assert!(explore(Bounds { views: 1, lies: 0, wire: 3 }) >= 1_000);
}

/// Takes about 10 seconds: 337,943 states.
#[test]
fn a_liar_through_a_view_change() {
    assert!(explore(Bounds { views: 1, lies: 3, wire: 2 }) >= 100_000);
}

/// Takes about 10 seconds: 420,334 states.
#[test]
fn a_liar_that_is_heard_without_end() {
    assert!(explore(Bounds { views: 1, lies: u8::MAX, wire: 1 }) >= 100_000);
}

#[test]
fn a_quorum_one_short_prepares_two_blocks_in_a_view() {
    let found = find(Mutation::PbftQuorumOneShort, Bounds { views: 1, lies: 4, wire: 2 });
    assert_eq!(found, "prepared is unique in a view");
}

/// The bug shows only when a view change follows a commit.
#[test]
fn a_view_change_that_forgets_what_was_prepared_breaks_agreement() {
    assert_eq!(find(Mutation::PbftForgetsPrepared, Bounds { views: 1, lies: u8::MAX, wire: 1 }), "agreement");
}
