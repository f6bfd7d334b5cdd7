//! Vesting wallets of ether and ERC-20 tokens, without and with a cliff.

use core::marker::PhantomData;

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::{
    primitives::Timestamp,
    templates::{Erc20Params, VestingWalletParams, vesting_wallet::IMMUTABLES},
};
use proptest::{prelude::*, sample::select};

use super::erc20::{OWN_SLOTS, WITHOUT_VOTES};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::{Call, FIRST_TIMESTAMP},
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, Answer, contract, person, receiver},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Vesting {
        function release();
        function release(address token);
        function transferOwnership(address newOwner);
        function renounceOwnership();
    }

    function transfer(address to, uint256 value);
}

use Vesting::*;

/// Place of the token among the creations.
const TOKEN: usize = 0;
const WALLET: usize = 1;

/// Whether there is a cliff.
pub trait Variant: Clone + core::fmt::Debug + 'static {
    const CONTRACT: &'static str;
    const HAS_CLIFF: bool;
    const UNREACHABLE: &'static [&'static str];
}

#[derive(Clone, Debug)]
pub struct Plain;

impl Variant for Plain {
    const CONTRACT: &'static str = "VestingWallet";
    const HAS_CLIFF: bool = false;
    const UNREACHABLE: &'static [&'static str] = &[
        // A wallet releases what it has, and the token reverts with reasons of its own.
        "InsufficientBalance(uint256,uint256)",
        "SafeERC20FailedOperation(address)",
    ];
}

#[derive(Clone, Debug)]
pub struct WithCliff;

impl Variant for WithCliff {
    const CONTRACT: &'static str = "CliffWallet";
    const HAS_CLIFF: bool = true;
    const UNREACHABLE: &'static [&'static str] = &[
        "InsufficientBalance(uint256,uint256)",
        "SafeERC20FailedOperation(address)",
        // Start and duration fit.
        "SafeCastOverflowedUintDowncast(uint8,uint256)",
    ];
}

#[derive(Clone, Debug)]
pub struct Wallet<V>(PhantomData<V>);

/// Constructor parameters of the reference.
#[derive(Clone, Debug)]
pub struct Setup {
    pub beneficiary: Address,
    /// In seconds since the epoch.
    pub start: u64,
    /// In seconds.
    pub duration: u64,
    /// In seconds; unused without a cliff.
    pub cliff: u64,
    /// Ether sent at the creation, in wei.
    pub value: u64,
}

impl Setup {
    /// Returns the parameters of the token, of which the wallet gets a part.
    pub fn token() -> Erc20Params {
        Erc20Params { features: WITHOUT_VOTES, ..Erc20Params::new("Token", "TKN", U256::from(100_000), person(ADMIN)) }
    }
}

#[derive(Clone, Debug)]
pub enum Operation {
    Wallet {
        from: Address,
        call: VestingCalls,
    },
    /// Ether sent to the wallet, in wei.
    Pay {
        from: Address,
        value: u64,
    },
    /// Tokens sent to the wallet.
    Fund {
        value: U256,
    },
}

