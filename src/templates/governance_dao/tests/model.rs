//! Random histories against a model that keeps all votes of all blocks, and arbitrary call data.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::vm::{HaltReason, Marker};

const ACCOUNTS: [Address; 4] = [FOUNDER, ALICE, BOB, STRANGER];
const THRESHOLD: u64 = 100;

#[derive(Clone, Debug)]
enum Step {
    Advance { blocks: u64, seconds: u64 },
    Transfer { from: usize, to: usize, amount: u64 },
    Delegate { from: usize, to: usize },
    Propose { by: usize, content: Content },
    Vote { by: usize, proposal: usize, support: u8 },
    Cancel { by: usize, proposal: usize },
    Queue(usize),
    Execute(usize),
}

/// What a proposal does.
#[derive(Clone, Copy, Debug)]
enum Content {
    Mint { to: usize, amount: u64 },
    SetQuorum(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (account, proposal) = (0..ACCOUNTS.len(), 0_usize..4);
    let content = prop_oneof![
        (account.clone(), 0_u64..500).prop_map(|(to, amount)| Content::Mint { to, amount }),
        (0_u64..=102).prop_map(Content::SetQuorum),
    ];
    prop_oneof![
        5 => (1_u64..8, 0_u64..80).prop_map(|(blocks, seconds)| Step::Advance { blocks, seconds }),
        2 => (account.clone(), account.clone(), 0_u64..400).prop_map(|(from, to, amount)| Step::Transfer { from, to, amount }),
        2 => (account.clone(), account.clone()).prop_map(|(from, to)| Step::Delegate { from, to }),
        3 => (account.clone(), content).prop_map(|(by, content)| Step::Propose { by, content }),
        6 => (account.clone(), proposal.clone(), prop_oneof![2 => Just(FOR), 2 => 0_u8..4])
            .prop_map(|(by, proposal, support)| Step::Vote { by, proposal, support }),
        1 => (account, proposal.clone()).prop_map(|(by, proposal)| Step::Cancel { by, proposal }),
        3 => proposal.clone().prop_map(Step::Queue),
        3 => proposal.prop_map(Step::Execute),
    ]
}

/// What is known at the end of a block.
#[derive(Clone, Debug)]
struct Moment {
    votes: [u64; 4],
    supply: u64,
    quorum: u64,
}

#[derive(Debug)]
struct Proposed {
    id: U256,
    by: usize,
    content: Content,
    start: u64,
    counts: [u64; 3],
    voted: BTreeSet<usize>,
    is_canceled: bool,
    is_executed: bool,
    /// In seconds.
    eta: Option<u64>,
}

#[derive(Debug)]
struct Model {
    balances: [u64; 4],
    delegates: [Option<usize>; 4],
    quorum: u64,
    height: u64,
    time: u64,
    /// By block.
    past: BTreeMap<u64, Moment>,
    proposals: Vec<Proposed>,
}

impl Model {
    fn new() -> Self {
        let mut model = Self {
            balances: [600, 300, 100, 0],
            delegates: [Some(0), Some(1), Some(2), None],
            quorum: 4,
            height: 10,
            time: NOW,
            past: BTreeMap::new(),
            proposals: Vec::new(),
        };
        model.advance(1, 0);
        model
    }

    fn advance(&mut self, blocks: u64, seconds: u64) {
        let mut votes = [0; 4];
        for (balance, delegate) in self.balances.iter().zip(self.delegates) {
            if let Some(delegate) = delegate {
                votes[delegate] += balance;
            }
        }
        let moment = Moment { votes, supply: self.balances.iter().sum(), quorum: self.quorum };
        for _ in 0..blocks {
            self.past.insert(self.height, moment.clone());
            self.height += 1;
        }
        self.time += seconds;
    }

