//! All histories against exact fractions: nobody gets more than their share of the rate, nor much less; what is paid and owed is never above
//! what was paid in; stakes add up, and a locked one stays.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::vm::{FrameOutcome, HaltReason};

/// Most quanta that are staked together.
const QUANTA_MAX: u64 = 24;

/// Denominator of all shares: a multiple of every number up to [`QUANTA_MAX`].
const WHOLE: u128 = 5_354_228_880;

const DURATION: u64 = 1_000;
const LOCK: u64 = 300;

#[derive(Clone, Debug)]
struct Setup {
    rates: Vec<u128>,
    /// Whether the last reward is in the staking token.
    is_staking_token_last: bool,
    lock: u64,
    /// Smallest units of a quantum of stake.
    quantum: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Stake {
        user: usize,
        quanta: u64,
    },
    Withdraw {
        user: usize,
        quanta: u64,
    },
    Exit {
        user: usize,
    },
    GetRewards {
        user: usize,
    },
    GetReward {
        user: usize,
        reward: usize,
    },
    /// An amount, paid in before.
    Notify {
        reward: usize,
        amount: u64,
    },
    Fund {
        reward: usize,
        amount: u64,
    },
    Wait {
        seconds: u64,
    },
}

fn a_setup() -> impl Strategy<Value = Setup> {
    let rates = vec(prop_oneof![Just(0_u128), 1_u128..20, Just(7_777)], 1..4);
    let quantum = select(vec![1_u64, 7, 1_000_000, 30_000_000]);
    (rates, any::<bool>(), select(vec![0, LOCK]), quantum)
        .prop_map(|(rates, is_staking_token_last, lock, quantum)| Setup { rates, is_staking_token_last, lock, quantum })
}

fn a_step() -> impl Strategy<Value = Step> {
    let (user, reward, quanta) = (|| 0..USERS.len(), || 0_usize..3, || 0_u64..9);
    prop_oneof![
        5 => (user(), quanta()).prop_map(|(user, quanta)| Step::Stake { user, quanta }),
        3 => (user(), quanta()).prop_map(|(user, quanta)| Step::Withdraw { user, quanta }),
        1 => user().prop_map(|user| Step::Exit { user }),
        2 => user().prop_map(|user| Step::GetRewards { user }),
        2 => (user(), reward()).prop_map(|(user, reward)| Step::GetReward { user, reward }),
        3 => (reward(), 0_u64..1_000_000).prop_map(|(reward, amount)| Step::Notify { reward, amount }),
        3 => (reward(), 0_u64..100_000).prop_map(|(reward, amount)| Step::Fund { reward, amount }),
        6 => (0_u64..400).prop_map(|seconds| Step::Wait { seconds }),
    ]
}

/// Rewards in a token, in exact fractions.
#[derive(Clone, Debug, Default)]
struct Model {
    rate: u128,
    /// In seconds after the start.
    finish: u64,
    /// What was paid in.
    funded: u128,
    /// Share of each user, in parts of [`WHOLE`].
    shares: [u128; 3],
    paid: [u128; 3],
}

