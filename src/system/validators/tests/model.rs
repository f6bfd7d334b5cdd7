//! The contract against a list, a map and the sets of all heights.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;

const WEIGHT_MAX: u64 = 20;
const VALIDATORS_MIN: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Set(u8, u64),
    Slash(u8, u32),
    Convict(u8),
    Maximum(u8),
    Offer(u8),
    Accept(u8),
    Pass(u8),
}

/// What the contract should hold.
#[derive(Debug)]
struct Model {
    owner: Address,
    pending: Address,
    maximum: usize,
    /// Validators in the contract's order.
    order: Vec<Address>,
    weights: BTreeMap<Address, u64>,
    convicted: BTreeSet<Address>,
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
        self.weights.insert(validator, weight);
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

    fn convict(&mut self, validator: Address) {
        let is_last = self.order == [validator];
        if !is_last && self.convicted.insert(validator) {
            self.put(validator, 0);
        }
    }
}

fn account(number: u8) -> Address {
    if number == 0 { ADMIN } else { Address::with_last_byte(number) }
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0_u8..7;
    prop_oneof![
        6 => (number(), prop_oneof![Just(0), 1..=WEIGHT_MAX + 1]).prop_map(|(number, weight)| Step::Set(number, weight)),
        3 => (number(), prop_oneof![Just(0), 1..=PART_PPM_MAX + 1]).prop_map(|(number, part)| Step::Slash(number, part)),
        1 => number().prop_map(Step::Convict),
        1 => (1_u8..8).prop_map(Step::Maximum),
        1 => number().prop_map(Step::Offer),
        1 => number().prop_map(Step::Accept),
        3 => (1_u8..4).prop_map(Step::Pass),
    ]
}

/// Runs a step by `caller` on both, which have to agree about whether it may, and on what the protocol is told.
fn run(lab: &mut Lab, model: &mut Model, caller: Address, step: &Step) {
    let by_owner = caller == model.owner;
    let before = model.weights.clone();
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
            model.convict(account(number));
            return lab.convict(account(number));
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
    let changed: Vec<_> = changed.map(|(who, weight)| (*who, *weight)).collect();
    let told = if result.is_success() { lab.updates() } else { Vec::new() };
    assert_eq!(told, changed);
}

fn check(lab: &mut Lab, model: &Model) {
    let listed: Vec<_> = model.order.iter().map(|validator| (*validator, model.weight(*validator))).collect();
    assert_eq!(lab.listed(), listed);
    for number in 0..7 {
        let (validator, is_convicted) = (account(number), model.convicted.contains(&account(number)));
        let want = sol::ValidatorInfo { validator, weight: model.weight(validator), isConvicted: is_convicted };
        assert_eq!(lab.ok(BOB, &sol::validatorCall { validator }), want);
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
