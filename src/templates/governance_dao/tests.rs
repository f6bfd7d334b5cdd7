//! The governor's rules, what it costs, and all histories against a model.

mod ballots;
mod golden;
mod governance;
mod hostile;
mod model;

use alloy_primitives::{address, keccak256};

use super::{interface as sol, *};
use crate::{
    templates::{
        test_chain::{
            NOW, TestChain,
            test_token::TestToken,
            test_votes::{self as votes, TestVotes},
        },
        timelock_controller::interface as timelock,
    },
    vm::{Descriptor, FrameOutcome},
};

const FOUNDER: Address = address!("000000000000000000000000000000000000a001");
const ALICE: Address = address!("000000000000000000000000000000000000b002");
const BOB: Address = address!("000000000000000000000000000000000000c003");
const STRANGER: Address = address!("000000000000000000000000000000000000d004");
const DELAY: u64 = 3;
const PERIOD: u64 = 10;
const TIMELOCK_DELAY: u64 = 100;
const AGAINST: u8 = 0;
const FOR: u8 = 1;
const ABSTAIN: u8 = 2;

/// A governor; of 1,000 units of its token the founder has 600, Alice 300 and Bob 100, which all vote for themselves. The timelock may mint
/// the token, and has 500 wei.
#[derive(Clone)]
struct World {
    chain: TestChain,
    token: Address,
    governor: Address,
    timelock: Address,
}

fn params(token: Address) -> GovernanceDaoParams {
    GovernanceDaoParams {
        voting_delay: DELAY,
        voting_period: PERIOD as u32,
        proposal_threshold: U256::from(100),
        timelock_delay_secs: TIMELOCK_DELAY,
        ..GovernanceDaoParams::new("Council", token)
    }
}

fn with_token() -> (TestChain, Address) {
    let mut chain = TestChain::new(&[FOUNDER, ALICE, BOB, STRANGER]);
    chain.advance(10);
    let token = chain.deploy(FOUNDER, 0, &TestVotes::init_code(1_000));
    (chain, token)
}

fn deploy() -> World {
    let (mut chain, token) = with_token();
    let governor = chain.deploy(FOUNDER, 0, &params(token).init_code());
    let timelock = chain.read(governor, &sol::timelockCall {});
    for (to, value) in [(ALICE, 300), (BOB, 100)] {
        chain.ok(FOUNDER, token, &votes::transferCall { to, value: U256::from(value) });
    }
    for account in [FOUNDER, ALICE, BOB] {
        chain.ok(account, token, &votes::delegateCall { delegatee: account });
    }
    chain.ok(FOUNDER, token, &votes::transferOwnershipCall { newOwner: timelock });
    assert!(chain.send(FOUNDER, timelock, 500, &[], 1_000).is_success());
    chain.advance(1);
    World { chain, token, governor, timelock }
}

/// A proposal of calls without value.
fn proposal(calls: &[(Address, Vec<u8>)], description: &str) -> sol::proposeCall {
    sol::proposeCall {
        targets: calls.iter().map(|(target, _)| *target).collect(),
        values: vec![U256::ZERO; calls.len()],
        calldatas: calls.iter().map(|(_, data)| data.clone().into()).collect(),
        description: description.to_owned(),
    }
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.governor, call)
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.governor, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.governor, call)
    }

    fn state(&self, id: U256) -> sol::ProposalState {
        self.read(&sol::stateCall { proposalId: id })
    }

    fn vote(&mut self, voter: Address, id: U256, support: u8) -> U256 {
        self.ok(voter, &sol::castVoteCall { proposalId: id, support })
    }

    fn mint(&self, value: u64) -> (Address, Vec<u8>) {
        (self.token, votes::mintCall { to: STRANGER, value: U256::from(value) }.abi_encode())
    }

    /// Proposes, and moves to the first block of the vote.
    fn active(&mut self, proposal: &sol::proposeCall) -> U256 {
        let id = self.ok(FOUNDER, proposal);
        self.chain.advance(DELAY + 1);
        id
    }

    /// Proposes, and lets the proposal succeed.
    fn succeeded(&mut self, proposal: &sol::proposeCall) -> U256 {
        let id = self.active(proposal);
        self.vote(FOUNDER, id, FOR);
        self.chain.advance(PERIOD);
        id
    }

    /// Proposes, and lets the proposal wait in the timelock until it may be executed.
    fn queued(&mut self, proposal: &sol::proposeCall) -> U256 {
        let id = self.succeeded(proposal);
        self.ok(STRANGER, &sol::queue_1Call { proposalId: id });
        self.wait(TIMELOCK_DELAY);
        id
    }

    fn wait(&mut self, seconds: u64) {
        let now = self.chain.block.timestamp.as_secs();
        self.chain.at(now + seconds);
    }

    fn execute(&mut self, id: U256) {
        self.ok(STRANGER, &sol::execute_1Call { proposalId: id });
    }

    fn units(&self, account: Address) -> u64 {
        self.chain.read(self.token, &votes::balanceOfCall { account }).to()
    }
}

