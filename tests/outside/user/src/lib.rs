//! A contract template in a crate that depends on chainbox alone.

use chainbox::{
    alloy::{
        json_abi::JsonAbi,
        sol_types::{SolCall, sol},
    },
    primitives::{Bytes, U256},
    vm::{Host, Stop, Template, TemplateId, abi},
};

sol! {
    #![sol(abi, alloy_sol_types = chainbox::alloy::sol_types)]
    interface Counter {
        event Counted(address indexed by, uint256 total);
        error StepTooLarge(uint256 step, uint256 max);
        function count(uint256 step) external returns (uint256);
        function total() external view returns (uint256);
    }
}

/// Counts up, by at most ten in one call. Slot 0 holds the total.
#[derive(Debug)]
pub struct CounterTemplate;

impl CounterTemplate {
    /// The template's id and version.
    pub const ID: TemplateId = TemplateId::new(0x8001, 1);
    const STEP_MAX: U256 = U256::from_limbs([10, 0, 0, 0]);

    fn count(host: &mut Host<'_>, step: U256) -> Result<Bytes, Stop> {
        if step > Self::STEP_MAX {
            return Err(abi::revert(&Counter::StepTooLarge { step, max: Self::STEP_MAX }));
        }
        let total = host.load(U256::ZERO)?.checked_add(step).ok_or_else(abi::empty_revert)?;
        host.store(U256::ZERO, total)?;
        host.emit(&Counter::Counted { by: host.caller(), total })?;
        Ok(abi::encode_output_u256(total))
    }
}

impl Template for CounterTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "counter"
    }

    fn abi(&self) -> JsonAbi {
        Counter::abi::contract()
    }

    fn construct(&self, host: &mut Host<'_>, _params: &[u8]) -> Result<(), Stop> {
        host.store(U256::ZERO, U256::ZERO)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        host.refuse_value()?;
        let (selector, args) = abi::split_call(input)?;
        match selector {
            Counter::countCall::SELECTOR => Self::count(host, args.u256(0)?),
            Counter::totalCall::SELECTOR => host.load(U256::ZERO).map(abi::encode_output_u256),
            _ => Err(abi::empty_revert()),
        }
    }
}
