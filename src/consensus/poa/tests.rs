//! Protocol steps with constructed blocks, without a network.

use core::time::Duration;
use std::collections::VecDeque;

use super::*;
use crate::{
    chain::{Ancestors, HeaderRules, RuleError},
    consensus::{
        ApplyRecords, ChainEvent, Evidence, HeaderFieldError, Purpose, ReplicaId, SealedHeader, Verdict,
        mutation::{self, Mutation},
        poa::blocks::{INTAKE, SIBLINGS_MAX, TWINS_MAX},
    },
    primitives::{B64, B256, Bytes, Header, Height, KeyPair, U256},
};

const PEER: ReplicaId = ReplicaId::new(1);

/// Signers whose index is their place in the ascending order of addresses, and a genesis block.
struct Setup {
    config: PoaConfig,
    authenticator: Authenticator,
    signers: Vec<Signer>,
    genesis: Arc<Block>,
}

/// Fields of a block that deviate from the rules.
#[derive(Default)]
struct Odd {
    timestamp: Option<u64>,
    difficulty: Option<u64>,
    beneficiary: Option<Address>,
    nonce: B64,
    mix_hash: B256,
    payload: Option<Payload>,
    /// Distinguishes blocks that are equal otherwise.
    gas_limit: u64,
}

impl Setup {
    fn new(count: u64) -> Self {
        let genesis = Arc::new(Block::new(Header::default(), Vec::new(), Bytes::new(), Vec::new()));
        let authenticator = Authenticator::symbolic(7).for_chain(genesis.hash());
        let mut signers: Vec<_> =
            (0..count).map(|index| authenticator.signer(&KeyPair::from_seed(index, "poa"))).collect();
        signers.sort_by_key(Signer::address);
        Self { config: PoaConfig::default().with_period(Duration::from_secs(1)), authenticator, signers, genesis }
    }

    fn set(&self) -> ValidatorSet {
        ValidatorSet::equal(self.signers.iter().map(Signer::address)).unwrap()
    }

    fn replica(&self, signer: Option<usize>) -> Poa {
        let genesis = (BlockId::of(&self.genesis), self.genesis.timestamp());
        let signer = signer.map(|index| self.signers[index].clone());
        Poa::new(self.config, genesis, self.set(), self.authenticator.clone(), signer).unwrap()
    }

    /// Returns a sealed block of `signer` (by index) on `parent`, valid except for `odd`; the set does not change.
    fn block(&self, parent: &Block, signer: usize, odd: &Odd) -> Arc<Block> {
        let (height, author) = (parent.height().next(), self.signers[signer].address());
        let payload = odd.payload.as_ref().map(Payload::encoded).unwrap_or_default();
        let in_turn = height.get() % self.signers.len() as u64 == signer as u64;
        let header = Header {
            number: height.get(),
            parent_hash: parent.hash(),
            timestamp: odd.timestamp.unwrap_or(parent.timestamp().as_secs() + 1),
            difficulty: U256::from(odd.difficulty.unwrap_or(if in_turn { 2 } else { 1 })),
            beneficiary: odd.beneficiary.unwrap_or(author),
            nonce: odd.nonce,
            mix_hash: odd.mix_hash,
            gas_limit: odd.gas_limit,
            extra_data: Block::extra_data_of(&payload).unwrap_or_default(),
            ..Header::default()
        };
        let block = Block::new(header, Vec::new(), payload, Vec::new());
        let seal = self.signers[signer].sign(Purpose::Block, block.hash());
        Arc::new(block.with_seal(seal))
    }

    /// Returns a branch of blocks by these signers.
    fn branch(&self, parent: &Arc<Block>, signers: &[usize]) -> Vec<Arc<Block>> {
        let mut parent = parent.clone();
        let extend = |signer: &usize| {
            parent = self.block(&parent, *signer, &Odd::default());
            parent.clone()
        };
        signers.iter().map(extend).collect()
    }
}

/// Steps through an event and the validations that follow, all with a valid verdict.
fn drive(poa: &mut Poa, event: Event) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut inbox = VecDeque::from([event]);
    while let Some(event) = inbox.pop_front() {
        let mut effects = Vec::new();
        poa.step(event, &mut effects);
        for effect in &effects {
            if let Effect::Validate { block } = effect {
                inbox.push_back(Event::BlockJudged { block: BlockId::of(block), verdict: Verdict::VALID });
            }
        }
        all.extend(effects);
    }
    all
}

