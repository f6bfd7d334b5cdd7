//! The contract against the rules of the Cosmos SDK, with exact numbers, and against a model.

mod cost;
mod delegations;
mod lab;
mod model;
mod refusals;
mod rewards;
mod slashing;
mod validators;

use super::{interface as sol, *};
use lab::{ALICE, BOB, Lab, V1, V2, V3, eth, gwei};
