//! The contract against a model that loops over everything: eager slashes of unbondings, absences as a list of heights,
//! weights computed anew. Every operation must succeed in both or in neither, and then every number must agree.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::primitives::{Height, Timestamp};
use crate::system::address::GOVERNANCE_ADDRESS;
use crate::vm::math::{Rounding, checked_mul_div};

const VALIDATORS: [Address; 3] = [V1, V2, V3];
const PEOPLE: [Address; 5] = [V1, V2, V3, ALICE, BOB];
const WINDOW: u64 = 4;
const REWARD: u64 = 1_000_003;
/// Precision of the model's rewards: they are exact to this part of a wei.
const FINE: u64 = 1_000_000;

#[derive(Clone, Debug)]
enum Step {
    Join(usize, u64, u16),
    Delegate(usize, usize, u64),
    Undelegate(usize, usize, u64),
    UndelegateAll(usize, usize),
    Withdraw(usize),
    Claim(usize, usize),
    ClaimCommission(usize),
    Exit(usize),
    /// By governance.
    Remove(usize),
    Unjail(usize),
    Block {
        proposer: usize,
        absent: u8,
        secs: u64,
    },
    Slash {
        validator: usize,
        age: u64,
        is_downtime: bool,
    },
    Penalize(usize, u64),
    /// Changes of a validator each, in wei, and the percentage of ejection.
    EndEpoch {
        reward: (usize, u64),
        penalty: (usize, u64),
        ejection_percent: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (validator, person) = (|| 0_usize..3, || 0_usize..5);
    let amount = || prop_oneof![1_u64..10, 900_000_000..3_000_000_000_u64, 1_000_000_000_000..2_000_000_000_000_u64];
    prop_oneof![
        2 => (person(), amount(), 0_u16..10_000).prop_map(|(a, n, c)| Step::Join(a, n, c)),
        6 => (person(), validator(), amount()).prop_map(|(a, v, n)| Step::Delegate(a, v, n)),
        4 => (person(), validator(), amount()).prop_map(|(a, v, n)| Step::Undelegate(a, v, n)),
        2 => (person(), validator()).prop_map(|(a, v)| Step::UndelegateAll(a, v)),
        3 => person().prop_map(Step::Withdraw),
        3 => (person(), validator()).prop_map(|(a, v)| Step::Claim(a, v)),
        1 => validator().prop_map(Step::ClaimCommission),
        1 => validator().prop_map(Step::Exit),
        1 => validator().prop_map(Step::Remove),
        2 => validator().prop_map(Step::Unjail),
        10 => (validator(), 0_u8..8, 0_u64..40).prop_map(|(proposer, absent, secs)| Step::Block { proposer, absent, secs }),
        1 => (validator(), 0_u64..8, any::<bool>())
            .prop_map(|(validator, age, is_downtime)| Step::Slash { validator, age, is_downtime }),
        1 => (validator(), amount()).prop_map(|(v, n)| Step::Penalize(v, n)),
        2 => ((validator(), 0_u64..2_000_000_000), (validator(), amount()), 0_u8..=100).prop_map(|(reward, penalty, ejection_percent)| {
            Step::EndEpoch { reward, penalty, ejection_percent }
        }),
    ]
}

fn params(churn_limit: u32) -> StakingParams {
    StakingParams {
        unbonding_secs: 100,
        min_self_stake: gwei(1),
        min_delegation: U256::from(2),
        block_reward: U256::from(REWARD),
        downtime_window: WINDOW as u32,
        downtime_jail_secs: 20,
        evidence_max_age_blocks: 3,
        evidence_max_age_secs: 60,
        churn_limit,
        ..StakingParams::default()
    }
}

#[derive(Clone, Default)]
struct Pool {
    tokens: U256,
    shares: BTreeMap<usize, U256>,
    earned_fine: BTreeMap<usize, U256>,
    commission: U256,
    commission_bps: u64,
    absences: BTreeSet<u64>,
    start: u64,
    slashes: u64,
    jailed_until: Option<u64>,
    has_left: bool,
    in_queue: bool,
    is_tombstoned: bool,
    is_pending: bool,
    /// Height and time of the end of bonding.
    unbonded: (u64, u64),
}

impl Pool {
    fn all_shares(&self) -> U256 {
        self.shares.values().fold(U256::ZERO, |sum, shares| sum + shares)
    }

