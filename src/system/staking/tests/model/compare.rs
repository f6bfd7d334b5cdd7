//! Each operation in the contract and in the model, and the comparison of their numbers.

use super::*;

impl Run {
    pub(super) fn new(churn_limit: u32) -> Self {
        let stake = gwei(5_000);
        let mut lab = Lab::with_governance(params(churn_limit), &[(V1, stake), (V2, stake)]);
        lab.pass(0);
        let pool =
            |index| Pool { tokens: stake, shares: [(index, stake)].into(), commission_bps: 1_000, ..Pool::default() };
        let model = Model {
            pools: [(0, pool(0)), (1, pool(1))].into(),
            members: BTreeSet::new(),
            elected: BTreeSet::new(),
            released: BTreeMap::new(),
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

    pub(super) fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let none = U256::ZERO;
        let waiting = |run: &Self, person| -> U256 {
            let over =
                run.model.outgoing.iter().filter(|e| e.person == person && run.model.completion(e) <= run.model.now);
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
            Step::ElectSet(mask) => {
                let members: Vec<_> = (0..3).filter(|place| mask & (1 << place) != 0).map(named).collect();
                lab.system_raw(&elect_set(&members).input)
            }
            Step::BeginSet => lab.system_raw(&begin_set().input),
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
    pub(super) fn compare_keys(&mut self) -> Result<(), TestCaseError> {
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
    pub(super) fn compare_history(&mut self) {
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

    pub(super) fn compare(&mut self) -> Result<(), TestCaseError> {
        let totals = self.lab.totals();
        let (mut bonded, mut owed) = (U256::ZERO, U256::ZERO);
        let slack = U256::from(self.settlements + self.model.roundings + 2);
        for (validator, pool) in &self.model.pools {
            let address = VALIDATORS[*validator];
            let info = self.lab.validator(address);
            prop_assert_eq!((info.tokens, info.shares), (pool.tokens, pool.all_shares()));
            prop_assert_eq!(info.weight, pool.weight());
            let locked = self.lab.ok(BOB, &sol::stakeLockedUntilCall { validator: address });
            prop_assert_eq!(locked, self.model.locked_until(*validator));
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
            let mut want: Vec<_> = own.map(|entry| (self.model.completion(entry), entry.left)).collect();
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
