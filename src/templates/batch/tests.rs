//! The batch: whose operations it runs, as whom, and that all or none have an effect.

use alloy_primitives::aliases::U48;
use alloy_sol_types::{SolStruct, eip712_domain};
use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    primitives::KeyPair,
    templates::{
        Erc20Params, Erc2771ForwarderParams, Multicall,
        erc20::interface::Erc20Token as token,
        erc2771_forwarder::interface as relay,
        multicall::interface as multicall,
        test_chain::{FUNDS, NOW, TestChain, golden::assert_golden},
    },
    vm::{FrameOutcome, HaltReason},
};

alloy_sol_types::sol! {
    /// The message that wallets sign; hashed by alloy, independently of the forwarder.
    struct ForwardRequest {
        address from;
        address to;
        uint256 value;
        uint256 gas;
        uint256 nonce;
        uint48 deadline;
        bytes data;
    }
}

const SIGNER: Address = Address::repeat_byte(0xaa);
const OTHER: Address = Address::repeat_byte(0xbb);

struct World {
    chain: TestChain,
    batch: Address,
    token: Address,
}

fn world() -> World {
    let mut chain = TestChain::new(&[SIGNER, OTHER]);
    let batch = chain.deploy(OTHER, 0, &Batch::init_code());
    let token = chain.deploy(OTHER, 0, &Erc20Params::new("Gold", "GLD", U256::from(100), SIGNER).init_code());
    World { chain, batch, token }
}

fn gift(to: Address, value: u64) -> Operation {
    Operation::transfer(to, U256::from(value))
}

impl World {
    fn run(&mut self, operations: Vec<Operation>) -> Result<Vec<Bytes>, Bytes> {
        self.chain.call(SIGNER, self.batch, &sol::executeCall { operations })
    }

    fn balance(&self, account: Address) -> u64 {
        self.chain.read(self.token, &token::balanceOfCall { account }).to()
    }
}

#[test]
fn operations_run_as_the_signer_and_return_what_they_return() {
    let mut world = world();
    let target = world.token;
    let results = world.run(vec![
        Operation::call(target, &token::approveCall { spender: OTHER, value: U256::from(7) }),
        Operation::call(target, &token::transferCall { to: OTHER, value: U256::from(30) }),
        Operation::call(target, &token::balanceOfCall { account: SIGNER }),
        gift(OTHER, 5),
    ]);
    let word = |number: u64| Bytes::from(U256::from(number).abi_encode());
    assert_eq!(results, Ok(vec![word(1), word(1), word(70), Bytes::new()]));
    assert_eq!(world.chain.journal.logs().len(), 2);
    assert_eq!((world.balance(SIGNER), world.balance(OTHER)), (70, 30));
    let allowance = token::allowanceCall { owner: SIGNER, spender: OTHER };
    assert_eq!(world.chain.read(target, &allowance), U256::from(7));
    assert_eq!(
        (world.chain.wei(SIGNER), world.chain.wei(OTHER), world.chain.wei(world.batch)),
        (FUNDS - 5, FUNDS + 5, 0)
    );
}

#[test]
fn one_failing_operation_undoes_all_and_is_named() {
    let mut world = world();
    let target = world.token;
    let error = token::ERC20InsufficientBalance { sender: SIGNER, balance: U256::from(70), needed: U256::from(71) };
    let transfer = |value| Operation::call(target, &token::transferCall { to: OTHER, value: U256::from(value) });
    let failed = sol::OperationFailed { index: U256::from(2), reason: error.abi_encode().into() };
    assert_eq!(world.run(vec![gift(OTHER, 9), transfer(30), transfer(71)]), Err(failed.abi_encode().into()));
    assert_eq!((world.balance(OTHER), world.chain.wei(OTHER)), (0, FUNDS));
    // Of what the signer does not have, nothing is moved, and a halt has no reason.
    let poor = sol::OperationFailed { index: U256::ONE, reason: Bytes::new() };
    assert_eq!(world.run(vec![transfer(1), gift(OTHER, FUNDS + 1)]), Err(poor.abi_encode().into()));
    assert_eq!(world.balance(OTHER), 0);
}

