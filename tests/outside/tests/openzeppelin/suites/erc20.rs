//! ERC-20 with roles: `erc20-token`, with votes and flash loans and without.

use core::{fmt::Debug, marker::PhantomData};

use alloy_primitives::{Address, B256, U256, uint};
use alloy_sol_types::{SolCall, SolInterface, sol};
use chainbox::templates::{Erc20Features, Erc20Params, erc20::IMMUTABLES};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestError},
};

use crate::{
    altered::{Altered, notices_each_function},
    differential::Differential,
    engine::{Call, FIRST_BLOCK},
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, MINTER, PERSONS, contract, person},
    signatures::{DelegationChoice, PermitChoice},
    suite::{Case, Creation, Scene, Suite},
    templates::Templates,
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc20 {
        function transfer(address to, uint256 value);
        function approve(address spender, uint256 value);
        function transferFrom(address from, address to, uint256 value);
        function mint(address to, uint256 amount);
        function burn(uint256 value);
        function burnFrom(address account, uint256 value);
        function pause();
        function unpause();
        function grantRole(bytes32 role, address account);
        function revokeRole(bytes32 role, address account);
        function renounceRole(bytes32 role, address callerConfirmation);
        function delegate(address delegatee);
        function delegateBySig(address delegatee, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s);
        function flashLoan(address receiver, address token, uint256 value, bytes data);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s);
    }
}

use Erc20::*;

/// What the wizard was asked for.
pub trait Options: Clone + Debug + 'static {
    const CONTRACT: &'static str;
    const FEATURES: Erc20Features;
}

/// Every option.
#[derive(Clone, Debug)]
pub struct All;

impl Options for All {
    const CONTRACT: &'static str = "Erc20";
    const FEATURES: Erc20Features = Erc20Features::ALL;
}

/// The features of `Erc20WithoutVotes`.
pub const WITHOUT_VOTES: Erc20Features = Erc20Features { votes: false, flash_mint: false, ..Erc20Features::ALL };

/// No votes and no flash loans: the operations that need them call functions that there are not.
#[derive(Clone, Debug)]
pub struct WithoutVotes;

impl Options for WithoutVotes {
    const CONTRACT: &'static str = "Erc20WithoutVotes";
    const FEATURES: Erc20Features = WITHOUT_VOTES;
}

#[derive(Clone, Debug)]
pub struct Token<O>(PhantomData<O>);

#[derive(Clone, Debug)]
pub enum Operation {
    Call { from: Address, call: Erc20Calls },
    Permit { from: Address, permit: PermitChoice },
    DelegateBySig { from: Address, delegation: DelegationChoice },
}

impl<O: Options> Suite for Token<O> {
    type Setup = Erc20Params;
    type Operation = Operation;

