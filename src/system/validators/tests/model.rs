//! The contract against a list, a map and the sets of all heights.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::primitives::KeyPair;

const WEIGHT_MAX: u64 = 20;
const VALIDATORS_MIN: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Set(u8, u64),
    Slash(u8, u32),
    Convict(u8),
    /// Who, which key, whether the key signs, and whether the administrator adds it with the key.
    Key(u8, u8, bool, bool),
    Maximum(u8),
    Offer(u8),
    Accept(u8),
    Pass(u8),
}

/// What the contract should hold.
#[derive(Clone, Debug)]
struct Model {
    owner: Address,
    pending: Address,
    maximum: usize,
    /// Validators in the contract's order.
    order: Vec<Address>,
    weights: BTreeMap<Address, u64>,
    convicted: BTreeSet<Address>,
    /// Who is or was a validator.
    known: BTreeSet<Address>,
    /// Present keys, and when they were registered.
    keys: BTreeMap<Address, (Address, u64)>,
    /// Operators by every key there was.
    operators: BTreeMap<Address, Address>,
    /// The weights at the end of each past block.
    past: Vec<BTreeMap<Address, u64>>,
}

impl Model {
    fn weight(&self, validator: Address) -> u64 {
        self.weights.get(&validator).copied().unwrap_or(0)
    }

    fn put(&mut self, validator: Address, weight: u64) {
        match (self.weight(validator), weight) {
            (0, 0) => {}
            (0, _) => self.order.push(validator),
            (_, 0) => {
                let index = self.order.iter().position(|other| *other == validator).unwrap();
                self.order.swap_remove(index);
            }
            _ => {}
        }
        if weight > 0 {
            self.known.insert(validator);
        }
        self.weights.insert(validator, weight);
    }

    fn key(&self, operator: Address) -> Address {
        self.keys.get(&operator).map_or(operator, |(key, _)| *key)
    }

    /// Registers a key if the rules allow it.
    fn register(&mut self, operator: Address, key: Address, height: u64) -> bool {
        let is_early = self.keys.get(&operator).is_some_and(|(_, at)| height < at + KEY_INTERVAL_BLOCKS);
        let may = !is_early && !self.operators.contains_key(&key) && !self.known.contains(&key);
        if may {
            self.keys.insert(operator, (key, height));
            self.operators.insert(key, operator);
        }
        may
    }

    /// Sets a weight if the rules allow it.
    fn set(&mut self, validator: Address, weight: u64) -> bool {
        let may = match (self.weight(validator), weight) {
            (0, 0) => false,
            (0, _) => !self.convicted.contains(&validator) && self.order.len() < self.maximum,
            (_, 0) => self.order.len() > VALIDATORS_MIN,
            _ => true,
        } && weight <= WEIGHT_MAX;
        if may {
            self.put(validator, weight);
        }
        may
    }

    fn convict(&mut self, key: Address) {
        let validator = self.operators.get(&key).copied().unwrap_or(key);
        let is_last = self.order == [validator];
        if !is_last && self.convicted.insert(validator) {
            self.known.insert(validator);
            self.put(validator, 0);
        }
    }
}

/// Keys that validators may register: one more than any history can use up.
fn pair(number: u8) -> KeyPair {
    KeyPair::from_seed(7, &format!("key {number}"))
}

fn account(number: u8) -> Address {
    if number == 0 { ADMIN } else { Address::with_last_byte(number) }
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0_u8..7;
    prop_oneof![
        6 => (number(), prop_oneof![Just(0), 1..=WEIGHT_MAX + 1]).prop_map(|(number, weight)| Step::Set(number, weight)),
        3 => (number(), prop_oneof![Just(0), 1..=PART_PPM_MAX + 1]).prop_map(|(number, part)| Step::Slash(number, part)),
        1 => (0_u8..10).prop_map(Step::Convict),
        3 => (number(), number(), proptest::bool::weighted(0.9), any::<bool>())
            .prop_map(|(who, key, is_signed, is_added)| Step::Key(who, key, is_signed, is_added)),
        1 => (1_u8..8).prop_map(Step::Maximum),
        1 => number().prop_map(Step::Offer),
        1 => number().prop_map(Step::Accept),
        3 => (1_u8..9).prop_map(Step::Pass),
    ]
}

