//! The contract against a model that loops over everything: eager slashes of unbondings, absences as a list of heights,
//! weights computed anew. Every operation must succeed in both or in neither, and then every number must agree.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::{
    keys::{consent, pair, terms},
    lab::{SIGNER, signing_operator},
    *,
};
use crate::primitives::{Height, KeyPair, Timestamp};
use crate::system::address::GOVERNANCE_ADDRESS;
use crate::vm::math::{Rounding, checked_mul_div};

/// Operators; the last one can sign.
const VALIDATORS: [Address; 3] = [V1, V2, SIGNER];
const PEOPLE: [Address; 5] = [V1, V2, SIGNER, ALICE, BOB];
/// Sealing keys that operators register.
const KEYS: usize = 5;
const WINDOW: u64 = 4;
const REWARD: u64 = 1_000_003;
/// Precision of the model's rewards: they are exact to this part of a wei.
const FINE: u64 = 1_000_000;

#[derive(Clone, Debug)]
enum Step {
    /// Operator, stake, commission, and a key where it registers one.
    Join(usize, u64, u16, Option<usize>),
    /// The last operator, by another; whether that has its consent.
    JoinFor {
        payer: usize,
        amount: u64,
        commission: u16,
        key: Option<usize>,
        is_consented: bool,
    },
    /// An operator's new key; whether the key proves it.
    SetKey(usize, usize, bool),
    StakeFor(usize, usize, u64),
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
    let key = || prop::option::of(0..KEYS);
    let amount = || prop_oneof![1_u64..10, 900_000_000..3_000_000_000_u64, 1_000_000_000_000..2_000_000_000_000_u64];
    prop_oneof![
        2 => (person(), amount(), 0_u16..10_000, key()).prop_map(|(a, n, c, k)| Step::Join(a, n, c, k)),
        2 => (person(), amount(), 0_u16..10_000, key(), prop::bool::weighted(0.9)).prop_map(
            |(payer, amount, commission, key, is_consented)| Step::JoinFor { payer, amount, commission, key, is_consented }
        ),
        4 => (validator(), 0..KEYS, prop::bool::weighted(0.9)).prop_map(|(v, k, p)| Step::SetKey(v, k, p)),
        1 => (person(), validator(), amount()).prop_map(|(a, v, n)| Step::StakeFor(a, v, n)),
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

#[derive(Clone)]
struct Outgoing {
    person: usize,
    validator: usize,
    begun_with: U256,
    left: U256,
    begun: u64,
    completes: u64,
}

#[derive(Clone)]
struct Model {
    /// Registrations of keys in their order: operator, key, height.
    registered: Vec<(usize, usize, u64)>,
    /// Keys that seal, by operator.
    present: BTreeMap<usize, usize>,
    /// Keys that wait, by operator.
    waiting: BTreeMap<usize, usize>,
    rotations: Vec<usize>,
    consents: u64,
    epoch: u64,
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
            Step::Join(person, amount, commission, key) => {
                if person >= 3 {
                    return None; // Only validators' addresses are followed.
                }
                self.join(person, amount, commission, key)
            }
            Step::JoinFor { amount, commission, key, is_consented, .. } => {
                is_consented.then_some(())?;
                self.join(2, amount, commission, key)?;
                self.consents += 1;
                Some(())
            }
            Step::StakeFor(_, validator, amount) => self.apply(&Step::Delegate(validator, validator, amount)),
            Step::SetKey(validator, key, is_proven) => {
                let pool = self.pools.get(&validator)?;
                if pool.is_tombstoned || !is_proven {
                    return None;
                }
                let waits = self.churn_limit > 0 && pool.is_bonded();
                self.register(validator, key)?;
                if waits {
                    self.waiting.insert(validator, key);
                    self.rotations.push(validator);
                } else {
                    self.waiting.remove(&validator);
                    self.present.insert(validator, key);
                }
                Some(())
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
                let limit = self.churn_limit as usize;
                if self.epoch.is_multiple_of(2) {
                    let rotated = self.rotate(limit);
                    self.join_and_leave(limit - rotated);
                } else {
                    let changed = self.join_and_leave(limit);
                    self.rotate(limit - changed);
                }
                self.epoch += 1;
                Some(())
            }
        }
    }

