//! ERC-20 with one owner: `erc20-token`, version 1.

use alloy_primitives::{Address, U256, uint};
use alloy_sol_types::{SolCall, SolInterface, sol};
use chainbox::templates::{Erc20Features, Erc20Params, erc20::IMMUTABLES};
use proptest::{
    prelude::*,
    test_runner::{Config, TestError},
};

use crate::{
    altered::{Altered, notices_each_function},
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, PERSONS, contract, person},
    signatures::PermitChoice,
    suite::{Case, Creation, Scene, Suite},
    templates::Templates,
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc20Ownable {
        function transfer(address to, uint256 value);
        function approve(address spender, uint256 value);
        function transferFrom(address from, address to, uint256 value);
        function mint(address to, uint256 amount);
        function burn(uint256 value);
        function burnFrom(address account, uint256 value);
        function pause();
        function unpause();
        function transferOwnership(address newOwner);
        function renounceOwnership();
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s);
    }
}

use Erc20Ownable::*;

/// The token of the template's first version, with every optional function.
#[derive(Clone, Debug)]
pub struct Ownable;

#[derive(Clone, Debug)]
pub enum Operation {
    Call { from: Address, call: Erc20OwnableCalls },
    Permit { from: Address, permit: PermitChoice },
}

impl Suite for Ownable {
    type Setup = Erc20Params;
    type Operation = Operation;

    const CONTRACT: &'static str = "Erc20Ownable";
    const UNREACHABLE: &'static [&'static str] = &[
        // The zero address has nothing, and is asked first what it allows.
        "ERC20InvalidSender(address)",
        // `permit` uses the nonce that is in force.
        "InvalidAccountNonce(address,uint256)",
        // Signatures come in three parts, and names of domains are short.
        "ECDSAInvalidSignatureLength(uint256)",
        "StringTooLong(string)",
        "InvalidShortString()",
        // Places that OpenZeppelin 5.7.0 no longer uses.
        "_nameFallback",
        "_versionFallback",
    ];

    fn setups() -> BoxedStrategy<Self::Setup> {
        let supply = prop_oneof![4 => Just(1_000u64), 1 => Just(0), 1 => Just(2_001)].prop_map(U256::from);
        let cap = prop_oneof![6 => Just(Some(U256::from(2_000))), 3 => Just(None), 1 => Just(Some(U256::ZERO))];
        let owner = prop_oneof![12 => Just(person(ADMIN)), 1 => Just(Address::ZERO)];
        // Before 5.7.0, and so in this version of the template, a longer name was stored; `tests/solidity.rs` compares that with 5.4.0.
        (values::short_text(), values::text(), supply, any::<u8>(), owner, cap)
            .prop_map(|(name, symbol, supply, decimals, owner, cap)| Erc20Params {
                features: Erc20Features { mintable: true, burnable: true, pausable: true },
                decimals,
                cap,
                ..Erc20Params::new(&name, &symbol, supply, owner)
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use values::{account, allowance, amount, from_and_amount, mostly_admin, sender};
        type Calls = Erc20OwnableCalls;
        let call = prop_oneof![
            8 => (sender(), account(), amount())
                .prop_map(|(from, to, value)| (from, Calls::transfer(transferCall { to, value }))),
            6 => (sender(), account(), allowance())
                .prop_map(|(from, spender, value)| (from, Calls::approve(approveCall { spender, value }))),
            6 => (sender(), account(), from_and_amount())
                .prop_map(|(by, to, (from, value))| (by, Calls::transferFrom(transferFromCall { from, to, value }))),
            4 => (mostly_admin(), account(), amount())
                .prop_map(|(from, to, amount)| (from, Calls::mint(mintCall { to, amount }))),
            2 => (sender(), amount()).prop_map(|(from, value)| (from, Calls::burn(burnCall { value }))),
            3 => (sender(), account(), amount())
                .prop_map(|(from, account, value)| (from, Calls::burnFrom(burnFromCall { account, value }))),
            1 => mostly_admin().prop_map(|from| (from, Calls::pause(pauseCall {}))),
            2 => mostly_admin().prop_map(|from| (from, Calls::unpause(unpauseCall {}))),
        ]
        .prop_map(|(from, call)| Operation::Call { from, call })
        .boxed();
        let heir = prop_oneof![3 => account(), 1 => Just(Address::ZERO)];
        let owner = prop_oneof![
            2 => (mostly_admin(), heir)
                .prop_map(|(from, new)| (from, Calls::transferOwnership(transferOwnershipCall { newOwner: new }))),
            1 => mostly_admin().prop_map(|from| (from, Calls::renounceOwnership(renounceOwnershipCall {}))),
        ]
        .prop_map(|(from, call)| Operation::Call { from, call })
        .boxed();
        let permit = (sender(), PermitChoice::strategy()).prop_map(|(from, permit)| Operation::Permit { from, permit });
        prop_oneof![64 => call, 1 => owner, 8 => permit].boxed()
    }

    fn reference(setup: &Self::Setup) -> Vec<Creation> {
        vec![Creation::reference(Self::CONTRACT, &setup.encode())]
    }

    fn call(setup: &Self::Setup, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let to = contract(0);
        let (from, input) = match operation {
            Operation::Call { from, call } => (*from, call.abi_encode()),
            Operation::Permit { from, permit } => {
                let (permit, parts) = permit.sign(&setup.name, to, scene);
                let call = permitCall {
                    owner: permit.owner,
                    spender: permit.spender,
                    value: permit.value,
                    deadline: permit.deadline,
                    v: parts.v,
                    r: parts.r,
                    s: parts.s,
                };
                (*from, call.abi_encode())
            }
        };
        Call { from, to, value: U256::ZERO, input: input.into() }
    }

    fn preparation(_: &Self::Setup) -> Vec<Call> {
        let send = |from, input: Vec<u8>| Call { from, to: contract(0), value: U256::ZERO, input: input.into() };
        let spread = |index| {
            let value = U256::from(200);
            send(person(ADMIN), transferCall { to: person(index), value }.abi_encode())
        };
        let allow = |index| {
            let spender = person((index + 1) % PERSONS);
            send(person(index), approveCall { spender, value: U256::MAX }.abi_encode())
        };
        (1..PERSONS).map(spread).chain((0..PERSONS).map(allow)).collect()
    }

    fn keys(_: &Self::Setup) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([]), words: values::roles() }
    }
}

