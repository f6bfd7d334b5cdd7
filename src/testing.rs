//! What tests of one's own need, in one place: expectations that say what came, stores that fail, and proptest strategies of accounts,
//! amounts, transactions, scripts of calls, genesis blocks and fault plans. Needs the feature `testing`.
//!
//! A strategy shrinks towards what is plain: the first account, small amounts, short scripts. An example is `examples/properties.rs`:
//!
//! ```
//! use chainbox::{node::Node, primitives::U256, testing};
//! use proptest::test_runner::{Config, TestRunner};
//!
//! // Whatever is paid, nothing is made or lost but the fees.
//! let mut runner = TestRunner::new(Config { cases: 8, ..Config::default() });
//! let outcome = runner.run(&testing::steps(&Node::new(), U256::from(1_000), 1..12), |steps| {
//!     let node = Node::new();
//!     let mut snapshots = Vec::new();
//!     for step in &steps {
//!         step.run(&node, &mut snapshots).map_err(|error| proptest::test_runner::TestCaseError::fail(error.to_string()))?;
//!     }
//!     Ok(())
//! });
//! assert!(outcome.is_ok(), "the shortest script that fails: {outcome:?}");
//! ```

mod steps;
mod strategies;

pub use self::{
    steps::{Step, StepError, steps},
    strategies::{Payment, account, amount, erc20_call, fault_plan, genesis, payment, script, transaction},
};
pub use crate::{
    node::testing::{expect_balance_changes, expect_balance_changes_with_fees, expect_event, expect_revert},
    store::testing::{FailingStore, MemoryDisk, WriteFault},
};