impl<V: Variant> Suite for Wallet<V> {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = V::CONTRACT;
    const INDEX: usize = WALLET;
    const UNREACHABLE: &'static [&'static str] = V::UNREACHABLE;

    fn setups() -> BoxedStrategy<Setup> {
        let beneficiary = prop_oneof![
            6 => Just(person(ADMIN)),
            2 => Just(receiver(Answer::Accept)),
            3 => values::a_receiver(),
            1 => Just(Address::ZERO),
        ];
        let start = (0u64..400_000).prop_map(|offset| FIRST_TIMESTAMP - 200_000 + offset);
        let duration = select(vec![0u64, 1, 1_000, 300_000, 500_000, 1 << 40]);
        let cliff = select(vec![0u64, 1, 1_000, 150_000, 400_000]);
        (beneficiary, start, duration, cliff, 0u64..5_000)
            .prop_map(|(beneficiary, start, duration, cliff, value)| Setup {
                beneficiary,
                start,
                duration,
                cliff,
                value,
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use VestingCalls as Calls;
        use values::{a_person, account, mostly_admin, sender};
        let token = prop_oneof![12 => Just(contract(TOKEN)), 1 => account()];
        let call = prop_oneof![
            12 => sender().prop_map(|from| (from, Calls::release_0(release_0Call {}))),
            12 => (sender(), token).prop_map(|(from, token)| (from, Calls::release_1(release_1Call { token }))),
            2 => (mostly_admin(), account())
                .prop_map(|(from, new)| (from, Calls::transferOwnership(transferOwnershipCall { newOwner: new }))),
            1 => mostly_admin().prop_map(|from| (from, Calls::renounceOwnership(renounceOwnershipCall {}))),
        ]
        .prop_map(|(from, call)| Operation::Wallet { from, call })
        .boxed();
        let pay = (a_person(), 0u64..1_000).prop_map(|(from, value)| Operation::Pay { from, value });
        let fund = values::amount().prop_map(|value| Operation::Fund { value });
        prop_oneof![10 => call, 2 => pay, 2 => fund].boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let Setup { beneficiary, start, duration, cliff, value } = setup;
        let params = match V::HAS_CLIFF {
            true => (beneficiary, start, duration, cliff).abi_encode_params(),
            false => (beneficiary, start, duration).abi_encode_params(),
        };
        let wallet = Creation { value: U256::from(*value), ..Creation::reference(Self::CONTRACT, &params) };
        vec![Creation::reference("Erc20WithoutVotes", &Setup::token().encode()), wallet]
    }

    fn call(_: &Setup, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let (from, to, value, input) = match operation {
            Operation::Wallet { from, call } => (*from, WALLET, 0, call.abi_encode()),
            Operation::Pay { from, value } => (*from, WALLET, *value, Vec::new()),
            Operation::Fund { value } => {
                (person(ADMIN), TOKEN, 0, transferCall { to: contract(WALLET), value: *value }.abi_encode())
            }
        };
        Call { from, to: contract(to), value: U256::from(value), input: input.into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        let input = transferCall { to: contract(WALLET), value: U256::from(5_000) }.abi_encode();
        vec![Call { from: person(ADMIN), to: contract(TOKEN), value: U256::ZERO, input: input.into() }]
    }

    fn keys(_: &Setup) -> Keys {
        let moments = (0..8).map(|step| FIRST_TIMESTAMP - 200_000 + 100_000 * step);
        Keys { addresses: values::accounts(), numbers: values::numbers(moments), words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Wallet<Plain>>();
}

#[test]
fn operations_reach_all_of_the_reference_with_a_cliff() {
    exercise::<Wallet<WithCliff>>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Wallet<Plain>>();
}

#[test]
fn each_function_is_noticed_with_a_cliff() {
    notices_each_function::<Wallet<WithCliff>>();
}

/// Compares the template, which is not revocable, with the reference.
fn compare<V: Variant>(regressions: &'static str) {
    Differential::<Wallet<V>> {
        creations: |setup| {
            let Setup { beneficiary, start, duration, cliff, value } = *setup;
            let cliff_secs = if V::HAS_CLIFF { cliff } else { 0 };
            let params = VestingWalletParams::new(beneficiary, Timestamp::from_secs(start), duration);
            let init_code = VestingWalletParams { cliff_secs, ..params }.init_code();
            let wallet = Creation { value: U256::from(value), ..Creation::new(init_code) };
            vec![Creation::new(Setup::token().init_code()), wallet]
        },
        own_slots: &[OWN_SLOTS[0], OWN_SLOTS[1], IMMUTABLES],
        regressions,
    }
    .run();
}

#[test]
fn the_template_does_what_the_reference_does() {
    compare::<Plain>("tests/openzeppelin/regressions/vesting.txt");
}

#[test]
fn the_template_does_what_the_reference_does_with_a_cliff() {
    compare::<WithCliff>("tests/openzeppelin/regressions/vesting_cliff.txt");
}
