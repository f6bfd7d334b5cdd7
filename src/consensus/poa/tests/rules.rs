//! Valid and invalid blocks, evidence, and those who verify headers alone.

use super::*;

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
