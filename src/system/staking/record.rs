//! Public records of validators, on chains with stake and without.

use alloy_primitives::{Address, U256};

use super::interface::ValidatorInfo;
use crate::primitives::Timestamp;

/// Status of a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ValidatorStatus {
    /// No validator joined under this address.
    Unknown,
    /// In consensus.
    Bonded,
    /// In consensus, and waiting in the exit queue.
    Exiting,
    /// Excluded for downtime; it may return after the jail time.
    Jailed,
    /// Left; its stake waits for the unbonding period.
    Unbonding,
    /// Left, with its stake free.
    Unbonded,
    /// Excluded permanently for an equivocation.
    Tombstoned,
    /// Joined, and waiting in the activation queue.
    Pending,
}

impl ValidatorStatus {
    /// Returns the status of a number in the contract's return data; [`ValidatorStatus::Unknown`] for an unknown
    /// number.
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Bonded,
            2 => Self::Exiting,
            3 => Self::Jailed,
            4 => Self::Unbonding,
            5 => Self::Unbonded,
            6 => Self::Tombstoned,
            7 => Self::Pending,
            _ => Self::Unknown,
        }
    }
}

/// Public record of a validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorRecord {
    /// Address of the validator: its operator's.
    pub address: Address,
    /// Address of its sealing key, by which consensus knows it; the operator's own unless it registered one.
    pub sealing_key: Address,
    /// Whether the protocol counts it now; changes of stake take effect at the protocol's own boundary.
    pub validates: bool,
    /// Status of the validator.
    pub status: ValidatorStatus,
    /// Weight from the next boundary on: stake in gwei; without stake what the validators' contract says, else 1.
    pub weight: u64,
    /// Stake; `None` on chains without stake.
    pub stake: Option<StakeRecord>,
}

/// Part of a record on chains with stake. Amounts are in wei.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StakeRecord {
    /// Total stake: its own and delegated.
    pub tokens: U256,
    /// Own stake.
    pub self_stake: U256,
    /// Commission in ten-thousandths.
    pub commission_bps: u16,
    /// Commission earned and not claimed.
    pub commission_owed: U256,
    /// Rewards of its own stake, not claimed.
    pub rewards_owed: U256,
    /// End of its jail time; `None` while it is not jailed.
    pub jailed_until: Option<Timestamp>,
    /// Absences in the downtime window, in blocks.
    pub missed_blocks: u64,
}

impl From<&ValidatorInfo> for ValidatorRecord {
    fn from(info: &ValidatorInfo) -> Self {
        let jailed_until = (info.jailedUntil != 0).then(|| Timestamp::from_secs(info.jailedUntil));
        Self {
            address: info.validator,
            sealing_key: info.sealingKey,
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
