//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where the token is called, its gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

#[test]
fn gas_and_effects_stay_as_they_are() {
    let (_, mut got) = TestChain::new(&[USER]).creation_line(USER, "nothing", &Multicall::init_code());
    let mut world = deploy();
    let plain = Address::repeat_byte(0x77);
    let (good, bad) = (world.pay(10), world.pay(1_001));
    let calls = || vec![good.clone(), world.balance(OTHER)];
    let failing = vec![good.clone(), bad.clone()];
    let allowed = vec![with_failure(good.clone(), false), with_failure(bad.clone(), true)];
    let steps = [
        ("aggregate", 0, sol::aggregateCall { calls: calls() }.abi_encode()),
        ("aggregate of none", 0, sol::aggregateCall { calls: Vec::new() }.abi_encode()),
        ("aggregate of a failure", 0, sol::aggregateCall { calls: failing.clone() }.abi_encode()),
        ("tryAggregate", 0, sol::tryAggregateCall { requireSuccess: false, calls: failing.clone() }.abi_encode()),
        (
            "tryBlockAndAggregate",
            0,
            sol::tryBlockAndAggregateCall { requireSuccess: false, calls: failing }.abi_encode(),
        ),
        ("blockAndAggregate", 0, sol::blockAndAggregateCall { calls: calls() }.abi_encode()),
        ("aggregate3", 0, sol::aggregate3Call { calls: vec![with_failure(good.clone(), false)] }.abi_encode()),
        ("aggregate3 of a failure", 0, sol::aggregate3Call { calls: vec![with_failure(bad, false)] }.abi_encode()),
        ("aggregate3Value", 5, sol::aggregate3ValueCall { calls: vec![with_value(plain, 5, false)] }.abi_encode()),
        ("aggregate3Value that does not add up", 6, sol::aggregate3ValueCall { calls: Vec::new() }.abi_encode()),
        ("getBlockHash", 0, sol::getBlockHashCall { blockNumber: U256::from(999) }.abi_encode()),
        ("getBlockNumber", 0, sol::getBlockNumberCall {}.abi_encode()),
        ("getCurrentBlockCoinbase", 0, sol::getCurrentBlockCoinbaseCall {}.abi_encode()),
        ("getCurrentBlockDifficulty", 0, sol::getCurrentBlockDifficultyCall {}.abi_encode()),
        ("getCurrentBlockGasLimit", 0, sol::getCurrentBlockGasLimitCall {}.abi_encode()),
        ("getCurrentBlockTimestamp", 0, sol::getCurrentBlockTimestampCall {}.abi_encode()),
        ("getEthBalance", 0, sol::getEthBalanceCall { addr: OTHER }.abi_encode()),
        ("getLastBlockHash", 0, sol::getLastBlockHashCall {}.abi_encode()),
        ("getBasefee", 0, sol::getBasefeeCall {}.abi_encode()),
        ("getChainId", 0, sol::getChainIdCall {}.abi_encode()),
        ("a function that is not there", 0, vec![1, 2, 3, 4]),
        ("value", 1, sol::getChainIdCall {}.abi_encode()),
        ("supportsInterface", 0, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("aggregate of two payments", 0, sol::aggregateCall { calls: vec![good.clone(), good.clone()] }.abi_encode()),
        ("aggregate3 of an allowed failure", 0, sol::aggregate3Call { calls: allowed }.abi_encode()),
    ];
    let multicall = world.multicall;
    for (name, value, input) in steps {
        got += &world.chain.line(name, USER, multicall, value, &input);
    }
    assert_golden(&got, include_str!("golden.txt"));
}
