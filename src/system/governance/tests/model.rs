//! The contract against a model that counts every vote anew: stake moves meanwhile, periods differ, blocks are far apart. Every
//! operation must succeed in both or in neither, and then every state, tally and plan must agree.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use proptest::{collection::vec, prelude::*};

use super::{
    lab::{PERIOD, rules, vote_call},
    *,
};
use crate::primitives::gwei;

const PEOPLE: [Address; 4] = [V1, V2, V3, ALICE];

/// How a voter's weight is used.
#[derive(Clone, Copy, Debug)]
enum Part {
    Zero,
    Max,
    Half,
    All,
    Above,
}

#[derive(Clone, Debug)]
enum Step {
    /// By whom, with how many seconds more than the period, and what.
    Propose(usize, u32, Subject),
    /// By whom, on which proposal, what, and how much.
    Vote(usize, u64, VoteOption, Part),
    Cancel(usize, u64),
    /// To a validator, in gwei.
    Delegate(usize, u64),
    Block(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Subject {
    Text,
    Works,
    Fails,
    /// So many blocks ahead.
    Upgrade(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let person = || 0_usize..4;
    let id = || 0_u64..12;
    let subject = prop_oneof![
        Just(Subject::Text),
        Just(Subject::Works),
        Just(Subject::Fails),
        (0_u64..12).prop_map(Subject::Upgrade)
    ];
    let option = prop_oneof![
        4 => Just(VoteOption::Yes),
        1 => Just(VoteOption::Abstain),
        1 => Just(VoteOption::No),
        1 => Just(VoteOption::Veto)
    ];
    let part = prop_oneof![4 => Just(Part::Zero), 1 => Just(Part::Max), 1 => Just(Part::Half), 1 => Just(Part::All), 1 => Just(Part::Above)];
    prop_oneof![
        4 => (person(), 0_u32..60, subject).prop_map(|(who, more, subject)| Step::Propose(who, more, subject)),
        10 => (person(), id(), option, part).prop_map(|(who, id, option, part)| Step::Vote(who, id, option, part)),
        1 => (person(), id()).prop_map(|(who, id)| Step::Cancel(who, id)),
        3 => (0_usize..3, 1_u64..400_000_000_000).prop_map(|(validator, amount)| Step::Delegate(validator, amount)),
        6 => (0_u64..60).prop_map(Step::Block),
    ]
}

struct ModelProposal {
    proposer: usize,
    subject: Subject,
    /// Height that an upgrade names.
    planned: u64,
    height: u64,
    ends_at: u64,
    votes: BTreeMap<usize, (VoteOption, u128)>,
    state: ProposalState,
}

struct Model {
    /// Weights at the end of each block, and of the present one last.
    weights: Vec<[u128; 4]>,
    proposals: Vec<ModelProposal>,
    plan: Option<(u64, u64)>,
    now: u64,
}

impl Model {
    fn height(&self) -> u64 {
        self.weights.len() as u64 - 1
    }

    fn before(&self, height: u64) -> [u128; 4] {
        self.weights[height as usize - 1]
    }

    fn find(&mut self, id: u64) -> Option<&mut ModelProposal> {
        self.proposals.get_mut(usize::try_from(id.checked_sub(1)?).ok()?)
    }

    fn is_open(&mut self, id: u64) -> bool {
        let now = self.now;
        self.find(id).is_some_and(|proposal| proposal.state == ProposalState::Active && now < proposal.ends_at)
    }

    fn propose(&mut self, who: usize, more: u32, subject: Subject) -> Option<()> {
        let height = self.height();
        let open = self.proposals.iter().filter(|proposal| proposal.state == ProposalState::Active).count();
        let planned = if let Subject::Upgrade(ahead) = subject { height + ahead } else { u64::MAX };
        if self.before(height)[who] == 0 || open >= rules().max_open_proposals.into() || planned <= height {
            return None;
        }
        let ends_at = self.now + PERIOD + u64::from(more);
        let (votes, state) = (BTreeMap::new(), ProposalState::Active);
        self.proposals.push(ModelProposal { proposer: who, subject, planned, height, ends_at, votes, state });
        Some(())
    }

    fn vote(&mut self, who: usize, id: u64, option: VoteOption, part: Part) -> Option<()> {
        let power = self.power(who, id);
        if !self.is_open(id) || power == 0 {
            return None;
        }
        let weight = match part {
            Part::Zero | Part::Max | Part::All => power,
            Part::Half => power / 2,
            Part::Above => return None,
        };
        self.find(id)?.votes.insert(who, (option, weight));
        Some(())
    }

    fn power(&mut self, who: usize, id: u64) -> u128 {
        let height = self.find(id).map(|proposal| proposal.height);
        height.map_or(0, |height| self.before(height)[who])
    }

    fn cancel(&mut self, who: usize, id: u64) -> Option<()> {
        if !self.is_open(id) {
            return None;
        }
        let proposal = self.find(id)?;
        if proposal.proposer != who || !proposal.votes.is_empty() {
            return None;
        }
        proposal.state = ProposalState::Canceled;
        Some(())
    }

    fn block(&mut self, secs: u64) {
        self.now += secs;
        self.weights.push(self.weights[self.weights.len() - 1]);
        let height = self.height();
        self.plan = self.plan.filter(|(_, planned)| *planned != height);
        let mut due: Vec<_> = (0..self.proposals.len())
            .filter(|index| self.proposals[*index].state == ProposalState::Active)
            .filter(|index| self.proposals[*index].ends_at <= self.now)
            .collect();
        due.sort_by_key(|index| self.proposals[*index].ends_at);
        for index in due.into_iter().take(FINAL_PER_BLOCK as usize) {
            self.finalize(index);
        }
    }

    fn finalize(&mut self, index: usize) {
        let height = self.height();
        let proposal = &self.proposals[index];
        let total: u128 = self.before(proposal.height).iter().sum();
        let sum = |wanted: &[VoteOption]| -> u128 {
            proposal.votes.values().filter(|(option, _)| wanted.contains(option)).map(|(_, weight)| weight).sum()
        };
        let (yes, veto, voted) = (sum(&[VoteOption::Yes]), sum(&[VoteOption::Veto]), sum(&VoteOption::ALL));
        let state = if voted * 1_000 < total * 334 {
            ProposalState::Expired
        } else if veto * 1_000 > voted * 334 {
            ProposalState::Vetoed
        } else if yes * 1_000 <= (voted - sum(&[VoteOption::Abstain])) * 500 {
            ProposalState::Rejected
        } else {
            let works = match proposal.subject {
                Subject::Text | Subject::Works => true,
                Subject::Fails => false,
                Subject::Upgrade(_) => self.plan.is_none() && proposal.planned > height,
            };
            if works && matches!(proposal.subject, Subject::Upgrade(_)) {
                self.plan = Some((index as u64 + 1, proposal.planned));
            }
            if works { ProposalState::Executed } else { ProposalState::Failed }
        };
        self.proposals[index].state = state;
    }
}

struct Run {
    lab: Lab,
    model: Model,
}

impl Run {
    fn new() -> Self {
        let genesis = [100, 200, 700, 0].map(|tokens| tokens * 1_000_000_000);
        let model = Model { weights: vec![genesis, genesis], proposals: Vec::new(), plan: None, now: 1_001 };
        Self { lab: Lab::staked(), model }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let lab = &mut self.lab;
        let (result, want) = match *step {
            Step::Propose(who, more, subject) => {
                let want = self.model.propose(who, more, subject);
                let secs = PERIOD as u32 + more;
                let terms = sol::Terms { votingPeriodSecs: secs, ..terms() };
                let enable = |name: &str| {
                    let (terms, name) = (terms.clone(), name.to_owned());
                    sol::proposeModuleEnableCall { terms, name, version: 1, configHash: B256::ZERO }
                };
                let result = match subject {
                    Subject::Text => lab.call(PEOPLE[who], &sol::proposeTextCall { terms }),
                    Subject::Works => lab.call(PEOPLE[who], &enable("works")),
                    Subject::Fails => lab.call(PEOPLE[who], &enable("reverts")),
                    Subject::Upgrade(ahead) => {
                        let height = lab.block.height.get() + ahead;
                        let (name, info) = ("v2".to_owned(), String::new());
                        lab.call(PEOPLE[who], &sol::proposeUpgradeCall { terms, name, height, info })
                    }
                };
                (result, want)
            }
            Step::Vote(who, id, option, part) => {
                let power = U256::from(self.model.power(who, id));
                let want = self.model.vote(who, id, option, part);
                let weight = match part {
                    Part::Zero => U256::ZERO,
                    Part::Max => U256::MAX,
                    Part::Half => power / U256::from(2),
                    Part::All => power,
                    Part::Above => power + U256::ONE,
                };
                (lab.call(PEOPLE[who], &vote_call(U256::from(id), option, weight)), want)
            }
            Step::Cancel(who, id) => {
                let want = self.model.cancel(who, id);
                (lab.call(PEOPLE[who], &sol::cancelCall { id: U256::from(id) }), want)
            }
            Step::Delegate(validator, amount) => {
                lab.delegate(PEOPLE[validator], gwei(amount));
                let last = self.model.weights.len() - 1;
                self.model.weights[last][validator] += u128::from(amount);
                return Ok(());
            }
            Step::Block(secs) => {
                self.model.block(secs);
                lab.next_block(secs);
                return Ok(());
            }
        };
        prop_assert_eq!(result.is_success(), want.is_some(), "{:?}: {}", step, result.output);
        Ok(())
    }

    fn compare(&mut self) -> Result<(), TestCaseError> {
        let page = self.lab.ok(ALICE, &sol::proposalsCall { from: U256::ZERO, count: U256::MAX });
        let shown = self.model.proposals.iter().take(PAGE_MAX as usize);
        prop_assert_eq!(page.len(), shown.len());
        for (answer, proposal) in page.into_iter().zip(shown) {
            let record = ProposalRecord::from_answer(answer).unwrap();
            prop_assert_eq!(record.state, proposal.state, "proposal {}", record.id);
            let mut tally = Tally::default();
            for (option, weight) in proposal.votes.values() {
                *tally.of(*option) += weight;
            }
            prop_assert_eq!(record.tally, tally);
            let total: u128 = self.model.before(proposal.height).iter().sum();
            prop_assert_eq!(record.total_weight, total);
            prop_assert!(tally.voted() <= U256::from(total), "more votes than weight");
            prop_assert_eq!(record.failure.is_some(), proposal.state == ProposalState::Failed);
            prop_assert_eq!(record.finalized.is_some(), proposal.state != ProposalState::Active);
        }
        let mut open: Vec<_> = (1_u64..).zip(&self.model.proposals).collect();
        open.retain(|(_, proposal)| proposal.state == ProposalState::Active);
        open.sort_by_key(|(_, proposal)| proposal.ends_at);
        let open: Vec<_> = open.into_iter().map(|(id, _)| U256::from(id)).collect();
        prop_assert_eq!(self.lab.ok(ALICE, &sol::openProposalsCall {}), open);
        let plan = UpgradePlan::from_answer(self.lab.ok(ALICE, &sol::upgradePlanCall {}));
        prop_assert_eq!(plan.map(|plan| (plan.proposal, plan.height.get())), self.model.plan);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_contract_is_the_model(steps in vec(step(), 1..80)) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step)?;
            run.compare()?;
        }
    }

    /// Whatever the call data says.
    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..24, tail: Vec<u8>, is_system: bool) {
        use alloy_sol_types::SolInterface;
        let mut lab = Lab::staked();
        let known = sol::GovernanceCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        let gas = crate::primitives::Gas::new(16_000_000);
        let message = if is_system {
            crate::vm::Message::system_call(GOVERNANCE_ADDRESS, &input, gas)
        } else {
            crate::vm::Message::call(V1, GOVERNANCE_ADDRESS, U256::ZERO, &input, gas)
        };
        let result = lab.run(&message);
        prop_assert_ne!(result.outcome, crate::vm::FrameOutcome::Halt(crate::vm::HaltReason::TemplatePanic));
    }
}