    fn join_and_leave(&mut self, limit: usize) -> usize {
        let joining: Vec<_> = self.joining.drain(..limit.min(self.joining.len())).collect();
        let leaving: Vec<_> = self.queue.drain(..limit.min(self.queue.len())).collect();
        for validator in &joining {
            self.activate(*validator);
        }
        for validator in &leaving {
            if self.pools[validator].in_queue {
                self.leave(*validator);
            }
        }
        joining.len().max(leaving.len())
    }

    fn rotate(&mut self, limit: usize) -> usize {
        let first: Vec<_> = self.rotations.drain(..limit.min(self.rotations.len())).collect();
        for validator in &first {
            if !self.pools[validator].is_tombstoned
                && let Some(key) = self.waiting.remove(validator)
            {
                self.present.insert(*validator, key);
            }
        }
        first.len()
    }

    /// Keeps a registration, which counts from this height on; of one at genesis it is not known when it was.
    fn register(&mut self, validator: usize, key: usize) -> Option<()> {
        let is_free = self.registered.iter().all(|(_, other, _)| *other != key);
        let last =
            self.registered.iter().rfind(|(operator, ..)| *operator == validator).map_or(0, |(.., height)| *height);
        if !is_free || (last != 0 && self.height < last + WINDOW) {
            return None;
        }
        self.registered.push((validator, key, self.height));
        Some(())
    }

    /// Returns the address by which consensus knows a validator.
    fn sealing(&self, validator: usize) -> Address {
        self.present.get(&validator).map_or(VALIDATORS[validator], |key| pair(*key as u64).address())
    }

    /// Returns one of the addresses by which consensus knows a validator, or knew or will know it.
    fn known_as(&self, validator: usize, number: usize) -> Address {
        let keys = self.registered.iter().filter(|(operator, ..)| *operator == validator);
        let mut names = vec![VALIDATORS[validator]];
        names.extend(keys.map(|(_, key, _)| pair(*key as u64).address()));
        names[number % names.len()]
    }

    fn join(&mut self, person: usize, amount: u64, commission: u16, key: Option<usize>) -> Option<()> {
        let (before, amount) = (self.clone(), U256::from(amount));
        let joined = self.try_join(person, amount, commission, key);
        if joined.is_none() {
            *self = before;
        }
        joined
    }