    fn state(&self, proposed: &Proposed) -> sol::ProposalState {
        use sol::ProposalState::{Active, Canceled, Defeated, Executed, Pending, Queued, Succeeded};
        let [against, in_favour, abstaining] = proposed.counts;
        if proposed.is_executed {
            return Executed;
        }
        if proposed.is_canceled {
            return Canceled;
        }
        if proposed.start >= self.height {
            return Pending;
        }
        if proposed.start + PERIOD >= self.height {
            return Active;
        }
        let then = &self.past[&proposed.start];
        let is_successful = in_favour + abstaining >= then.supply * then.quorum / 100 && in_favour > against;
        match proposed.eta {
            _ if !is_successful => Defeated,
            None => Succeeded,
            Some(_) => Queued,
        }
    }
}

fn call_of(world: &World, content: Content) -> (Address, Vec<u8>) {
    match content {
        Content::Mint { to, amount } => {
            (world.token, votes::mintCall { to: ACCOUNTS[to], value: U256::from(amount) }.abi_encode())
        }
        Content::SetQuorum(percent) => {
            let call = sol::updateQuorumNumeratorCall { newQuorumNumerator: U256::from(percent) };
            (world.governor, call.abi_encode())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Votes count as they were when the vote started, however they move meanwhile; states follow the blocks; the quorum is that of the
    /// start.
    #[test]
    fn proposals_follow_a_model(steps in vec(step(), 1..60)) {
        let (mut world, mut model) = (deploy(), Model::new());
        for (number, step) in steps.into_iter().enumerate() {
            let index_of = |proposal: usize| proposal.checked_rem(model.proposals.len());
            match step {
                Step::Advance { blocks, seconds } => {
                    model.advance(blocks, seconds);
                    world.chain.advance(blocks);
                    world.wait(seconds);
                }
                Step::Transfer { from, to, amount } => {
                    let amount = amount.min(model.balances[from]);
                    let call = votes::transferCall { to: ACCOUNTS[to], value: U256::from(amount) };
                    world.chain.ok(ACCOUNTS[from], world.token, &call);
                    model.balances[from] -= amount;
                    model.balances[to] += amount;
                }
                Step::Delegate { from, to } => {
                    world.chain.ok(ACCOUNTS[from], world.token, &votes::delegateCall { delegatee: ACCOUNTS[to] });
                    model.delegates[from] = Some(to);
                }
                Step::Propose { by, content } => {
                    let call = proposal(&[call_of(&world, content)], &number.to_string());
                    let got = world.chain.call(ACCOUNTS[by], world.governor, &call);
                    prop_assert_eq!(got.is_ok(), model.past[&(model.height - 1)].votes[by] >= THRESHOLD);
                    if let Ok(id) = got {
                        let (counts, voted) = ([0; 3], BTreeSet::new());
                        let start = model.height + DELAY;
                        let (is_canceled, is_executed, eta) = (false, false, None);
                        model.proposals.push(Proposed { id, by, content, start, counts, voted, is_canceled, is_executed, eta });
                    }
                }
                Step::Vote { by, proposal, support } => {
                    let Some(index) = index_of(proposal) else { continue };
                    let state = model.state(&model.proposals[index]);
                    let proposed = &mut model.proposals[index];
                    let call = sol::castVoteCall { proposalId: proposed.id, support };
                    let got = world.chain.call(ACCOUNTS[by], world.governor, &call);
                    let is_counted = state == sol::ProposalState::Active && !proposed.voted.contains(&by) && support < 3;
                    prop_assert_eq!(got.is_ok(), is_counted);
                    if is_counted {
                        let weight = model.past[&proposed.start].votes[by];
                        prop_assert_eq!(got.unwrap(), U256::from(weight));
                        proposed.counts[usize::from(support)] += weight;
                        proposed.voted.insert(by);
                    }
                }
                Step::Cancel { by, proposal } => {
                    let Some(index) = index_of(proposal) else { continue };
                    let state = model.state(&model.proposals[index]);
                    let proposed = &mut model.proposals[index];
                    let call = sol::cancel_1Call { proposalId: proposed.id };
                    let got = world.chain.call(ACCOUNTS[by], world.governor, &call);
                    proposed.is_canceled |= state == sol::ProposalState::Pending && proposed.by == by;
                    prop_assert_eq!(got.is_ok(), state == sol::ProposalState::Pending && proposed.by == by);
                }
                Step::Queue(proposal) => {
                    let Some(index) = index_of(proposal) else { continue };
                    let state = model.state(&model.proposals[index]);
                    let proposed = &mut model.proposals[index];
                    let call = sol::queue_1Call { proposalId: proposed.id };
                    let got = world.chain.call(STRANGER, world.governor, &call);
                    prop_assert_eq!(got.is_ok(), state == sol::ProposalState::Succeeded);
                    if got.is_ok() {
                        proposed.eta = Some(model.time + TIMELOCK_DELAY);
                    }
                }
                Step::Execute(proposal) => {
                    let Some(index) = index_of(proposal) else { continue };
                    let state = model.state(&model.proposals[index]);
                    let proposed = &mut model.proposals[index];
                    let call = sol::execute_1Call { proposalId: proposed.id };
                    let got = world.chain.call(STRANGER, world.governor, &call);
                    let is_valid = !matches!(proposed.content, Content::SetQuorum(101..));
                    let is_due = state == sol::ProposalState::Queued && proposed.eta.is_some_and(|eta| eta <= model.time);
                    prop_assert_eq!(got.is_ok(), is_due && is_valid);
                    if is_due && is_valid {
                        proposed.is_executed = true;
                        match proposed.content {
                            Content::Mint { to, amount } => model.balances[to] += amount,
                            Content::SetQuorum(percent) => model.quorum = percent,
                        }
                    }
                }
            }
            for proposed in &model.proposals {
                prop_assert_eq!(world.state(proposed.id), model.state(proposed));
                let counted = world.read(&sol::proposalVotesCall { proposalId: proposed.id });
                let counted = [counted.againstVotes, counted.forVotes, counted.abstainVotes];
                prop_assert_eq!(counted, proposed.counts.map(U256::from));
            }
        }
        for (timepoint, moment) in model.past {
            let timepoint = U256::from(timepoint);
            let want = U256::from(moment.supply * moment.quorum / 100);
            prop_assert_eq!(world.read(&sol::quorumCall { timepoint }), want);
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..65, tail: Vec<u8>, words in vec(0_u64..400, 0..8), value in 0_u64..2) {
        let world = deploy();
        let known = sol::GovernorCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.into_iter().flat_map(|word| U256::from(word).to_be_bytes::<32>()).collect();
        let input = [known.as_slice(), &words, &tail].concat();
        for (from, gas) in [(FOUNDER, 1_000_000), (world.timelock, 1_000_000), (FOUNDER, 20_000)] {
            let mut chain = world.chain.clone();
            let value = if from == FOUNDER { value } else { 0 };
            let result = chain.send(from, world.governor, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(GovernanceDao::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[STRANGER]).create(STRANGER, value, &init_code, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
