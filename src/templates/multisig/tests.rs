//! The wallet's rules, hostile destinations, what it costs, and all histories.

mod golden;
mod hostile;
mod properties;

use alloy_primitives::address;

use super::{interface as sol, *};
use crate::{
    templates::test_chain::TestChain,
    vm::{Descriptor, FrameOutcome, HaltReason},
};

const ALICE: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const DAVE: Address = address!("000000000000000000000000000000000000d004");

/// Ether in the wallet at first, in wei.
const WEI: u64 = 1_000;

/// A wallet with some ether.
#[derive(Clone)]
struct World {
    chain: TestChain,
    wallet: Address,
}

impl World {
    /// Alice, bob and carol own it, two of whom have to confirm.
    fn new() -> Self {
        Self::of(vec![ALICE, BOB, CAROL], 2)
    }

    fn of(owners: Vec<Address>, threshold: u32) -> Self {
        let mut chain = TestChain::new(&[ALICE, BOB, CAROL, DAVE]);
        let wallet = chain.deploy(ALICE, 0, &MultisigParams::new(owners, threshold).init_code());
        assert!(chain.send(DAVE, wallet, WEI, &[], 100_000).is_success());
        Self { chain, wallet }
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.wallet, call)
    }

    /// A call that reverts, without a reason.
    fn fails<C: SolCall>(&mut self, from: Address, call: &C) {
        self.chain.is_absent(from, self.wallet, call);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.wallet, call)
    }

    fn submit(&mut self, from: Address, destination: Address, value: u64, data: Vec<u8>) -> U256 {
        self.ok(from, &submit(destination, value, data))
    }

    /// Submits a transaction to the wallet itself, and has it confirmed by bob.
    fn govern(&mut self, call: &impl SolCall) -> bool {
        let wallet = self.wallet;
        let id = self.submit(ALICE, wallet, 0, call.abi_encode());
        self.ok(BOB, &confirm(id));
        self.is_executed(id)
    }

    fn is_executed(&self, id: U256) -> bool {
        self.read(&sol::transactionsCall(id)).executed
    }

    /// Events of the last transaction.
    fn events(&self) -> Vec<alloy_primitives::LogData> {
        self.chain.journal.logs().iter().map(|log| log.data.clone()).collect()
    }
}

fn submit(destination: Address, value: u64, data: Vec<u8>) -> sol::submitTransactionCall {
    sol::submitTransactionCall { destination, value: U256::from(value), data: data.into() }
}

fn confirm(id: U256) -> sol::confirmTransactionCall {
    sol::confirmTransactionCall { transactionId: id }
}

fn revoke(id: U256) -> sol::revokeConfirmationCall {
    sol::revokeConfirmationCall { transactionId: id }
}

fn execute(id: U256) -> sol::executeTransactionCall {
    sol::executeTransactionCall { transactionId: id }
}

#[test]
fn a_transaction_is_executed_with_the_last_confirmation_that_it_needs() {
    let mut world = World::new();
    let before = world.chain.wei(DAVE);
    let id = world.submit(ALICE, DAVE, 100, Vec::new());
    assert_eq!(id, U256::ZERO);
    assert_eq!(
        world.events(),
        [
            sol::Submission { transactionId: id }.encode_log_data(),
            sol::Confirmation { sender: ALICE, transactionId: id }.encode_log_data()
        ]
    );
    assert!(!world.read(&sol::isConfirmedCall { transactionId: id }));
    assert_eq!((world.chain.wei(DAVE), world.is_executed(id)), (before, false));
    world.fails(DAVE, &confirm(id));
    world.fails(ALICE, &confirm(id));
    world.fails(BOB, &execute(id));
    world.ok(ALICE, &execute(id));
    assert!(world.events().is_empty(), "one confirmation is too few");
    world.ok(BOB, &confirm(id));
    assert_eq!(
        world.events(),
        [
            sol::Confirmation { sender: BOB, transactionId: id }.encode_log_data(),
            sol::Execution { transactionId: id }.encode_log_data()
        ]
    );
    assert_eq!((world.chain.wei(DAVE), world.is_executed(id)), (before + 100, true));
    world.fails(ALICE, &execute(id));
    world.fails(ALICE, &revoke(id));
    world.fails(CAROL, &confirm(id));
    assert_eq!(world.read(&sol::getConfirmationsCall { transactionId: id }), [ALICE, BOB]);
    assert_eq!(world.read(&sol::getConfirmationCountCall { transactionId: id }), U256::from(2));
}

#[test]
fn a_confirmation_may_be_revoked_until_the_execution() {
    let mut world = World::new();
    let id = world.submit(ALICE, DAVE, 100, vec![1, 2, 3]);
    world.fails(BOB, &revoke(id));
    world.ok(ALICE, &revoke(id));
    assert_eq!(world.events(), [sol::Revocation { sender: ALICE, transactionId: id }.encode_log_data()]);
    world.ok(BOB, &confirm(id));
    assert!(!world.is_executed(id));
    world.ok(ALICE, &confirm(id));
    assert!(world.is_executed(id));
    let transaction = world.read(&sol::transactionsCall(id));
    assert_eq!((transaction.destination, transaction.value), (DAVE, U256::from(100)));
    assert_eq!((transaction.data.as_ref(), transaction.executed), ([1, 2, 3].as_slice(), true));
}