    const CONTRACT: &'static str = O::CONTRACT;
    const UNREACHABLE: &'static [&'static str] = &[
        // The zero address has nothing, and is asked first what it allows.
        "ERC20InvalidSender(address)",
        // Signatures come in three parts.
        "ECDSAInvalidSignatureLength(uint256)",
        "InvalidShortString()",
        // Blocks and values far below 2^48 and 2^208.
        "SafeCastOverflowedUintDowncast(uint8,uint256)",
        "CheckpointUnorderedInsertion()",
        // Asked by views alone.
        "ERC5805FutureLookup(uint256,uint48)",
        "ERC6372InconsistentClock()",
        // Nothing stands against it.
        "delegate(address)",
        // Places that OpenZeppelin 5.7.0 no longer uses.
        "_nameFallback",
        "_versionFallback",
    ];

    fn setups() -> BoxedStrategy<Erc20Params> {
        let supply = prop_oneof![6 => Just(1_000u64), 1 => Just(0), 1 => Just(2_001)].prop_map(U256::from);
        let cap = prop_oneof![6 => Just(Some(U256::from(2_000))), 4 => Just(None), 1 => Just(Some(U256::ZERO))];
        let owner = prop_oneof![16 => Just(person(ADMIN)), 1 => Just(Address::ZERO)];
        let name = prop_oneof![9 => values::short_text(), 1 => values::text()];
        (name, values::text(), any::<u8>(), supply, cap, owner)
            .prop_map(|(name, symbol, decimals, supply, cap, owner)| Erc20Params {
                decimals,
                cap,
                features: O::FEATURES,
                ..Erc20Params::new(&name, &symbol, supply, owner)
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc20Calls as Calls;
        use values::{account, allowance, amount, from_and_amount, mostly_admin, mostly_minter, sender};
        let transfers = prop_oneof![
            6 => (sender(), account(), amount())
                .prop_map(|(from, to, value)| (from, Calls::transfer(transferCall { to, value }))),
            3 => (sender(), account(), allowance())
                .prop_map(|(from, spender, value)| (from, Calls::approve(approveCall { spender, value }))),
            4 => (sender(), account(), from_and_amount())
                .prop_map(|(by, to, (from, value))| (by, Calls::transferFrom(transferFromCall { from, to, value }))),
            4 => (mostly_minter(), account(), amount())
                .prop_map(|(from, to, amount)| (from, Calls::mint(mintCall { to, amount }))),
            2 => (sender(), amount()).prop_map(|(from, value)| (from, Calls::burn(burnCall { value }))),
            2 => (sender(), account(), amount())
                .prop_map(|(from, account, value)| (from, Calls::burnFrom(burnFromCall { account, value }))),
        ]
        .boxed();
        let loans = (sender(), lent_to(), a_loan(), values::data())
            .prop_map(|(from, receiver, (token, value), data)| {
                (from, Calls::flashLoan(flashLoanCall { receiver, token, value, data }))
            })
            .boxed();
        let administration = prop_oneof![
            1 => mostly_minter().prop_map(|from| (from, Calls::pause(pauseCall {}))),
            3 => mostly_minter().prop_map(|from| (from, Calls::unpause(unpauseCall {}))),
            2 => (mostly_admin(), values::a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::grantRole(grantRoleCall { role, account }))),
            1 => (mostly_admin(), values::a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::revokeRole(revokeRoleCall { role, account }))),
            1 => renounced().prop_map(|(from, role, account)| {
                (from, Calls::renounceRole(renounceRoleCall { role, callerConfirmation: account }))
            }),
        ]
        .boxed();
        let votes = (sender(), account())
            .prop_map(|(from, delegatee)| (from, Calls::delegate(delegateCall { delegatee })))
            .boxed();
        let call = prop_oneof![10 => transfers, 3 => loans, 3 => administration, 3 => votes]
            .prop_map(|(from, call)| Operation::Call { from, call })
            .boxed();
        let permit =
            (sender(), PermitChoice::strategy()).prop_map(|(from, permit)| Operation::Permit { from, permit }).boxed();
        let delegation = (sender(), DelegationChoice::strategy())
            .prop_map(|(from, delegation)| Operation::DelegateBySig { from, delegation })
            .boxed();
        prop_oneof![16 => call, 1 => permit, 1 => delegation].boxed()
    }

    fn reference(setup: &Erc20Params) -> Vec<Creation> {
        vec![Creation::reference(Self::CONTRACT, &setup.encode())]
    }

    fn call(setup: &Erc20Params, operation: &Operation, scene: &mut Scene<'_>) -> Call {
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
            Operation::DelegateBySig { from, delegation } => {
                let (delegation, parts) = delegation.sign(&setup.name, to, scene);
                let call = delegateBySigCall {
                    delegatee: delegation.delegatee,
                    nonce: delegation.nonce,
                    expiry: delegation.expiry,
                    v: parts.v,
                    r: parts.r,
                    s: parts.s,
                };
                (*from, call.abi_encode())
            }
        };
        Call { from, to, value: U256::ZERO, input: input.into() }
    }

    fn preparation(_: &Erc20Params) -> Vec<Call> {
        let send = |from, input: Vec<u8>| Call { from, to: contract(0), value: U256::ZERO, input: input.into() };
        let spread = |index| {
            let value = U256::from(200);
            send(person(ADMIN), transferCall { to: person(index), value }.abi_encode())
        };
        let allow = |index| {
            let spender = person((index + 1) % PERSONS);
            send(person(index), approveCall { spender, value: U256::MAX }.abi_encode())
        };
        // The owner has all roles at first.
        let appoint = |name| {
            let (role, account) = (values::role(name), person(MINTER));
            send(person(ADMIN), grantRoleCall { role, account }.abi_encode())
        };
        let roles = ["MINTER_ROLE", "PAUSER_ROLE"].map(appoint);
        (1..PERSONS).map(spread).chain((0..PERSONS).map(allow)).chain(roles).collect()
    }

    fn keys(_: &Erc20Params) -> Keys {
        let moments = FIRST_BLOCK..FIRST_BLOCK + 8;
        Keys { addresses: values::accounts(), numbers: values::numbers(moments), words: values::roles() }
    }
}

