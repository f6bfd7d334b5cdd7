//! The staking contract under any calls of validators, delegators and the chain itself: calls of the chain succeed, nobody
//! panics, and the contract holds exactly what it owes.
#![no_main]

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;
use arbitrary::Arbitrary;
use chainbox::{
    primitives::{Gas, Height, Timestamp},
    state::Journal,
    system::{
        SystemCall,
        staking::{
            EpochDeltas, Offence, STAKING_ADDRESS, StakingParams, StakingTemplate, WEIGHT_UNIT, begin_block, end_epoch,
            interface as sol, penalize, slash,
        },
    },
    vm::{BlockContext, FrameOutcome, HaltReason, Message, TemplateRegistry, execute},
};
use chainbox_fuzz::{FUNDS, Who, rich_state};
use libfuzzer_sys::fuzz_target;

const ACTS_MAX: usize = 60;
/// Most rewards, and most penalties, of one epoch.
const CHANGES_MAX: usize = 8;
const CALL_GAS: Gas = Gas::new(10_000_000);

#[derive(Arbitrary, Debug)]
enum Act {
    Join { who: Who, gwei: u32, commission: u16, maximum: u16, change: u16 },
    Stake { who: Who, gwei: u32 },
    Unstake { who: Who, gwei: u32 },
    Delegate { who: Who, to: Who, gwei: u32 },
    Undelegate { who: Who, from: Who, gwei: u32 },
    Withdraw { who: Who },
    Claim { who: Who, from: Who },
    ClaimCommission { who: Who },
    SetCommission { who: Who, commission: u16 },
    Unjail { who: Who },
    Exit { who: Who },
    Raw { who: Who, value: u32, input: Vec<u8> },
    Block { proposer: Who, absent: Option<Who>, secs: u32 },
    Slash { who: Who, offence: u8, height: u8, time: u16 },
    Penalize { who: Who, gwei: u32 },
    EndEpoch { epoch: u8, rewards: Vec<(Who, u32)>, penalties: Vec<(Who, u32)>, ejection_percent: u8 },
}

fuzz_target!(|acts: Vec<Act>| {
    let mut chain = Chain::new();
    for act in acts.into_iter().take(ACTS_MAX) {
        chain.act(act);
        chain.check_sums();
    }
});

struct Chain {
    journal: Journal,
    block: BlockContext,
    registry: TemplateRegistry,
}

impl Chain {
    /// Alice validates with 100 gwei.
    fn new() -> Self {
        let params = StakingParams {
            min_self_stake: gwei(10),
            min_delegation: gwei(1),
            unbonding_secs: 100,
            downtime_window: 4,
            block_reward: gwei(3),
            ..StakingParams::default()
        };
        let stake = gwei(100);
        let registry = StakingTemplate::registry();
        let mut journal = Journal::new(rich_state(gwei(FUNDS as u32)));
        journal.set_balance(&STAKING_ADDRESS, stake).expect("memory is readable");
        let init_code = StakingTemplate::init_code(&params, [(Who::Alice.address(), stake)]);
        let creation =
            Message::create_at(STAKING_ADDRESS, Address::ZERO, U256::ZERO, &init_code, Gas::new(1_000_000_000));
        journal.begin_transaction();
        let block = BlockContext { timestamp: Timestamp::from_secs(1_000), ..BlockContext::default() };
        let result = execute(&mut journal, &block, &registry, &creation).expect("readable");
        assert!(result.is_success(), "{result:?}");
        Self { journal, block, registry }
    }

