//! Read-only functions.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{
    interface as sol,
    layout::{BONDED, BURNED, COMMISSION, MINTED, Queue, RATIO, REWARDS, SHARES, Staking, TOKENS, UNBONDING},
    params::StakingParams,
    rewards::earned,
};
use crate::vm::{Stop, abi};

/// Maximum number of validators that one call of `validators` returns.
pub const PAGE_MAX: u64 = 100;

impl Staking<'_, '_> {
    pub(super) fn params(&mut self) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        Ok(abi::encode_output(&sol::Params::from(&params)))
    }

    pub(super) fn totals(&mut self) -> Result<Bytes, Stop> {
        Ok(abi::encode_output(&sol::Totals {
            bonded: self.0.load(BONDED)?,
            unbonding: self.0.load(UNBONDING)?,
            rewards: self.0.load(REWARDS)?,
            minted: self.0.load(MINTED)?,
            burned: self.0.load(BURNED)?,
        }))
    }

    pub(super) fn validator_count(&mut self) -> Result<Bytes, Stop> {
        self.listed().map(|count| abi::encode_output_u256(U256::from(count)))
    }

    pub(super) fn validators(&mut self, from: U256, count: U256) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        let all = self.listed()?;
        let from = from.saturating_to::<u64>().min(all);
        let end = from.saturating_add(count.saturating_to::<u64>().min(PAGE_MAX)).min(all);
        let mut page = Vec::new();
        for index in from..end {
            let address = self.listed_at(index)?;
            page.push(self.info(&params, address)?);
        }
        Ok(abi::encode_output(&page))
    }

    pub(super) fn validator(&mut self, address: Address) -> Result<Bytes, Stop> {
        let params = self.load_params()?;
        self.info(&params, address).map(|info| abi::encode_output(&info))
    }

    fn info(&mut self, params: &StakingParams, address: Address) -> Result<sol::ValidatorInfo, Stop> {
        let validator = self.find(address)?;
        let status = match () {
            () if !validator.exists => 0,
            () if validator.is_tombstoned => 6,
            () if validator.has_left && self.is_unbonded(params, &validator) => 5,
            () if validator.has_left => 4,
            () if validator.is_jailed => 3,
            () if validator.is_pending => 7,
            () if validator.in_queue => 2,
            () => 1,
        };
        let tokens = self.field(&validator, TOKENS)?;
        let own = self.delegation(&validator, &address)?;
        let self_rewards = own.rewards.saturating_add(earned(&own, self.field(&validator, RATIO)?)?);
        Ok(sol::ValidatorInfo {
            validator: address,
            status,
            weight: validator.weight(tokens),
            tokens,
            shares: self.field(&validator, SHARES)?,
            selfStake: self.worth_of(&validator, own.shares)?,
            commissionBps: validator.commission_bps,
            maxCommissionBps: validator.max_commission_bps,
            maxCommissionChangeBps: validator.max_change_bps,
            commission: self.field(&validator, COMMISSION)?,
            selfRewards: self_rewards,
            jailedUntil: validator.jailed_until,
            missedBlocks: self.absences(params, &validator)?.count_ones() as u64,
        })
    }

    pub(super) fn delegation_of(&mut self, delegator: Address, validator: Address) -> Result<Bytes, Stop> {
        let validator = self.find(validator)?;
        let delegation = self.settled(&validator, &delegator)?;
        let output = sol::delegationReturn {
            shares: delegation.shares,
            amount: self.worth_of(&validator, delegation.shares)?,
            rewards: delegation.rewards,
        };
        Ok(sol::delegationCall::abi_encode_returns(&output).into())
    }

    pub(super) fn unbondings(&mut self, delegator: Address) -> Result<Bytes, Stop> {
        let (count, list) = self.unbonding_count(&delegator)?;
        let mut entries = Vec::new();
        for index in 0..count {
            let entry = self.unbonding(list, index)?;
            entries.push(sol::Unbonding {
                validator: entry.validator,
                amount: self.payable(&delegator, &entry)?,
                begunHeight: entry.begun_height,
                completesAt: entry.completes_at,
            });
        }
        Ok(abi::encode_output(&entries))
    }

    pub(super) fn length_of(&mut self, queue: Queue) -> Result<Bytes, Stop> {
        self.ends_of(queue).map(|(first, next)| abi::encode_output_u256(U256::from(next.saturating_sub(first))))
    }
}
