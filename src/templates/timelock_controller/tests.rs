//! The timelock's rules, what it costs, and all histories against a model.

mod golden;
mod hostile;
mod model;

use alloy_primitives::{address, keccak256};

use super::{interface as sol, *};
use crate::{
    templates::{
        common::access_control::interface as access,
        test_chain::{
            FUNDS, NOW, TestChain,
            test_token::{self as asset, TestToken},
        },
    },
    vm::{Descriptor, FrameOutcome},
};

const PROPOSER: Address = address!("000000000000000000000000000000000000a001");
const EXECUTOR: Address = address!("000000000000000000000000000000000000b002");
const ADMIN: Address = address!("000000000000000000000000000000000000c003");
const STRANGER: Address = address!("000000000000000000000000000000000000d004");
const DELAY: u64 = 100;

/// A timelock that has 1,000 tokens and 500 wei.
#[derive(Clone)]
struct World {
    chain: TestChain,
    token: Address,
    timelock: Address,
}

fn params() -> TimelockControllerParams {
    TimelockControllerParams {
        executors: vec![EXECUTOR],
        admin: Some(ADMIN),
        ..TimelockControllerParams::new(DELAY, vec![PROPOSER])
    }
}

fn deploy(params: &TimelockControllerParams) -> World {
    let mut chain = TestChain::new(&[PROPOSER, EXECUTOR, ADMIN, STRANGER]);
    let token = chain.deploy(STRANGER, 0, &TestToken::init_code(0, 1_000));
    let timelock = chain.deploy(STRANGER, 0, &params.init_code());
    chain.ok(STRANGER, token, &asset::transferCall { to: timelock, value: U256::from(1_000) });
    assert!(chain.send(STRANGER, timelock, 500, &[], 1_000).is_success());
    World { chain, token, timelock }
}

/// A call without value, salt or predecessor.
fn operation(target: Address, data: impl Into<Bytes>) -> sol::executeCall {
    let (value, salt) = (U256::ZERO, B256::ZERO);
    sol::executeCall { target, value, payload: data.into(), predecessor: B256::ZERO, salt }
}

fn scheduled(call: &sol::executeCall, delay: u64) -> sol::scheduleCall {
    let sol::executeCall { target, value, payload: data, predecessor, salt } = call.clone();
    sol::scheduleCall { target, value, data, predecessor, salt, delay: U256::from(delay) }
}

fn batch(calls: &[(Address, u64, Vec<u8>)]) -> sol::executeBatchCall {
    let (predecessor, salt) = (B256::ZERO, B256::ZERO);
    sol::executeBatchCall {
        targets: calls.iter().map(|(target, ..)| *target).collect(),
        values: calls.iter().map(|(_, value, _)| U256::from(*value)).collect(),
        payloads: calls.iter().map(|(.., data)| data.clone().into()).collect(),
        predecessor,
        salt,
    }
}

fn scheduled_batch(call: &sol::executeBatchCall, delay: u64) -> sol::scheduleBatchCall {
    let sol::executeBatchCall { targets, values, payloads, predecessor, salt } = call.clone();
    sol::scheduleBatchCall { targets, values, payloads, predecessor, salt, delay: U256::from(delay) }
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) {
        self.chain.ok(from, self.timelock, call);
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.timelock, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.timelock, call)
    }

    fn wait(&mut self, seconds: u64) {
        let now = self.chain.block.timestamp.as_secs();
        self.chain.at(now + seconds);
    }

    fn id(&self, call: &sol::executeCall) -> B256 {
        let sol::executeCall { target, value, payload: data, predecessor, salt } = call.clone();
        self.read(&sol::hashOperationCall { target, value, data, predecessor, salt })
    }

    /// Schedules a call, and waits until it may be executed.
    fn ready(&mut self, call: &sol::executeCall) -> B256 {
        self.ok(PROPOSER, &scheduled(call, DELAY));
        self.wait(DELAY);
        self.id(call)
    }

    fn tokens(&self, account: Address) -> u64 {
        self.chain.read(self.token, &asset::balanceOfCall { account }).to()
    }

    fn transfer(&self, value: u64) -> Vec<u8> {
        asset::transferCall { to: STRANGER, value: U256::from(value) }.abi_encode()
    }
}