fn receive(poa: &mut Poa, block: &Arc<Block>) -> Vec<Effect> {
    drive(poa, Event::Message { from: PEER, message: ConsensusMessage::Block(block.clone()) })
}

fn receive_all<'a>(poa: &mut Poa, blocks: impl IntoIterator<Item = &'a Arc<Block>>) {
    for block in blocks {
        receive(poa, block);
    }
}

/// Checks that both orders of two forks lead to the same head, which a signer that is online may extend.
fn check_deadlock(setup: &Setup, common: &[Arc<Block>], winner: &[Arc<Block>], loser: &[Arc<Block>], online: &[usize]) {
    let head = BlockId::of(winner.last().unwrap());
    for (first, second) in [(winner, loser), (loser, winner)] {
        let mut poa = setup.replica(None);
        receive_all(&mut poa, common.iter().chain(first).chain(second));
        assert_eq!(poa.head(), head);
        let next = head.height.next();
        let free =
            online.iter().filter(|index| poa.snapshot().may_sign(next, &setup.signers[**index].address()).is_ok());
        assert!(free.count() > 0, "no online signer may extend the head");
    }
}

/// EIP-3436, "Rationale", first scenario: equal weight, different lengths. Indices are the validators' numbers less one.
#[test]
fn forks_of_equal_weight_and_other_length_do_not_deadlock() {
    let setup = Setup::new(8);
    let common = setup.branch(&setup.genesis, &[1, 2, 3, 4, 5, 6, 7]);
    let tip = common.last().unwrap();
    let (short, long) = (setup.branch(tip, &[0, 2]), setup.branch(tip, &[1, 3, 5]));
    check_deadlock(&setup, &common, &short, &long, &[0, 1, 2, 3, 5]);
}

/// EIP-3436, second scenario: equal weight and length. The EIP's strictly ordered history would forbid validator 6's
/// block (it signed four blocks before), so validator 8 took its earlier place here.
#[test]
fn forks_of_equal_weight_and_length_do_not_deadlock() {
    let setup = Setup::new(8);
    let common = setup.branch(&setup.genesis, &[1, 2, 3, 4, 7, 6]);
    let tip = common.last().unwrap();
    let (odd, even) = (setup.branch(tip, &[0, 2, 4]), setup.branch(tip, &[1, 3, 5]));
    check_deadlock(&setup, &common, &odd, &even, &[0, 1, 2, 3, 4, 5]);
}

#[test]
fn four_signers_with_equal_difficulty_agree() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1]);
    // At height 2 it is the turn of signer 2, which is offline: 3 and 0 sign at once. (2 - 3) % 4 = 3 beats (2 - 0) % 4 = 2.
    let (by_three, by_zero) = (setup.branch(&common[0], &[3]), setup.branch(&common[0], &[0]));
    check_deadlock(&setup, &common, &by_three, &by_zero, &[0, 3]);
}

#[test]
fn two_blocks_of_one_signer_and_height_are_evidence_and_the_lower_hash_wins() {
    let setup = Setup::new(4);
    let one = setup.block(&setup.genesis, 1, &Odd::default());
    let two = setup.block(&setup.genesis, 1, &Odd { gas_limit: 1, ..Odd::default() });
    for (first, second) in [(&one, &two), (&two, &one)] {
        let mut poa = setup.replica(None);
        receive(&mut poa, first);
        let effects = receive(&mut poa, second);
        let want = Evidence::DoubleSign {
            offender: setup.signers[1].address(),
            height: Height::new(1),
            first: first.hash(),
            second: second.hash(),
        };
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Evidence(evidence) if *evidence == want)));
        assert_eq!(poa.head().hash, one.hash().min(two.hash()));
    }
}

