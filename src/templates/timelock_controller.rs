//! `timelock-controller`: operations that are scheduled, and executed after a delay, equivalent to OpenZeppelin 5's TimelockController.
//!
//! A proposer schedules an operation: a call, or a list of calls of which all or none succeed. Once the delay that it named is over, which
//! is at least the timelock's own, an executor has it executed by the timelock: `msg.sender` of its calls is the timelock, which therefore
//! owns what it governs. A canceller may cancel it until then. An operation may name a predecessor, which has to be executed first. Its id is
//! the hash of its calls, predecessor and salt.
//!
//! When the zero address has the role of executor, anybody executes. The timelock administers all roles itself, so that an operation
//! changes them; an administrator beside it is for the time of setting up. It changes its own delay by an operation.
//!
//! The storage layout is solc's for that contract, and there is nothing else in storage:
//!
//! | slot | what |
//! |---|---|
//! | 0 | `mapping(bytes32 => RoleData)` roles |
//! | 1 | `mapping(bytes32 => uint256)` moment from which an operation may be executed, in seconds; 1 once it was |
//! | 2 | the least delay, in seconds |

mod batch;
mod controller;
pub mod interface;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

use self::{
    batch::Batch,
    controller::TIMELOCK,
    interface::TimelockController::{self as sol, TimelockControllerCalls as Calls},
};
use super::common::{DEFAULT_ADMIN_ROLE, access_control, erc165, receivers};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*};

pub use controller::{CANCELLER_ROLE, EXECUTOR_ROLE, PROPOSER_ROLE};

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::executeCall::SELECTOR, sol::executeBatchCall::SELECTOR];

/// ERC-165 ids, beside ERC-165's own.
const INTERFACES: &[[u8; 4]] = &[access_control::INTERFACE_ID, receivers::ERC1155_RECEIVER_ID];

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(uint256 minDelay, address[] proposers, address[] executors, address admin)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::TimelockControllerParams};
/// let params = TimelockControllerParams::new(2 * 24 * 60 * 60, vec![Address::repeat_byte(1)]);
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 11, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelockControllerParams {
    /// Least time between scheduling and execution, in seconds.
    pub min_delay_secs: U256,
    /// Accounts that may schedule operations, and cancel them.
    pub proposers: Vec<Address>,
    /// Accounts that may have operations executed; the zero address for everybody.
    pub executors: Vec<Address>,
    /// Account that administers the roles beside the timelock; `None` for nobody.
    pub admin: Option<Address>,
}

impl TimelockControllerParams {
    /// Creates parameters of a timelock without administrator whose operations anybody executes.
    pub fn new(min_delay_secs: u64, proposers: Vec<Address>) -> Self {
        let min_delay_secs = U256::from(min_delay_secs);
        Self { min_delay_secs, proposers, executors: vec![Address::ZERO], admin: None }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            minDelay: self.min_delay_secs,
            proposers: self.proposers.clone(),
            executors: self.executors.clone(),
            admin: self.admin.unwrap_or_default(),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(TimelockController::ID).init_code(&self.encode())
    }
}

/// The template `timelock-controller`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct TimelockController;

impl TimelockController {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(11, 1);
    /// Name of the template.
    pub const NAME: &'static str = "timelock-controller";
}

