//! The contract against a model that loops over everything: eager slashes of unbondings, absences as a list of heights,
//! weights computed anew. Every operation must succeed in both or in neither, and then every number must agree.

mod compare;
mod rules;

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
    /// The protocol's next set has these operators.
    ElectSet(u8),
    /// It is in force.
    BeginSet,
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
        2 => (0_u8..8).prop_map(Step::ElectSet),
        2 => Just(Step::BeginSet),
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
    /// Members of the protocol's set, and of the next.
    members: BTreeSet<usize>,
    elected: BTreeSet<usize>,
    /// When each former member was in no set any more.
    released: BTreeMap<usize, u64>,
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

struct Run {
    lab: Lab,
    model: Model,
    weights: BTreeMap<Address, u64>,
    /// Weights at the end of each block, from genesis on.
    history: Vec<BTreeMap<Address, u64>>,
    /// Operations that may round a delegation's rewards down once more.
    settlements: u64,
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