fn unexpected(id: B256, states: u8) -> sol::TimelockUnexpectedOperationState {
    sol::TimelockUnexpectedOperationState { operationId: id, expectedStates: U256::from(states).into() }
}

#[test]
fn roles_are_the_hashes_of_their_names() {
    for (name, role) in
        [("PROPOSER_ROLE", PROPOSER_ROLE), ("EXECUTOR_ROLE", EXECUTOR_ROLE), ("CANCELLER_ROLE", CANCELLER_ROLE)]
    {
        assert_eq!(keccak256(name), role, "{name}");
    }
}

#[test]
fn a_new_timelock_has_the_roles_of_its_parameters() {
    let world = deploy(&params());
    let has = |role, account| world.read(&sol::hasRoleCall { role, account });
    let holders = [
        (DEFAULT_ADMIN_ROLE, world.timelock),
        (DEFAULT_ADMIN_ROLE, ADMIN),
        (PROPOSER_ROLE, PROPOSER),
        (CANCELLER_ROLE, PROPOSER),
        (EXECUTOR_ROLE, EXECUTOR),
    ];
    for role in [DEFAULT_ADMIN_ROLE, PROPOSER_ROLE, CANCELLER_ROLE, EXECUTOR_ROLE] {
        for account in [world.timelock, PROPOSER, EXECUTOR, ADMIN, STRANGER, Address::ZERO] {
            assert_eq!(has(role, account), holders.contains(&(role, account)), "{role} {account}");
        }
    }
    assert_eq!(world.read(&sol::getMinDelayCall {}), U256::from(DELAY));
}

#[test]
fn an_operation_waits_is_executed_once_and_emits_what_it_did() {
    let mut world = deploy(&params());
    let salt = B256::repeat_byte(9);
    let call = sol::executeCall { salt, ..operation(world.token, world.transfer(40)) };
    let (id, timelock, token) = (world.id(&call), world.timelock, world.token);
    world.fails(EXECUTOR, &call, &unexpected(id, 4));
    world.ok(PROPOSER, &scheduled(&call, DELAY + 1));
    let sol::scheduleCall { target, value, data, predecessor, delay, .. } = scheduled(&call, DELAY + 1);
    let event = sol::CallScheduled { id, index: U256::ZERO, target, value, data: data.clone(), predecessor, delay };
    let logs: Vec<_> = world.chain.journal.logs().iter().map(|log| log.data.clone()).collect();
    assert_eq!(logs, [event.encode_log_data(), sol::CallSalt { id, salt }.encode_log_data()]);
    assert_eq!(world.read(&sol::getTimestampCall { id }), U256::from(NOW + DELAY + 1));
    world.fails(PROPOSER, &scheduled(&call, DELAY), &unexpected(id, 1));
    world.wait(DELAY);
    assert_eq!(world.read(&sol::getOperationStateCall { id }), sol::OperationState::Waiting);
    world.fails(EXECUTOR, &call, &unexpected(id, 4));
    world.wait(1);
    assert!(world.read(&sol::isOperationReadyCall { id }) && world.read(&sol::isOperationPendingCall { id }));
    world.fails(
        STRANGER,
        &call,
        &access::AccessControlUnauthorizedAccount { account: STRANGER, neededRole: EXECUTOR_ROLE },
    );
    world.ok(EXECUTOR, &call);
    let last = world.chain.journal.logs().last().unwrap().clone();
    assert_eq!(
        (last.address, last.data),
        (timelock, sol::CallExecuted { id, index: U256::ZERO, target, value, data }.encode_log_data())
    );
    assert_eq!((world.tokens(STRANGER), world.chain.slot(token, U256::ZERO)), (40, U256::ZERO));
    assert!(world.read(&sol::isOperationDoneCall { id }) && world.read(&sol::isOperationCall { id }));
    world.fails(EXECUTOR, &call, &unexpected(id, 4));
    world.fails(PROPOSER, &sol::cancelCall { id }, &unexpected(id, 6));
}