fn unexpected(id: U256, current: sol::ProposalState, states: u8) -> sol::GovernorUnexpectedProposalState {
    sol::GovernorUnexpectedProposalState { proposalId: id, current, expectedStates: U256::from(states).into() }
}

#[test]
fn constants_are_the_hashes_of_their_texts() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.governance.immutables").0), IMMUTABLES);
    let ballot = "Ballot(uint256 proposalId,uint8 support,address voter,uint256 nonce)";
    assert_eq!(keccak256(ballot), super::ballots::BALLOT_TYPE);
    let extended =
        "ExtendedBallot(uint256 proposalId,uint8 support,address voter,uint256 nonce,string reason,bytes params)";
    assert_eq!(keccak256(extended), super::ballots::EXTENDED_BALLOT_TYPE);
}

#[test]
fn a_new_governor_owns_its_timelock_alone() {
    let world = deploy();
    assert_eq!(world.timelock, world.governor.create(1));
    assert_eq!(world.chain.read(world.timelock, &timelock::getMinDelayCall {}), U256::from(TIMELOCK_DELAY));
    let roles = ["PROPOSER_ROLE", "CANCELLER_ROLE", "EXECUTOR_ROLE"].map(keccak256);
    for (role, holder) in [
        (roles[0], world.governor),
        (roles[1], world.governor),
        (roles[2], Address::ZERO),
        (B256::ZERO, world.timelock),
    ] {
        for account in [world.governor, world.timelock, FOUNDER, STRANGER, Address::ZERO] {
            let has = world.chain.read(world.timelock, &timelock::hasRoleCall { role, account });
            assert_eq!(has, account == holder, "{role} {account}");
        }
    }
    assert_eq!(world.read(&sol::nameCall {}), "Council");
    assert_eq!(world.read(&sol::tokenCall {}), world.token);
    assert_eq!(world.read(&sol::votingDelayCall {}), U256::from(DELAY));
    assert_eq!(world.read(&sol::votingPeriodCall {}), U256::from(PERIOD));
    assert_eq!(world.read(&sol::proposalThresholdCall {}), U256::from(100));
    assert_eq!(world.read(&sol::quorumNumerator_0Call {}), U256::from(4));
    assert_eq!(world.read(&sol::quorumCall { timepoint: U256::from(10) }), U256::from(40));
    assert_eq!(world.read(&sol::CLOCK_MODECall {}), "mode=blocknumber&from=default");
    assert_eq!(world.read(&sol::clockCall {}), U48::from(11));
}

