//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

fn history(params: &PriceFeedParams) -> String {
    let World { mut chain, feed } = deploy(params);
    let steps = [
        ("decimals", BOB, sol::decimalsCall {}.abi_encode()),
        ("description", BOB, sol::descriptionCall {}.abi_encode()),
        ("version", BOB, sol::versionCall {}.abi_encode()),
        ("latestRoundData", BOB, sol::latestRoundDataCall {}.abi_encode()),
        ("getRoundData", BOB, sol::getRoundDataCall { _roundId: U80::ONE }.abi_encode()),
        ("getRoundData of none", BOB, sol::getRoundDataCall { _roundId: U80::from(7) }.abi_encode()),
        ("latestAnswer", BOB, sol::latestAnswerCall {}.abi_encode()),
        ("latestTimestamp", BOB, sol::latestTimestampCall {}.abi_encode()),
        ("latestRound", BOB, sol::latestRoundCall {}.abi_encode()),
        ("getAnswer", BOB, sol::getAnswerCall { roundId: U256::ONE }.abi_encode()),
        ("getTimestamp", BOB, sol::getTimestampCall { roundId: U256::ONE }.abi_encode()),
        ("updateAnswer", OWNER, update(-7).abi_encode()),
        ("updateAnswer by a stranger", BOB, update(8).abi_encode()),
        ("updateRoundData", OWNER, update_round(9, 10, NOW - 5, NOW - 6).abi_encode()),
        ("updateRoundData of a known round", OWNER, update_round(1, 11, NOW, NOW).abi_encode()),
        ("updateRoundData by a stranger", BOB, update_round(1, 12, NOW, NOW).abi_encode()),
        ("owner", BOB, sol::ownerCall {}.abi_encode()),
        ("transferOwnership by a stranger", BOB, sol::transferOwnershipCall { newOwner: BOB }.abi_encode()),
        ("transferOwnership to nobody", OWNER, sol::transferOwnershipCall { newOwner: Address::ZERO }.abi_encode()),
        ("transferOwnership", OWNER, sol::transferOwnershipCall { newOwner: BOB }.abi_encode()),
        ("renounceOwnership", BOB, sol::renounceOwnershipCall {}.abi_encode()),
        ("supportsInterface", BOB, sol::supportsInterfaceCall { interfaceId: INTERFACES[0].into() }.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
    ];
    let lines = steps.map(|(name, from, input)| chain.line(name, from, feed, 0, &input));
    lines.concat() + &chain.line("value", BOB, feed, 1, &sol::decimalsCall {}.abi_encode())
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let long = "A price that is described in more bytes than fit into one word of storage";
    let kinds = [
        ("a description", params()),
        ("a long description", PriceFeedParams { description: long.to_owned(), ..params() }),
        ("no owner", PriceFeedParams { owner: Address::ZERO, ..params() }),
    ];
    let mut got = String::new();
    for (name, params) in kinds {
        let (feed, line) = TestChain::new(&[BOB]).creation_line(BOB, name, &params.init_code());
        got += &line;
        if feed.is_some() {
            got += &history(&params);
        }
    }
    assert_golden(&got, include_str!("golden.txt"));
}
