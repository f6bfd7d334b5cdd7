//! A custom contract template: a counter in native Rust with a Solidity ABI.
//!
//! `cargo run --example custom_template`

use std::sync::Arc;

use chainbox::{
    alloy::{
        json_abi::JsonAbi,
        sol_types::{SolCall, sol},
    },
    node::{
        Node,
        testing::{expect_event, expect_revert},
    },
    primitives::{Bytes, U256},
    vm::{Host, Marker, Stop, Template, TemplateId, abi},
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
struct CounterTemplate;

impl CounterTemplate {
    const ID: TemplateId = TemplateId::new(0x8001, 1);
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