    fn worth(&self, person: usize) -> U256 {
        let shares = self.shares.get(&person).copied().unwrap_or_default();
        if shares.is_zero() { U256::ZERO } else { shares * self.tokens / self.all_shares() }
    }

    fn is_bonded(&self) -> bool {
        self.jailed_until.is_none() && !self.has_left && !self.is_tombstoned && !self.is_pending
    }

    fn weight(&self) -> u64 {
        if self.is_bonded() { (self.tokens / gwei(1)).to() } else { 0 }
    }
}

struct Outgoing {
    person: usize,
    validator: usize,
    begun_with: U256,
    left: U256,
    begun: u64,
    completes: u64,
}

struct Model {
    pools: BTreeMap<usize, Pool>,
    outgoing: Vec<Outgoing>,
    queue: Vec<usize>,
    joining: Vec<usize>,
    churn_limit: u32,
    minted: U256,
    height: u64,
    now: u64,
    /// How often rewards were rounded.
    roundings: u64,
}

impl Model {
    fn bond(&mut self, person: usize, validator: usize, amount: U256) -> Option<()> {
        let pool = self.pools.get_mut(&validator)?;
        let all = pool.all_shares();
        let shares = if all.is_zero() {
            amount
        } else if pool.tokens.is_zero() {
            return None;
        } else {
            amount * all / pool.tokens
        };
        if shares.is_zero() {
            return None;
        }
        pool.tokens += amount;
        *pool.shares.entry(person).or_default() += shares;
        Some(())
    }

    fn end_bonding(&mut self, validator: usize) {
        let (height, now) = (self.height, self.now);
        let Some(pool) = self.pools.get_mut(&validator) else { return };
        if pool.is_bonded() {
            pool.unbonded = (height, now);
        }
    }

    fn leave(&mut self, validator: usize) {
        self.end_bonding(validator);
        let pool = self.pools.get_mut(&validator).unwrap();
        (pool.has_left, pool.in_queue, pool.is_pending) = (true, false, false);
    }

    /// Lets a validator that joined or left jail into consensus: at once, or through the activation queue.
    fn admitted(&mut self, validator: usize) {
        self.pools.get_mut(&validator).unwrap().is_pending = true;
        if self.churn_limit == 0 { self.activate(validator) } else { self.joining.push(validator) }
    }

    fn activate(&mut self, validator: usize) {
        let height = self.height;
        if let Some(pool) = self.pools.get_mut(&validator).filter(|pool| pool.is_pending && !pool.has_left) {
            (pool.is_pending, pool.start) = (false, height);
        }
    }

    fn exit(&mut self, validator: usize) -> Option<()> {
        let pool = self.pools.get_mut(&validator)?;
        if pool.is_tombstoned || pool.has_left || pool.in_queue {
            return None;
        }
        if self.churn_limit == 0 || !pool.is_bonded() {
            self.leave(validator);
        } else {
            pool.in_queue = true;
            self.queue.push(validator);
        }
        Some(())
    }

    fn slash(&mut self, validator: usize, infraction: u64, ppm: u64) {
        let pool = self.pools.get_mut(&validator).unwrap();
        let part = |amount: U256| amount * U256::from(ppm) / U256::from(1_000_000);
        pool.tokens -= part(pool.tokens);
        pool.slashes += 1;
        for entry in self.outgoing.iter_mut().filter(|entry| entry.validator == validator) {
            let is_own = ppm == 50_000 && entry.person == validator;
            if (is_own || entry.begun >= infraction) && self.now < entry.completes {
                entry.left = entry.left.saturating_sub(part(entry.begun_with));
            }
        }
    }

    fn jail(&mut self, validator: usize, until: u64) {
        self.end_bonding(validator);
        let pool = self.pools.get_mut(&validator).unwrap();
        pool.jailed_until = Some(pool.jailed_until.unwrap_or(0).max(until));
        pool.absences.clear();
    }

    fn is_free(&self, pool: &Pool) -> bool {
        !pool.is_bonded() && self.now >= pool.unbonded.1 + 100
    }