#[test]
fn invalid_blocks_leave_the_state_unchanged() {
    let setup = Setup::new(4);
    let mut poa = setup.replica(Some(2));
    let first = setup.block(&setup.genesis, 1, &Odd::default());
    drive(&mut poa, Event::Start);
    receive(&mut poa, &first);
    let stranger =
        Setup { signers: vec![setup.authenticator.signer(&KeyPair::from_seed(9, "no signer"))], ..Setup::new(1) };
    let vote = Some(Vote { target: Address::ZERO, authorize: true });
    let on_first = |signer, odd: Odd| setup.block(&first, signer, &odd);
    let unsealed = Arc::new(on_first(2, Odd::default()).as_ref().clone().with_seal(Bytes::new()));
    let other_payload = {
        let good = on_first(2, Odd { payload: Some(Payload { vote, ..Payload::default() }), ..Odd::default() });
        let block = Block::new(good.header().clone(), Vec::new(), vec![0xc0].into(), Vec::new());
        Arc::new(block.with_seal(good.seal().clone()))
    };
    let cases = [
        ("not a signer", stranger.block(&first, 0, &Odd::default())),
        ("signed the block before", on_first(1, Odd::default())),
        ("claims to be in turn", on_first(3, Odd { difficulty: Some(2), ..Odd::default() })),
        ("no difficulty", on_first(2, Odd { difficulty: Some(0), ..Odd::default() })),
        ("before the period", on_first(2, Odd { timestamp: Some(1), ..Odd::default() })),
        ("pays another", on_first(2, Odd { beneficiary: Some(Address::ZERO), ..Odd::default() })),
        ("nonce", on_first(2, Odd { nonce: B64::repeat_byte(1), ..Odd::default() })),
        ("mix hash", on_first(2, Odd { mix_hash: B256::repeat_byte(1), ..Odd::default() })),
        (
            "checkpoint outside an epoch",
            on_first(2, Odd { payload: Some(Payload::checkpoint(&setup.set())), ..Odd::default() }),
        ),
        (
            "commits to a change that is none",
            on_first(
                2,
                Odd {
                    payload: Some(Payload { next_signers: Some(B256::ZERO), ..Payload::default() }),
                    ..Odd::default()
                },
            ),
        ),
        ("no seal", unsealed),
        ("payload that extraData does not name", other_payload),
        ("known", first.clone()),
        ("genesis again", setup.genesis.clone()),
    ];
    let before = poa.clone();
    for (name, block) in cases {
        let effects = receive(&mut poa, &block);
        assert!(matches!(effects.as_slice(), [Effect::Reject(_)]), "{name}: {effects:?}");
        assert_eq!(poa.digest(), before.digest(), "{name}");
    }
    for (name, event) in [
        ("verdict of nothing", Event::BlockJudged { block: BlockId::of(&first), verdict: Verdict::VALID }),
        ("unrequested draw", Event::Random { ticket: Ticket::new(99), value: 1 }),
        ("no such timer", Event::Timer(TimerId::new(9))),
        ("unrequested block", Event::BlockBuilt { ticket: Ticket::new(99), block: first.clone() }),
    ] {
        let effects = drive(&mut poa, event);
        let is_stale = matches!(effects.as_slice(), [Effect::Mark("poa/stale-answer" | "poa/stale-build")]);
        assert!(is_stale || matches!(effects.as_slice(), [Effect::Reject(_)]), "{name}: {effects:?}");
        assert_eq!(is_stale, name != "verdict of nothing", "{name}");
        assert_eq!(poa, before, "{name}");
    }
}

#[test]
fn a_block_that_fails_execution_is_dropped_with_its_descendants() {
    let setup = Setup::new(4);
    let mut poa = setup.replica(None);
    let before = poa.digest();
    let blocks = setup.branch(&setup.genesis, &[1, 2, 3]);
    let mut effects = Vec::new();
    for block in &blocks {
        poa.step(Event::Message { from: PEER, message: ConsensusMessage::Block(block.clone()) }, &mut effects);
    }
    assert_eq!(poa.head(), BlockId::of(&setup.genesis), "pending is not adopted");
    let verdict = Verdict::Invalid { reason: "state root".to_owned() };
    poa.step(Event::BlockJudged { block: BlockId::of(&blocks[0]), verdict }, &mut effects);
    assert_eq!(poa.digest(), before);
}

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

