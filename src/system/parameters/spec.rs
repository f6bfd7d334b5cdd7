//! The section `parameters` of genesis.

use serde::{Deserialize, Serialize};

use crate::primitives::Address;

/// Who may change the chain's parameters. Their first values are those of the other sections of genesis.
///
/// In JSON the names are camelCase, and unknown ones are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ParametersSpec {
    /// The account or contract that schedules changes, such as the governance contract.
    pub owner: Address,
    /// Seconds between blocks, from 1 on, as in the protocol's section; `None` where blocks are made on demand, whose time no one can
    /// change. The builder of a network fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_time: Option<u64>,
    /// Validators at most on a chain without `staking`, from 1 to [`VALIDATORS_MAX`](super::VALIDATORS_MAX), which is the
    /// default. With `staking` it is its `maxValidators`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validators_max: Option<u32>,
}

impl ParametersSpec {
    /// Returns the section with this owner, for blocks on demand.
    pub const fn new(owner: Address) -> Self {
        Self { owner, block_time: None, validators_max: None }
    }

    /// Sets the seconds between blocks.
    #[must_use]
    pub const fn with_block_time(self, secs: u64) -> Self {
        Self { block_time: Some(secs), ..self }
    }
}
