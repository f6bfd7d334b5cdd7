//! Blocks in and out of order, commitment, recovery and bounds of a [`BlockTree`].

use super::*;
use crate::{
    consensus::{
        ApplyRecords, Deadline, Records,
        common::codec::encode_value,
        own::participant::tests::{block, genesis, participant, with_start},
    },
    primitives::{Address, B256, Bytes, Header},
};

const TIMERS: BlockTimers = BlockTimers { build: TimerId::new(1), fetch: TimerId::new(2) };

type Tree = BlockTree<u64>;

fn open(records: &Records) -> (Tree, Option<u8>) {
    with_start(0, records, |start| BlockTree::open(&start, TIMERS, 0)).unwrap()
}

/// Returns the block of `author` with this payload on `parent`, sealed.
fn child(parent: &Block, author: u64, payload: u64) -> Arc<Block> {
    let author = participant(author);
    let header = Header {
        number: parent.height().get() + 1,
        parent_hash: parent.hash(),
        timestamp: parent.timestamp().as_secs() + 1,
        beneficiary: author.address().unwrap(),
        ..Header::default()
    };
    let header = Block::new(header, Vec::new(), Bytes::new(), Vec::new()).header().clone();
    author.seal(&block(header, encode_value(&payload).into())).unwrap()
}

fn chain(length: u64) -> Vec<Arc<Block>> {
    let mut blocks = vec![Arc::new(genesis())];
    for number in 0..length {
        blocks.push(child(&blocks[number as usize], number % 4, number));
    }
    blocks.split_off(1)
}

fn id(block: &Arc<Block>) -> BlockId {
    BlockId::of(block)
}

/// Handles and admits a block of a peer.
fn take(tree: &mut Tree, block: &Arc<Block>) -> (Result<(), Rejection>, Vec<Effect>) {
    let mut effects = Vec::new();
    let event = Event::BlockSynced { from: ReplicaId::new(2), block: block.clone() };
    let read = tree.handle(&event, &0_u8, &mut effects).map(|read| read.expect("it is to be judged"));
    (read.and_then(|read| tree.admit(read, &mut effects)), effects)
}

/// Handles an event after which the protocol has nothing to judge.
fn handle(tree: &mut Tree, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    assert!(tree.handle(&event, &0_u8, &mut effects).unwrap().is_none());
    effects
}

fn judge(tree: &mut Tree, block: BlockId) -> Vec<Effect> {
    handle(tree, Event::BlockJudged { block, verdict: Verdict::VALID })
}

/// Admits blocks in order and finds them valid.
fn adopt(tree: &mut Tree, blocks: &[Arc<Block>]) {
    for block in blocks {
        take(tree, block).0.unwrap();
        judge(tree, id(block));
    }
}

fn validated(effects: &[Effect]) -> Vec<BlockId> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Validate { block } = effect { Some(id(block)) } else { None })
        .collect()
}

fn fetched(effects: &[Effect]) -> Vec<(BlockId, u32)> {
    let fetches = effects.iter().filter_map(|effect| match effect {
        Effect::Fetch { block, from } => Some((*block, from.get())),
        _ => None,
    });
    fetches.collect()
}

fn written(effects: &[Effect], records: &mut Records) {
    for effect in effects {
        if let Effect::Persist { records: written, .. } = effect {
            records.apply(written.clone());
        }
    }
}

fn encoding(tree: &Tree) -> Vec<u8> {
    let mut out = Encoder::new();
    tree.encode(&mut out);
    out.into_bytes()
}

#[test]
fn blocks_in_any_order_are_executed_after_their_parents() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(4));
    let (taken, effects) = take(&mut tree, &blocks[2]);
    assert_eq!((taken, fetched(&effects)), (Ok(()), vec![(id(&blocks[1]), 2)]), "its parent is asked for");
    let (_, effects) = take(&mut tree, &blocks[3]);
    assert_eq!(fetched(&effects), [(id(&blocks[1]), 2)], "the lowest that is missing");
    take(&mut tree, &blocks[1]).0.unwrap();
    let (_, effects) = take(&mut tree, &blocks[0]);
    assert_eq!(validated(&effects), [id(&blocks[0])]);
    for (parent, child) in blocks.iter().zip(&blocks[1..]) {
        assert_eq!(validated(&judge(&mut tree, id(parent))), [id(child)]);
    }
    judge(&mut tree, id(&blocks[3]));
    let branch: Vec<_> = tree.branch(id(&blocks[3])).map(|block| block.payload).collect();
    assert_eq!(branch, [3, 2, 1, 0, 0], "down to genesis");
    assert_eq!(tree.children(id(&blocks[0])).map(|child| child.id).collect::<Vec<_>>(), [id(&blocks[1])]);
    assert!(tree.fetched.is_empty() && tree.intake.orphans.len() == 0);
}

