//! What is known of a validator, on chains with stake and without.

use alloy_primitives::{Address, U256};

use super::interface::ValidatorInfo;
use crate::primitives::Timestamp;

/// Where a validator is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ValidatorStatus {
    /// Nobody joined under this address.
    Unknown,
    /// It takes part in consensus.
    Bonded,
    /// It does, and waits in the exit queue.
    Exiting,
    /// It was absent too often; it may come back after its sentence.
    Jailed,
    /// It left; its stake waits for the unbonding period.
    Unbonding,
    /// It left, and its stake is free.
    Unbonded,
    /// It signed what it may not, and is out for ever.
    Tombstoned,
}

impl ValidatorStatus {
    /// Returns the status of this number in the contract's answers; an unknown number is [`ValidatorStatus::Unknown`].
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Bonded,
            2 => Self::Exiting,
            3 => Self::Jailed,
            4 => Self::Unbonding,
            5 => Self::Unbonded,
            6 => Self::Tombstoned,
            _ => Self::Unknown,
        }
    }
}

/// A validator as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorRecord {
    /// Who.
    pub address: Address,
    /// Whether the protocol counts it now; changes of stake take effect at the protocol's own boundary.
    pub validates: bool,
    /// Where it is in its life.
    pub status: ValidatorStatus,
    /// Its weight from the next boundary on: stake in gwei, or 1 where there is no stake.
    pub weight: u64,
    /// Its stake; `None` on chains without.
    pub stake: Option<StakeRecord>,
}

/// The part of a record that only chains with stake have. Amounts are in the smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StakeRecord {
    /// All stake with it, its own and what was delegated.
    pub tokens: U256,
    /// Its own.
    pub self_stake: U256,
    /// Commission in ten-thousandths.
    pub commission_bps: u16,
    /// Commission earned and not claimed.
    pub commission_owed: U256,
    /// Rewards of its own stake that it did not claim.
    pub rewards_owed: U256,
    /// Until when it is jailed; `None` while it is not.
    pub jailed_until: Option<Timestamp>,
    /// Absences in the downtime window.
    pub missed_blocks: u64,
}

impl From<&ValidatorInfo> for ValidatorRecord {
    fn from(info: &ValidatorInfo) -> Self {
        let jailed_until = (info.jailedUntil != 0).then(|| Timestamp::from_secs(info.jailedUntil));
        Self {
            address: info.validator,
            validates: false,
            status: ValidatorStatus::from_code(info.status),
            weight: info.weight,
            stake: Some(StakeRecord {
                tokens: info.tokens,
                self_stake: info.selfStake,
                commission_bps: info.commissionBps,
                commission_owed: info.commission,
                rewards_owed: info.selfRewards,
                jailed_until,
                missed_blocks: info.missedBlocks,
            }),
        }
    }
}
