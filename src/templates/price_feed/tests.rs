//! The feed's rules and what it costs. What it does in any history is compared with MockV3Aggregator in `tests/outside`.

mod golden;

use alloy_primitives::{address, aliases::U80};

use super::{interface as sol, *};
use crate::{
    templates::test_chain::{NOW, TestChain},
    vm::{Descriptor, FrameOutcome},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");

/// A price of one, with 8 decimals.
const DOLLAR: i64 = 100_000_000;

#[derive(Clone)]
struct World {
    chain: TestChain,
    feed: Address,
}

fn params() -> PriceFeedParams {
    PriceFeedParams::new("ETH / USD", 2_000 * DOLLAR, OWNER)
}

fn deploy(params: &PriceFeedParams) -> World {
    let mut chain = TestChain::new(&[OWNER, BOB]);
    let feed = chain.deploy(BOB, 0, &params.init_code());
    World { chain, feed }
}

fn update(answer: i64) -> sol::updateAnswerCall {
    sol::updateAnswerCall { _answer: price(answer) }
}

fn price(answer: i64) -> I256 {
    I256::try_from(answer).unwrap()
}

fn update_round(round: u64, answer: i64, timestamp: u64, started_at: u64) -> sol::updateRoundDataCall {
    sol::updateRoundDataCall {
        _roundId: U80::from(round),
        _answer: price(answer),
        _timestamp: U256::from(timestamp),
        _startedAt: U256::from(started_at),
    }
}

fn round(number: u64, answer: i64, started_at: u64, updated_at: u64) -> sol::latestRoundDataReturn {
    sol::latestRoundDataReturn {
        roundId: U80::from(number),
        answer: price(answer),
        startedAt: U256::from(started_at),
        updatedAt: U256::from(updated_at),
        answeredInRound: U80::from(number),
    }
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.feed, call)
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.feed, call)
    }

    fn latest(&self) -> sol::latestRoundDataReturn {
        self.read(&sol::latestRoundDataCall {})
    }

    fn round(&self, number: u64) -> (u64, I256, u64, u64, u64) {
        let data = self.read(&sol::getRoundDataCall { _roundId: U80::from(number) });
        (data.roundId.to(), data.answer, data.startedAt.to(), data.updatedAt.to(), data.answeredInRound.to())
    }
}

#[test]
fn a_new_feed_answers_its_parameters() {
    let world = deploy(&params());
    assert_eq!(world.latest(), round(1, 2_000 * DOLLAR, NOW, NOW));
    assert_eq!(world.read(&sol::decimalsCall {}), 8);
    assert_eq!(world.read(&sol::descriptionCall {}), "ETH / USD");
    assert_eq!(world.read(&sol::versionCall {}), U256::ZERO);
    assert_eq!(world.read(&sol::ownerCall {}), OWNER);
}

#[test]
fn an_answer_starts_the_next_round() {
    let mut world = deploy(&params());
    world.chain.at(NOW + 60);
    world.ok(OWNER, &update(-5));
    let started = sol::NewRound { roundId: U256::from(2), startedBy: OWNER, startedAt: U256::from(NOW + 60) };
    let updated = sol::AnswerUpdated { current: price(-5), roundId: U256::from(2), updatedAt: U256::from(NOW + 60) };
    let logs: Vec<_> = world.chain.journal.logs().iter().map(|log| log.data.clone()).collect();
    assert_eq!(logs, [started.encode_log_data(), updated.encode_log_data()]);
    assert_eq!(world.latest(), round(2, -5, NOW + 60, NOW + 60));
    assert_eq!(world.round(1), (1, price(2_000 * DOLLAR), NOW, NOW, 1), "earlier rounds stay");
    assert_eq!(world.round(3), (3, I256::ZERO, 0, 0, 3), "as in the mock: zeros");
    assert_eq!(world.read(&sol::latestAnswerCall {}), price(-5));
    assert_eq!(world.read(&sol::latestRoundCall {}), U256::from(2));
    assert_eq!(world.read(&sol::latestTimestampCall {}), U256::from(NOW + 60));
    assert_eq!(world.read(&sol::getAnswerCall { roundId: U256::ONE }), price(2_000 * DOLLAR));
    assert_eq!(world.read(&sol::getTimestampCall { roundId: U256::from(2) }), U256::from(NOW + 60));
}

#[test]
fn a_round_of_the_past_becomes_the_latest() {
    let mut world = deploy(&params());
    world.ok(OWNER, &update_round(9, 7, NOW - 100, NOW - 200));
    assert_eq!(world.latest(), round(9, 7, NOW - 200, NOW - 100));
    world.ok(OWNER, &update(8));
    assert_eq!(world.latest(), round(10, 8, NOW, NOW));
    world.ok(OWNER, &update_round(1, 3, 0, 0));
    assert_eq!(world.latest(), round(1, 3, 0, 0));
}