    /// Returns the outcome: `None` where the contract must refuse.
    fn apply(&mut self, step: &Step) -> Option<()> {
        match *step {
            Step::Join(person, amount, commission) => {
                let amount = U256::from(amount);
                if person >= 3 {
                    return None; // Only validators' addresses are followed.
                }
                let old = self.pools.get(&person).cloned();
                if old.as_ref().is_some_and(|pool| !pool.has_left || pool.is_tombstoned) {
                    return None;
                }
                let mut pool = old.unwrap_or_default();
                if pool.worth(person) + amount < gwei(1) {
                    return None;
                }
                (pool.has_left, pool.in_queue, pool.jailed_until, pool.is_pending) = (false, false, None, true);
                pool.commission_bps = commission.into();
                pool.start = self.height;
                pool.absences.clear();
                let before = self.pools.insert(person, pool);
                let bonded = self.bond(person, person, amount);
                if bonded.is_none() {
                    match before {
                        Some(before) => self.pools.insert(person, before),
                        None => self.pools.remove(&person),
                    };
                } else {
                    self.admitted(person);
                }
                bonded
            }
            Step::Delegate(person, validator, amount) => {
                let pool = self.pools.get(&validator)?;
                if pool.has_left || pool.is_tombstoned || amount < 2 {
                    return None;
                }
                self.bond(person, validator, U256::from(amount))
            }
            Step::Undelegate(person, validator, amount) => self.undelegate(person, validator, Some(U256::from(amount))),
            Step::UndelegateAll(person, validator) => self.undelegate(person, validator, None),
            Step::Withdraw(person) => {
                let now = self.now;
                let count = self.outgoing.len();
                self.outgoing.retain(|entry| entry.person != person || entry.completes > now);
                (self.outgoing.len() < count).then_some(())
            }
            Step::Claim(..) | Step::ClaimCommission(_) => None, // Their amounts are compared by the test.
            Step::Exit(validator) => self.exit(validator),
            Step::Remove(validator) => {
                let others = self.pools.iter().filter(|(other, _)| **other != validator);
                if others.map(|(_, pool)| u128::from(pool.weight())).sum::<u128>() == 0 {
                    return None;
                }
                self.exit(validator)
            }
            Step::Unjail(validator) => {
                let now = self.now;
                let pool = self.pools.get_mut(&validator)?;
                if pool.is_tombstoned || pool.has_left || pool.jailed_until? > now || pool.worth(validator) < gwei(1) {
                    return None;
                }
                pool.jailed_until = None;
                self.admitted(validator);
                Some(())
            }
            Step::Block { proposer, absent, secs } => {
                (self.height, self.now) = (self.height + 1, self.now + secs);
                self.reward(proposer, REWARD);
                for validator in (0..3).filter(|place| absent & (1 << place) != 0) {
                    self.absent(validator);
                }
                Some(())
            }
            Step::Slash { validator, age, is_downtime } => {
                let infraction = self.height.saturating_sub(age);
                // The unbonding time is more than the age that evidence may have otherwise.
                let is_old = self.height - infraction > 3 && age * 20 > 100;
                let known = self.pools.get(&validator);
                if known.is_none_or(|pool| pool.is_tombstoned || self.is_free(pool)) || is_old {
                    return Some(());
                }
                self.slash(validator, infraction, if is_downtime { 10_000 } else { 50_000 });
                self.jail(validator, if is_downtime { self.now + 20 } else { u64::MAX });
                if !is_downtime {
                    let pool = self.pools.get_mut(&validator)?;
                    (pool.is_tombstoned, pool.has_left, pool.in_queue) = (true, true, false);
                    pool.is_pending = false;
                }
                Some(())
            }
            Step::Penalize(validator, amount) => {
                self.penalize(validator, amount);
                Some(())
            }
            Step::EndEpoch { reward, penalty, ejection_percent } => {
                self.reward(reward.0, reward.1);
                self.penalize(penalty.0, penalty.1);
                self.eject(penalty.0, ejection_percent);
                for _ in 0..self.churn_limit.min(self.joining.len() as u32) {
                    let validator = self.joining.remove(0);
                    self.activate(validator);
                }
                for _ in 0..self.churn_limit.min(self.queue.len() as u32) {
                    let validator = self.queue.remove(0);
                    if self.pools.get(&validator)?.in_queue {
                        self.leave(validator);
                    }
                }
                Some(())
            }
        }
    }