#[test]
fn a_proposal_mints_tokens_once_it_has_passed_the_vote_and_the_timelock() {
    use sol::ProposalState::{Active, Executed, Pending, Queued, Succeeded};
    let mut world = deploy();
    let mint = proposal(&[world.mint(77)], "Mint 77 units");
    let id = world.ok(FOUNDER, &mint);
    assert_eq!(world.state(id), Pending);
    let created = sol::ProposalCreated {
        proposalId: id,
        proposer: FOUNDER,
        targets: mint.targets.clone(),
        values: mint.values.clone(),
        signatures: vec![String::new()],
        calldatas: mint.calldatas.clone(),
        voteStart: U256::from(11 + DELAY),
        voteEnd: U256::from(11 + DELAY + PERIOD),
        description: mint.description.clone(),
    };
    assert_eq!(world.chain.journal.logs()[0].data, created.encode_log_data());
    let cast = sol::castVoteCall { proposalId: id, support: FOR };
    world.chain.advance(DELAY);
    world.fails(FOUNDER, &cast, &unexpected(id, Pending, 2));
    world.chain.advance(1);
    assert_eq!(world.state(id), Active);
    assert_eq!(world.vote(ALICE, id, FOR), U256::from(300));
    let event =
        sol::VoteCast { voter: ALICE, proposalId: id, support: FOR, weight: U256::from(300), reason: String::new() };
    assert_eq!(world.chain.journal.logs()[0].data, event.encode_log_data());
    world.fails(ALICE, &cast, &sol::GovernorAlreadyCastVote { voter: ALICE });
    world.chain.advance(PERIOD - 1);
    assert_eq!(world.vote(BOB, id, AGAINST), U256::from(100));
    world.chain.advance(1);
    assert_eq!(world.state(id), Succeeded);
    world.fails(FOUNDER, &cast, &unexpected(id, Succeeded, 2));
    let execute = sol::execute_1Call { proposalId: id };
    world.fails(STRANGER, &execute, &unexpected(id, Succeeded, 32));
    world.ok(STRANGER, &sol::queue_1Call { proposalId: id });
    let eta = U256::from(NOW + TIMELOCK_DELAY);
    let queued = sol::ProposalQueued { proposalId: id, etaSeconds: eta };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, queued.encode_log_data());
    assert_eq!((world.state(id), world.read(&sol::proposalEtaCall { proposalId: id })), (Queued, eta));
    let early = world.chain.call(STRANGER, world.governor, &execute).err().unwrap();
    assert_eq!(early[..4], timelock::TimelockUnexpectedOperationState::SELECTOR);
    world.wait(TIMELOCK_DELAY);
    world.execute(id);
    assert_eq!(
        world.chain.journal.logs().last().unwrap().data,
        sol::ProposalExecuted { proposalId: id }.encode_log_data()
    );
    assert_eq!((world.state(id), world.units(STRANGER)), (Executed, 77));
    world.fails(STRANGER, &execute, &unexpected(id, Executed, 32));
}

#[test]
fn treasury_moves_with_what_is_sent_along() {
    let mut world = deploy();
    let pay = sol::proposeCall { values: vec![U256::from(700)], ..proposal(&[(BOB, Vec::new())], "Pay Bob") };
    let id = world.queued(&pay);
    let (chain, governor) = (&mut world.chain, world.governor);
    let before = chain.wei(BOB);
    let input = sol::execute_1Call { proposalId: id }.abi_encode();
    let refused = chain.send(STRANGER, governor, 199, &input, 1_000_000);
    assert_eq!((refused.outcome, &refused.output[..]), (FrameOutcome::Revert, &sol::FailedCall::SELECTOR[..]));
    assert!(chain.send(STRANGER, governor, 200, &input, 1_000_000).is_success());
    assert_eq!((chain.wei(BOB) - before, chain.wei(world.timelock), chain.wei(governor)), (700, 0, 0));
}

#[test]
fn a_proposal_is_defeated_without_quorum_or_majority() {
    use sol::ProposalState::{Defeated, Succeeded};
    // Forty of a thousand units are the quorum.
    let cases: [(&[(Address, u8)], _); 6] = [
        (&[], Defeated),
        (&[(BOB, FOR)], Succeeded),
        (&[(BOB, ABSTAIN)], Defeated),
        (&[(BOB, FOR), (ALICE, AGAINST)], Defeated),
        (&[(ALICE, FOR), (BOB, AGAINST)], Succeeded),
        (&[(STRANGER, FOR), (FOUNDER, ABSTAIN)], Defeated),
    ];
    for (number, (ballots, want)) in cases.into_iter().enumerate() {
        let mut world = deploy();
        let id = world.active(&proposal(&[world.mint(1)], "Mint"));
        for (voter, support) in ballots {
            world.vote(*voter, id, *support);
        }
        world.chain.advance(PERIOD);
        assert_eq!(world.state(id), want, "{number}");
        if want == Defeated {
            world.fails(STRANGER, &sol::queue_1Call { proposalId: id }, &unexpected(id, Defeated, 16));
        }
    }
    // With a quorum of four tenths Bob's votes alone are too few.
    let mut world = deploy();
    let change = sol::updateQuorumNumeratorCall { newQuorumNumerator: U256::from(40) };
    let id = world.queued(&proposal(&[(world.governor, change.abi_encode())], "Quorum"));
    world.execute(id);
    let id = world.active(&proposal(&[world.mint(1)], "Mint"));
    world.vote(BOB, id, FOR);
    world.vote(ALICE, id, ABSTAIN);
    world.chain.advance(PERIOD);
    assert_eq!(world.state(id), Succeeded, "a hundred in favour, three hundred abstaining");
}

