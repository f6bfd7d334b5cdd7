//! The contract against the rules of the Cosmos SDK, with exact numbers, and against a model.

mod cost;
mod delegations;
mod epochs;
mod golden;
mod history;
mod keys;
mod lab;
mod layout;
mod model;
mod refusals;
mod rewards;
mod slashing;
mod validators;

use super::{interface as sol, *};
use lab::{ALICE, BOB, Lab, V1, V2, V3, eth, gwei};

/// The default parameters without queues: validators join and leave in the call itself.
fn at_once() -> StakingParams {
    StakingParams { churn_limit: 0, ..StakingParams::default() }
}
