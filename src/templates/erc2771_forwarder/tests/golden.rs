//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Requests include the gas of the vault, and of `test_chain`'s plain token under it.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

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
        ("supportsInterface", 0, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
    ];
    for (name, value, input) in steps {
        got += &world.chain.line(name, RELAYER, forwarder, value, &input);
    }
    assert_golden(&got, include_str!("golden.txt"));
}
