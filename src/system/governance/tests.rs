//! The contract beside the staking contract, that of the parameters and stand-ins for the others: by example and against a model.

mod executing;
mod golden;
mod lab;
mod layout;
mod model;
mod proposing;
mod stand_ins;
mod voting;

use alloy_primitives::{B256, U256};

use super::{interface as sol, *};
use crate::system::staking::interface as staking;
use lab::{ALICE, Lab, V1, V2, V3, change, terms};