#[test]
fn nobody_but_the_signer_calling_directly_is_served() {
    let mut world = world();
    let batch = world.batch;
    let inner = sol::executeCall { operations: vec![gift(OTHER, 1)] };
    // Out of one of its own operations, whose caller is the signer too.
    let refused = sol::OnlySigner { caller: SIGNER };
    let nested = sol::OperationFailed { index: U256::ZERO, reason: refused.abi_encode().into() };
    assert_eq!(world.run(vec![Operation::call(batch, &inner)]), Err(nested.abi_encode().into()));
    // By a contract that the signer calls: a second batch, in whose frame the caller is no signer.
    let other = world.chain.deploy(OTHER, 0, &Batch::init_code());
    let nested = sol::OperationFailed { index: U256::ZERO, reason: refused.abi_encode().into() };
    assert_eq!(world.run(vec![Operation::call(other, &inner)]), Err(nested.abi_encode().into()));
    assert_eq!(world.chain.wei(OTHER), FUNDS);
}

/// A contract whose caller the signer is may do anything but run operations in the signer's name.
#[test]
fn a_contract_that_the_signer_calls_is_refused() {
    let mut world = world();
    let inner = sol::executeCall { operations: vec![gift(OTHER, 1)] }.abi_encode();
    let multicall = world.chain.deploy(OTHER, 0, &Multicall::init_code());
    let call = multicall::Call3 { target: world.batch, allowFailure: true, callData: inner.into() };
    let results = world.chain.ok(SIGNER, multicall, &multicall::aggregate3Call { calls: vec![call] });
    let refused = sol::OnlySigner { caller: multicall };
    assert_eq!((results[0].success, results[0].returnData.to_vec()), (false, refused.abi_encode()));
    // Nor is a contract that an operation calls, whose caller is the signer then.
    let again = sol::executeCall { operations: vec![] }.abi_encode();
    let call = multicall::Call3 { target: world.batch, allowFailure: false, callData: again.into() };
    let aggregate = multicall::aggregate3Call { calls: vec![call] };
    let failed = alloy_sol_types::Revert::from("Multicall3: call failed").abi_encode();
    let failed = sol::OperationFailed { index: U256::ZERO, reason: failed.into() };
    assert_eq!(world.run(vec![Operation::call(multicall, &aggregate)]), Err(failed.abi_encode().into()));
    assert_eq!((world.chain.wei(OTHER), world.chain.wei(SIGNER)), (FUNDS, FUNDS));
}

/// What an account signed for a forwarder is no transaction of its own: the batch trusts none.
#[test]
fn a_relayed_batch_is_refused() {
    let mut world = world();
    let key = KeyPair::from_seed(1, "signer");
    world.chain.journal.set_balance(&key.address(), U256::from(FUNDS)).unwrap();
    let forwarder = world.chain.deploy(OTHER, 0, &Erc2771ForwarderParams::new("Relay").init_code());
    let data: Bytes = sol::executeCall { operations: vec![gift(OTHER, 1)] }.abi_encode().into();
    let (from, to, value, gas, deadline) =
        (key.address(), world.batch, U256::ZERO, U256::from(300_000), U48::from(NOW + 1));
    let message = ForwardRequest { from, to, value, gas, nonce: U256::ZERO, deadline, data: data.clone() };
    let domain = eip712_domain! { name: "Relay", version: "1", chain_id: 1, verifying_contract: forwarder, };
    let signature = key.sign_hash(message.eip712_signing_hash(&domain)).as_bytes().into();
    let request = relay::ForwardRequestData { from, to, value, gas, deadline, data, signature };
    let refused = relay::ERC2771UntrustfulTarget { target: world.batch, forwarder };
    // By somebody else, and by the account itself, which is the origin of the transaction then.
    for sender in [OTHER, key.address()] {
        world.chain.fails(sender, forwarder, &relay::executeCall { request: request.clone() }, &refused);
        assert!(!world.chain.read(forwarder, &relay::verifyCall { request: request.clone() }));
    }
    assert_eq!((world.chain.wei(OTHER), world.chain.wei(key.address())), (FUNDS, FUNDS));
}