impl Template for TimelockController {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "OpenZeppelin's TimelockController"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let nobody = Address::ZERO.to_string();
        vec![
            ParameterNote::of("minDelay", "Least time between scheduling and execution of an operation.")
                .with_unit(Unit::Duration)
                .with_default("2d"),
            ParameterNote::of("proposers", "Accounts that may schedule operations, and cancel them."),
            ParameterNote::of(
                "executors",
                "Accounts that may have operations executed; the zero address for everybody.",
            )
            .with_default(vec![nobody.clone()]),
            ParameterNote::of(
                "admin",
                "Account that administers the roles beside the timelock; the zero address for nobody.",
            )
            .with_default(nobody),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<controller::TimelockStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("timelock_controller/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: sol::constructorCall = host.decode_constructor(params)?;
        controller::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match input.first_chunk::<4>().copied().unwrap_or_default() {
            // `receive`
            _ if input.is_empty() => return host.compute(abi::DISPATCH_UNITS).map(|()| Bytes::new()),
            sol::scheduleBatchCall::SELECTOR | sol::executeBatchCall::SELECTOR | sol::hashOperationBatchCall::SELECTOR => {
                return of_batches(host, input);
            }
            sol::onERC721ReceivedCall::SELECTOR
            | sol::onERC1155ReceivedCall::SELECTOR
            | sol::onERC1155BatchReceivedCall::SELECTOR => return received(host, input),
            _ => {}
        }
        match host.decode_call::<Calls>(input, PAYABLE)? {
            Calls::PROPOSER_ROLE(call) => call.returns(PROPOSER_ROLE),
            Calls::EXECUTOR_ROLE(call) => call.returns(EXECUTOR_ROLE),
            Calls::CANCELLER_ROLE(call) => call.returns(CANCELLER_ROLE),
            Calls::isOperation(call) => call.returns(controller::state(host, call.id)? != sol::OperationState::Unset),
            Calls::isOperationPending(call) => call.returns(controller::is_pending(host, call.id)?),
            Calls::isOperationReady(call) => call.returns(controller::state(host, call.id)? == sol::OperationState::Ready),
            Calls::isOperationDone(call) => call.returns(controller::state(host, call.id)? == sol::OperationState::Done),
            Calls::getTimestamp(call) => call.returns(TIMELOCK.timestamps.get(host, call.id)?),
            Calls::getOperationState(call) => call.returns(controller::state(host, call.id)?),
            Calls::getMinDelay(call) => call.returns(TIMELOCK.min_delay.get(host)?),
            Calls::hashOperation(call) => call.returns(controller::hash_operation(host, &call)?),
            Calls::schedule(call) => call.returns(controller::schedule(host, &call)?),
            Calls::cancel(call) => call.returns(controller::cancel(host, call.id)?),
            Calls::execute(call) => call.returns(controller::execute(host, &call)?),
            Calls::updateDelay(call) => call.returns(controller::update_delay(host, call.newDelay)?),
            Calls::DEFAULT_ADMIN_ROLE(call) => call.returns(DEFAULT_ADMIN_ROLE),
            Calls::hasRole(call) => call.returns(TIMELOCK.access.has_role(host, call.role, call.account)?),
            Calls::getRoleAdmin(call) => call.returns(TIMELOCK.access.get_role_admin(host, call.role)?),
            Calls::grantRole(call) => call.returns(TIMELOCK.access.grant_role(host, call.role, call.account)?),
            Calls::revokeRole(call) => call.returns(TIMELOCK.access.revoke_role(host, call.role, call.account)?),
            Calls::renounceRole(call) => call.returns(TIMELOCK.access.renounce_role(host, call.role, call.callerConfirmation)?),
            Calls::supportsInterface(call) => call.returns(erc165::supports(call.interfaceId.0, INTERFACES)),
            Calls::hashOperationBatch(_)
            | Calls::scheduleBatch(_)
            | Calls::executeBatch(_)
            | Calls::onERC721Received(_)
            | Calls::onERC1155Received(_)
            | Calls::onERC1155BatchReceived(_) => Err(empty_revert()),
        }
    }
}

/// Runs a function that takes lists, whose elements are read where they are used, as those of Solidity's `calldata`.
fn of_batches(host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
    host.compute(abi::DISPATCH_UNITS)?;
    let selector = input.first_chunk::<4>().copied().unwrap_or_default();
    if !PAYABLE.contains(&selector) {
        host.refuse_value()?;
    }
    match selector {
        sol::scheduleBatchCall::SELECTOR => {
            let (batch, delay) = Batch::scheduled(input)?;
            controller::schedule_batch(host, batch, delay).map(|()| Bytes::new())
        }
        sol::executeBatchCall::SELECTOR => controller::execute_batch(host, Batch::read(input)?).map(|()| Bytes::new()),
        _ => Ok(abi::encode_output(&Batch::read(input)?.operation(host)?.0)),
    }
}

/// Accepts a token.
fn received(host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
    match host.decode_call_to_memory::<Calls>(input, NONE_PAYABLE, Calls::signature_by_selector)? {
        Calls::onERC721Received(call) => call.returns(receivers::accepted(&call)),
        Calls::onERC1155Received(call) => call.returns(receivers::accepted(&call)),
        Calls::onERC1155BatchReceived(call) => call.returns(receivers::accepted(&call)),
        _ => Err(empty_revert()),
    }
}