    fn undelegate(&mut self, person: usize, validator: usize, amount: Option<U256>) -> Option<()> {
        let pool = self.pools.get(&validator)?;
        let worth = pool.worth(person);
        let own = pool.shares.get(&person).copied().filter(|shares| !shares.is_zero())?;
        let (amount, shares) = match amount {
            Some(amount) if amount > worth => return None,
            Some(amount) if amount < worth => {
                (amount, checked_mul_div(amount, pool.all_shares(), pool.tokens, Rounding::Ceil)?)
            }
            _ => (worth, own),
        };
        if person == validator && !pool.has_left && worth - amount < gwei(1) {
            return None;
        }
        let (begun, completes) = if pool.is_bonded() {
            (self.height, self.now + 100)
        } else if self.is_free(pool) {
            (self.height, self.now)
        } else {
            (pool.unbonded.0, pool.unbonded.1 + 100)
        };
        let waiting = self.outgoing.iter().filter(|entry| entry.person == person).count() as u64;
        if !amount.is_zero() {
            if waiting == UNBONDINGS_MAX {
                return None;
            }
            self.outgoing.push(Outgoing { person, validator, begun_with: amount, left: amount, begun, completes });
        }
        let pool = self.pools.get_mut(&validator)?;
        pool.tokens -= amount;
        *pool.shares.get_mut(&person)? -= shares;
        Some(())
    }

    fn penalize(&mut self, validator: usize, amount: u64) {
        if let Some(pool) = self.pools.get_mut(&validator) {
            pool.tokens = pool.tokens.saturating_sub(U256::from(amount));
        }
    }

    /// Ejects who has at most so many percent of the minimum stake, a gwei.
    fn eject(&mut self, validator: usize, percent: u8) {
        let floor = U256::from(u64::from(percent) * 10_000_000);
        let Some(pool) = self.pools.get_mut(&validator) else { return };
        if percent == 0 || pool.tokens > floor || !pool.is_bonded() || pool.in_queue {
            return;
        }
        if self.churn_limit == 0 {
            self.leave(validator);
        } else {
            pool.in_queue = true;
            self.queue.push(validator);
        }
    }

    fn reward(&mut self, validator: usize, amount: u64) {
        let Some(pool) = self.pools.get_mut(&validator).filter(|_| amount > 0) else { return };
        let all = pool.all_shares();
        if pool.is_tombstoned || all.is_zero() {
            return;
        }
        let reward = U256::from(amount);
        let commission = reward * U256::from(pool.commission_bps) / U256::from(10_000);
        pool.commission += commission;
        for (person, shares) in &pool.shares {
            let part = *shares * (reward - commission) * U256::from(FINE) / all;
            *pool.earned_fine.entry(*person).or_default() += part;
        }
        self.minted += reward;
        self.roundings += 1;
    }