#[test]
fn what_is_no_proposal_is_refused() {
    let mut world = deploy();
    let mint = proposal(&[world.mint(1)], "Mint");
    let lengths = |targets: u64, calldatas: u64, values: u64| sol::GovernorInvalidProposalLength {
        targets: U256::from(targets),
        calldatas: U256::from(calldatas),
        values: U256::from(values),
    };
    world.fails(FOUNDER, &proposal(&[], "Nothing"), &lengths(0, 0, 0));
    world.fails(FOUNDER, &sol::proposeCall { values: Vec::new(), ..mint.clone() }, &lengths(1, 1, 0));
    world.fails(FOUNDER, &sol::proposeCall { calldatas: Vec::new(), ..mint.clone() }, &lengths(1, 0, 1));
    let few =
        sol::GovernorInsufficientProposerVotes { proposer: STRANGER, votes: U256::ZERO, threshold: U256::from(100) };
    world.fails(STRANGER, &mint, &few);
    let id = world.ok(BOB, &mint);
    world.fails(FOUNDER, &mint, &unexpected(id, sol::ProposalState::Pending, 0));
    let unknown = U256::from(7);
    let nonexistent = sol::GovernorNonexistentProposal { proposalId: unknown };
    world.fails(FOUNDER, &sol::stateCall { proposalId: unknown }, &nonexistent);
    world.fails(FOUNDER, &sol::castVoteCall { proposalId: unknown, support: FOR }, &nonexistent);
    world.fails(FOUNDER, &sol::queue_1Call { proposalId: unknown }, &nonexistent);
    world.fails(FOUNDER, &sol::execute_1Call { proposalId: unknown }, &nonexistent);
    world.fails(FOUNDER, &sol::cancel_1Call { proposalId: unknown }, &nonexistent);
    world.fails(FOUNDER, &sol::proposalDetailsCall { proposalId: unknown }, &nonexistent);
    let out_of_bounds = alloy_sol_types::Panic { code: U256::from(0x32) };
    world.fails(FOUNDER, &sol::proposalDetailsAtCall { index: U256::ONE }, &out_of_bounds);
    world.fails(FOUNDER, &sol::proposalDetailsAtCall { index: U256::MAX }, &out_of_bounds);
    assert_eq!(world.read(&sol::proposalCountCall {}), U256::ONE);
    let details = world.read(&sol::proposalDetailsAtCall { index: U256::ZERO });
    assert_eq!((details.proposalId, details.targets, details.calldatas), (id, mint.targets, mint.calldatas));
    assert_eq!((details.values, details.descriptionHash), (mint.values, keccak256("Mint")));
}

#[test]
fn a_description_may_name_its_proposer() {
    let named = |address: &str| format!("Mint #proposer={address}");
    let bob = BOB.to_string();
    let cases = [
        (String::new(), true),
        (named(&bob), true),
        (named(&bob.to_lowercase()), true),
        (named(&ALICE.to_string()), false),
        // What is no address names nobody.
        (named(&bob.replace("0x", "1x")), true),
        (named(&ALICE.to_string().replace("000", "00g")), true),
        (format!("{} ", named(&ALICE.to_string())), true),
        (format!("Mint #proposes={ALICE}"), true),
        (format!("#proposer={ALICE}"), false),
        (ALICE.to_string(), true),
    ];
    for (description, want) in cases {
        assert_eq!(super::proposals::may_propose(BOB, description.as_bytes()), want, "{description}");
    }
    let mut world = deploy();
    let of_alice = proposal(&[world.mint(1)], &named(&ALICE.to_string()));
    world.fails(BOB, &of_alice, &sol::GovernorRestrictedProposer { proposer: BOB });
    world.ok(ALICE, &of_alice);
}

#[test]
fn a_proposer_cancels_until_the_vote_starts() {
    use sol::ProposalState::Canceled;
    let mut world = deploy();
    let mint = proposal(&[world.mint(1)], "Mint");
    let id = world.ok(BOB, &mint);
    let (cancel, account) = (sol::cancel_1Call { proposalId: id }, ALICE);
    world.fails(ALICE, &cancel, &sol::GovernorUnableToCancel { proposalId: id, account });
    let sol::proposeCall { targets, values, calldatas, .. } = mint.clone();
    let by_lists = sol::cancel_0Call { targets, values, calldatas, descriptionHash: keccak256("Mint") };
    assert_eq!(world.ok(BOB, &by_lists), id);
    assert_eq!(world.chain.journal.logs()[0].data, sol::ProposalCanceled { proposalId: id }.encode_log_data());
    assert_eq!(world.state(id), Canceled);
    world.fails(BOB, &cancel, &sol::GovernorUnableToCancel { proposalId: id, account: BOB });
    world.chain.advance(DELAY + 1);
    world.fails(BOB, &sol::castVoteCall { proposalId: id, support: FOR }, &unexpected(id, Canceled, 2));
    let id = world.active(&proposal(&[world.mint(2)], "Mint more"));
    let too_late = sol::GovernorUnableToCancel { proposalId: id, account: FOUNDER };
    world.fails(FOUNDER, &sol::cancel_1Call { proposalId: id }, &too_late);
}

