//! Read-only functions.

use alloy_primitives::{Address, U256};

use super::{
    interface as sol,
    layout::{STAKING, Staking},
    params::StakingParams,
    rewards::earned,
};
use crate::vm::Stop;

/// Maximum number of validators that one call of `validators` returns.
pub const PAGE_MAX: u64 = 100;

impl Staking<'_, '_> {
    pub(super) fn params(&mut self) -> Result<sol::Params, Stop> {
        let params = self.load_params()?;
        Ok(sol::Params::from(&*params))
    }

    pub(super) fn totals(&mut self) -> Result<sol::Totals, Stop> {
        Ok(sol::Totals {
            bonded: STAKING.bonded.get(self.0)?,
            unbonding: STAKING.unbonding.get(self.0)?,
            rewards: STAKING.rewards.get(self.0)?,
            minted: STAKING.minted.get(self.0)?,
            burned: STAKING.burned.get(self.0)?,
        })
    }

    pub(super) fn validator_count(&mut self) -> Result<U256, Stop> {
        self.listed().map(U256::from)
    }

    pub(super) fn validators(&mut self, from: U256, count: U256) -> Result<Vec<sol::ValidatorInfo>, Stop> {
        let params = self.load_params()?;
        let all = self.listed()?;
        let from = from.saturating_to::<u64>().min(all);
        let end = from.saturating_add(count.saturating_to::<u64>().min(PAGE_MAX)).min(all);
        let mut page = Vec::new();
        for index in from..end {
            let address = self.listed_at(index)?;
            page.push(self.info(&params, address)?);
        }
        Ok(page)
    }

    pub(super) fn validator(&mut self, address: Address) -> Result<sol::ValidatorInfo, Stop> {
        let params = self.load_params()?;
        self.info(&params, address)
    }

    fn info(&mut self, params: &StakingParams, address: Address) -> Result<sol::ValidatorInfo, Stop> {
        let validator = self.find(address)?;
        let status = match () {
            () if !validator.exists => 0,
            () if validator.is_tombstoned => 6,
            () if validator.has_left && self.is_unbonded(params, &validator)? => 5,
            () if validator.has_left => 4,
            () if validator.is_jailed => 3,
            () if validator.is_pending => 7,
            () if validator.in_queue => 2,
            () => 1,
        };
        let tokens = validator.stored.tokens.get(self.0)?;
        let (_, own) = self.delegation(&validator, address)?;
        let self_rewards = own.rewards.saturating_add(earned(&own, validator.stored.ratio.get(self.0)?)?);
        Ok(sol::ValidatorInfo {
            validator: address,
            status,
            weight: validator.weight(tokens),
            tokens,
            shares: validator.stored.shares.get(self.0)?,
            selfStake: self.worth_of(&validator, own.shares)?,
            commissionBps: validator.commission_bps,
            maxCommissionBps: validator.max_commission_bps,
            maxCommissionChangeBps: validator.max_change_bps,
            commission: validator.stored.commission.get(self.0)?,
            selfRewards: self_rewards,
            jailedUntil: validator.jailed_until,
            missedBlocks: self.absences(params, &validator)?.count_ones() as u64,
            sealingKey: self.key_of(&validator)?,
        })
    }

    pub(super) fn delegation_of(
        &mut self,
        delegator: Address,
        validator: Address,
    ) -> Result<sol::delegationReturn, Stop> {
        let validator = self.find(validator)?;
        let (_, delegation) = self.settled(&validator, delegator)?;
        Ok(sol::delegationReturn {
            shares: delegation.shares,
            amount: self.worth_of(&validator, delegation.shares)?,
            rewards: delegation.rewards,
        })
    }

    pub(super) fn unbondings(&mut self, delegator: Address) -> Result<Vec<sol::Unbonding>, Stop> {
        let params = self.load_params()?;
        let unbondings = STAKING.unbondings.at(self.0, delegator)?;
        let count = unbondings.len(self.0)?;
        let mut entries = Vec::new();
        for index in 0..count {
            let entry = unbondings.unchecked_at(self.0, index)?.get(self.0)?;
            entries.push(sol::Unbonding {
                validator: entry.validator,
                amount: self.payable(delegator, &entry)?,
                begunHeight: entry.begun_height,
                completesAt: self.completion(&params, delegator, &entry)?,
            });
        }
        Ok(entries)
    }
}