#[test]
fn a_transaction_that_fails_is_executed_again() {
    let mut world = World::new();
    let id = world.submit(ALICE, DAVE, WEI + 1, Vec::new());
    world.ok(BOB, &confirm(id));
    assert_eq!(world.events()[1], sol::ExecutionFailure { transactionId: id }.encode_log_data());
    assert!(!world.is_executed(id) && world.read(&sol::isConfirmedCall { transactionId: id }));
    let wallet = world.wallet;
    assert!(world.chain.send(CAROL, wallet, 1, &[], 100_000).is_success());
    world.fails(CAROL, &execute(id));
    world.ok(ALICE, &execute(id));
    assert!(world.is_executed(id));
    assert_eq!(world.chain.wei(wallet), 0);
}

#[test]
fn the_wallet_alone_changes_owners_and_requirement() {
    let mut world = World::new();
    let add = |owner| sol::addOwnerCall { owner };
    let remove = |owner| sol::removeOwnerCall { owner };
    let require = |required: u64| sol::changeRequirementCall { _required: U256::from(required) };
    let replace = |owner, new_owner| sol::replaceOwnerCall { owner, newOwner: new_owner };
    for from in [ALICE, DAVE] {
        world.fails(from, &add(DAVE));
        world.fails(from, &remove(ALICE));
        world.fails(from, &replace(ALICE, DAVE));
        world.fails(from, &require(1));
    }
    assert!(world.govern(&add(DAVE)));
    assert!(!world.govern(&add(DAVE)) && !world.govern(&add(Address::ZERO)));
    assert_eq!(world.read(&sol::getOwnersCall {}), [ALICE, BOB, CAROL, DAVE]);
    assert!(world.govern(&remove(ALICE)) && !world.read(&sol::isOwnerCall { owner: ALICE }));
    assert_eq!(world.read(&sol::getOwnersCall {}), [DAVE, BOB, CAROL]);
    // Alice is none any more; what she confirmed counts no longer.
    let id = world.submit(BOB, CAROL, 1, Vec::new());
    world.fails(ALICE, &confirm(id));
    assert!(!world.is_executed(id));
    let wallet = world.wallet;
    let id = world.submit(BOB, wallet, 0, replace(DAVE, ALICE).abi_encode());
    world.ok(CAROL, &confirm(id));
    assert_eq!(world.read(&sol::getOwnersCall {}), [ALICE, BOB, CAROL]);
    assert!(!world.govern(&require(0)) && !world.govern(&require(4)) && world.govern(&require(3)));
    let id = world.submit(ALICE, wallet, 0, remove(CAROL).abi_encode());
    world.ok(BOB, &confirm(id));
    world.ok(CAROL, &confirm(id));
    // Three of two can't confirm.
    assert_eq!(world.read(&sol::requiredCall {}), U256::from(2));
    assert!(world.govern(&remove(BOB)));
    assert_eq!((world.read(&sol::getOwnersCall {}), world.read(&sol::requiredCall {})), (vec![ALICE], U256::ONE));
    let id = world.submit(ALICE, wallet, 0, remove(ALICE).abi_encode());
    assert!(!world.is_executed(id), "the last owner stays");
}

#[test]
fn a_confirmation_counts_while_its_owner_is_one() {
    let mut world = World::of(vec![ALICE, BOB, CAROL], 2);
    let wallet = world.wallet;
    let pay = world.submit(CAROL, DAVE, 1, Vec::new());
    assert!(world.govern(&sol::removeOwnerCall { owner: CAROL }));
    assert_eq!(world.read(&sol::getConfirmationCountCall { transactionId: pay }), U256::ZERO);
    world.ok(ALICE, &confirm(pay));
    assert!(!world.is_executed(pay), "one of two owners");
    let id = world.submit(ALICE, wallet, 0, sol::addOwnerCall { owner: CAROL }.abi_encode());
    world.ok(BOB, &confirm(id));
    assert!(world.read(&sol::isConfirmedCall { transactionId: pay }), "carol's counts again, as in the original");
    world.ok(ALICE, &execute(pay));
    assert!(world.is_executed(pay));
}