#[test]
fn its_interface_is_told() {
    let world = world();
    let supports = |id: [u8; 4]| world.chain.read(world.batch, &sol::supportsInterfaceCall { interfaceId: id.into() });
    let ids = [[0x01, 0xff, 0xc9, 0xa7], INTERFACE_ID, [0xff; 4], [1, 2, 3, 4]];
    assert_eq!(ids.map(supports), [true, true, false, false]);
}

#[test]
fn operations_create_contracts_that_the_signer_deploys() {
    let mut world = world();
    let first = Erc20Params::new("Silver", "SLV", U256::from(9), SIGNER).init_code();
    let nonce = world.chain.journal.nonce(&SIGNER).unwrap();
    // The test's chain does not raise nonces: the contract takes the one before the account's.
    let nonce = nonce.saturating_sub(1);
    let created = created_address(world.batch, SIGNER, nonce, 0, &first);
    let transfer = token::transferCall { to: OTHER, value: U256::from(4) };
    let results = world
        .run(vec![Operation::create(first.clone()), Operation::call(created, &transfer), Operation::create(first)])
        .unwrap();
    assert_eq!(results[0], Bytes::from(created.abi_encode()));
    assert_ne!(results[0], results[2], "the index is part of the address");
    assert_eq!(world.chain.read(created, &token::balanceOfCall { account: OTHER }), U256::from(4));
    assert_eq!(world.chain.journal.nonce(&SIGNER).unwrap(), nonce);
    let broken = Operation::create(Marker(Batch::ID).init_code(&[]).slice(..3));
    let failed = sol::OperationFailed { index: U256::ZERO, reason: Bytes::new() };
    assert_eq!(world.run(vec![broken]), Err(failed.abi_encode().into()));
}

#[test]
fn an_operation_without_target_and_init_code_is_refused() {
    let mut world = world();
    let refused = sol::NoInitCode { index: U256::ONE };
    assert_eq!(world.run(vec![gift(OTHER, 1), gift(Address::ZERO, 5)]), Err(refused.abi_encode().into()));
    assert_eq!((world.chain.wei(SIGNER), world.chain.wei(OTHER)), (FUNDS, FUNDS));
}

/// A list of `count` offsets, all of them of one transfer to [`OTHER`] with `length` bytes of call data.
fn overlapping(count: usize, length: usize) -> Vec<u8> {
    let one = sol::executeCall { operations: vec![Operation { data: vec![0; length].into(), ..gift(OTHER, 0) }] };
    let encoded = one.abi_encode();
    // Selector, offset of the list, its length, the offset of the operation, then the operation.
    let (head, operation) = (&encoded[..36], &encoded[4 + 3 * 32..]);
    let word = |number: usize| U256::from(number).to_be_bytes::<32>();
    let offsets = vec![word(32 * count); count].concat();
    [head, &word(count), &offsets, operation].concat()
}

#[test]
fn operations_that_overlap_cost_what_they_take() {
    let world = world();
    let run = |count, length, gas| world.chain.clone().send(SIGNER, world.batch, 0, &overlapping(count, length), gas);
    let gas_of = |count, length| {
        let result = run(count, length, 30_000_000);
        assert_eq!(result.outcome, FrameOutcome::Success);
        30_000_000 - result.gas_left.get()
    };
    let copies = gas_of(40, 64_000) - gas_of(40, 32_000);
    assert!(copies >= 40 * 1_000 * 3, "3 gas a word at least: {copies}");
    // A gigabyte of copies.
    let bomb = run(2_000, 500_000, 3_000_000);
    assert_eq!(bomb.outcome, FrameOutcome::Halt(HaltReason::OutOfGas));
}