/// Seals the block that the replica may make now, if it may, and returns it.
fn seal(setup: &Setup, poa: &mut Poa, signer: usize, parent: &Block) -> Option<Arc<Block>> {
    let requested = match poa.production {
        Production::Scheduled => drive(poa, Event::Timer(SEAL_TIMER)),
        Production::DrawingDelay(ticket) => {
            drive(poa, Event::Random { ticket, value: 0 });
            drive(poa, Event::Timer(SEAL_TIMER))
        }
        _ => return None,
    };
    let [Effect::Build(request)] = requested.as_slice() else { panic!("{requested:?}") };
    let block = setup.block(parent, signer, &Odd::default());
    assert_eq!(request.parent, BlockId::of(parent));
    drive(poa, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
    Some(block)
}

/// A split leaves two branches of equal weight; the shorter one wins (EIP-3436), and those who may extend it have sealed
/// its next height on the other one. They seal it again: Clique has no rule against that.
#[test]
fn a_signer_seals_a_height_again_on_the_branch_that_won() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1, 2]);
    // In turn at 3: heavy and short. Out of turn at 3 and 4: as heavy, and longer.
    let (short, first) = (setup.branch(&common[1], &[3]), setup.branch(&common[1], &[0]));
    let mut poa = setup.replica(Some(1));
    drive(&mut poa, Event::Start);
    receive_all(&mut poa, common.iter().chain(&first));
    let lost = seal(&setup, &mut poa, 1, &first[0]).expect("it may seal height 4");
    assert_eq!((poa.head(), poa.total_difficulty()), (BlockId::of(&lost), 6));
    receive_all(&mut poa, &short);
    assert_eq!((poa.head(), poa.total_difficulty()), (BlockId::of(&short[0]), 6), "as heavy, and shorter");
    let again = seal(&setup, &mut poa, 1, &short[0]).expect("it may seal height 4 on the other branch");
    assert_eq!((again.height(), poa.head()), (lost.height(), BlockId::of(&again)));
    // Nobody takes it for a liar.
    let mut other = setup.replica(None);
    let all = [&common, &first, &short].into_iter().flatten().chain([&lost, &again]);
    let effects: Vec<_> = all.flat_map(|block| receive(&mut other, block)).collect();
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Evidence(_))));
    assert_eq!(other.head(), BlockId::of(&again));
}

#[test]
fn a_restarted_signer_seals_no_second_block_on_a_parent() {
    let setup = Setup::new(4);
    let common = setup.branch(&setup.genesis, &[1, 2]);
    let mut poa = setup.replica(Some(3));
    drive(&mut poa, Event::Start);
    receive_all(&mut poa, &common);
    let head = super::record::head(&poa.tree);
    let sealed = seal(&setup, &mut poa, 3, &common[1]).expect("its turn");
    let signed = super::record::signed(&poa.tree.head().fork_choice_key);
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    // Of the records of one write, any first ones may be durable.
    for written in
        [vec![super::record::sealed(&sealed)], vec![super::record::sealed(&sealed), signed.clone()], vec![signed]]
    {
        let mut records = Records::new();
        records.apply([head.clone()].into_iter().chain(written));
        let (authenticator, signer) = (setup.authenticator.clone(), Some(setup.signers[3].clone()));
        let mut poa = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, signer).unwrap();
        let mut effects = Vec::new();
        poa.step(Event::Start, &mut effects);
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Mark("poa/refuse-double-sign"))), "{effects:?}");
        assert_eq!(poa.production, Production::Idle);
    }
}