#[test]
fn wallets_that_nobody_could_use_are_refused() {
    let many = |count: u8| (1..=count).map(Address::repeat_byte).collect::<Vec<_>>();
    let cases = [
        (vec![], 0, false),
        (vec![], 1, false),
        (vec![ALICE], 0, false),
        (vec![ALICE], 2, false),
        (vec![ALICE, ALICE], 1, false),
        (vec![ALICE, Address::ZERO], 1, false),
        (many(51), 1, false),
        (many(50), 50, true),
        (vec![ALICE], 1, true),
    ];
    for (owners, threshold, is_made) in cases {
        let init_code = MultisigParams::new(owners.clone(), threshold).init_code();
        let (_, result) = TestChain::new(&[ALICE]).create(ALICE, 0, &init_code, 10_000_000);
        assert_eq!(result.is_success(), is_made, "{threshold} of {owners:?}");
        assert!(is_made || result.output.is_empty());
    }
    let mut world = World::of(many(50), 1);
    let wallet = world.wallet;
    let first = Address::repeat_byte(1);
    let id = world.submit(first, wallet, 0, sol::addOwnerCall { owner: ALICE }.abi_encode());
    assert!(!world.is_executed(id), "there are as many as there may be");
}

#[test]
fn what_is_no_call_of_a_function_is_a_deposit() {
    let mut world = World::new();
    let wallet = world.wallet;
    for input in [vec![], vec![1], vec![1, 2, 3, 4], vec![9; 100]] {
        let result = world.chain.send(DAVE, wallet, 7, &input, 100_000);
        assert!(result.is_success() && result.output.is_empty());
        assert_eq!(world.events(), [sol::Deposit { sender: DAVE, value: U256::from(7) }.encode_log_data()]);
        assert!(world.chain.send(DAVE, wallet, 0, &input, 100_000).is_success());
        assert!(world.events().is_empty());
    }
    assert!(!world.chain.send(ALICE, wallet, 1, &sol::requiredCall {}.abi_encode(), 100_000).is_success());
    world.fails(ALICE, &submit(Address::ZERO, 0, vec![]));
    world.fails(DAVE, &submit(DAVE, 0, vec![]));
}

#[test]
fn transactions_are_listed_by_kind() {
    let mut world = World::new();
    for (number, is_confirmed) in [true, false, true].into_iter().enumerate() {
        let id = world.submit(ALICE, DAVE, number as u64, Vec::new());
        if is_confirmed {
            world.ok(BOB, &confirm(id));
        }
    }
    let count = |pending, executed| world.read(&sol::getTransactionCountCall { pending, executed }).to::<u64>();
    assert_eq!([count(false, false), count(true, false), count(false, true), count(true, true)], [0, 1, 2, 3]);
    let ids = |from: u64, to: u64, pending, executed| {
        let call =
            sol::getTransactionIdsCall { from: U256::from(from), to: U256::from(to), pending, executed }.abi_encode();
        let result = world.chain.clone().send(DAVE, world.wallet, 0, &call, 1_000_000);
        match result.outcome {
            FrameOutcome::Success => {
                let ids = sol::getTransactionIdsCall::abi_decode_returns(&result.output).unwrap();
                Ok(ids.into_iter().map(|id| id.to::<u64>()).collect::<Vec<_>>())
            }
            other => Err(other),
        }
    };
    assert_eq!(ids(0, 3, true, true), Ok(vec![0, 1, 2]));
    assert_eq!(ids(1, 2, true, true), Ok(vec![1]));
    assert_eq!(ids(0, 2, false, true), Ok(vec![0, 2]));
    assert_eq!(ids(0, 3, true, false), Ok(vec![1, 0, 0]), "zeros behind the last, as in the original");
    assert_eq!(ids(2, 2, true, true), Ok(vec![]));
    assert_eq!(ids(0, 4, true, true), Err(FrameOutcome::Halt(HaltReason::InvalidOpcode)));
    assert_eq!(ids(2, 1, true, true), Err(FrameOutcome::Halt(HaltReason::OutOfGas)));
    let owner = sol::ownersCall { index: U256::from(3) }.abi_encode();
    let result = world.chain.send(DAVE, world.wallet, 0, &owner, 1_000_000);
    assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::InvalidOpcode));
    assert_eq!(world.read(&sol::ownersCall { index: U256::from(2) }), CAROL);
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = Multisig.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "transactions 0 0 mapping(uint256 => struct Transaction)",
        "confirmations 1 0 mapping(uint256 => mapping(address => bool))",
        "isOwner 2 0 mapping(address => bool)",
        "owners 3 0 address[]",
        "required 4 0 uint256",
        "transactionCount 5 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_wallet_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Multisig);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), ALICE);
    let values = serde_json::json!({ "owners": [ALICE.to_string(), BOB.to_string()], "threshold": 2 });
    assert_eq!(encode(values).unwrap(), MultisigParams::new(vec![ALICE, BOB], 2).init_code());
    let errors = encode(serde_json::json!({ "owners": [7] })).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["owners[0]", "threshold"]);
}

#[test]
fn it_answers_erc165() {
    let world = World::new();
    let supports = |id: [u8; 4]| world.read(&sol::supportsInterfaceCall { interfaceId: id.into() });
    assert!(supports([0x01, 0xff, 0xc9, 0xa7]) && !supports([0xff; 4]));
}
