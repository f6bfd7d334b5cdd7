//! Requests verified and executed.

use super::{IMMUTABLES, interface as sol, request::Request};
use crate::{
    primitives::Gas,
    templates::common::{Domain, Eip712, Nonces, address::send_value, calldata::Tuples},
    vm::{HaltReason, TrustingTarget, contract::*},
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract ForwarderStorage {
        eip712: Eip712,
        pub(super) nonces: Nonces,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract ForwarderImmutables layout at IMMUTABLES {
        name: Slot<String>,
    }
}

pub(super) const FORWARDER: ForwarderStorage = ForwarderStorage::STATE;
const FIXED: ForwarderImmutables = ForwarderImmutables::STATE;

/// Version of the domain.
const VERSION: &str = "1";

/// Part of the gas before a call that is left after one that used all it could (EIP-150), as OpenZeppelin reckons.
const KEPT_SHARE: U256 = U256::from_limbs([63, 0, 0, 0]);

pub(super) fn construct(host: &mut Host<'_>, name: String) -> Result<(), Stop> {
    Eip712::construct(&name, VERSION)?;
    FIXED.name.set(host, name)
}

pub(super) fn domain(host: &mut Host<'_>) -> Result<Domain, Stop> {
    Ok(Domain { name: FIXED.name.get(host)?, version: VERSION })
}

pub(super) fn verify(host: &mut Host<'_>, request: Request<'_>) -> Result<bool, Stop> {
    let judged = Judged::of(host, request)?;
    Ok(judged.target.is_some() && judged.is_active && judged.is_signed)
}

pub(super) fn execute(host: &mut Host<'_>, request: Request<'_>) -> Result<(), Stop> {
    let (requested, sent) = (request.value(), host.value());
    require(requested == sent, sol::ERC2771ForwarderMismatchedValue { requestedValue: requested, msgValue: sent })?;
    require(run(host, request, true)?, sol::FailedCall {})
}

/// Executes requests one by one. Those that are invalid or fail are left out, and their ether goes to `refund_receiver`; without one, an
/// invalid request refuses all.
pub(super) fn execute_batch(host: &mut Host<'_>, requests: Tuples<'_>, refund_receiver: Address) -> Result<(), Stop> {
    let has_to_be_valid = refund_receiver.is_zero();
    let (mut requested, mut refund) = (U256::ZERO, U256::ZERO);
    for request in requests.iter() {
        let request = Request::from(request?);
        requested = requested.add(request.value())?;
        if !run(host, request, has_to_be_valid)? {
            refund = refund.add(request.value())?;
        }
    }
    let sent = host.value();
    require(requested == sent, sol::ERC2771ForwarderMismatchedValue { requestedValue: requested, msgValue: sent })?;
    if refund.is_zero() {
        return Ok(());
    }
    require(!has_to_be_valid, sol::ERC2771ForwarderNoRefundReceiver {})?;
    send_value(host, refund_receiver, refund)
}

/// What is right about a request (`_validate`).
struct Judged {
    /// The target, if it trusts the forwarder.
    target: Option<TrustingTarget>,
    /// Whether its deadline is not over.
    is_active: bool,
    /// Whether it is signed by the account that it is from.
    is_signed: bool,
    /// Who signed; zero for a signature without signer.
    signer: Address,
}

impl Judged {
    fn of(host: &mut Host<'_>, request: Request<'_>) -> Result<Self, Stop> {
        let from = request.sender()?;
        let nonce = FORWARDER.nonces.nonces.get(host, from)?;
        let domain = domain(host)?;
        let signer = request.signer(host, &domain, nonce)?;
        let target = host.ask_trust(request.to()?)?;
        let is_active = request.deadline()?.to::<u64>() >= host.block().timestamp.as_secs();
        Ok(Self { target, is_active, is_signed: signer == Some(from), signer: signer.unwrap_or_default() })
    }
}

/// Executes a request and returns whether its call succeeded; of an invalid one, `false` or the reason as a revert (`_execute`).
fn run(host: &mut Host<'_>, request: Request<'_>, has_to_be_valid: bool) -> Result<bool, Stop> {
    let Judged { target, is_active, is_signed, signer } = Judged::of(host, request)?;
    let (from, to) = (request.sender()?, request.to()?);
    if has_to_be_valid {
        require(target.is_some(), sol::ERC2771UntrustfulTarget { target: to, forwarder: host.address() })?;
        require(is_active, sol::ERC2771ForwarderExpiredRequest { deadline: request.deadline()? })?;
        require(is_signed, sol::ERC2771ForwarderInvalidSigner { signer, from })?;
    }
    let Some(target) = target.filter(|_| is_active && is_signed) else { return Ok(false) };
    // The nonce is used before the call, which might bring the request again.
    let nonce = FORWARDER.nonces.use_nonce(host, signer)?;
    let gas = Gas::new(request.gas().saturating_to());
    let success = host.call_relayed(&target, from, request.value(), request.data()?, gas)?.is_success();
    check_forwarded_gas(host.gas_left(), request)?;
    host.emit(&sol::ExecutedForwardRequest { signer, nonce, success })?;
    Ok(success)
}

/// Fails with all gas when the call got less gas than was asked for, so that nobody makes a request fail by too low a gas limit
/// (`_checkForwardedGas`).
fn check_forwarded_gas(left: Gas, request: Request<'_>) -> Result<(), Stop> {
    let is_enough = U256::from(left.get()) >= request.gas() / KEPT_SHARE;
    if is_enough { Ok(()) } else { Err(Stop::Halt(HaltReason::OutOfGas)) }
}