#[test]
fn it_takes_no_ether_and_does_nothing_inside_a_static_call() {
    let mut world = world();
    let input = sol::executeCall { operations: vec![] }.abi_encode();
    let paid = world.chain.send(SIGNER, world.batch, 1, &input, 1_000_000);
    assert_eq!((paid.outcome, paid.output), (FrameOutcome::Revert, Bytes::new()));
    assert_eq!(world.run(vec![]), Ok(vec![]));
    let input = sol::executeCall { operations: vec![gift(OTHER, 1)] }.abi_encode();
    let fixed = world.chain.send_static(SIGNER, world.batch, &input, 1_000_000);
    assert_eq!(fixed.outcome, FrameOutcome::Halt(HaltReason::StaticViolation));
    assert_eq!(world.chain.wei(OTHER), FUNDS);
}

/// A changed number is a changed chain: raise the template's version with it.
#[test]
fn gas_and_effects_stay_as_they_are() {
    let (_, mut got) = TestChain::new(&[SIGNER]).creation_line(SIGNER, "nothing", &Batch::init_code());
    let gifts = |count| vec![gift(OTHER, 1); count];
    let creation = || Operation::create(Batch::init_code());
    let poor = gift(OTHER, FUNDS + 1);
    let steps = [
        ("execute of nothing", 0, vec![]),
        ("execute of a transfer", 0, gifts(1)),
        ("execute of two transfers", 0, gifts(2)),
        ("execute of a transfer to a new account", 0, vec![gift(Address::repeat_byte(0xdd), 1)]),
        ("execute of a creation", 0, vec![creation()]),
        ("execute of a creation with value", 0, vec![creation().with_value(U256::ONE)]),
        ("execute of what fails", 0, vec![gift(OTHER, 1), poor]),
        ("execute with value", 1, vec![]),
    ];
    for (name, value, operations) in steps {
        let World { mut chain, batch, .. } = world();
        got += &chain.line(name, SIGNER, batch, value, &sol::executeCall { operations }.abi_encode());
    }
    let World { mut chain, batch, .. } = world();
    got += &chain.line("a function that is not there", SIGNER, batch, 0, &[1, 2, 3, 4]);
    let World { mut chain, batch, token } = world();
    let transfer = token::transferCall { to: OTHER, value: U256::from(30) };
    let operations = vec![
        Operation::call(token, &transfer),
        Operation::create(Erc20Params::new("Silver", "SLV", U256::from(9), SIGNER).init_code()),
        gift(OTHER, 3),
    ];
    got += &chain.line("execute of all kinds", SIGNER, batch, 0, &sol::executeCall { operations }.abi_encode());
    let supports = sol::supportsInterfaceCall { interfaceId: INTERFACE_ID.into() }.abi_encode();
    got += &chain.line("supportsInterface", SIGNER, batch, 0, &supports);
    assert_golden(&got, include_str!("tests/golden.txt"));
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..3, tail: Vec<u8>, words: [u16; 16], gas in 0_u64..200_000) {
        let mut world = world();
        let known = sol::BatchCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| U256::from(word % 520).to_be_bytes::<32>()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(SIGNER, world.batch, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
    }

    /// Whatever the operations, all of them have an effect or none has.
    #[test]
    fn all_operations_have_an_effect_or_none(amounts in vec(0_u64..60, 0..6), gas in 20_000_u64..400_000) {
        let mut world = world();
        let target = world.token;
        let transfer = |value| Operation::call(target, &token::transferCall { to: OTHER, value: U256::from(value) });
        let operations = amounts.iter().map(|value| transfer(*value)).collect();
        let sent = world.chain.send(SIGNER, world.batch, 0, &sol::executeCall { operations }.abi_encode(), gas);
        let sum: u64 = amounts.iter().sum();
        prop_assert!(sum <= 100 || !sent.is_success());
        let moved = if sent.is_success() { sum } else { 0 };
        prop_assert_eq!((world.balance(SIGNER), world.balance(OTHER)), (100 - moved, moved));
    }
}