const TEMPLATE: Differential<Ownable> = Differential {
    creations: |setup| vec![Creation::new(setup.init_code())],
    own_slots: &OWN_SLOTS,
    regressions: "tests/openzeppelin/regressions/erc20_ownable.txt",
};

/// Slots of decimals and features, and of the cap.
pub const OWN_SLOTS: [U256; 2] =
    [IMMUTABLES, uint!(0x99a76f77e4cab771f51a628a742a644df747358d9c28b7ce699d661c2f762616_U256)];

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Ownable>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Ownable>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    TEMPLATE.run();
}

/// Each deviation is found, and the case that shows it is small.
#[test]
fn deviations_are_found() {
    let one_more: fn(Call) -> Call = |mut call| {
        if let Ok(mut transfer) = transferCall::abi_decode(&call.input) {
            transfer.value = transfer.value.wrapping_add(U256::ONE);
            call.input = transfer.abi_encode().into();
        }
        call
    };
    let without_unpausing: fn(Call) -> Call = |mut call| {
        if unpauseCall::abi_decode(&call.input).is_ok() {
            call.input = pauseCall {}.abi_encode().into();
        }
        call
    };
    let by_the_owner: fn(Call) -> Call = |call| Call { from: person(ADMIN), ..call };
    for (name, call) in [("one more", one_more), ("no unpausing", without_unpausing), ("by the owner", by_the_owner)] {
        let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
        let found = TEMPLATE.search(config, || Box::new(Altered { call, ..Altered::new(Templates::new()) }));
        match found {
            Err(TestError::Fail(_, case)) => assert!(case.steps.len() <= 2, "{name}: {case:?}"),
            other => panic!("{name} is not found: {other:?}"),
        }
    }
}

/// A value of another packing is found, by the name of its variable.
#[test]
fn a_variable_in_another_place_is_named() {
    let features = Erc20Features { mintable: true, burnable: true, pausable: true };
    let setup = Erc20Params { features, ..Erc20Params::new("Gold", "GLD", U256::from(1), person(ADMIN)) };
    let case = Case { setup, steps: Vec::new() };
    // The owner is not beside the flag but in the lowest bytes.
    let storage: fn(U256, U256) -> U256 = |slot, word| if slot == uint!(5_U256) { word >> 8 } else { word };
    let difference = TEMPLATE.compare(&case, &mut Altered { storage, ..Altered::new(Templates::new()) });
    let difference = difference.expect_err("the owner moved").to_string();
    assert!(difference.contains("_owner"), "{difference}");
    assert!(TEMPLATE.compare(&case, &mut Templates::new()).is_ok());
}
