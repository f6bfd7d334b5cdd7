//! ERC-4626 vaults over an ERC-20 asset, without and with fees.

use core::marker::PhantomData;

use alloy_primitives::{Address, U256, uint};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::templates::{Erc20Params, Erc4626Params, erc4626::SETTINGS};
use proptest::{prelude::*, sample::select};

use super::erc20::{OWN_SLOTS, WITHOUT_VOTES};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, Answer, PERSONS, contract, person, receiver},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc4626 {
        function deposit(uint256 assets, address receiver);
        function mint(uint256 shares, address receiver);
        function withdraw(uint256 assets, address receiver, address owner);
        function redeem(uint256 shares, address receiver, address owner);
        function transfer(address to, uint256 value);
        function approve(address spender, uint256 value);
        function transferFrom(address from, address to, uint256 value);
    }

    /// What users do with the asset.
    #[sol(extra_derives(Debug))]
    interface Asset {
        function pause();
        function unpause();
    }
}

use Erc4626::*;

/// Place of the asset among the creations.
const ASSET: usize = 0;
const VAULT: usize = 1;

/// Whether the vault takes fees.
pub trait Variant: Clone + core::fmt::Debug + 'static {
    const CONTRACT: &'static str;
    const HAS_FEES: bool;
}

#[derive(Clone, Debug)]
pub struct Plain;

impl Variant for Plain {
    const CONTRACT: &'static str = "Vault";
    const HAS_FEES: bool = false;
}

#[derive(Clone, Debug)]
pub struct WithFees;

impl Variant for WithFees {
    const CONTRACT: &'static str = "VaultWithFees";
    const HAS_FEES: bool = true;
}

#[derive(Clone, Debug)]
pub struct Vault<V>(PhantomData<V>);

/// Constructor parameters of the reference.
#[derive(Clone, Debug)]
pub struct Setup {
    pub asset: Erc20Params,
    pub name: String,
    pub symbol: String,
    /// Decimals by which a share is finer than the asset.
    pub offset: u8,
    /// In hundredths of a percent; unused without fees.
    pub entry_fee: U256,
    /// In hundredths of a percent; unused without fees.
    pub exit_fee: U256,
    pub fee_recipient: Address,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Vault {
        from: Address,
        call: Erc4626Calls,
    },
    /// Assets sent to the vault without a deposit, which shares gain from.
    Donate {
        from: Address,
        value: U256,
    },
    /// The asset itself refuses while it is paused.
    PauseAsset,
    UnpauseAsset,
}