    fn absent(&mut self, validator: usize) {
        let height = self.height;
        let Some(pool) = self.pools.get_mut(&validator).filter(|pool| pool.is_bonded()) else { return };
        pool.absences.insert(height);
        let missed = pool.absences.iter().filter(|at| **at + WINDOW > height).count() as u64;
        if height > pool.start + WINDOW && missed > WINDOW / 2 {
            self.slash(validator, height - 1, 10_000);
            self.jail(validator, self.now + 20);
        }
    }
}

struct Run {
    lab: Lab,
    model: Model,
    weights: BTreeMap<Address, u64>,
    /// Weights at the end of each block, from genesis on.
    history: Vec<BTreeMap<Address, u64>>,
    /// Operations that may round a delegation's rewards down once more.
    settlements: u64,
}

impl Run {
    fn new(churn_limit: u32) -> Self {
        let stake = gwei(5_000);
        let mut lab = Lab::with_governance(params(churn_limit), &[(V1, stake), (V2, stake)]);
        lab.pass(0);
        let pool =
            |index| Pool { tokens: stake, shares: [(index, stake)].into(), commission_bps: 1_000, ..Pool::default() };
        let model = Model {
            pools: [(0, pool(0)), (1, pool(1))].into(),
            outgoing: Vec::new(),
            queue: Vec::new(),
            joining: Vec::new(),
            churn_limit,
            minted: U256::ZERO,
            height: 0,
            now: 1_000,
            roundings: 0,
        };
        Self { lab, model, weights: [(V1, 5_000), (V2, 5_000)].into(), history: Vec::new(), settlements: 0 }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let none = U256::ZERO;
        let waiting = |run: &Self, person| -> U256 {
            let over = run.model.outgoing.iter().filter(|e| e.person == person && e.completes <= run.model.now);
            over.fold(none, |sum, entry| sum + entry.left)
        };
        let want_paid = if let Step::Withdraw(person) = step { waiting(self, *person) } else { none };
        let want = self.model.apply(step);
        let lab = &mut self.lab;
        let all = U256::MAX;
        let result = match *step {
            Step::Join(person, amount, commission) => {
                let call = sol::joinCall {
                    commissionBps: commission,
                    maxCommissionBps: 10_000,
                    maxCommissionChangeBps: 10_000,
                };
                if person >= 3 {
                    return Ok(());
                }
                lab.call(PEOPLE[person], U256::from(amount), &call)
            }
            Step::Delegate(person, validator, amount) => {
                let call = sol::delegateCall { validator: VALIDATORS[validator] };
                lab.call(PEOPLE[person], U256::from(amount), &call)
            }
            Step::Undelegate(person, validator, amount) => {
                let call = sol::undelegateCall { validator: VALIDATORS[validator], amount: U256::from(amount) };
                lab.call(PEOPLE[person], none, &call)
            }
            Step::UndelegateAll(person, validator) => {
                let call = sol::undelegateCall { validator: VALIDATORS[validator], amount: all };
                lab.call(PEOPLE[person], none, &call)
            }
            Step::Withdraw(person) => {
                let result = lab.call(PEOPLE[person], none, &sol::withdrawCall {});
                if result.is_success() {
                    prop_assert_eq!(U256::from_be_slice(&result.output), want_paid);
                }
                result
            }
            Step::Claim(person, validator) => return self.claim(person, validator),
            Step::ClaimCommission(validator) => {
                let owed = self.model.pools.get_mut(&validator).map(|pool| core::mem::take(&mut pool.commission));
                let result = lab.call(VALIDATORS[validator], none, &sol::claimCommissionCall {});
                let owed = owed.unwrap_or_default();
                prop_assert_eq!(result.is_success(), !owed.is_zero());
                if result.is_success() {
                    prop_assert_eq!(U256::from_be_slice(&result.output), owed);
                }
                return Ok(());
            }
            Step::Exit(validator) => lab.call(VALIDATORS[validator], none, &sol::exitCall {}),
            Step::Remove(validator) => {
                let call = sol::removeValidatorCall { validator: VALIDATORS[validator] };
                lab.call(GOVERNANCE_ADDRESS, none, &call)
            }
            Step::Unjail(validator) => lab.call(VALIDATORS[validator], none, &sol::unjailCall {}),
            Step::Block { proposer, absent, secs } => {
                lab.pass_time(1, secs);
                self.history.push(self.weights.clone());
                let absent: Vec<_> = (0..3).filter(|place| absent & (1 << place) != 0).map(|i| VALIDATORS[i]).collect();
                lab.system_raw(&begin_block(VALIDATORS[proposer], &absent).input)
            }
            Step::Slash { validator, age, is_downtime } => {
                let offence = if is_downtime { Offence::Downtime } else { Offence::DoubleSign };
                let height = Height::new(lab.block.height.get().saturating_sub(age));
                let time = Timestamp::from_secs(lab.block.timestamp.as_secs() - age * 20);
                lab.system_raw(&slash(VALIDATORS[validator], offence, height, time).input)
            }
            Step::Penalize(validator, amount) => {
                let call = penalize(&[(VALIDATORS[validator], U256::from(amount))]);
                lab.system_raw(&call.input)
            }
            Step::EndEpoch { reward, penalty, ejection_percent } => {
                let change = |(validator, amount): (usize, u64)| vec![(VALIDATORS[validator], U256::from(amount))];
                let deltas = EpochDeltas { rewards: change(reward), penalties: change(penalty), ejection_percent };
                lab.system_raw(&end_epoch(0, &deltas).input)
            }
        };
        prop_assert_eq!(result.is_success(), want.is_some(), "{}", result.output);
        for update in &lab.updates() {
            self.weights.insert(update.address, update.weight);
        }
        self.settlements += 1;
        Ok(())
    }