/// A token without a clock is one whose votes are kept by blocks.
#[test]
fn time_is_the_blocks_number_where_the_token_has_no_clock() {
    let (mut chain, _) = with_token();
    let token = chain.deploy(FOUNDER, 0, &TestToken::init_code(0, 1_000));
    let governor = chain.deploy(FOUNDER, 0, &params(token).init_code());
    assert_eq!(chain.read(governor, &sol::clockCall {}), U48::from(10));
    assert_eq!(chain.read(governor, &sol::CLOCK_MODECall {}), "mode=blocknumber&from=default");
    chain.is_absent(FOUNDER, governor, &sol::getVotesCall { account: FOUNDER, timepoint: U256::ONE });
}

#[test]
fn bad_parameters_are_refused() {
    let (chain, token) = with_token();
    let good = params(token);
    let cases = [
        (
            GovernanceDaoParams { voting_period: 0, ..good.clone() },
            sol::GovernorInvalidVotingPeriod { votingPeriod: U256::ZERO }.abi_encode(),
        ),
        (
            GovernanceDaoParams { quorum_percent: 101, ..good.clone() },
            sol::GovernorInvalidQuorumFraction { quorumNumerator: U256::from(101), quorumDenominator: U256::from(100) }
                .abi_encode(),
        ),
        (GovernanceDaoParams { token: STRANGER, ..good.clone() }, Vec::new()),
        (
            GovernanceDaoParams { name: "A name of exactly thirty-two by.".to_owned(), ..good },
            sol::StringTooLong { str: "A name of exactly thirty-two by.".to_owned() }.abi_encode(),
        ),
    ];
    for (params, want) in cases {
        let (_, result) = chain.clone().create(STRANGER, 0, &params.init_code(), 10_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
    }
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = GovernanceDao.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = if slot < IMMUTABLES { slot.to_string() } else { format!("immutables + {}", slot - IMMUTABLES) };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_nameFallback 0 0 string",
        "_versionFallback 1 0 string",
        "_nonces 2 0 mapping(address => uint256)",
        "_name 3 0 string",
        "_proposals 4 0 mapping(uint256 => struct ProposalCore)",
        "_governanceCall 5 0 struct Bytes32Deque",
        "_proposalThreshold 7 0 uint256",
        "_votingDelay 8 0 uint48",
        "_votingPeriod 8 6 uint32",
        "_proposalVotes 9 0 mapping(uint256 => struct ProposalVote)",
        "_proposalIds 10 0 uint256[]",
        "_proposalDetails 11 0 mapping(uint256 => struct ProposalDetails)",
        "_quorumNumeratorHistory 12 0 struct Trace208",
        "_timelock 13 0 address",
        "_timelockIds 14 0 mapping(uint256 => bytes32)",
        "_token immutables + 0 0 address",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
    let core = &layout.types["t_struct(ProposalCore)_storage"];
    assert_eq!(core.number_of_bytes, "64");
}

#[test]
fn a_governor_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&GovernanceDao);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), FOUNDER);
    let values = serde_json::json!({ "name": "Council", "token": ALICE });
    assert_eq!(encode(values).unwrap(), GovernanceDaoParams::new("Council", ALICE).init_code());
    let values = serde_json::json!({
        "name": "Council", "token": ALICE, "votingDelay": "3", "votingPeriod": 10, "proposalThreshold": "100", "quorum": "4%",
        "timelockDelay": "100s",
    });
    assert_eq!(encode(values).unwrap(), params(ALICE).init_code());
    let errors = encode(serde_json::json!({ "votingPeriod": "1d", "quorum": 2.5 })).unwrap_err();
    let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["name", "token", "votingPeriod", "quorum"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = GovernanceDao.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (55, 12, 24));
    assert!(abi.receive.is_some() && abi.fallback.is_none());
}