#[test]
fn a_batch_succeeds_or_fails_as_one_with_the_ether_that_was_sent_along() {
    let mut world = deploy(&params());
    let token = world.token;
    let calls = batch(&[(token, 0, world.transfer(1)), (STRANGER, 700, Vec::new()), (token, 0, world.transfer(2))]);
    world.ok(PROPOSER, &scheduled_batch(&calls, DELAY));
    assert_eq!(world.chain.journal.logs().len(), 3);
    world.wait(DELAY);
    // It has 500 wei itself.
    world.fails(EXECUTOR, &calls, &sol::FailedCall {});
    assert_eq!(world.tokens(STRANGER), 0);
    let input = calls.abi_encode();
    assert!(world.chain.send(EXECUTOR, world.timelock, 300, &input, 1_000_000).is_success());
    assert_eq!(world.tokens(STRANGER), 3);
    assert_eq!((world.chain.wei(world.timelock), world.chain.wei(STRANGER)), (100, FUNDS - 500 + 700));
    let short = sol::executeBatchCall { values: vec![U256::ZERO], ..calls.clone() };
    let lengths = |payloads: u64, values: u64| sol::TimelockInvalidOperationLength {
        targets: U256::from(3),
        payloads: U256::from(payloads),
        values: U256::from(values),
    };
    world.fails(EXECUTOR, &short, &lengths(3, 1));
    let short = sol::executeBatchCall { payloads: vec![Bytes::new()], ..calls };
    world.fails(PROPOSER, &scheduled_batch(&short, DELAY), &lengths(1, 3));
    // A list of none is an operation too.
    world.ok(PROPOSER, &scheduled_batch(&batch(&[]), DELAY));
    world.wait(DELAY);
    world.ok(EXECUTOR, &batch(&[]));
}

/// Lists are read where they are used, as those of `calldata`: whoever may not schedule is told so first.
#[test]
fn elements_of_lists_are_checked_after_roles_and_lengths() {
    let mut world = deploy(&params());
    let mut input = scheduled_batch(&batch(&[(STRANGER, 0, vec![1])]), DELAY).abi_encode();
    let target = 4 + 6 * 32 + 32;
    input[target] = 1;
    let unauthorized = access::AccessControlUnauthorizedAccount { account: STRANGER, neededRole: PROPOSER_ROLE };
    let (timelock, chain) = (world.timelock, &mut world.chain);
    assert_eq!(chain.send(STRANGER, timelock, 0, &input, 1_000_000).output, unauthorized.abi_encode());
    let refused = chain.send(PROPOSER, timelock, 0, &input, 1_000_000);
    assert_eq!((refused.outcome, refused.output.len()), (FrameOutcome::Revert, 0));
    input[target] = 0;
    assert!(chain.send(PROPOSER, timelock, 0, &input, 1_000_000).is_success());
}

#[test]
fn a_predecessor_goes_first() {
    let mut world = deploy(&params());
    let first = operation(world.token, world.transfer(1));
    let second = sol::executeCall { predecessor: world.id(&first), ..operation(world.token, world.transfer(2)) };
    world.ok(PROPOSER, &scheduled(&second, DELAY));
    let id = world.ready(&first);
    world.fails(EXECUTOR, &second, &sol::TimelockUnexecutedPredecessor { predecessorId: id });
    world.ok(EXECUTOR, &first);
    world.ok(EXECUTOR, &second);
    assert_eq!(world.tokens(STRANGER), 3);
}

