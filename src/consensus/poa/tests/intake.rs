//! Blocks that wait for their ancestors or for their judgement, and the bounds of each author.

use super::*;

#[test]
fn missing_ancestors_are_fetched_once_and_all_blocks_are_adopted() {
    let setup = Setup::new(4);
    let mut poa = setup.replica(None);
    let blocks = setup.branch(&setup.genesis, &[1, 2, 3, 0]);
    for block in blocks[1..].iter().rev() {
        let effects = receive(&mut poa, block);
        let want = BlockId::parent_of(block);
        let fetches =
            effects.iter().any(|effect| matches!(effect, Effect::Fetch { block, from: PEER } if *block == want));
        assert!(fetches, "{effects:?}");
    }
    drive(&mut poa, Event::BlockSynced { from: PEER, block: blocks[0].clone() });
    assert_eq!(poa.head(), BlockId::of(&blocks[3]));
    // Three of four signers above it: block 1 is settled.
    assert_eq!(poa.finality().finalized, BlockId::of(&blocks[0]));
}

/// Answers requests, each `times` times, until there are none; returns how many there were, at most 10,000.
fn answer_all(poa: &mut Poa, blocks: &[Arc<Block>], first: Vec<Effect>, times: usize) -> usize {
    let requested = |effects: Vec<Effect>| {
        effects.into_iter().filter_map(|effect| match effect {
            Effect::Fetch { block, .. } => Some(block),
            _ => None,
        })
    };
    let mut requests: VecDeque<_> = requested(first).collect();
    let mut count = 0;
    while let Some(id) = requests.pop_front().filter(|_| count < 10_000) {
        count += 1;
        let block = &blocks[id.height.get() as usize - 1];
        for _ in 0..times {
            requests.extend(requested(drive(poa, Event::BlockSynced { from: PEER, block: block.clone() })));
        }
    }
    count
}

#[test]
fn answers_that_come_twice_do_not_multiply_requests() {
    let setup = Setup::new(4);
    let order: Vec<usize> = (1..=40).map(|height| height % 4).collect();
    let blocks = setup.branch(&setup.genesis, &order);
    let requests = || {
        let mut poa = setup.replica(None);
        let first = receive(&mut poa, &blocks[39]);
        let count = answer_all(&mut poa, &blocks, first, 2);
        (count, poa.head() == BlockId::of(&blocks[39]))
    };
    assert_eq!(requests(), (39, true));
    assert_eq!(mutation::with(Mutation::PoaAnswersAskAgain, requests).0, 10_000, "twice as many with each block");
}

#[test]
fn a_lost_answer_is_requested_again_though_no_more_blocks_may_wait() {
    let setup = Setup::new(4);
    let order: Vec<usize> = (1..=400).map(|height| height % 4).collect();
    let blocks = setup.branch(&setup.genesis, &order);
    let reaches_the_head = || {
        let mut poa = setup.replica(None);
        // All rooms are full when an answer is lost.
        receive_all(&mut poa, blocks[150..390].iter().rev());
        for block in &blocks[390..] {
            let effects = receive(&mut poa, block);
            answer_all(&mut poa, &blocks, effects, 1);
        }
        poa.head() == BlockId::of(&blocks[399])
    };
    assert!(reaches_the_head());
    assert!(!mutation::with(Mutation::PoaFullOrphansAskNobody, reaches_the_head));
}

/// Blocks of `author` whose parents are all missing, each of its own branch.
fn orphan(setup: &Setup, author: usize, height: u64, salt: u64) -> Arc<Block> {
    let header = Header { number: height - 1, gas_limit: salt, ..Header::default() };
    let parent = Block::new(header, Vec::new(), Bytes::new(), Vec::new());
    setup.block(&parent, author, &Odd { timestamp: Some(height), ..Odd::default() })
}