#[test]
fn a_replica_seals_once_a_height_and_announces_after_its_record() {
    let setup = Setup::new(1);
    let mut poa = setup.replica(Some(0));
    let armed = drive(&mut poa, Event::Start);
    assert!(matches!(
        armed.as_slice(),
        [Effect::ArmTimer { timer: ANNOUNCE_TIMER, .. }, Effect::ArmTimer { timer: SEAL_TIMER, .. }]
    ));
    let requested = drive(&mut poa, Event::Timer(SEAL_TIMER));
    let [Effect::Build(request)] = requested.as_slice() else { panic!("{requested:?}") };
    let block = setup.block(&setup.genesis, 0, &Odd::default());
    let effects = drive(&mut poa, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
    let record = effects.iter().find_map(|effect| match effect {
        Effect::Persist { ticket, records } if records.iter().any(|record| *record.key == *SIGNED_KEY) => Some(*ticket),
        _ => None,
    });
    let sent_after = effects.iter().find_map(|effect| match effect {
        Effect::Send { after, .. } => *after,
        _ => None,
    });
    assert!(record.is_some() && record == sent_after);
    assert_eq!(poa.head(), BlockId::of(&block));
    assert_eq!(poa.finality().finalized, poa.head(), "one validator: the head");
    let again = drive(&mut poa, Event::BlockBuilt { ticket: request.ticket, block });
    assert!(matches!(again.as_slice(), [Effect::Mark("poa/stale-build")]));
}

#[test]
fn a_heavier_branch_wins_even_over_the_settled_block() {
    let setup = Setup::new(3);
    let mut poa = setup.replica(None);
    let ours = setup.branch(&setup.genesis, &[0, 1, 0]);
    let heavier = setup.branch(&setup.genesis, &[1, 2, 0, 1]);
    receive_all(&mut poa, &ours);
    assert_eq!(poa.finality().finalized, BlockId::of(&ours[0]));
    receive(&mut poa, &heavier[0]);
    // With its second block it is as heavy as the own branch, and shorter.
    let effects = receive(&mut poa, &heavier[1]);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Mark("poa/left-settled"))));
    assert_eq!(poa.finality().finalized, BlockId::of(&setup.genesis));
    receive(&mut poa, &heavier[2]);
    assert_eq!(poa.finality().finalized, BlockId::of(&heavier[0]));
    receive(&mut poa, &heavier[3]);
    let mut other_order = setup.replica(None);
    receive_all(&mut other_order, heavier.iter().chain(&ours));
    assert_eq!((poa.head(), poa.finality()), (other_order.head(), other_order.finality()));
}

#[test]
fn a_restart_leaves_a_losing_branch_below_the_settled_block_too() {
    let setup = Setup::new(3);
    let mut poa = setup.replica(None);
    receive_all(&mut poa, &setup.branch(&setup.genesis, &[0, 1, 0, 1]));
    assert_eq!(poa.finality().finalized.height, Height::new(2));
    let branch = poa.tree.newest(9).map(super::record::block);
    let mut records = Records::new();
    records.apply(branch.chain([super::record::head(&poa.tree)]));
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    let authenticator = setup.authenticator.clone();
    let mut restarted = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, None).unwrap();
    assert_eq!(restarted.finality(), poa.finality());
    let heavier = setup.branch(&setup.genesis, &[1, 2, 0, 1, 2, 0]);
    receive_all(&mut poa, &heavier);
    receive_all(&mut restarted, &heavier);
    assert_eq!(restarted.head(), BlockId::of(&heavier[5]));
    assert_eq!((restarted.head(), restarted.finality()), (poa.head(), poa.finality()));
}

#[test]
fn lost_sealed_blocks_are_rebroadcast_and_no_others_are_sealed_in_their_place() {
    let setup = Setup::new(4);
    let blocks = setup.branch(&setup.genesis, &[1, 2, 3, 0, 1, 2]);
    // Signer 1 had sealed blocks 1 and 5; the stored chain ends at block 1.
    let mut ahead = setup.replica(None);
    receive_all(&mut ahead, &blocks[..5]);
    let key = ahead.tree.head().fork_choice_key;
    let mut before = setup.replica(None);
    receive(&mut before, &blocks[0]);
    let written = [
        super::record::head(&before.tree),
        super::record::signed(&key),
        super::record::sealed(&blocks[0]),
        super::record::sealed(&blocks[4]),
    ];
    let mut records = Records::new();
    records.apply(written);
    let genesis = (BlockId::of(&setup.genesis), setup.genesis.timestamp());
    let (authenticator, signer) = (setup.authenticator.clone(), Some(setup.signers[1].clone()));
    let mut poa = Poa::recover(setup.config, genesis, setup.set(), &records, authenticator, signer).unwrap();
    let effects = drive(&mut poa, Event::Start);
    let said = |effects: &[Effect]| -> Vec<u64> {
        let blocks = effects.iter().filter_map(|effect| match effect {
            Effect::Send { message: ConsensusMessage::Block(block), after: None, .. } => Some(block.height().get()),
            _ => None,
        });
        blocks.collect()
    };
    assert_eq!(said(&effects), [5], "block 1 is in the chain");
    assert_eq!(effects.iter().filter(|effect| matches!(effect, Effect::Mark("poa/say-sealed-again"))).count(), 1);
    let forgotten = super::record::no_sealed(Height::new(1));
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Persist { records, .. } if *records == [forgotten.clone()]))
    );
    // The message may have been lost.
    assert_eq!(said(&drive(&mut poa, Event::Timer(ANNOUNCE_TIMER))), [5, 5]);
    // Its own block is an orphan until those of others arrive.
    receive_all(&mut poa, &blocks[1..4]);
    assert_eq!(poa.head(), BlockId::of(&blocks[4]));
    assert_eq!(poa.signed, Some(key));
    let effects = drive(&mut poa, Event::Timer(ANNOUNCE_TIMER));
    assert_eq!(said(&effects), [5], "as the head");
    receive(&mut poa, &blocks[5]);
    let effects = drive(&mut poa, Event::Timer(ANNOUNCE_TIMER));
    assert_eq!(said(&effects), [6], "no sealed block is missing any more");
    assert!(poa.sealed.is_empty());
}