/// The number of a round has 80 bits in what is returned, and the count goes on.
#[test]
fn a_round_past_80_bits_is_told_by_its_low_bits() {
    let mut world = deploy(&params());
    world.ok(OWNER, &sol::updateRoundDataCall { _roundId: U80::MAX, ..update_round(0, 7, 1, 1) });
    world.ok(OWNER, &update(8));
    assert_eq!(world.read(&sol::latestRoundCall {}), U256::ONE << 80_usize);
    assert_eq!(world.latest(), round(0, 8, NOW, NOW));
}

#[test]
fn only_the_owner_sets_answers() {
    let mut world = deploy(&params());
    let stranger = sol::OwnableUnauthorizedAccount { account: BOB };
    let feed = world.feed;
    world.chain.fails(BOB, feed, &update(1), &stranger);
    world.chain.fails(BOB, feed, &update_round(1, 1, 1, 1), &stranger);
    world.ok(OWNER, &sol::transferOwnershipCall { newOwner: BOB });
    world.ok(BOB, &update(1));
    world.ok(BOB, &sol::renounceOwnershipCall {});
    world.chain.fails(BOB, feed, &update(2), &stranger);
}

#[test]
fn a_feed_without_owner_is_refused() {
    let params = PriceFeedParams { owner: Address::ZERO, ..params() };
    let (_, result) = TestChain::new(&[BOB]).create(BOB, 0, &params.init_code(), 1_000_000);
    let want = sol::OwnableInvalidOwner { owner: Address::ZERO }.abi_encode();
    assert_eq!((result.outcome, result.output.to_vec()), (FrameOutcome::Revert, want));
}

#[test]
fn interfaces_are_supported() {
    let world = deploy(&params());
    let aggregator = u32::from_be_bytes(INTERFACES[0]);
    for (id, want) in [(0x01ff_c9a7_u32, true), (aggregator, true), (0xffff_ffff, false), (0, false)] {
        let call = sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() };
        assert_eq!(world.read(&call), want, "{id:#x}");
    }
}

/// Selectors and topics that consumers of Chainlink's feeds have in their code.
#[test]
fn selectors_and_topics_are_the_published_ones() {
    assert_eq!(sol::latestRoundDataCall::SELECTOR, [0xfe, 0xaf, 0x96, 0x8c]);
    assert_eq!(sol::getRoundDataCall::SELECTOR, [0x9a, 0x6f, 0xc8, 0xf5]);
    assert_eq!(sol::latestAnswerCall::SELECTOR, [0x50, 0xd2, 0x5b, 0xcd]);
    assert_eq!(sol::AnswerUpdated::SIGNATURE_HASH[..4], [0x05, 0x59, 0x88, 0x4f]);
    assert_eq!(sol::NewRound::SIGNATURE_HASH[..4], [0x01, 0x09, 0xfc, 0x6f]);
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = PriceFeed.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "decimals 0 0 uint8",
        "latestAnswer 1 0 int256",
        "latestTimestamp 2 0 uint256",
        "latestRound 3 0 uint256",
        "getAnswer 4 0 mapping(uint256 => int256)",
        "getTimestamp 5 0 mapping(uint256 => uint256)",
        "getStartedAt 6 0 mapping(uint256 => uint256)",
        "_owner 7 0 address",
        "description 8 0 string",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_feed_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&PriceFeed);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let values = serde_json::json!({ "description": "ETH / USD", "answer": "200000000000" });
    assert_eq!(encode(values).unwrap(), params().init_code());
    let negative = PriceFeedParams { answer: price(-7), description: String::new(), ..params() };
    assert_eq!(encode(serde_json::json!({ "answer": "-7" })).unwrap(), negative.init_code());
    for wrong in ["0x10", "1.5", "", "-", "one"] {
        let errors = encode(serde_json::json!({ "answer": wrong })).unwrap_err();
        assert_eq!(errors[0].expected, "a decimal integer string of at most 256 bits with its sign", "{wrong}");
    }
    encode(serde_json::json!({ "answer": 7 })).unwrap_err();
}

#[test]
fn the_abi_is_complete() {
    let abi = PriceFeed.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (16, 3, 2));
    let names: Vec<_> = abi.constructor.unwrap().inputs.into_iter().map(|input| input.name).collect();
    assert_eq!(names, ["decimals", "description", "answer", "owner"]);
}