#[test]
fn each_author_has_a_share_of_the_orphans_and_its_lowest_are_kept() {
    const SHARE: usize = INTAKE.orphans_max / 5;
    let setup = Setup::new(4);
    let mut poa = setup.replica(None);
    let flood = |poa: &mut Poa, setup: &Setup, author: usize| {
        for salt in 0..2_000 {
            receive(poa, &orphan(setup, author, 9 + salt / 5, salt));
        }
    };
    let kept_of_one = || {
        let mut poa = setup.replica(None);
        flood(&mut poa, &setup, 3);
        poa.intake.orphans.len()
    };
    assert_eq!((kept_of_one(), mutation::with(Mutation::PoaSharesOrphans, kept_of_one)), (SHARE, INTAKE.orphans_max));
    flood(&mut poa, &setup, 3);
    assert_eq!(poa.intake.orphans.len(), SHARE);
    let before = poa.clone();
    let refused = receive(&mut poa, &orphan(&setup, 3, 900, 5_000));
    // What its lowest one waits for is requested again.
    let asks = |block: &BlockId| block.height.get() == 8;
    assert!(
        matches!(
            refused.as_slice(),
            [Effect::Reject(Rejection::Overloaded { limit: SHARE }), Effect::Fetch { block, .. }, Effect::Mark(_)] if asks(block)
        ),
        "{refused:?}"
    );
    assert_eq!(poa, before);
    receive(&mut poa, &orphan(&setup, 3, 8, 5_001));
    assert_eq!(poa.intake.orphans.len(), SHARE, "in the place of one above it");
    // Strangers, of any number, have one share together: they may be signers by votes that were not seen.
    for stranger in 0..4 {
        let key = KeyPair::from_seed(stranger, "no signer");
        flood(&mut poa, &Setup { signers: vec![setup.authenticator.signer(&key)], ..Setup::new(1) }, 0);
    }
    assert_eq!(poa.intake.orphans.len(), 2 * SHARE);
    // The chain of the others comes in all the same, from its top down.
    let blocks = setup.branch(&setup.genesis, &[1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    for block in blocks.iter().rev() {
        receive(&mut poa, block);
    }
    assert_eq!(poa.head(), BlockId::of(&blocks[11]));
}

#[test]
fn one_author_has_few_blocks_beside_each_other() {
    let setup = Setup::new(4);
    let mut poa = setup.replica(None);
    let twin = |salt| setup.block(&setup.genesis, 1, &Odd { gas_limit: salt, ..Odd::default() });
    let (mut adopted, mut evidence) = (0, 0);
    for salt in 0..2_000 {
        for effect in receive(&mut poa, &twin(salt)) {
            match effect {
                Effect::Chain(ChainEvent::Inserted(_)) => adopted += 1,
                Effect::Evidence(_) => evidence += 1,
                Effect::Reject(rejection) => {
                    assert!(matches!(rejection, Rejection::TooManySiblings { limit: TWINS_MAX, .. }), "{rejection}")
                }
                _ => {}
            }
        }
    }
    assert_eq!((adopted, evidence), (TWINS_MAX, 1));
    let kept = || {
        let mut poa = setup.replica(None);
        (0..40).for_each(|salt| drop(receive(&mut poa, &twin(salt))));
        poa.tree.at_height(Height::new(1)).count()
    };
    assert_eq!((kept(), mutation::with(Mutation::PoaKeepsEverySibling, kept)), (TWINS_MAX, 40));
    assert!(poa.encoding().len() < 2_000, "{}", poa.encoding().len());
    // An honest signer saw another one first, and the others follow it.
    let late = twin(5_000);
    let chain = setup.branch(&late, &[2, 3, 0]);
    receive(&mut poa, &late);
    for block in chain.iter().rev() {
        receive(&mut poa, block);
    }
    assert_ne!(poa.head(), BlockId::of(&chain[2]));
    let effects = drive(&mut poa, Event::BlockSynced { from: PEER, block: late });
    assert_eq!(poa.head(), BlockId::of(&chain[2]), "{effects:?}");
}

#[test]
fn one_author_has_few_blocks_of_a_height_on_many_parents() {
    let setup = Setup::new(9);
    let mut poa = setup.replica(None);
    let parents = [1, 2, 3, 4, 5, 6].iter().flat_map(|author| {
        [0, 1].map(|salt| setup.block(&setup.genesis, *author, &Odd { gas_limit: salt, ..Odd::default() }))
    });
    let parents = parents.collect::<Vec<_>>();
    receive_all(&mut poa, &parents);
    let rejections = parents.iter().map(|parent| receive(&mut poa, &setup.block(parent, 7, &Odd::default())));
    let refused = rejections.filter(|effects| {
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Reject(Rejection::TooManySiblings { limit: SIBLINGS_MAX, .. })))
    });
    assert_eq!(refused.count(), parents.len() - SIBLINGS_MAX);
}

#[test]
fn blocks_that_are_not_judged_yet_are_bounded_by_author() {
    const LIMIT: usize = 16;
    let setup = Setup::new(9);
    let mut poa = setup.replica(None);
    let mut chain = vec![setup.genesis.clone()];
    chain.extend(setup.branch(&setup.genesis, &[1, 2, 3, 4, 5, 6, 8, 0, 1, 2, 3, 4, 5, 6, 8, 0, 1, 2, 3]));
    receive_all(&mut poa, &chain[1..]);
    let mut effects = Vec::new();
    let later = Odd { timestamp: Some(9_999), ..Odd::default() };
    for parent in &chain {
        let block = setup.block(parent, 7, &later);
        poa.step(Event::Message { from: PEER, message: ConsensusMessage::Block(block) }, &mut effects);
    }
    let refused =
        effects.iter().filter(|effect| matches!(effect, Effect::Reject(Rejection::Overloaded { limit: LIMIT })));
    assert_eq!((poa.intake.pending.len(), refused.count()), (LIMIT, chain.len() - LIMIT));
    let next = setup.branch(chain.last().unwrap(), &[4]);
    receive_all(&mut poa, &next);
    assert_eq!(poa.head(), BlockId::of(&next[0]), "the others go on");
}
