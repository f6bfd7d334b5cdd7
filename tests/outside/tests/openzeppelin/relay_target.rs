//! `RelayTarget.sol` as a template: trusts a forwarder, and tells who called it.

use alloy_primitives::{Address, Bytes, U256, uint};
use alloy_sol_types::{SolInterface, sol, sol_data};
use chainbox::{
    alloy::json_abi::JsonAbi,
    vm::{Host, Stop, Template, TemplateId, abi},
};

pub const RELAY_TARGET: TemplateId = TemplateId::new(0x8001, 1);

/// Slot of the forwarder, which Solidity has in the code.
pub const FORWARDER_SLOT: U256 = uint!(0xf000000000000000000000000000000000000000000000000000000000000000_U256);

sol! {
    error Refused(address sender);
    event Told(address sender, address direct, uint256 value, bytes data);

    #[sol(extra_derives(Debug))]
    interface RelayTarget {
        function tell() external payable returns (address);
        function refuse() external payable;
        function pass(address to, bytes calldata data) external payable;
        function trustedForwarder() external view returns (address);
        function isTrustedForwarder(address forwarder) external view returns (bool);
    }
}

use RelayTarget::RelayTargetCalls as Calls;

#[derive(Debug)]
pub struct RelayTargetTemplate;

impl Template for RelayTargetTemplate {
    fn id(&self) -> TemplateId {
        RELAY_TARGET
    }

    fn name(&self) -> &str {
        "relay-target"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let (forwarder,) = abi::decode_params::<(sol_data::Address,)>(params)?;
        host.store(FORWARDER_SLOT, forwarder.into_word().into())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let call = Calls::abi_decode_validate(input).map_err(|_| abi::empty_revert())?;
        let (sender, direct, value) = (host.caller(), host.direct_caller(), host.value());
        let told = |data: &[u8]| Told { sender, direct, value, data: Bytes::copy_from_slice(data) };
        match call {
            Calls::tell(_) => {
                host.emit(&told(input))?;
                Ok(abi::encode_output(&sender))
            }
            Calls::refuse(_) => Err(abi::revert(&Refused { sender })),
            Calls::pass(call) => {
                host.emit(&told(&call.data))?;
                host.call(call.to, U256::ZERO, &call.data)?.or_revert().map(|_| Bytes::new())
            }
            Calls::trustedForwarder(_) => {
                host.refuse_value()?;
                Ok(abi::encode_output(&forwarder(host)?))
            }
            Calls::isTrustedForwarder(call) => {
                host.refuse_value()?;
                Ok(abi::encode_output_bool(forwarder(host)? == call.forwarder))
            }
        }
    }
}

fn forwarder(host: &mut Host<'_>) -> Result<Address, Stop> {
    Ok(Address::from_word(host.load(FORWARDER_SLOT)?.into()))
}