#[test]
fn old_blocks_are_dropped_and_too_old_ones_rejected() {
    let setup = Setup::new(1);
    let mut poa = setup.replica(None);
    let blocks = setup.branch(&setup.genesis, &[0; 400]);
    receive_all(&mut poa, &blocks);
    assert_eq!(poa.finality().irreversible, Height::new(400 - 129));
    let late = setup.block(&blocks[100], 0, &Odd { gas_limit: 1, ..Odd::default() });
    let effects = receive(&mut poa, &late);
    assert!(matches!(effects.as_slice(), [Effect::Reject(Rejection::TooOld { .. })]), "{effects:?}");
}

#[derive(Debug)]
struct Known(Vec<Arc<Block>>);

impl Ancestors for Known {
    fn block(&self, hash: B256) -> Option<Arc<Block>> {
        self.0.iter().find(|block| block.hash() == hash).cloned()
    }
}

#[test]
fn header_rules_depend_on_ancestors_alone_and_need_all_of_them() {
    let setup = Setup::new(4);
    let mut blocks = vec![setup.genesis.clone()];
    blocks.extend(setup.branch(&setup.genesis, &[1, 2, 3, 0, 1]));
    let rules = || {
        crate::consensus::common::header_rules::CachedHeaderRules::<Poa>::new(
            setup.config,
            setup.set(),
            setup.authenticator.clone(),
        )
    };
    let (last, parent) = (&blocks[5], &blocks[4]);
    assert_eq!(rules().verify(last, parent.header(), &Known(blocks.clone())), Ok(()));
    let bad = setup.block(parent, 0, &Odd::default());
    assert!(matches!(rules().verify(&bad, parent.header(), &Known(blocks.clone())), Err(RuleError::Seal { .. })));
    let gap: Vec<_> = blocks.iter().filter(|block| block.height() != Height::new(2)).cloned().collect();
    assert!(matches!(rules().verify(last, parent.header(), &Known(gap)), Err(RuleError::Pending { .. })));
}

#[test]
fn a_light_verifier_settles_the_same_block_as_a_replica_and_ignores_bad_headers() {
    let setup = Setup::new(4);
    let blocks = setup.branch(&setup.genesis, &[1, 2, 3, 0, 1, 2]);
    let mut poa = setup.replica(None);
    let header = setup.genesis.header();
    let mut light = LightVerifier::new(setup.config, header, setup.set(), setup.authenticator.clone());
    for block in &blocks {
        receive(&mut poa, block);
        let good = SealedHeader::from(block.as_ref());
        let other_seal = SealedHeader { seal: setup.signers[0].sign(Purpose::Block, B256::ZERO), ..good.clone() };
        assert!(matches!(light.follow(&other_seal), Err(HeaderError::Seal(_))));
        assert_eq!(light.follow(&good), Ok(poa.head()));
        assert_eq!(light.settled(), poa.finality().finalized);
        assert!(matches!(light.follow(&good), Err(HeaderError::Field(HeaderFieldError::Parent { .. }))));
    }
    assert_eq!(light.settled().height, Height::new(3));
}
