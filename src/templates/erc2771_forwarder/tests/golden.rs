//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Requests include the gas of the vault, and of `test_chain`'s plain token under it.

use super::*;

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut got = String::new();
    for name in ["Relay", "A name of exactly thirty-two by."] {
        let init_code = Erc2771ForwarderParams::new(name).init_code();
        got += &TestChain::new(&[RELAYER]).creation_line(RELAYER, &format!("the name {name:?}"), &init_code).1;
    }
    let mut world = deploy();
    let (forwarder, to) = (world.forwarder, world.vault);
    let execute = |request| sol::executeCall { request }.abi_encode();
    let batch = |requests, refund| sol::executeBatchCall { requests, refundReceiver: refund }.abi_encode();
    let late = world.sign(sol::ForwardRequestData { deadline: U48::from(NOW - 1), ..world.deposit(1, 0) }, 0);
    let unsigned = sol::ForwardRequestData { signature: Bytes::new(), ..world.deposit(1, 0) };
    let steps = [
        ("verify", 0, sol::verifyCall { request: world.deposit(10, 0) }.abi_encode()),
        ("execute", 0, execute(world.deposit(10, 0))),
        ("execute again", 0, execute(world.deposit(10, 1))),
        ("execute of a call that reverts", 0, execute(world.request(to, 2, vec![1, 2, 3, 4]))),
        ("execute with value", 1, execute(world.deposit(10, 2))),
        ("execute too late", 0, execute(late)),
        ("execute without signature", 0, execute(unsigned.clone())),
        ("execute without trust", 0, execute(world.request(PLAIN, 2, Vec::new()))),
        ("executeBatch", 0, batch(vec![world.deposit(10, 2), world.deposit(10, 3)], Address::ZERO)),
        ("executeBatch of an invalid request", 0, batch(vec![unsigned, world.deposit(10, 4)], PLAIN)),
        ("executeBatch of none", 0, batch(Vec::new(), PLAIN)),
        ("nonces", 0, sol::noncesCall { owner: world.signer.address() }.abi_encode()),
        ("eip712Domain", 0, sol::eip712DomainCall {}.abi_encode()),
        ("a function that is not there", 0, vec![1, 2, 3, 4]),
        ("value", 1, sol::eip712DomainCall {}.abi_encode()),
    ];
    for (name, value, input) in steps {
        got += &world.chain.line(name, RELAYER, forwarder, value, &input);
    }
    let want = include_str!("golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}

#[test]
fn without_enough_gas_nothing_changes() {
    let world = deploy();
    let init_code = Erc2771ForwarderParams::new("Relay").init_code();
    world.chain.creation_runs_out_of_gas_without_effect(RELAYER, 0, &init_code);
    let small =
        |nonce| world.sign(sol::ForwardRequestData { gas: U256::from(200_000), ..world.deposit(10, nonce) }, nonce);
    // With a receiver of refunds a batch may leave out requests whose targets have too little gas to answer whom they trust.
    let calls = [
        sol::executeCall { request: small(0) }.abi_encode(),
        sol::executeBatchCall { requests: vec![small(0), small(1)], refundReceiver: Address::ZERO }.abi_encode(),
    ];
    for input in calls {
        world.chain.runs_out_of_gas_without_effect(RELAYER, world.forwarder, 0, &input);
    }
}