#[derive(Clone, Debug)]
struct Run {
    world: World,
    setup: Setup,
    models: Vec<Model>,
    quanta: [u64; 3],
    /// In seconds after the start.
    unlocks: [u64; 3],
    now: u64,
    /// Operations that counted rewards, each of which may round.
    counts: u128,
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Run {
    fn new(setup: Setup) -> Self {
        let mut chain = TestChain::new(&USERS);
        let token = TestToken::init_code(18, 3 * TOKENS);
        let staking = chain.deploy(OWNER, 0, &token);
        let last = setup.rates.len() - 1;
        let rewards: Vec<_> = (0..=last)
            .map(|number| {
                let is_staking = number == last && setup.is_staking_token_last;
                if is_staking { staking } else { chain.deploy(OWNER, 0, &token) }
            })
            .collect();
        let models = setup.rates.iter().map(|rate| Model { rate: *rate, ..Model::default() }).collect();
        let world = World::over(chain, staking, rewards, &setup.rates, setup.lock, DURATION);
        Self { world, setup, models, quanta: [0; 3], unlocks: [0; 3], now: 0, counts: 0 }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        self.counts += 1;
        match *step {
            Step::Stake { user, quanta } => {
                let quanta = quanta.min(QUANTA_MAX - self.quanta.iter().sum::<u64>());
                let result = self.world.chain.call(USERS[user], self.world.pool, &stake(quanta * self.setup.quantum));
                prop_assert_eq!(result.is_ok(), quanta > 0);
                if quanta > 0 {
                    self.quanta[user] += quanta;
                    self.unlocks[user] = self.now + self.setup.lock;
                }
            }
            Step::Withdraw { user, quanta } => {
                let is_locked = self.setup.lock > 0 && self.now < self.unlocks[user];
                let call = withdraw(quanta * self.setup.quantum);
                let result = self.world.chain.call(USERS[user], self.world.pool, &call);
                prop_assert_eq!(result.is_ok(), quanta > 0 && quanta <= self.quanta[user] && !is_locked);
                if result.is_ok() {
                    self.quanta[user] -= quanta;
                }
            }
            Step::Exit { user } => {
                let is_locked = self.setup.lock > 0 && self.now < self.unlocks[user];
                let before = self.held(user);
                let result = self.world.chain.call(USERS[user], self.world.pool, &sol::exitCall {});
                prop_assert_eq!(result.is_ok(), self.quanta[user] > 0 && !is_locked);
                if result.is_ok() {
                    let staked = core::mem::take(&mut self.quanta[user]) * self.setup.quantum;
                    self.note_paid(user, &before, staked);
                }
            }
            Step::GetRewards { user } => {
                let before = self.held(user);
                self.world.ok(USERS[user], &sol::getReward_0Call {});
                self.note_paid(user, &before, 0);
            }
            Step::GetReward { user, reward } => {
                let token = self.world.rewards[reward % self.models.len()];
                let before = self.held(user);
                self.world.ok(USERS[user], &sol::getReward_1Call { token });
                self.note_paid(user, &before, 0);
            }
            Step::Notify { reward, amount } => {
                let reward = reward % self.models.len();
                let token = self.world.rewards[reward];
                self.world.pay(OWNER, token, self.world.pool, amount);
                let call = sol::notifyRewardAmount_1Call { token, reward: U256::from(amount) };
                self.world.ok(OWNER, &call);
                let model = &mut self.models[reward];
                model.funded += u128::from(amount);
                let left = model.finish.saturating_sub(self.now);
                model.rate = (u128::from(amount) + model.rate * u128::from(left)) / u128::from(DURATION);
                model.finish = self.now + DURATION;
            }
            Step::Fund { reward, amount } => {
                let reward = reward % self.models.len();
                let token = self.world.rewards[reward];
                let result = self.world.chain.call(OWNER, self.world.pool, &fund(token, amount));
                let model = &mut self.models[reward];
                let seconds = u128::from(amount).checked_div(model.rate).unwrap_or_default();
                prop_assert_eq!(result.ok().map(|seconds| seconds.to::<u128>()), (seconds > 0).then_some(seconds));
                if seconds > 0 {
                    model.funded += seconds * model.rate;
                    model.finish = model.finish.max(self.now) + seconds as u64;
                }
            }
            Step::Wait { seconds } => self.wait(seconds),
        }
        self.holds()
    }

    fn wait(&mut self, seconds: u64) {
        let total = u128::from(self.quanta.iter().sum::<u64>());
        for model in &mut self.models {
            let elapsed = u128::from(model.finish.min(self.now + seconds).saturating_sub(self.now));
            for (share, quanta) in model.shares.iter_mut().zip(self.quanta) {
                *share += (model.rate * elapsed * u128::from(quanta) * WHOLE).checked_div(total).unwrap_or_default();
            }
        }
        self.now += seconds;
        self.world.after(self.now);
    }

    fn held(&self, user: usize) -> Vec<u64> {
        self.world.rewards.iter().map(|token| self.world.held(*token, USERS[user])).collect()
    }

    /// Notes what a user got; `staked` of it was the user's stake.
    fn note_paid(&mut self, user: usize, before: &[u64], staked: u64) {
        let after = self.held(user);
        for (number, model) in self.models.iter_mut().enumerate() {
            let returned = if self.world.rewards[number] == self.world.staking { staked } else { 0 };
            model.paid[user] += u128::from(after[number] - before[number] - returned);
        }
    }

    fn holds(&self) -> Result<(), TestCaseError> {
        let (world, quantum) = (&self.world, self.setup.quantum);
        let staked: u64 = self.quanta.iter().sum::<u64>() * quantum;
        prop_assert_eq!(world.read(&sol::totalSupplyCall {}), U256::from(staked));
        for (account, quanta) in USERS.into_iter().zip(self.quanta) {
            prop_assert_eq!(world.read(&sol::balanceOfCall { account }), U256::from(quanta * quantum));
        }
        let mut of_staking_token = u128::from(staked);
        for (model, token) in self.models.iter().zip(&world.rewards) {
            let mut promised = 0;
            for (user, account) in USERS.into_iter().enumerate() {
                let earned: u128 = world.read(&sol::earned_1Call { account, token: *token }).to();
                let got = model.paid[user] + earned;
                prop_assert!(got * WHOLE <= model.shares[user], "user {user} gets {got} of {:?}", model.shares);
                // Of each count less than one unit is lost, and of each staked unit less than 10^-18.
                let floor = (model.shares[user] / WHOLE).saturating_sub(2 * self.counts + 1);
                prop_assert!(got >= floor, "user {user} gets {got}, {floor} at least");
                promised += got;
            }
            prop_assert!(promised <= model.funded, "{promised} of {}", model.funded);
            let left = model.funded - model.paid.iter().sum::<u128>();
            if *token == world.staking {
                of_staking_token += left;
            } else {
                prop_assert_eq!(u128::from(world.held(*token, world.pool)), left);
            }
        }
        prop_assert_eq!(u128::from(world.held(world.staking, world.pool)), of_staking_token);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rewards_are_shares_of_what_was_paid_in_and_stakes_add_up(setup in a_setup(), steps in vec(a_step(), 1..50)) {
        let mut run = Run::new(setup);
        for step in steps {
            run.step(&step)?;
        }
        // Everybody leaves with all, once nothing is locked.
        run.wait(LOCK + 10 * DURATION);
        for user in 0..USERS.len() {
            if run.quanta[user] > 0 {
                run.step(&Step::Exit { user })?;
            }
            run.step(&Step::GetRewards { user })?;
        }
        prop_assert_eq!(run.world.read(&sol::totalSupplyCall {}), U256::ZERO);
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..48, tail: Vec<u8>, words: [u64; 8], gas in 0_u64..600_000) {
        let mut world = World::new(&[10, 20], 100, 1_000);
        world.stake(BOB, 100);
        let token = world.rewards[0];
        world.ok(OWNER, &fund(token, 10_000));
        world.after(50);
        let known = sol::StakingPoolCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            for from in [BOB, OWNER] {
                let result = world.chain.send(from, world.pool, 0, &input, gas);
                prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
            }
        }
        let init_code = Marker(StakingPool::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