    fn claim(&mut self, person: usize, validator: usize) -> Result<(), TestCaseError> {
        let (_, _, rewards) = self.lab.delegation(PEOPLE[person], VALIDATORS[validator]);
        let call = sol::claimRewardsCall { validator: VALIDATORS[validator] };
        let result = self.lab.call(PEOPLE[person], U256::ZERO, &call);
        prop_assert_eq!(result.is_success(), !rewards.is_zero());
        let Some(pool) = self.model.pools.get_mut(&validator) else { return Ok(()) };
        let earned = pool.earned_fine.entry(person).or_default();
        *earned = earned.saturating_sub(rewards * U256::from(FINE));
        self.settlements += 1;
        Ok(())
    }

    /// Checks past weights against those that events told.
    fn compare_history(&mut self) {
        for (height, weights) in (0..).zip(&self.history) {
            for validator in VALIDATORS {
                let want = weights.get(&validator).copied().unwrap_or(0);
                let got = self.lab.ok(BOB, &sol::weightAtCall { validator, height });
                assert_eq!(got, u128::from(want), "{validator} at {height}");
            }
            let total = self.lab.ok(BOB, &sol::totalWeightAtCall { height });
            assert_eq!(total, weights.values().map(|weight| u128::from(*weight)).sum::<u128>(), "at {height}");
        }
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        let totals = self.lab.totals();
        let (mut bonded, mut owed) = (U256::ZERO, U256::ZERO);
        let slack = U256::from(self.settlements + self.model.roundings + 2);
        for (validator, pool) in &self.model.pools {
            let address = VALIDATORS[*validator];
            let info = self.lab.validator(address);
            prop_assert_eq!((info.tokens, info.shares), (pool.tokens, pool.all_shares()));
            prop_assert_eq!(info.weight, pool.weight());
            prop_assert_eq!(self.weights.get(&address).copied().unwrap_or(0), pool.weight(), "by events");
            prop_assert_eq!(info.commission, pool.commission);
            bonded += pool.tokens;
            owed += info.commission;
            for (person, account) in PEOPLE.iter().enumerate() {
                let (shares, amount, rewards) = self.lab.delegation(*account, address);
                prop_assert_eq!(shares, pool.shares.get(&person).copied().unwrap_or_default());
                prop_assert_eq!(amount, pool.worth(person));
                let earned = pool.earned_fine.get(&person).copied().unwrap_or_default() / U256::from(FINE);
                prop_assert!(rewards <= earned + slack && rewards + slack >= earned, "{} is not {}", rewards, earned);
                owed += rewards;
            }
        }
        for (person, account) in PEOPLE.iter().enumerate() {
            let entries = self.lab.ok(BOB, &sol::unbondingsCall { delegator: *account });
            let mut amounts: Vec<_> = entries.iter().map(|entry| (entry.completesAt, entry.amount)).collect();
            let own = self.model.outgoing.iter().filter(|entry| entry.person == person);
            let mut want: Vec<_> = own.map(|entry| (entry.completes, entry.left)).collect();
            amounts.sort_unstable();
            want.sort_unstable();
            prop_assert_eq!(amounts, want);
        }
        let unbonding = self.model.outgoing.iter().fold(U256::ZERO, |sum, entry| sum + entry.begun_with);
        prop_assert_eq!((totals.bonded, totals.unbonding, totals.minted), (bonded, unbonding, self.model.minted));
        prop_assert!(owed <= totals.rewards, "owes more than it set aside");
        prop_assert!(totals.rewards - owed <= slack * U256::from(15), "dust of {}", totals.rewards - owed);
        let balance = self.lab.balance(STAKING_ADDRESS);
        prop_assert_eq!(balance, totals.bonded + totals.unbonding + totals.rewards);
        self.lab.check_supply();
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_contract_is_the_model(churn_limit in 0_u32..3, steps in vec(step(), 1..80)) {
        let mut run = Run::new(churn_limit);
        for step in &steps {
            run.step(step)?;
            run.compare()?;
        }
        run.compare_history();
    }
}