/// Returns the strategy of borrowers: half of them repay.
fn lent_to() -> impl Strategy<Value = Address> {
    prop_oneof![6 => values::a_receiver(), 1 => values::account()]
}

/// Returns the strategy of a loan's token, mostly the right one, and amount.
fn a_loan() -> impl Strategy<Value = (Address, U256)> {
    prop_oneof![
        12 => (Just(contract(0)), values::amount()),
        1 => (values::account(), values::amount()),
        1 => (values::account(), Just(U256::ZERO)),
    ]
}

/// Returns the strategy of a sender who renounces a role, mostly his own.
fn renounced() -> impl Strategy<Value = (Address, B256, Address)> {
    let by_whom = select((0..PERSONS).map(person).collect::<Vec<_>>());
    (by_whom, values::a_role(), values::account(), proptest::bool::weighted(0.2))
        .prop_map(|(from, role, other, is_other)| (from, role, if is_other { other } else { from }))
}

fn template<O: Options>() -> Differential<Token<O>> {
    Differential {
        creations: |setup| vec![Creation::new(setup.init_code())],
        own_slots: &OWN_SLOTS,
        regressions: "tests/openzeppelin/regressions/erc20.txt",
    }
}

/// Slots of decimals and features, and of the cap.
pub const OWN_SLOTS: [U256; 2] =
    [IMMUTABLES, uint!(0x99a76f77e4cab771f51a628a742a644df747358d9c28b7ce699d661c2f762616_U256)];

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Token<All>>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Token<All>>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    template::<All>().run();
}

#[test]
fn the_template_without_votes_does_what_the_reference_does() {
    template::<WithoutVotes>().run();
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
    let by_the_minter: fn(Call) -> Call = |call| Call { from: person(MINTER), ..call };
    for (name, call) in [("one more", one_more), ("no unpausing", without_unpausing), ("by the minter", by_the_minter)]
    {
        let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
        let found = template::<All>().search(config, || Box::new(Altered { call, ..Altered::new(Templates::new()) }));
        match found {
            Err(TestError::Fail(_, case)) => assert!(case.steps.len() <= 2, "{name}: {case:?}"),
            other => panic!("{name} is not found: {other:?}"),
        }
    }
}

/// A value in another place is found, by the name of its variable.
#[test]
fn a_variable_in_another_place_is_named() {
    let setup = Erc20Params {
        features: Erc20Features::ALL,
        ..Erc20Params::new("Gold", "GLD", U256::from(1_000), person(ADMIN))
    };
    let case = Case { setup, steps: Vec::new() };
    // The supply lies a byte higher in its slot.
    let storage: fn(U256, U256) -> U256 = |slot, word| if slot == uint!(2_U256) { word << 8 } else { word };
    let difference = template::<All>().compare(&case, &mut Altered { storage, ..Altered::new(Templates::new()) });
    let difference = difference.expect_err("the supply moved").to_string();
    assert!(difference.contains("_totalSupply"), "{difference}");
    assert!(template::<All>().compare(&case, &mut Templates::new()).is_ok());
}