#[test]
fn who_cancels_and_schedules_has_the_role_for_it() {
    let mut world = deploy(&params());
    let call = operation(world.token, world.transfer(1));
    let needs = |account, role| access::AccessControlUnauthorizedAccount { account, neededRole: role };
    world.fails(ADMIN, &scheduled(&call, DELAY), &needs(ADMIN, PROPOSER_ROLE));
    world.fails(STRANGER, &scheduled_batch(&batch(&[]), DELAY), &needs(STRANGER, PROPOSER_ROLE));
    let insufficient = sol::TimelockInsufficientDelay { delay: U256::from(DELAY - 1), minDelay: U256::from(DELAY) };
    world.fails(PROPOSER, &scheduled(&call, DELAY - 1), &insufficient);
    let id = world.ready(&call);
    world.fails(EXECUTOR, &sol::cancelCall { id }, &needs(EXECUTOR, CANCELLER_ROLE));
    world.ok(PROPOSER, &sol::cancelCall { id });
    assert_eq!(world.chain.journal.logs()[0].data, sol::Cancelled { id }.encode_log_data());
    assert_eq!(world.read(&sol::getOperationStateCall { id }), sol::OperationState::Unset);
    world.fails(PROPOSER, &sol::cancelCall { id }, &unexpected(id, 6));
    // It may be scheduled again.
    world.ready(&call);
    world.ok(EXECUTOR, &call);
    let endless = sol::scheduleCall { delay: U256::MAX, ..scheduled(&operation(STRANGER, vec![]), 0) };
    world.fails(PROPOSER, &endless, &alloy_sol_types::Panic { code: U256::from(0x11) });
}

#[test]
fn anybody_executes_once_the_zero_address_has_the_role() {
    let mut world = deploy(&params());
    let call = operation(world.token, world.transfer(5));
    world.ready(&call);
    world.ok(ADMIN, &sol::grantRoleCall { role: EXECUTOR_ROLE, account: Address::ZERO });
    world.ok(STRANGER, &call);
    assert_eq!(world.tokens(STRANGER), 5);
}

#[test]
fn it_changes_its_delay_and_roles_by_operations_alone() {
    let mut world = deploy(&TimelockControllerParams { admin: None, ..params() });
    let update = sol::updateDelayCall { newDelay: U256::from(7) };
    for caller in [PROPOSER, EXECUTOR, ADMIN] {
        world.fails(caller, &update, &sol::TimelockUnauthorizedCaller { caller });
    }
    let timelock = world.timelock;
    let call = operation(timelock, update.abi_encode());
    world.ready(&call);
    world.ok(EXECUTOR, &call);
    let changed = sol::MinDelayChange { oldDuration: U256::from(DELAY), newDuration: U256::from(7) };
    assert_eq!(world.chain.journal.logs()[0].data, changed.encode_log_data());
    assert_eq!(world.read(&sol::getMinDelayCall {}), U256::from(7));
    let grant = sol::grantRoleCall { role: PROPOSER_ROLE, account: STRANGER };
    world.fails(
        ADMIN,
        &grant,
        &access::AccessControlUnauthorizedAccount { account: ADMIN, neededRole: DEFAULT_ADMIN_ROLE },
    );
    let call = operation(timelock, grant.abi_encode());
    world.ready(&call);
    world.ok(EXECUTOR, &call);
    assert!(world.read(&sol::hasRoleCall { role: PROPOSER_ROLE, account: STRANGER }));
}

/// An operation whose call executes the same operation is refused at the end of the inner one or of the outer one.
#[test]
fn an_operation_does_not_execute_itself_again() {
    let mut world = deploy(&TimelockControllerParams { executors: vec![Address::ZERO], ..params() });
    let (timelock, token) = (world.timelock, world.token);
    let inner = operation(token, world.transfer(10));
    let inner_id = world.ready(&inner);
    // Executes the inner operation twice, by calls of the timelock to itself.
    let twice = batch(&[(timelock, 0, inner.abi_encode()), (timelock, 0, inner.abi_encode())]);
    world.ok(PROPOSER, &scheduled_batch(&twice, DELAY));
    world.wait(DELAY);
    world.fails(STRANGER, &twice, &unexpected(inner_id, 4));
    assert_eq!(world.tokens(STRANGER), 0);
    // Cancels itself on the way: it is no longer ready when its call ends.
    world.ok(ADMIN, &sol::grantRoleCall { role: CANCELLER_ROLE, account: timelock });
    let cancelling = |id| operation(timelock, sol::cancelCall { id }.abi_encode());
    let other = cancelling(inner_id);
    let other_id = world.ready(&other);
    let of_other = cancelling(other_id);
    let of_other_id = world.ready(&of_other);
    assert_ne!(other_id, of_other_id);
    world.ok(STRANGER, &of_other);
    world.fails(STRANGER, &other, &unexpected(other_id, 4));
    world.ok(STRANGER, &inner);
    assert_eq!(world.tokens(STRANGER), 10);
}

