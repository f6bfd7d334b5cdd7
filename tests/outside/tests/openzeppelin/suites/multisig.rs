//! Gnosis' MultiSigWallet: `multisig`.
#![allow(non_snake_case)] // Solidity's names of parameters.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::templates::MultisigParams;
use proptest::{collection::vec, prelude::*, sample::subsequence};

use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, PERSONS, contract, person},
    suite::{Creation, Scene, Suite},
    values::{self, a_person, a_receiver, account},
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Wallet {
        function addOwner(address owner);
        function removeOwner(address owner);
        function replaceOwner(address owner, address newOwner);
        function changeRequirement(uint256 _required);
        function submitTransaction(address destination, uint256 value, bytes data);
        function confirmTransaction(uint256 transactionId);
        function revokeConfirmation(uint256 transactionId);
        function executeTransaction(uint256 transactionId);
        function transactionCount();
    }
}

use Wallet::*;

#[derive(Clone, Debug)]
struct MultisigSuite;

#[derive(Clone, Debug)]
struct Setup {
    owners: Vec<Address>,
    threshold: u32,
}

#[derive(Clone, Debug)]
enum Operation {
    /// A call of the wallet; numbers of transactions are counted from the last one back.
    Call {
        from: Address,
        call: WalletCalls,
    },
    /// A transaction of the wallet to itself, at once and not by an owner.
    Own {
        call: WalletCalls,
    },
    /// A transaction to itself is submitted.
    SubmitOwn {
        from: Address,
        call: WalletCalls,
    },
    Pay {
        from: Address,
        value: u64,
        data: Bytes,
    },
}

fn wallet() -> Address {
    contract(0)
}

fn a_change() -> impl Strategy<Value = WalletCalls> {
    use WalletCalls as Calls;
    let required = prop_oneof![6 => (0_u64..5).prop_map(U256::from), 1 => values::edge()];
    prop_oneof![
        4 => an_account().prop_map(|owner| Calls::addOwner(addOwnerCall { owner })),
        2 => an_account().prop_map(|owner| Calls::removeOwner(removeOwnerCall { owner })),
        3 => (an_account(), an_account())
            .prop_map(|(owner, newOwner)| Calls::replaceOwner(replaceOwnerCall { owner, newOwner })),
        2 => required.prop_map(|_required| Calls::changeRequirement(changeRequirementCall { _required })),
    ]
}

/// Persons more often than not, also the wallet and nobody.
fn an_account() -> impl Strategy<Value = Address> {
    prop_oneof![4 => a_person(), 2 => account(), 1 => Just(wallet())]
}

/// A transaction that there is, more often than not.
fn a_number() -> impl Strategy<Value = U256> {
    prop_oneof![30 => (0_u64..5).prop_map(U256::from), 1 => values::edge()]
}

/// Returns the number of the transaction that is so many before the last one.
fn counted_back(scene: &mut Scene<'_>, number: U256) -> U256 {
    let count = scene.read(wallet(), &transactionCountCall {});
    if number < count { count - U256::ONE - number } else { number }
}

impl Suite for MultisigSuite {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = "MultiSigWallet";

    fn setups() -> BoxedStrategy<Setup> {
        let people: Vec<_> = (0..PERSONS).map(person).collect();
        let owners = prop_oneof![
            30 => subsequence(people, 2..=PERSONS),
            2 => vec(account(), 0..4),
        ];
        let threshold = prop_oneof![12 => 1_u32..3, 1 => 0_u32..6];
        (owners, threshold).prop_map(|(owners, threshold)| Setup { owners, threshold }).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use WalletCalls as Calls;
        let data = prop_oneof![3 => Just(Bytes::new()), 2 => values::data(), 1 => vec(any::<u8>(), 60..200).prop_map(Bytes::from)];
        // More than it has at first: what fails may be executed after a deposit.
        let value = prop_oneof![
            5 => (0_u64..200).prop_map(U256::from),
            3 => (900_u64..1_300).prop_map(U256::from),
            1 => values::amount(),
        ];
        let destination = prop_oneof![3 => a_person(), 4 => a_receiver(), 1 => an_account()];
        let calls = prop_oneof![
            6 => (a_person(), destination, value, data).prop_map(|(from, destination, value, data)| {
                (from, Calls::submitTransaction(submitTransactionCall { destination, value, data }))
            }),
            16 => (a_person(), a_number())
                .prop_map(|(from, transactionId)| (from, Calls::confirmTransaction(confirmTransactionCall { transactionId }))),
            6 => (a_person(), a_number())
                .prop_map(|(from, transactionId)| (from, Calls::revokeConfirmation(revokeConfirmationCall { transactionId }))),
            12 => (a_person(), a_number())
                .prop_map(|(from, transactionId)| (from, Calls::executeTransaction(executeTransactionCall { transactionId }))),
            1 => (a_person(), a_change()),
        ]
        .boxed()
        .prop_map(|(from, call)| Operation::Call { from, call });
        let inner = prop_oneof![
            5 => a_change(),
            1 => a_number().prop_map(|transactionId| Calls::confirmTransaction(confirmTransactionCall { transactionId })),
            1 => a_number().prop_map(|transactionId| Calls::executeTransaction(executeTransactionCall { transactionId })),
        ];
        let own = a_change().prop_map(|call| Operation::Own { call });
        let submit_own = (a_person(), inner).prop_map(|(from, call)| Operation::SubmitOwn { from, call });
        let pay = (a_person(), 0_u64..300, values::data()).prop_map(|(from, value, data)| Operation::Pay {
            from,
            value,
            data,
        });
        prop_oneof![24 => calls, 4 => own, 5 => submit_own, 4 => pay].boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let Setup { owners, threshold } = setup;
        let params = (owners.clone(), U256::from(*threshold)).abi_encode_params();
        vec![Creation::reference(Self::CONTRACT, &params)]
    }

    fn call(_: &Setup, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        use WalletCalls as Calls;
        let (from, value, input) = match operation {
            Operation::Call { from, call } => {
                let call = match call.clone() {
                    Calls::confirmTransaction(call) => Calls::confirmTransaction(confirmTransactionCall {
                        transactionId: counted_back(scene, call.transactionId),
                    }),
                    Calls::revokeConfirmation(call) => Calls::revokeConfirmation(revokeConfirmationCall {
                        transactionId: counted_back(scene, call.transactionId),
                    }),
                    Calls::executeTransaction(call) => Calls::executeTransaction(executeTransactionCall {
                        transactionId: counted_back(scene, call.transactionId),
                    }),
                    call => call,
                };
                (*from, 0, call.abi_encode())
            }
            Operation::Own { call } => (wallet(), 0, call.abi_encode()),
            Operation::SubmitOwn { from, call } => {
                let data = call.abi_encode().into();
                let submit = submitTransactionCall { destination: wallet(), value: U256::ZERO, data };
                (*from, 0, submit.abi_encode())
            }
            Operation::Pay { from, value, data } => (*from, *value, data.to_vec()),
        };
        Call { from, to: wallet(), value: U256::from(value), input: input.into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        vec![Call { from: person(ADMIN), to: wallet(), value: U256::from(1_000), input: Bytes::new() }]
    }

    fn keys(_: &Setup) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([]), words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<MultisigSuite>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<MultisigSuite>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<MultisigSuite> {
        creations: |setup| {
            let Setup { owners, threshold } = setup.clone();
            vec![Creation::new(MultisigParams::new(owners, threshold).init_code())]
        },
        own_slots: &[],
        regressions: "tests/openzeppelin/regressions/multisig.txt",
    }
    .run();
}