#[test]
fn blocks_that_break_a_rule_of_every_protocol_are_refused_and_change_nothing() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(2));
    adopt(&mut tree, &blocks[..1]);
    let before = encoding(&tree);
    let parent = &blocks[0];
    let of = |change: fn(&mut Header), payload: &[u8]| {
        let mut header = child(parent, 1, 7).header().clone();
        change(&mut header);
        participant(1).seal(&block(header, Bytes::copy_from_slice(payload))).unwrap()
    };
    let foreign = {
        let good = child(parent, 1, 7);
        let other = Block::new(good.header().clone(), Vec::new(), Bytes::from_static(&[8]), Vec::new());
        participant(1).seal(&other).unwrap()
    };
    for (name, block, want) in [
        ("known", blocks[0].clone(), "already known"),
        ("genesis", Arc::new(genesis()), "already known"),
        ("payload", of(|_| {}, &[7, 7]), "its payload: 1 bytes follow"),
        ("no payload", of(|_| {}, &[]), "its payload: not a value"),
        ("beneficiary", of(|header| header.beneficiary = Address::ZERO, &[7]), "not its beneficiary"),
        ("other payload", foreign, "extraData"),
        ("seal", Arc::new(child(parent, 1, 7).as_ref().clone().with_seal(Bytes::new())), "seal has 0 bytes"),
        ("time", of(|header| header.timestamp = 0, &[7]), "not later than its parent's"),
        ("below", of(|header| header.number = 0, &[7]), "below the oldest block"),
        ("fork below", of(|header| (header.number, header.parent_hash) = (1, B256::ZERO), &[7]), "does not descend"),
    ] {
        let (taken, effects) = take(&mut tree, &block);
        let error = taken.expect_err(name).to_string();
        assert!(error.contains(want), "{name}: {error}");
        assert!(effects.is_empty() && encoding(&tree) == before, "{name}");
    }
    let judged = Event::BlockJudged { block: id(&blocks[1]), verdict: Verdict::VALID };
    assert!(matches!(tree.handle(&judged, &0_u8, &mut Vec::new()), Err(Rejection::Unexpected { .. })));
}

#[test]
fn an_invalid_block_drops_those_that_wait_for_it() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(3));
    for block in [&blocks[0], &blocks[2], &blocks[1]] {
        take(&mut tree, block).0.unwrap();
    }
    let verdict = Verdict::Invalid { reason: "gas".to_owned() };
    let judged = Event::BlockJudged { block: id(&blocks[0]), verdict };
    let error = tree.handle(&judged, &0_u8, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Rejection::Header { reason, .. } if reason == "gas"));
    assert!(tree.get(id(&blocks[0])).is_none() && tree.intake.orphans.len() == 0);
}

#[test]
fn a_commit_moves_the_root_and_forgets_other_branches() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(4));
    adopt(&mut tree, &blocks);
    let fork = child(&blocks[0], 3, 9);
    let above = child(&fork, 2, 9);
    adopt(&mut tree, &[fork.clone(), above.clone()]);
    take(&mut tree, &child(&above, 1, 9)).0.unwrap();

    let mut effects = Vec::new();
    assert!(tree.commit(id(&blocks[1]), &1_u8, &mut effects));
    let [Effect::Persist { .. }, Effect::Chain(moved), Effect::Chain(ChainEvent::Final { finality, .. })] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    let old = BlockId::of(&genesis());
    assert_eq!(*moved, ChainEvent::HeadMoved { old, new: id(&blocks[1]), reorg_depth: 0 });
    assert_eq!((tree.root(), finality.finalized, tree.finality()), (id(&blocks[1]), id(&blocks[1]), *finality));
    assert_eq!(tree.branches.nodes.len(), 3, "the root and two above");
    assert!(tree.get(id(&fork)).is_none() && tree.get(id(&above)).is_none());
    let pending = *tree.intake.pending.keys().next().unwrap();
    assert!(judge(&mut tree, pending).is_empty(), "its branch is gone");

    let before = encoding(&tree);
    for other in [blocks[1].clone(), blocks[0].clone(), above] {
        assert!(!tree.commit(id(&other), &1_u8, &mut effects), "not above the root");
    }
    assert_eq!((effects.len(), encoding(&tree)), (3, before));
}