    fn act(&mut self, act: Act) {
        let none = U256::ZERO;
        match act {
            Act::Join { who, gwei: stake, commission, maximum, change } => {
                let call = sol::joinCall {
                    commissionBps: commission,
                    maxCommissionBps: maximum,
                    maxCommissionChangeBps: change,
                };
                self.call(who, gwei(stake), call.abi_encode());
            }
            Act::Stake { who, gwei: amount } => self.call(who, gwei(amount), sol::stakeCall {}.abi_encode()),
            Act::Unstake { who, gwei: amount } => {
                self.call(who, none, sol::unstakeCall { amount: gwei(amount) }.abi_encode());
            }
            Act::Delegate { who, to, gwei: amount } => {
                self.call(who, gwei(amount), sol::delegateCall { validator: to.address() }.abi_encode());
            }
            Act::Undelegate { who, from, gwei: amount } => {
                let call = sol::undelegateCall { validator: from.address(), amount: gwei(amount) };
                self.call(who, none, call.abi_encode());
            }
            Act::Withdraw { who } => self.call(who, none, sol::withdrawCall {}.abi_encode()),
            Act::Claim { who, from } => {
                self.call(who, none, sol::claimRewardsCall { validator: from.address() }.abi_encode());
            }
            Act::ClaimCommission { who } => self.call(who, none, sol::claimCommissionCall {}.abi_encode()),
            Act::SetCommission { who, commission } => {
                self.call(who, none, sol::setCommissionCall { commissionBps: commission }.abi_encode());
            }
            Act::Unjail { who } => self.call(who, none, sol::unjailCall {}.abi_encode()),
            Act::Exit { who } => self.call(who, none, sol::exitCall {}.abi_encode()),
            Act::Raw { who, value, input } => self.call(who, gwei(value), input),
            Act::Block { proposer, absent, secs } => {
                self.block.height = Height::new(self.block.height.get() + 1);
                self.block.timestamp = Timestamp::from_secs(self.block.timestamp.as_secs() + u64::from(secs));
                let absent: Vec<_> = absent.iter().map(|who| who.address()).collect();
                self.system(begin_block(proposer.address(), &absent));
            }
            Act::Slash { who, offence, height, time } => {
                if let Some(offence) = Offence::from_code(offence % 5) {
                    let (height, time) = (Height::new(height.into()), Timestamp::from_secs(time.into()));
                    self.system(slash(who.address(), offence, height, time));
                }
            }
            Act::Penalize { who, gwei: amount } => self.system(penalize(&[(who.address(), gwei(amount))])),
            Act::EndEpoch { epoch, rewards, penalties, ejection_percent } => {
                let changes = |of: Vec<(Who, u32)>| {
                    of.into_iter().take(CHANGES_MAX).map(|(who, amount)| (who.address(), gwei(amount))).collect()
                };
                let (rewards, penalties) = (changes(rewards), changes(penalties));
                self.system(end_epoch(epoch.into(), &EpochDeltas { rewards, penalties, ejection_percent }));
            }
        }
    }

    fn call(&mut self, who: Who, value: U256, input: Vec<u8>) {
        self.run(&Message::call(who.address(), STAKING_ADDRESS, value, &input, CALL_GAS));
    }

    fn system(&mut self, call: SystemCall) {
        let (outcome, output) = self.run(&Message::system_call(STAKING_ADDRESS, &call.input, CALL_GAS));
        assert_eq!(outcome, FrameOutcome::Success, "{output}");
    }

    fn run(&mut self, message: &Message<'_>) -> (FrameOutcome, Bytes) {
        self.journal.begin_transaction();
        let result = execute(&mut self.journal, &self.block, &self.registry, message).expect("readable");
        assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        (result.outcome, result.output)
    }

    fn check_sums(&mut self) {
        let input = sol::totalsCall {}.abi_encode();
        let question = Message::call(Who::Bob.address(), STAKING_ADDRESS, U256::ZERO, &input, CALL_GAS);
        let (_, output) = self.run(&question);
        let totals = sol::totalsCall::abi_decode_returns(&output).expect("a view answers");
        let balance = self.journal.balance(&STAKING_ADDRESS).expect("readable");
        let owed = totals.bonded + totals.unbonding + totals.rewards;
        assert!(owed <= balance, "{owed} owed, {balance} held");
        let held: U256 = Who::ALL.iter().map(|who| self.journal.balance(&who.address()).expect("readable")).sum();
        let genesis = gwei(FUNDS as u32) * U256::from(Who::ALL.len()) + gwei(100);
        assert_eq!(held + balance, genesis + totals.minted - totals.burned, "money is made and burned in the open");
    }
}

fn gwei(amount: u32) -> U256 {
    U256::from(amount) * U256::from(WEIGHT_UNIT)
}