/// Runs a step by `caller` on both, which have to agree about whether it may, and on what the protocol is told.
fn run(lab: &mut Lab, model: &mut Model, caller: Address, step: &Step) {
    let by_owner = caller == model.owner;
    let (before, keys) = (model.weights.clone(), model.keys.clone());
    let (result, may) = match *step {
        Step::Set(number, weight) => {
            let may = by_owner && model.set(account(number), weight);
            (lab.call(caller, &set(account(number), weight)), may)
        }
        Step::Slash(number, part) => {
            let (validator, weight) = (account(number), model.weight(account(number)));
            let kept = (u128::from(weight) * u128::from(PART_PPM_MAX - part.min(PART_PPM_MAX))) / 1_000_000;
            let is_valid = by_owner && (1..=PART_PPM_MAX).contains(&part) && weight > 0;
            let may = is_valid && model.set(validator, kept as u64);
            (lab.call(caller, &slash(validator, part)), may)
        }
        Step::Convict(number) => {
            let key = if number < 7 { account(number) } else { pair(number - 7).address() };
            model.convict(key);
            return lab.convict(key);
        }
        Step::Key(who, key, is_signed, is_added) => {
            let (operator, key, height) = (account(who), pair(key), lab.block.height.get());
            let signer = if is_signed { key.clone() } else { pair(99) };
            let proof = prove_sealing_key(lab.block.chain_id, operator, &signer);
            let (caller, may) = if is_added {
                let mut after = model.clone();
                let may = by_owner
                    && model.weight(operator) == 0
                    && is_signed
                    && after.register(operator, key.address(), height)
                    && after.set(operator, 3);
                if may {
                    *model = after;
                }
                (caller, may)
            } else {
                let is_free = !model.convicted.contains(&operator) && is_signed;
                (operator, is_free && model.register(operator, key.address(), height))
            };
            let result = if is_added {
                let sealing_key = key.address();
                let call = sol::addValidatorCall { validator: operator, sealingKey: sealing_key, weight: 3, proof };
                lab.call(caller, &call)
            } else {
                lab.call(caller, &sol::setSealingKeyCall { key: key.address(), proof })
            };
            (result, may)
        }
        Step::Maximum(maximum) => {
            model.maximum = maximum.into();
            return lab.set_maximum(maximum.into());
        }
        Step::Pass(blocks) => {
            for _ in 0..blocks {
                model.past.push(model.weights.clone());
            }
            return lab.pass(blocks.into());
        }
        Step::Offer(number) => {
            model.pending = if by_owner { account(number) } else { model.pending };
            (lab.call(caller, &offer(account(number))), by_owner)
        }
        Step::Accept(_) => {
            let may = caller == model.pending;
            if may {
                (model.owner, model.pending) = (caller, Address::ZERO);
            }
            (lab.call(caller, &sol::acceptOwnershipCall {}), may)
        }
    };
    assert_eq!(result.is_success(), may, "{step:?} {result:?}");
    let changed = model.weights.iter().filter(|(who, weight)| before.get(*who).copied().unwrap_or(0) != **weight);
    let changed = changed.map(|(who, weight)| (model.key(*who), *weight));
    let rotated = model.keys.iter().filter(|(who, key)| keys.get(*who) != Some(key) && before.get(*who) > Some(&0));
    let rotated = rotated
        .flat_map(|(who, (key, _))| [(keys.get(who).map_or(*who, |(key, _)| *key), 0), (*key, model.weight(*who))]);
    let changed: Vec<_> = rotated.chain(changed).collect();
    let told = if result.is_success() { lab.updates() } else { Vec::new() };
    assert_eq!(told, changed);
}

fn check(lab: &mut Lab, model: &Model) {
    let listed: Vec<_> = model.order.iter().map(|validator| (*validator, model.weight(*validator))).collect();
    assert_eq!(lab.listed(), listed);
    for number in 0..7 {
        let (validator, is_convicted) = (account(number), model.convicted.contains(&account(number)));
        let (weight, key) = (model.weight(validator), model.key(validator));
        let want = sol::ValidatorInfo { validator, sealingKey: key, weight, isConvicted: is_convicted };
        assert_eq!(lab.ok(BOB, &sol::validatorCall { validator }), want);
    }
    for (key, operator) in &model.operators {
        assert_eq!(lab.ok(BOB, &sol::operatorOfCall { key: *key }), *operator);
        let read = |slot| lab.journal.storage(&VALIDATORS_ADDRESS, &slot);
        assert_eq!(operator_in(*key, read).unwrap(), *operator, "read without a call");
    }
    for (height, weights) in (0..).zip(&model.past) {
        let total: u64 = weights.values().sum();
        assert_eq!(lab.total_at(height), u128::from(total), "at {height}");
        for number in 0..7 {
            let weight = weights.get(&account(number)).copied().unwrap_or(0);
            assert_eq!(lab.weight_at(account(number), height), u128::from(weight), "{number} at {height}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn validators_are_what_a_model_has(steps in vec((0_u8..6, step()), 1..50)) {
        let members = [(account(1), 3), (account(2), 4), (account(3), 5)];
        let config = equal().with_weight_max(WEIGHT_MAX).with_validators_min(VALIDATORS_MIN as u32);
        let mut lab = Lab::of(config, &members);
        lab.deploy_parameters(5);
        let mut model = Model {
            owner: ADMIN,
            pending: Address::ZERO,
            maximum: 5,
            order: members.iter().map(|(validator, _)| *validator).collect(),
            weights: members.into(),
            convicted: BTreeSet::new(),
            known: members.iter().map(|(validator, _)| *validator).collect(),
            keys: BTreeMap::new(),
            operators: BTreeMap::new(),
            past: vec![members.into()],
        };
        for (number, step) in steps {
            // Mostly by the administrator: others are refused.
            let caller = match &step {
                Step::Accept(by) => account(*by),
                _ if number > 0 => model.owner,
                _ => account(1),
            };
            run(&mut lab, &mut model, caller, &step);
        }
        check(&mut lab, &model);
    }
}
