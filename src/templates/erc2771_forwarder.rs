//! `erc2771-forwarder`: calls in the name of accounts that signed them and pay no gas, equivalent to OpenZeppelin 5's ERC2771Forwarder.
//!
//! A request says from whom, to which contract, with how much ether and gas, until when and with what data; its signature covers these
//! and the account's nonce. Whoever sends it pays for it and sends the ether along.
//!
//! A target has to answer `isTrustedForwarder` with `true`. To a template the account is then the caller of the frame
//! ([`Host::caller`]), and the input is the request's data alone. What OpenZeppelin's forwarder does for bytecode, append the account's 20
//! bytes to the data, is for whatever runs bytecode: the frame has the account ([`Message::relayed_sender`](crate::vm::Message::relayed_sender)).
//!
//! Of the ready-made templates, `erc4626-vault` answers `isTrustedForwarder` when its constructor was given a `trustedForwarder`; all
//! others refuse requests with `ERC2771UntrustfulTarget`. A template of one's own inherits
//! [`Erc2771Context`](super::common::Erc2771Context).
//!
//! It answers ERC-165, which OpenZeppelin's forwarder does not; it has no interface but that.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0, 1 | unused since OpenZeppelin 5.7 (`EIP712`) |
//! | 2 | `mapping(address => uint256)` nonces |
//! | [`IMMUTABLES`] | the name of the domain, which Solidity would put into the code |

mod forwarder;
pub mod interface;
mod request;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    forwarder::FORWARDER,
    interface::ERC2771Forwarder::{self as sol, ERC2771ForwarderCalls as Calls},
};
use super::common::{calldata::Calldata, erc165::supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*};

/// Slot of the domain's name: keccak of `chainbox.forwarder.immutables`.
pub const IMMUTABLES: U256 = uint!(0x5e3f9797185059301bc2f41809b70d0a5befe07cf5f47d221391e00e6ea3b286_U256);

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::executeCall::SELECTOR, sol::executeBatchCall::SELECTOR];

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name)`.
///
/// ```
/// use chainbox::templates::Erc2771ForwarderParams;
/// assert_eq!(Erc2771ForwarderParams::new("Relay").init_code()[..6], [0xef, 0xcb, 0, 7, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erc2771ForwarderParams {
    /// Name of the domain of signatures (EIP-712), of at most 31 bytes; its version is `1`.
    pub name: String,
}

impl Erc2771ForwarderParams {
    /// Creates parameters.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { name: self.name.clone() }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(Erc2771Forwarder::ID).init_code(&self.encode())
    }
}

/// The template `erc2771-forwarder`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct Erc2771Forwarder;

impl Erc2771Forwarder {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(7, 1);
    /// Name of the template.
    pub const NAME: &'static str = "erc2771-forwarder";
}

impl Template for Erc2771Forwarder {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Forwarder of signed calls (ERC-2771)"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let text = "Name of the domain under which requests are signed (EIP-712), of at most 31 bytes.";
        vec![ParameterNote::of("name", text).with_default("ERC2771Forwarder")]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<forwarder::ForwarderStorage>().and::<forwarder::ForwarderImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("erc2771_forwarder/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: sol::constructorCall = host.decode_constructor(params)?;
        forwarder::construct(host, params.name)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        // Requests are read where they are used, as in Solidity's `calldata`.
        let selector = input.first_chunk::<4>().copied().unwrap_or_default();
        if PAYABLE.contains(&selector) || selector == sol::verifyCall::SELECTOR {
            return requested(host, selector, input);
        }
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::nonces(call) => call.returns(FORWARDER.nonces.nonces.get(host, call.owner)?),
            Calls::eip712Domain(call) => call.returns(forwarder::domain(host)?.fields(host)),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
            Calls::verify(_) | Calls::execute(_) | Calls::executeBatch(_) => Err(empty_revert()),
        }
    }
}

/// Runs a function that takes requests.
fn requested(host: &mut Host<'_>, selector: [u8; 4], input: &[u8]) -> Result<Bytes, Stop> {
    host.compute(abi::DISPATCH_UNITS)?;
    match selector {
        sol::executeCall::SELECTOR => {
            let request = Calldata::new(input, 1)?.tuple(0, request::WORDS)?;
            forwarder::execute(host, request.into()).map(|()| Bytes::new())
        }
        sol::executeBatchCall::SELECTOR => {
            let arguments = Calldata::new(input, 2)?;
            let (requests, refund_receiver) = (arguments.tuples(0, request::WORDS)?, arguments.address(1)?);
            forwarder::execute_batch(host, requests, refund_receiver).map(|()| Bytes::new())
        }
        _ => {
            host.refuse_value()?;
            let request = Calldata::new(input, 1)?.tuple(0, request::WORDS)?;
            Ok(abi::encode_output_bool(forwarder::verify(host, request.into())?))
        }
    }
}