#[test]
fn a_restart_has_the_state_the_root_and_the_kept_blocks() {
    let ((mut tree, state), blocks) = (open(&Records::new()), chain(4));
    assert_eq!(state, None);
    adopt(&mut tree, &blocks);
    let (mut records, mut effects) = (Records::new(), Vec::new());
    let first = tree.persist_with(id(&blocks[1]), &1_u8, &mut effects);
    assert!(tree.persist_with(id(&blocks[2]), &2_u8, &mut effects) > first, "tickets ascend");
    tree.persist_with(id(&blocks[3]), &3_u8, &mut effects);
    assert!(tree.commit(id(&blocks[1]), &4_u8, &mut effects));
    written(&effects, &mut records);
    assert_eq!(records.len(), 3, "the record of the committed block is gone");

    let (mut restarted, state) = open(&records);
    assert_eq!((state, restarted.root()), (Some(4), id(&blocks[1])));
    assert_eq!(validated(&handle(&mut restarted, Event::Start)), [id(&blocks[2])]);
    assert_eq!(validated(&judge(&mut restarted, id(&blocks[2]))), [id(&blocks[3])], "parents first");
    judge(&mut restarted, id(&blocks[3]));
    assert_eq!(restarted.get(id(&blocks[3])).map(|block| block.payload), Some(3));
    assert!(handle(&mut restarted, Event::Start).is_empty(), "once");
    // It is a root like any other.
    assert!(restarted.commit(id(&blocks[3]), &5_u8, &mut effects));
    written(&effects, &mut records);
    assert_eq!(records.len(), 1);

    let key = records.keys().next().unwrap().clone();
    records.insert(key.clone(), Bytes::from_static(b"damaged"));
    let error = with_start(0, &records, |start| Tree::open::<u8>(&start, TIMERS, 0)).unwrap_err();
    assert!(String::from(error.clone()).contains("its checksum is not that of its content"), "{error}");
    assert_eq!(error, RecordError { key, source: crate::consensus::DecodeError::Damaged });
}

#[test]
fn what_is_missing_is_asked_for_once_and_then_of_another_replica_each_time() {
    let (mut tree, blocks, mut effects) = (open(&Records::new()).0, chain(3), Vec::new());
    let certified = id(&blocks[2]);
    tree.fetch(certified, &mut effects);
    tree.fetch(certified, &mut effects);
    assert_eq!(fetched(&effects), [(certified, 1)]);
    let armed = |effects: &[Effect]| {
        let is_armed = |effect: &&Effect| matches!(effect, Effect::ArmTimer { timer, .. } if *timer == TIMERS.fetch);
        effects.iter().filter(is_armed).count()
    };
    assert_eq!(armed(&effects), 1);
    for from in [2, 3, 1] {
        let effects = handle(&mut tree, Event::Timer(TIMERS.fetch));
        assert_eq!((fetched(&effects), armed(&effects)), (vec![(certified, from)], 1));
    }
    effects.clear();
    take(&mut tree, &blocks[2]).0.unwrap();
    tree.fetch(certified, &mut effects);
    assert!(effects.is_empty(), "its parent was asked for when it came");
    adopt(&mut tree, &blocks[..1]);
    take(&mut tree, &blocks[1]).0.unwrap();
    judge(&mut tree, id(&blocks[1]));
    judge(&mut tree, certified);
    tree.fetch(certified, &mut effects);
    effects.extend(handle(&mut tree, Event::Timer(TIMERS.fetch)));
    assert!(effects.is_empty() && tree.fetched.is_empty(), "{effects:?}");
    tree.fetch(BlockId::of(&genesis()), &mut effects);
    assert!(effects.is_empty(), "below the root");
}

#[test]
fn repeated_messages_ask_again_and_repeated_answers_do_not() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(3));
    let (from, block) = (ReplicaId::new(3), blocks[2].clone());
    take(&mut tree, &block).0.unwrap();
    let again = |tree: &mut Tree, event| {
        let mut effects = Vec::new();
        assert!(tree.handle(&event, &0_u8, &mut effects).is_err(), "it waits already");
        fetched(&effects)
    };
    let message = Event::Message { from, message: ConsensusMessage::Block(block.clone()) };
    assert_eq!(again(&mut tree, message), [(id(&blocks[1]), 3)]);
    assert_eq!(again(&mut tree, Event::BlockSynced { from, block }), []);
}