impl<V: Variant> Suite for Vault<V> {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = V::CONTRACT;
    const INDEX: usize = VAULT;
    const UNREACHABLE: &'static [&'static str] = &[
        // Any amount may be deposited.
        "ERC4626ExceededMaxDeposit(address,uint256,uint256)",
        "ERC4626ExceededMaxMint(address,uint256,uint256)",
        // The zero address has nothing, and is asked first what it allows.
        "ERC20InvalidSender(address)",
        // The asset reverts with reasons of its own.
        "SafeERC20FailedOperation(address)",
    ];

    fn setups() -> BoxedStrategy<Setup> {
        let fee = || select(vec![0u64, 1, 30, 500, 10_000]).prop_map(U256::from);
        let recipient = prop_oneof![
            2 => Just(person(3)),
            1 => Just(receiver(Answer::Accept)),
            1 => Just(contract(VAULT)),
        ];
        let offset = select(vec![0u8, 0, 3, 18]);
        (values::text(), values::text(), offset, fee(), fee(), recipient, select(vec![0u8, 6, 18, 230]))
            .prop_map(|(name, symbol, offset, entry_fee, exit_fee, fee_recipient, decimals)| {
                let supply = U256::from(100_000);
                let asset = Erc20Params {
                    features: WITHOUT_VOTES,
                    decimals,
                    ..Erc20Params::new("Asset", "AST", supply, person(ADMIN))
                };
                Setup { asset, name, symbol, offset, entry_fee, exit_fee, fee_recipient }
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc4626Calls as Calls;
        use values::{account, allowance, amount, sender};
        let entries = prop_oneof![
            4 => (sender(), amount(), account())
                .prop_map(|(from, assets, receiver)| (from, Calls::deposit(depositCall { assets, receiver }))),
            4 => (sender(), shares(), account())
                .prop_map(|(from, shares, receiver)| (from, Calls::mint(mintCall { shares, receiver }))),
        ]
        .boxed();
        let exits = prop_oneof![
            (by_and_owner(), amount(), account()).prop_map(|((by, owner), assets, receiver)| {
                (by, Calls::withdraw(withdrawCall { assets, receiver, owner }))
            }),
            (by_and_owner(), shares(), account()).prop_map(|((by, owner), shares, receiver)| {
                (by, Calls::redeem(redeemCall { shares, receiver, owner }))
            }),
        ]
        .boxed();
        let transfers = prop_oneof![
            2 => (sender(), account(), shares())
                .prop_map(|(from, to, value)| (from, Calls::transfer(transferCall { to, value }))),
            2 => (sender(), account(), allowance())
                .prop_map(|(from, spender, value)| (from, Calls::approve(approveCall { spender, value }))),
            2 => (sender(), account(), values::from_and_amount())
                .prop_map(|(by, to, (from, value))| (by, Calls::transferFrom(transferFromCall { from, to, value }))),
        ]
        .boxed();
        let vault = prop_oneof![8 => entries, 6 => exits, 4 => transfers]
            .prop_map(|(from, call)| Operation::Vault { from, call });
        let donate = (sender(), amount()).prop_map(|(from, value)| Operation::Donate { from, value });
        prop_oneof![30 => vault, 2 => donate, 1 => Just(Operation::PauseAsset), 2 => Just(Operation::UnpauseAsset)]
            .boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let Setup { asset, name, symbol, offset, entry_fee, exit_fee, fee_recipient } = setup;
        let offset = U256::from(*offset);
        let params = match V::HAS_FEES {
            true => (contract(ASSET), name, symbol, offset, entry_fee, exit_fee, fee_recipient).abi_encode_params(),
            false => (contract(ASSET), name, symbol, offset).abi_encode_params(),
        };
        vec![Creation::reference("Erc20WithoutVotes", &asset.encode()), Creation::reference(Self::CONTRACT, &params)]
    }

    fn call(_: &Setup, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let (from, to, input) = match operation {
            Operation::Vault { from, call } => (*from, VAULT, call.abi_encode()),
            Operation::Donate { from, value } => {
                (*from, ASSET, transferCall { to: contract(VAULT), value: *value }.abi_encode())
            }
            Operation::PauseAsset => (person(ADMIN), ASSET, Asset::pauseCall {}.abi_encode()),
            Operation::UnpauseAsset => (person(ADMIN), ASSET, Asset::unpauseCall {}.abi_encode()),
        };
        Call { from, to: contract(to), value: U256::ZERO, input: input.into() }
    }

    /// All persons and the receiver that accepts have assets, which the vault may take; two own shares.
    fn preparation(_: &Setup) -> Vec<Call> {
        let send = |from, to, input: Vec<u8>| Call { from, to: contract(to), value: U256::ZERO, input: input.into() };
        let holders = || (0..PERSONS).map(person).chain([receiver(Answer::Accept)]);
        let spread = |to| {
            let value = U256::from(2_000);
            send(person(ADMIN), ASSET, transferCall { to, value }.abi_encode())
        };
        let allow = |from| send(from, ASSET, approveCall { spender: contract(VAULT), value: U256::MAX }.abi_encode());
        let deposit = |index| {
            let call = depositCall { assets: U256::from(300), receiver: person(index) };
            send(person(index), VAULT, call.abi_encode())
        };
        let lend = send(person(0), VAULT, approveCall { spender: person(1), value: U256::MAX }.abi_encode());
        holders().map(spread).chain(holders().map(allow)).chain((0..2).map(deposit)).chain([lend]).collect()
    }

    fn keys(_: &Setup) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([1_000_000]), words: Vec::new() }
    }
}

/// Returns the strategy of amounts of shares, which are finer than assets in some vaults.
fn shares() -> impl Strategy<Value = U256> {
    let finer = |decimals: u64| {
        values::amount().prop_map(move |amount| amount.saturating_mul(U256::from(10).pow(U256::from(decimals))))
    };
    prop_oneof![3 => values::amount(), 1 => finer(3), 1 => finer(18)]
}

/// Returns the strategy of who acts and whose shares it is about: mostly his own.
fn by_and_owner() -> impl Strategy<Value = (Address, Address)> {
    prop_oneof![
        3 => values::sender().prop_map(|from| (from, from)),
        1 => (values::sender(), values::account()),
    ]
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<Vault<Plain>>();
}

#[test]
fn operations_reach_all_of_the_reference_with_fees() {
    exercise::<Vault<WithFees>>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<Vault<Plain>>();
}

#[test]
fn each_function_is_noticed_with_fees() {
    notices_each_function::<Vault<WithFees>>();
}

/// Slot of the recipient of fees, after the template's settings.
const RECIPIENT: U256 = uint!(0xcec8f304c39f407862813501fac71a050e2961692ad4dffc8fd2bb84ec67a108_U256);

/// Compares the template, which has no owner, with the reference.
fn compare<V: Variant>(regressions: &'static str) {
    Differential::<Vault<V>> {
        creations: |setup| {
            let fee = |fee: U256| if V::HAS_FEES { fee.to() } else { 0 };
            let vault = Erc4626Params {
                name: setup.name.clone(),
                symbol: setup.symbol.clone(),
                asset: contract(ASSET),
                decimals_offset: setup.offset,
                owner: None,
                entry_fee: fee(setup.entry_fee),
                exit_fee: fee(setup.exit_fee),
                fee_recipient: setup.fee_recipient,
                trusted_forwarder: None,
            };
            vec![Creation::new(setup.asset.init_code()), Creation::new(vault.init_code())]
        },
        own_slots: &[OWN_SLOTS[0], OWN_SLOTS[1], SETTINGS, RECIPIENT],
        regressions,
    }
    .run();
}

#[test]
fn the_template_does_what_the_reference_does() {
    compare::<Plain>("tests/openzeppelin/regressions/erc4626.txt");
}

#[test]
fn the_template_does_what_the_reference_does_with_fees() {
    compare::<WithFees>("tests/openzeppelin/regressions/erc4626_fees.txt");
}
