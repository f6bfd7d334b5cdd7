//! What each operation does in the model.

use super::*;

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
            let is_held = entry.person == validator || self.now < entry.completes;
            if (is_own || entry.begun >= infraction) && is_held {
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

    /// Who has a duty although it left or is in jail has its stake locked from now on.
    fn keep_locked(&mut self, validator: usize) {
        let (height, now) = (self.height, self.now);
        let out = self.pools.get_mut(&validator).filter(|pool| !pool.is_bonded() && !pool.is_tombstoned);
        if let Some(pool) = out {
            pool.unbonded = (height, now);
        }
    }

    /// A validator's own stake is locked as long as it would be in its pool.
    pub(super) fn completion(&self, entry: &Outgoing) -> u64 {
        let own = self.pools.get(&entry.validator).filter(|_| entry.person == entry.validator);
        let locked = own.map_or(0, |pool| match pool.is_bonded() {
            true => pool.unbonded.1 + 100,
            false => self.locked_until(entry.validator),
        });
        entry.completes.max(locked)
    }

    /// Who is in the protocol's set, or in the next, is locked, and for a while after it was.
    pub(super) fn locked_until(&self, validator: usize) -> u64 {
        let Some(pool) = self.pools.get(&validator) else { return 0 };
        if pool.is_bonded() || self.members.contains(&validator) || self.elected.contains(&validator) {
            return u64::MAX;
        }
        pool.unbonded.1.max(self.released.get(&validator).copied().unwrap_or(0)) + 100
    }

    fn is_free(&self, validator: usize) -> bool {
        self.now >= self.locked_until(validator)
    }

    fn begin_set(&mut self) {
        let members = core::mem::take(&mut self.elected);
        for left in self.members.difference(&members) {
            self.released.insert(*left, self.now);
        }
        self.members = members;
    }

    /// Returns the outcome: `None` where the contract must refuse.
    pub(super) fn apply(&mut self, step: &Step) -> Option<()> {
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
                let (count, now, before) = (self.outgoing.len(), self.now, self.clone());
                self.outgoing.retain(|entry| entry.person != person || before.completion(entry) > now);
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
                self.keep_locked(proposer);
                for validator in (0..3).filter(|place| absent & (1 << place) != 0) {
                    self.keep_locked(validator);
                    self.absent(validator);
                }
                Some(())
            }
            Step::Slash { validator, age, is_downtime } => {
                let infraction = self.height.saturating_sub(age);
                // The unbonding time is more than the age that evidence may have otherwise.
                let is_old = self.height - infraction > 3 && age * 20 > 100;
                let known = self.pools.get(&validator);
                let is_free = self.is_free(validator);
                if known.is_none_or(|pool| pool.is_tombstoned) || is_old || (is_free && is_downtime) {
                    return Some(());
                }
                if !is_free {
                    self.slash(validator, infraction, if is_downtime { 10_000 } else { 50_000 });
                }
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
            Step::ElectSet(mask) => {
                // Who is elected twice stays elected.
                self.elected.extend((0..3).filter(|place| mask & (1 << place) != 0));
                Some(())
            }
            Step::BeginSet => {
                self.begin_set();
                Some(())
            }
            Step::EndEpoch { reward, penalty, ejection_percent } => {
                self.reward(reward.0, reward.1);
                self.keep_locked(reward.0);
                self.penalize(penalty.0, penalty.1);
                self.keep_locked(penalty.0);
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
    pub(super) fn sealing(&self, validator: usize) -> Address {
        self.present.get(&validator).map_or(VALIDATORS[validator], |key| pair(*key as u64).address())
    }

    /// Returns one of the addresses by which consensus knows a validator, or knew or will know it.
    pub(super) fn known_as(&self, validator: usize, number: usize) -> Address {
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
        } else if self.is_free(validator) {
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
