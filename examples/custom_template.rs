//! A custom contract template: a counter in native Rust with a Solidity ABI.
//!
//! `cargo run --example custom_template`

use std::sync::Arc;

use chainbox::{
    alloy::{json_abi::JsonAbi, sol_types::sol},
    node::{
        Node,
        testing::{expect_event, expect_revert},
    },
    vm::{Marker, Template, TemplateId, contract::*},
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

storage! {
    /// State variables.
    contract CounterStorage {
        total: Slot<U256>,
    }
}
const COUNTER: CounterStorage = CounterStorage::STATE;

/// Counts up, by at most ten in one call.
#[derive(Debug)]
struct CounterTemplate;

impl CounterTemplate {
    const ID: TemplateId = TemplateId::new(0x8001, 1);
    const STEP_MAX: U256 = U256::from_limbs([10, 0, 0, 0]);

    fn count(host: &mut Host<'_>, step: U256) -> Result<U256, Stop> {
        require(step <= Self::STEP_MAX, Counter::StepTooLarge { step, max: Self::STEP_MAX })?;
        COUNTER.total.add(host, step)?;
        let total = COUNTER.total.get(host)?;
        host.emit(&Counter::Counted { by: host.caller(), total })?;
        Ok(total)
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

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<CounterStorage>()
    }

    fn construct(&self, _host: &mut Host<'_>, _params: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call(input, NONE_PAYABLE)? {
            Counter::CounterCalls::count(call) => call.returns(Self::count(host, call.step)?),
            Counter::CounterCalls::total(call) => call.returns(COUNTER.total.get(host)?),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::builder().with_template(Arc::new(CounterTemplate)).build()?;
    let alice = node.accounts()[0];
    let counter = node.deploy(alice, Marker(CounterTemplate::ID).init_code(&[]))?;

    let mined = counter.send(Counter::countCall { step: U256::from(7) })?;
    let counted: Counter::Counted = expect_event(&mined);
    assert_eq!((counted.by, counted.total), (alice, U256::from(7)));
    assert_eq!(counter.call(Counter::totalCall {})?, U256::from(7));

    let refused: Counter::StepTooLarge = expect_revert(counter.send(Counter::countCall { step: U256::from(11) }));
    assert_eq!(refused.max, U256::from(10));
    println!("counted to 7 with {} gas", mined.receipt().gas_used.get());
    Ok(())
}
