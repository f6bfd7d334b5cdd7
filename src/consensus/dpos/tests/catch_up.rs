//! Catching up over what is not irreversible, from several peers, one of which may lie.

use std::collections::VecDeque;

use super::{super::*, lab::*};
use crate::{
    consensus::{
        ReplicaId, Verdict,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// Answers that a newcomer gets in a slot.
const ANSWERS_A_SLOT: usize = 12;

/// A replica at genesis beside a lab, whose requests are answered by hand.
struct Newcomer<'a> {
    lab: &'a Lab,
    replica: Dpos,
    /// Requests that are not answered yet.
    requests: VecDeque<(ReplicaId, BlockId)>,
    asked: u64,
    /// Whether every answer comes twice.
    hears_twice: bool,
}

impl<'a> Newcomer<'a> {
    fn new(lab: &'a Lab) -> Self {
        let genesis = (BlockId::of(&lab.genesis), lab.genesis.timestamp());
        let set = lab.set(4);
        let replica = Dpos::new(lab.fixture.config, genesis, &set, lab.authenticator.clone(), None).unwrap();
        Self { lab, replica, requests: VecDeque::new(), asked: 0, hears_twice: false }
    }

    fn height(&self) -> u64 {
        self.replica.head().height.get()
    }

    fn step(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut effects = Vec::new();
            self.replica.step(event, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Validate { block } => {
                        let updates = self.lab.updates.get(&block.height()).cloned().unwrap_or_default();
                        let verdict = Verdict::Valid { updates };
                        events.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict });
                    }
                    Effect::Persist { ticket, .. } => events.push_back(Event::Persisted(ticket)),
                    Effect::Fetch { block, from } => {
                        self.asked += 1;
                        self.requests.push_back((from, block));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Hears the block at `height` of a replica's chain from that replica.
    fn hear(&mut self, from: usize, height: u64) {
        let message = ConsensusMessage::Block(self.lab.canonical(from, height));
        self.step(Event::Message { from: ReplicaId::new(from as u32), message });
    }

    /// Answers some requests, the oldest first; those to `silent` are lost.
    fn answer(&mut self, silent: &[usize]) {
        for _ in 0..ANSWERS_A_SLOT {
            let Some((from, id)) = self.requests.pop_front() else { return };
            let node = &self.lab.nodes[from.index()];
            let hash =
                if id.hash == B256::ZERO { node.canonical.get(&id.height).map(|id| id.hash) } else { Some(id.hash) };
            let block = hash.and_then(|hash| node.blocks.get(&hash)).filter(|_| !silent.contains(&from.index()));
            if let Some(block) = block.cloned() {
                for _ in 0..1 + usize::from(self.hears_twice) {
                    self.step(Event::BlockSynced { from, block: block.clone() });
                }
            }
        }
    }

    /// Hears in each slot the next block of `heights` from the next of `peers`, until it has the last one; returns the slots that it took.
    fn follow(&mut self, peers: &[usize], heights: core::ops::RangeInclusive<u64>, silent: &[usize]) -> Option<u64> {
        let last = *heights.end();
        for slot in 0..200 {
            let from = peers[slot as usize % peers.len()];
            self.hear(from, (heights.start() + slot).min(last));
            self.answer(silent);
            if self.height() >= last {
                return Some(slot + 1);
            }
        }
        None
    }
}

/// Two of four producers are silent, so that blocks 1 to `height` are made and none after the first few is irreversible.
fn unsettled(height: u64) -> Lab {
    let mut lab = Lab::new(4);
    lab.split(&[0, 0, 1, 2]);
    while lab.heads()[0].height.get() < height {
        lab.slot();
    }
    assert!(lab.irreversible(0) == 0 && lab.heads()[0] == lab.heads()[1]);
    lab
}

#[test]
fn a_chain_of_which_nothing_is_irreversible_is_reached_whoever_announces_it() {
    let lab = unsettled(150);
    let follow = || Newcomer::new(&lab).follow(&[0, 1], 100..=150, &[]);
    assert_eq!(follow(), Some(51), "as soon as the last one is announced");
    assert_eq!(mutation::with(Mutation::DposCatchUpStartsAnew, follow), None, "from block 1 in every slot");
}

#[test]
fn a_peer_that_answers_nothing_delays_nobody() {
    let lab = unsettled(150);
    // Replicas 2 and 3 announce as much and do not answer; only one of four may lie, two take both places at first.
    for peers in [&[3, 0, 3, 1][..], &[3, 3, 3, 3, 0], &[2, 3, 0, 2, 3, 1]] {
        let mut newcomer = Newcomer::new(&lab);
        // They announce what the others made.
        let mut slots = 0;
        while newcomer.height() < 150 && slots < 200 {
            let from = peers[slots % peers.len()];
            let message = ConsensusMessage::Block(lab.canonical(0, (100 + slots as u64).min(150)));
            newcomer.step(Event::Message { from: ReplicaId::new(from as u32), message });
            newcomer.answer(&[2, 3]);
            slots += 1;
        }
        assert!(newcomer.height() == 150 && slots < 80, "{peers:?}: {} after {slots} slots", newcomer.height());
    }
}

#[test]
fn what_a_waiting_block_lacks_is_requested_from_each_peer_that_announces_it() {
    let mut lab = Lab::new(4);
    lab.slots(20);
    // Replica 2 announces the block first and does not answer; then those that made the chain with it show it.
    let follow = |hears_twice| {
        let mut newcomer = Newcomer::new(&lab);
        newcomer.hears_twice = hears_twice;
        for from in [2, 2, 0] {
            newcomer.hear(from, 20);
            (0..4).for_each(|_| newcomer.answer(&[2]));
        }
        (newcomer.height(), newcomer.asked)
    };
    // Once at each announcement, and then for each of the blocks 18 to 1.
    assert_eq!(follow(false), (20, 3 + 18));
    assert_eq!(follow(true), (20, 3 + 18), "not once more for an answer that comes twice");
    assert_eq!(mutation::with(Mutation::DposAsksFirstSenderAlone, || follow(false)), (0, 1));
}

#[test]
fn a_fork_far_below_the_head_is_found_by_few_requests() {
    // Two halves of four that meet again after 160 blocks each: the newcomer has the one half's chain and hears of the other one's.
    let mut lab = Lab::new(4);
    lab.slots(20);
    lab.split(&[0, 0, 1, 1]);
    lab.slots(300);
    let [mine, theirs] = [0, 2].map(|index| lab.replica(index).head().height.get());
    let common =
        lab.nodes[0].canonical.iter().filter(|(height, id)| lab.nodes[2].canonical.get(height) == Some(*id)).count()
            as u64
            - 1;
    assert!(mine > common + 100 && theirs > common + 100, "{mine} and {theirs} from {common}");
    for hears_twice in [false, true] {
        let mut newcomer = Newcomer::new(&lab);
        newcomer.hears_twice = hears_twice;
        // Behind by more than a gap, so that it asks for the chain and not for parents.
        newcomer.follow(&[0, 1], 60..=60, &[]).unwrap();
        let before = newcomer.asked;
        newcomer.hear(2, theirs);
        for _ in 0..100 {
            newcomer.answer(&[]);
        }
        assert!(newcomer.replica.context_of(&lab.replica(2).head()).is_some(), "at {}", newcomer.height());
        let asked = newcomer.asked - before;
        assert!(asked < theirs - common + 64, "{asked} requests for {} blocks", theirs - common);
    }
}

#[test]
fn whoever_was_away_while_all_producers_were_replaced_catches_up() {
    let mut lab = Lab::with_config(8, 4, DposConfig::default().with_producers(4));
    let weights = (0..8)
        .map(|index| ValidatorUpdate { address: lab.signers[index].address(), weight: if index < 4 { 0 } else { 9 } });
    lab.updates.insert(Height::new(10), ValidatorUpdates::new(weights.collect::<Vec<_>>()));
    lab.slots(80);
    let head = lab.heads()[4].height.get();
    assert!(head > 60 && lab.link(4).state.active().producers().contains(&lab.signers[7].address()));
    // By more than a gap, and by less.
    for had in [0, head - 20] {
        let follow = || {
            let mut newcomer = Newcomer::new(&lab);
            (1..=had.min(9)).for_each(|height| newcomer.hear(0, height));
            let slots = newcomer.follow(&[4, 5, 6, 7], head.min(had.min(9) + 30)..=head, &[]);
            (slots.is_some(), newcomer.replica)
        };
        let (is_there, replica) = follow();
        assert!(is_there && replica.finality() == lab.replica(4).finality(), "{had}: {:?}", replica.head());
        // Nothing is left over of the requests.
        assert_eq!(replica.catch_up, Default::default());
    }
    let mut newcomer = Newcomer::new(&lab);
    (1..=9).for_each(|height| newcomer.hear(0, height));
    let near = |newcomer: &mut Newcomer<'_>| {
        newcomer.hear(4, 39);
        (0..20).for_each(|_| newcomer.answer(&[]));
        newcomer.height()
    };
    assert_eq!(mutation::with(Mutation::DposRefusesStrangers, || near(&mut newcomer)), 9);
    assert_eq!(near(&mut newcomer), 39, "within a gap, of an author that is no candidate here");
}

#[test]
fn a_replica_that_is_more_than_eight_thousand_blocks_behind_catches_up() {
    let mut lab = Lab::new(4);
    lab.slots(8_300);
    let mut newcomer = Newcomer::new(&lab);
    newcomer.hear(0, 8_300);
    for _ in 0..8_300 / ANSWERS_A_SLOT + 1 {
        newcomer.answer(&[]);
    }
    assert_eq!(newcomer.height(), 8_300);
}