#[test]
fn a_failed_call_gives_its_reason_or_none() {
    let mut world = deploy(&params());
    let too_many = operation(world.token, world.transfer(1_001));
    world.ready(&too_many);
    let (timelock, token) = (world.timelock, world.token);
    let reason = world.chain.call(EXECUTOR, timelock, &too_many).err().unwrap();
    assert_eq!(reason[..4], asset_error(), "what the token reverts with");
    let silent = operation(token, vec![1, 2, 3, 4]);
    world.ready(&silent);
    world.fails(EXECUTOR, &silent, &sol::FailedCall {});
}

fn asset_error() -> [u8; 4] {
    crate::templates::common::erc20_base::interface::ERC20InsufficientBalance::SELECTOR
}

#[test]
fn it_accepts_tokens_and_ether() {
    let mut world = deploy(&params());
    let (operator, from, data) = (STRANGER, STRANGER, Bytes::from_static(&[7; 5]));
    let id = U256::ONE;
    let one = sol::onERC721ReceivedCall { operator, from, tokenId: id, data: data.clone() };
    assert_eq!(world.read(&one).0, sol::onERC721ReceivedCall::SELECTOR);
    let multi = sol::onERC1155ReceivedCall { operator, from, id, value: id, data: data.clone() };
    assert_eq!(world.read(&multi).0, sol::onERC1155ReceivedCall::SELECTOR);
    let batch = sol::onERC1155BatchReceivedCall { operator, from, ids: vec![id], values: vec![id], data };
    assert_eq!(world.read(&batch).0, sol::onERC1155BatchReceivedCall::SELECTOR);
    for (interface, is_supported) in [
        ([0x01, 0xff, 0xc9, 0xa7], true),
        ([0x79, 0x65, 0xdb, 0x0b], true),
        ([0x4e, 0x23, 0x12, 0xe0], true),
        ([0xff; 4], false),
    ] {
        assert_eq!(world.read(&sol::supportsInterfaceCall { interfaceId: FixedBytes(interface) }), is_supported);
    }
    let (chain, timelock) = (&mut world.chain, world.timelock);
    assert_eq!(chain.wei(timelock), 500);
    for (value, input) in [
        (5, sol::cancelCall { id: B256::ZERO }.abi_encode()),
        (5, vec![1]),
        (5, one.abi_encode()),
        (0, vec![1, 2, 3, 4]),
    ] {
        let result = chain.send(PROPOSER, timelock, value, &input, 1_000_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0), "{input:?}");
    }
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = TimelockController.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "_roles 0 0 mapping(bytes32 => struct RoleData)",
        "_timestamps 1 0 mapping(bytes32 => uint256)",
        "_minDelay 2 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_timelock_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&TimelockController);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), ADMIN);
    let values = serde_json::json!({ "proposers": [PROPOSER], "minDelay": "48h" });
    assert_eq!(encode(values).unwrap(), TimelockControllerParams::new(172_800, vec![PROPOSER]).init_code());
    let values = serde_json::json!({ "proposers": [PROPOSER] });
    assert_eq!(encode(values).unwrap(), TimelockControllerParams::new(172_800, vec![PROPOSER]).init_code(), "two days");
    let errors = encode(serde_json::json!({ "minDelay": "soon" })).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["minDelay", "proposers"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = TimelockController.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (28, 8, 8));
    assert!(abi.receive.is_some() && abi.fallback.is_none());
}