    fn try_join(&mut self, person: usize, amount: U256, commission: u16, key: Option<usize>) -> Option<()> {
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
        self.pools.insert(person, pool);
        if let Some(key) = key {
            self.register(person, key)?;
            self.waiting.remove(&person);
            self.present.insert(person, key);
        }
        self.bond(person, person, amount)?;
        self.admitted(person);
        Some(())
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
            registered: Vec::new(),
            present: BTreeMap::new(),
            waiting: BTreeMap::new(),
            rotations: Vec::new(),
            consents: 0,
            epoch: 0,
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
        let (before, number) = (self.model.clone(), self.settlements as usize);
        let named = |validator: usize| before.known_as(validator, number);
        let want = self.model.apply(step);
        let chain = self.lab.block.chain_id;
        let by_operator = self.by_operator();
        let lab = &mut self.lab;
        let all = U256::MAX;
        let result = match *step {
            Step::Join(person, amount, commission, key) => {
                if person >= 3 {
                    return Ok(());
                }
                let (operator, bounds, amount) = (PEOPLE[person], 10_000, U256::from(amount));
                match key.map(|key| pair(key as u64)) {
                    None => {
                        let call = sol::joinCall {
                            commissionBps: commission,
                            maxCommissionBps: bounds,
                            maxCommissionChangeBps: bounds,
                        };
                        lab.call(operator, amount, &call)
                    }
                    Some(key) => {
                        let call = sol::joinWithKeyCall {
                            commissionBps: commission,
                            maxCommissionBps: bounds,
                            maxCommissionChangeBps: bounds,
                            sealingKey: key.address(),
                            proof: prove_sealing_key(chain, operator, &key),
                        };
                        lab.call(operator, amount, &call)
                    }
                }
            }
            Step::JoinFor { payer, amount, commission, key, is_consented } => {
                let key = key.map(|key| pair(key as u64));
                let terms = sol::JoinTerms {
                    commissionBps: commission,
                    maxCommissionBps: 10_000,
                    maxCommissionChangeBps: 10_000,
                    ..terms(SIGNER, key.as_ref().map(KeyPair::address).unwrap_or_default(), u64::MAX)
                };
                // A nonce that is not the next one, or was used.
                let nonce = before.consents + u64::from(!is_consented);
                let consent = consent(lab, &signing_operator(), &terms, PEOPLE[payer], nonce);
                let proof = key.map(|key| prove_sealing_key(chain, SIGNER, &key)).unwrap_or_default();
                lab.call(PEOPLE[payer], U256::from(amount), &sol::joinForCall { terms, consent, proof })
            }
            Step::StakeFor(payer, validator, amount) => {
                let call = sol::stakeForCall { validator: VALIDATORS[validator] };
                lab.call(PEOPLE[payer], U256::from(amount), &call)
            }
            Step::SetKey(validator, key, is_proven) => {
                let key = pair(key as u64);
                let proven_for = if is_proven { VALIDATORS[validator] } else { ALICE };
                let proof = prove_sealing_key(chain, proven_for, &key);
                lab.call(VALIDATORS[validator], none, &sol::setSealingKeyCall { key: key.address(), proof })
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
                self.history.push(by_operator);
                let absent: Vec<_> = (0..3).filter(|place| absent & (1 << place) != 0).map(named).collect();
                lab.system_raw(&begin_block(named(proposer), &absent).input)
            }
            Step::Slash { validator, age, is_downtime } => {
                let offence = if is_downtime { Offence::Downtime } else { Offence::DoubleSign };
                let height = Height::new(lab.block.height.get().saturating_sub(age));
                let time = Timestamp::from_secs(lab.block.timestamp.as_secs() - age * 20);
                lab.system_raw(&slash(named(validator), offence, height, time).input)
            }
            Step::Penalize(validator, amount) => {
                let call = penalize(&[(named(validator), U256::from(amount))]);
                lab.system_raw(&call.input)
            }
            Step::EndEpoch { reward, penalty, ejection_percent } => {
                let change = |(validator, amount): (usize, u64)| vec![(named(validator), U256::from(amount))];
                let deltas = EpochDeltas { rewards: change(reward), penalties: change(penalty), ejection_percent };
                lab.system_raw(&end_epoch(before.epoch, &deltas).input)
            }
        };
        prop_assert_eq!(result.is_success(), want.is_some(), "{}", result.output);
        for update in &lab.updates() {
            self.weights.insert(update.address, update.weight);
        }
        self.settlements += 1;
        Ok(())
    }

    /// Weights that events told, by operator.
    fn by_operator(&self) -> BTreeMap<Address, u64> {
        let weight = |validator: usize| self.weights.get(&self.model.sealing(validator)).copied().unwrap_or(0);
        (0..3).map(|validator| (VALIDATORS[validator], weight(validator))).collect()
    }

    /// Checks operators and keys.
    fn compare_keys(&mut self) -> Result<(), TestCaseError> {
        for (validator, operator) in VALIDATORS.into_iter().enumerate() {
            let sealing = self.model.sealing(validator);
            prop_assert_eq!(self.lab.ok(BOB, &sol::sealingKeyCall { operator }), sealing);
            prop_assert_eq!(self.lab.validator(operator).sealingKey, sealing);
            for number in 0..=self.model.registered.len() {
                let key = self.model.known_as(validator, number);
                prop_assert_eq!(self.lab.ok(BOB, &sol::operatorOfCall { key }), operator);
                let weight = self.weights.get(&key).copied().unwrap_or(0);
                prop_assert!(key == sealing || weight == 0, "{} has still {}", key, weight);
            }
        }
        prop_assert_eq!(self.lab.ok(BOB, &sol::noncesCall { operator: SIGNER }), U256::from(self.model.consents));
        let waiting = self.lab.ok(BOB, &sol::rotationQueueLengthCall {});
        prop_assert_eq!(waiting, U256::from(self.model.rotations.len()));
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
            prop_assert_eq!(
                self.weights.get(&self.model.sealing(*validator)).copied().unwrap_or(0),
                pool.weight(),
                "by events"
            );
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
            run.compare_keys()?;
        }
        run.compare_history();
    }
}