#[test]
fn a_wide_gap_is_closed_from_below() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(66));
    let at = |height| BlockId { height: Height::new(height), hash: B256::ZERO };
    let (taken, effects) = take(&mut tree, &blocks[63]);
    assert_eq!((taken, fetched(&effects)), (Ok(()), vec![(id(&blocks[62]), 2)]), "at the bound");
    let (_, effects) = take(&mut tree, &blocks[64]);
    assert_eq!(fetched(&effects), [(at(1), 2)], "past it");
    take(&mut tree, &blocks[0]).0.unwrap();
    assert_eq!(fetched(&judge(&mut tree, id(&blocks[0]))), [(at(2), 2)]);
    for from in [2, 3] {
        let effects = handle(&mut tree, Event::Timer(TIMERS.fetch));
        assert!(fetched(&effects).contains(&(at(2), from)), "of another replica each time");
    }
    // A block that is known by then is progress, too.
    adopt(&mut tree, &blocks[1..2]);
    let (taken, effects) = take(&mut tree, &blocks[1]);
    assert!(taken.is_err() && fetched(&effects).is_empty());
    for block in &blocks[2..62] {
        adopt(&mut tree, core::slice::from_ref(block));
    }
    adopt(&mut tree, &blocks[62..63]);
    judge(&mut tree, id(&blocks[63]));
    adopt(&mut tree, &blocks[64..]);
    assert!(tree.intake.catch_up.is_none());
}

#[test]
fn executed_blocks_reach_a_bounded_height_above_the_committed_one() {
    let (mut tree, blocks) = (open(&Records::new()).0, chain(AHEAD_MAX + 1));
    let (last, within) = blocks.split_last().unwrap();
    adopt(&mut tree, within);
    let block = id(last);
    assert_eq!(take(&mut tree, last).0, Err(Rejection::TooFarAhead { block, limit: AHEAD_MAX }));
    assert!(tree.commit(id(&blocks[0]), &0_u8, &mut Vec::new()));
    assert_eq!(take(&mut tree, last).0, Ok(()));
}

#[test]
fn an_author_has_room_for_few_blocks_of_a_height_unless_one_is_certified() {
    let (mut tree, parent) = (open(&Records::new()).0, genesis());
    for number in 0..SIBLINGS_MAX as u64 {
        take(&mut tree, &child(&parent, 1, number)).0.unwrap();
    }
    let more = child(&parent, 1, 100);
    let limit = SIBLINGS_MAX;
    let error = take(&mut tree, &more).0.unwrap_err();
    assert!(matches!(error, Rejection::TooManySiblings { limit: got, .. } if got == limit));
    take(&mut tree, &child(&parent, 2, 0)).0.unwrap();
    tree.fetch(id(&more), &mut Vec::new());
    assert_eq!(take(&mut tree, &more).0, Ok(()));
}

#[test]
fn an_own_block_is_planned_built_sealed_and_sent_once_the_state_is_durable() {
    let (mut tree, mut effects) = (open(&Records::new()).0, Vec::new());
    let parent = genesis();
    assert!(!tree.plan(id(&chain(1)[0]), &7, &mut effects), "the parent is not here");
    assert!(tree.plan(BlockId::of(&parent), &7, &mut effects));
    let timestamp = parent.timestamp().saturating_add_secs(1);
    let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
    assert!(
        matches!(&effects[..], [Effect::ArmTimer { timer, deadline: at }] if (*timer, *at) == (TIMERS.build, deadline))
    );
    let effects = handle(&mut tree, Event::Timer(TIMERS.build));
    let [Effect::Build(request)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((request.timestamp_min, request.payload.as_ref()), (timestamp, [7].as_slice()));
    assert!(handle(&mut tree, Event::Timer(TIMERS.build)).is_empty(), "once");

    let built = Event::BlockBuilt { ticket: request.ticket, block: child(&parent, 0, 7) };
    let mut effects = Vec::new();
    let read = tree.handle(&built, &1_u8, &mut effects).unwrap().unwrap();
    let [Effect::Persist { ticket, .. }, Effect::Send { message: ConsensusMessage::Block(sent), after, .. }] =
        &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!((*after, id(sent)), (Some(*ticket), read.id));
    assert_eq!((read.payload, Some(read.author)), (7, participant(0).address()));
    let mut observer = with_start(4, &Records::new(), |start| Tree::open::<u8>(&start, TIMERS, 0)).unwrap().0;
    assert!(!observer.plan(BlockId::of(&parent), &7, &mut effects));
    assert!(observer.handle(&built, &1_u8, &mut effects).is_err());
}
