//! The wizard's governor with a timelock of its own, over a token with votes: `governance-dao`.

use alloy_primitives::{Address, B256, Bytes, U256, aliases::U48, keccak256};
use alloy_sol_types::{SolCall, SolValue, sol};
use chainbox::templates::{Erc20Features, Erc20Params, GovernanceDaoParams, governance_dao::IMMUTABLES};
use proptest::{prelude::*, sample::select};

use super::erc20::OWN_SLOTS;
use crate::{
    differential::Differential,
    engine::{Call, FIRST_BLOCK},
    layout::Keys,
    parties::{ADMIN, Answer, PERSONS, contract, person, receiver, signer},
    signatures::Signing,
    suite::{Creation, Scene, Suite},
    values::{self, a_person, sender},
};

sol! {
    function state(uint256 proposalId);
    function timelock();
    function hasVoted(uint256 proposalId, address account);
    function propose(address[] targets, uint256[] values, bytes[] calldatas, string description);
    function getProposalId(address[] targets, uint256[] values, bytes[] calldatas, bytes32 descriptionHash);
    function hashProposal(address[] targets, uint256[] values, bytes[] calldatas, bytes32 descriptionHash);
    function getVotesWithParams(address account, uint256 timepoint, bytes params);
    function proposalProposer(uint256 proposalId);
    function castVote(uint256 proposalId, uint8 support);
    function castVoteWithReason(uint256 proposalId, uint8 support, string reason);
    function castVoteWithReasonAndParams(uint256 proposalId, uint8 support, string reason, bytes params);
    function castVoteBySig(uint256 proposalId, uint8 support, address voter, bytes signature);
    function castVoteWithReasonAndParamsBySig(uint256 proposalId, uint8 support, address voter, string reason, bytes params, bytes signature);
    function relay(address target, uint256 value, bytes data);
    function setVotingDelay(uint48 newVotingDelay);
    function setVotingPeriod(uint32 newVotingPeriod);
    function setProposalThreshold(uint256 newProposalThreshold);
    function updateQuorumNumerator(uint256 newQuorumNumerator);
    function updateTimelock(address newTimelock);
    function onERC721Received(address operator, address from, uint256 id, bytes data);
    function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes data);
    function onERC1155BatchReceived(address operator, address from, uint256[] ids, uint256[] amounts, bytes data);
    function executeBatch(address[] targets, uint256[] values, bytes[] payloads, bytes32 predecessor, bytes32 salt);

    function transfer(address to, uint256 value);
    function mint(address to, uint256 amount);
    function delegate(address delegatee);
    function grantRole(bytes32 role, address account);

    interface ByLists {
        function queue(address[] targets, uint256[] values, bytes[] calldatas, bytes32 descriptionHash);
        function execute(address[] targets, uint256[] values, bytes[] calldatas, bytes32 descriptionHash);
        function cancel(address[] targets, uint256[] values, bytes[] calldatas, bytes32 descriptionHash);
    }

    interface ById {
        function queue(uint256 proposalId);
        function execute(uint256 proposalId);
        function cancel(uint256 proposalId);
    }

    struct Ballot {
        uint256 proposalId;
        uint8 support;
        address voter;
        uint256 nonce;
    }

    struct ExtendedBallot {
        uint256 proposalId;
        uint8 support;
        address voter;
        uint256 nonce;
        string reason;
        bytes params;
    }
}

const TOKEN: usize = 0;
const GOVERNOR: usize = 1;

/// States of a proposal.
const PENDING: u64 = 0;
const ACTIVE: u64 = 1;
const SUCCEEDED: u64 = 4;
const QUEUED: u64 = 5;

/// The proposal by which the governor becomes its own timelock.
const SELF_GOVERNMENT: usize = 0;

fn timelock_address() -> Address {
    contract(GOVERNOR).create(1)
}

#[derive(Clone, Debug)]
pub struct Governor;

#[derive(Clone, Debug)]
pub struct Setup {
    params: GovernanceDaoParams,
    /// Whether the proposals go to make the governor its own timelock, so that its setters can be called.
    is_self_governed: bool,
}

/// A proposal that may be made.
#[derive(Clone, Debug)]
struct Planned {
    targets: Vec<Address>,
    values: Vec<U256>,
    calldatas: Vec<Bytes>,
    description: String,
}

/// A proposal of the pool: the one with this number, or the next one that is in the right state.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    index: usize,
    is_apt: bool,
    is_by_lists: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Propose {
        from: Address,
        choice: Choice,
        short: u8,
    },
    /// Brings a proposal on: it is voted for, queued or executed, as its state is.
    Progress {
        from: Address,
        choice: Choice,
    },
    Vote {
        from: Address,
        choice: Choice,
        support: u8,
        reason: Option<Bytes>,
        params: Option<Bytes>,
    },
    VoteBySig {
        from: Address,
        choice: Choice,
        support: u8,
        signing: Signing,
        extended: Option<(String, Bytes)>,
        other: Option<Address>,
    },
    Queue {
        from: Address,
        choice: Choice,
    },
    Execute {
        from: Address,
        choice: Choice,
        value: u64,
    },
    /// The proposal's operation, executed in the timelock itself.
    ExecuteDirectly {
        from: Address,
        choice: Choice,
    },
    Cancel {
        from: Option<Address>,
        choice: Choice,
    },
    /// A call that only governance may make; by the governor itself where that may.
    Govern {
        from: Address,
        call: Bytes,
        value: u64,
    },
    Receive {
        from: Address,
        kind: u8,
        data: Bytes,
    },
    Pay {
        from: Address,
        value: u64,
    },
    Transfer {
        from: Address,
        to: Address,
        amount: u64,
    },
    Delegate {
        from: Address,
        to: Address,
    },
}

fn choice() -> impl Strategy<Value = Choice> {
    (0_usize..64, proptest::bool::weighted(0.85), any::<bool>()).prop_map(|(index, is_apt, is_by_lists)| Choice {
        index,
        is_apt,
        is_by_lists,
    })
}

fn setters() -> Vec<Bytes> {
    let calls = [
        setVotingDelayCall { newVotingDelay: U48::from(1) }.abi_encode(),
        setVotingPeriodCall { newVotingPeriod: 2 }.abi_encode(),
        setVotingPeriodCall { newVotingPeriod: 0 }.abi_encode(),
        setProposalThresholdCall { newProposalThreshold: U256::from(50) }.abi_encode(),
        updateQuorumNumeratorCall { newQuorumNumerator: U256::from(10) }.abi_encode(),
        updateQuorumNumeratorCall { newQuorumNumerator: U256::from(101) }.abi_encode(),
        relayCall { target: receiver(Answer::Accept), value: U256::from(1), data: Bytes::new() }.abi_encode(),
        relayCall { target: receiver(Answer::RevertEmpty), value: U256::ZERO, data: Bytes::new() }.abi_encode(),
        updateTimelockCall { newTimelock: timelock_address() }.abi_encode(),
        setVotingDelayCall { newVotingDelay: U48::MAX }.abi_encode(),
    ];
    calls.map(Bytes::from).to_vec()
}

fn pool() -> Vec<Planned> {
    let (token, governor) = (contract(TOKEN), contract(GOVERNOR));
    let planned = |calls: Vec<(Address, u64, Bytes)>, description: &str| Planned {
        targets: calls.iter().map(|(target, ..)| *target).collect(),
        values: calls.iter().map(|(_, value, _)| U256::from(*value)).collect(),
        calldatas: calls.into_iter().map(|(.., data)| data).collect(),
        description: description.to_owned(),
    };
    let mint = mintCall { to: person(3), amount: U256::from(7) }.abi_encode();
    let send = transferCall { to: person(3), value: U256::from(5) }.abi_encode();
    let long = "A description whose bytes don't fit into one word, nor into two of them";
    let set = setters();
    let itself = updateTimelockCall { newTimelock: governor }.abi_encode();
    vec![
        planned(vec![(governor, 0, itself.into())], "Self-government"),
        planned(vec![(token, 0, mint.into())], "Mint"),
        planned(vec![(person(3), 10, Bytes::new())], long),
        planned(
            vec![(governor, 0, set[0].clone()), (token, 0, send.clone().into()), (governor, 0, set[1].clone())],
            "Delay and period",
        ),
        planned(vec![(governor, 0, set[2].clone())], "No period"),
        planned(vec![(governor, 0, set[3].clone())], "Threshold"),
        planned(vec![(governor, 0, set[4].clone())], "Quorum"),
        planned(vec![(governor, 0, set[5].clone())], "Too large a quorum"),
        planned(vec![(governor, 3, set[6].clone())], "Relay"),
        planned(vec![(receiver(Answer::RevertEmpty), 0, Bytes::new())], "A call that fails"),
        planned(vec![(receiver(Answer::RevertWithError), 0, Bytes::new())], "A call that fails with an error"),
        planned(vec![(token, 0, send.into())], &format!("Send #proposer={}", person(1))),
        planned(vec![(person(2), 0, Bytes::new())], &format!("#proposer={}", person(2).to_string().to_lowercase())),
        planned(vec![(person(2), 1, Bytes::new())], "#proposer=0x00000000000000000000000000000000000000zz"),
    ]
}

impl Planned {
    fn hash(&self) -> B256 {
        keccak256(&self.description)
    }

    fn id(&self) -> U256 {
        let Self { targets, values, calldatas, .. } = self.clone();
        keccak256((targets, values, calldatas, self.hash()).abi_encode_params()).into()
    }

    fn queue(&self, choice: Choice) -> Vec<u8> {
        let Self { targets, values, calldatas, .. } = self.clone();
        match choice.is_by_lists {
            true => ByLists::queueCall { targets, values, calldatas, descriptionHash: self.hash() }.abi_encode(),
            false => ById::queueCall { proposalId: self.id() }.abi_encode(),
        }
    }

    fn execute(&self, choice: Choice) -> Vec<u8> {
        let Self { targets, values, calldatas, .. } = self.clone();
        match choice.is_by_lists {
            true => ByLists::executeCall { targets, values, calldatas, descriptionHash: self.hash() }.abi_encode(),
            false => ById::executeCall { proposalId: self.id() }.abi_encode(),
        }
    }

    fn cancel(&self, choice: Choice) -> Vec<u8> {
        let Self { targets, values, calldatas, .. } = self.clone();
        match choice.is_by_lists {
            true => ByLists::cancelCall { targets, values, calldatas, descriptionHash: self.hash() }.abi_encode(),
            false => ById::cancelCall { proposalId: self.id() }.abi_encode(),
        }
    }

    fn execute_directly(&self) -> Vec<u8> {
        let Self { targets, values, calldatas: payloads, .. } = self.clone();
        let mut salt = self.hash();
        salt.iter_mut().zip(contract(GOVERNOR)).for_each(|(byte, own)| *byte ^= own);
        executeBatchCall { targets, values, payloads, predecessor: B256::ZERO, salt }.abi_encode()
    }
}

/// Returns the state of a proposal; `None` for one that there is not.
fn state_of(scene: &mut Scene<'_>, id: U256) -> Option<u64> {
    let input = stateCall { proposalId: id }.abi_encode().into();
    let call = Call { from: Address::ZERO, to: contract(GOVERNOR), value: U256::ZERO, input };
    let outcome = scene.reference.view(&call);
    outcome.is_success().then(|| U256::from_be_slice(outcome.output()).saturating_to())
}

impl Choice {
    fn planned(self, scene: &mut Scene<'_>, states: &[Option<u64>]) -> Planned {
        let pool = pool();
        let count = pool.len();
        let mut all = (0..count).map(|offset| &pool[(self.index + offset) % count]);
        let apt = all.find(|planned| self.is_apt && states.contains(&state_of(scene, planned.id())));
        apt.unwrap_or(&pool[self.index % count]).clone()
    }

    /// Returns a proposal on which an account has not voted yet, if there is one.
    fn votable(self, scene: &mut Scene<'_>, account: Address) -> Planned {
        let pool = pool();
        let count = pool.len();
        let mut all = (0..count).map(|offset| &pool[(self.index + offset) % count]);
        let apt = all.find(|planned| {
            let has_voted = hasVotedCall { proposalId: planned.id(), account };
            state_of(scene, planned.id()) == Some(ACTIVE) && scene.read(contract(GOVERNOR), &has_voted).is_zero()
        });
        apt.unwrap_or(&pool[self.index % count]).clone()
    }
}

/// Returns the next call that brings some proposal on: a vote, its queueing or execution; else what makes one.
fn progress(from: Address, choice: Choice, scene: &mut Scene<'_>) -> Vec<u8> {
    let pool = pool();
    let count = pool.len();
    for planned in (0..count).map(|offset| &pool[(choice.index + offset) % count]) {
        let input = match state_of(scene, planned.id()) {
            Some(ACTIVE) => castVoteCall { proposalId: planned.id(), support: 1 }.abi_encode(),
            Some(SUCCEEDED) => planned.queue(choice),
            Some(QUEUED) => planned.execute(choice),
            _ => continue,
        };
        let call = Call { from, to: contract(GOVERNOR), value: U256::ZERO, input: input.clone().into() };
        if scene.reference.view(&call).is_success() {
            return input;
        }
    }
    propose(choice.planned(scene, &[None]), 0)
}

impl Suite for Governor {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = "DaoWithTimelock";
    const INDEX: usize = GOVERNOR;
    const UNREACHABLE: &'static [&'static str] = &[
        // Blocks only grow.
        "CheckpointUnorderedInsertion()",
        "ERC6372InconsistentClock()",
        // Those of governors that need no queue, count in other ways, or whose timelock is another one.
        "GovernorAlreadyQueuedProposal(uint256)",
        "GovernorInvalidVoteParams()",
        "GovernorProposalQueueingFailed(uint256)",
        "GovernorProposalQueueingNotRequired(uint256)",
        // A wrong nonce is a wrong signature.
        "InvalidAccountNonce(address,uint256)",
        "InvalidShortString()",
        // Places that OpenZeppelin 5.7.0 no longer uses.
        "_nameFallback",
        "_versionFallback",
    ];
    // A proposal goes through several blocks.
    const ADVANCES: u32 = 5;
    const WITHOUT_EFFECT: &'static [&'static str] = &[
        "onERC721Received(address,address,uint256,bytes)",
        "onERC1155Received(address,address,uint256,uint256,bytes)",
        "onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)",
    ];

    fn setups() -> BoxedStrategy<Setup> {
        let name = prop_oneof![12 => values::short_text(), 1 => values::text()];
        let delay = prop_oneof![6 => Just(0_u64), 2 => Just(1), 1 => Just(3)];
        let period = prop_oneof![6 => Just(3_u32), 12 => Just(6), 1 => Just(0)];
        let threshold = prop_oneof![4 => Just(0_u64), 3 => Just(150), 1 => Just(2_000)];
        let quorum = prop_oneof![6 => Just(4_u8), 2 => Just(40), 1 => Just(0), 1 => Just(100), 1 => Just(101)];
        let timelock_delay = prop_oneof![4 => Just(0_u64), 2 => Just(30)];
        let is_self_governed = proptest::bool::weighted(0.4);
        (name, delay, period, threshold, quorum, timelock_delay, is_self_governed)
            .prop_map(|(name, delay, period, threshold, quorum, timelock_delay_secs, is_self_governed)| {
                let params = GovernanceDaoParams {
                    voting_delay: delay,
                    voting_period: period,
                    proposal_threshold: U256::from(threshold),
                    quorum_percent: quorum,
                    timelock_delay_secs,
                    ..GovernanceDaoParams::new(&name, contract(TOKEN))
                };
                Setup { params, is_self_governed }
            })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        let support = || prop_oneof![6 => Just(1_u8), 2 => Just(0), 2 => Just(2), 1 => Just(3)];
        let extended = proptest::option::of((values::text(), values::data()));
        let setter = || select(setters());
        let voting = prop_oneof![
            3 => (sender(), choice(), support(), proptest::option::of(values::text_bytes()), proptest::option::of(values::data()))
                .prop_map(|(from, choice, support, reason, params)| Operation::Vote { from, choice, support, reason, params }),
            4 => (sender(), choice(), support(), Signing::strategy(), extended, proptest::option::weighted(0.3, values::account()))
                .prop_map(|(from, choice, support, signing, extended, other)| {
                    Operation::VoteBySig { from, choice, support, signing, extended, other }
                }),
        ]
        .boxed();
        let proposing = prop_oneof![
            6 => (a_person(), choice(), prop_oneof![9 => Just(0_u8), 1 => 1_u8..4])
                .prop_map(|(from, choice, short)| Operation::Propose { from, choice, short }),
            24 => (sender(), choice()).prop_map(|(from, choice)| Operation::Progress { from, choice }),
            2 => (sender(), choice()).prop_map(|(from, choice)| Operation::Queue { from, choice }),
            2 => (sender(), choice(), 0_u64..20).prop_map(|(from, choice, value)| Operation::Execute { from, choice, value }),
            1 => (sender(), choice()).prop_map(|(from, choice)| Operation::ExecuteDirectly { from, choice }),
            2 => (proptest::option::weighted(0.3, sender()), choice())
                .prop_map(|(from, choice)| Operation::Cancel { from, choice }),
        ]
        .boxed();
        let others = prop_oneof![
            4 => (a_person(), setter(), prop_oneof![4 => Just(0_u64), 1 => Just(2)])
                .prop_map(|(from, call, value)| Operation::Govern { from, call, value }),
            1 => (sender(), 0_u8..3, values::data()).prop_map(|(from, kind, data)| Operation::Receive { from, kind, data }),
            1 => (a_person(), 0_u64..20).prop_map(|(from, value)| Operation::Pay { from, value }),
            2 => (a_person(), a_person(), 0_u64..80).prop_map(|(from, to, amount)| Operation::Transfer { from, to, amount }),
            2 => (a_person(), prop_oneof![4 => a_person(), 1 => Just(receiver(Answer::Accept))])
                .prop_map(|(from, to)| Operation::Delegate { from, to }),
        ]
        .boxed();
        prop_oneof![7 => voting, 20 => proposing, 7 => others].boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        vec![
            Creation::reference("Erc20", &token_params().encode()),
            Creation::reference(Self::CONTRACT, &setup.params.encode()),
        ]
    }

    fn created() -> Vec<Address> {
        vec![timelock_address()]
    }

    fn call(setup: &Setup, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let mut to = contract(GOVERNOR);
        let (mut value, one) = (U256::ZERO, U256::ONE);
        let (from, input) = match operation.clone() {
            Operation::Propose { from, choice, short } => {
                let is_due = setup.is_self_governed && state_of(scene, pool()[SELF_GOVERNMENT].id()).is_none();
                let choice = if is_due { Choice { index: SELF_GOVERNMENT, ..choice } } else { choice };
                (from, propose(choice.planned(scene, &[None]), short))
            }
            Operation::Progress { from, choice } => (from, progress(from, choice, scene)),
            Operation::Vote { from, choice, support, reason, params } => {
                (from, vote(choice.votable(scene, from).id(), support, reason, params))
            }
            Operation::VoteBySig { from, choice, support, signing, extended, other } => {
                let voter = other.unwrap_or(signer(signing.signer).address());
                let id = choice.votable(scene, voter).id();
                (from, vote_by_signature(setup, id, support, voter, &signing, extended, scene))
            }
            Operation::Queue { from, choice } => (from, choice.planned(scene, &[Some(SUCCEEDED)]).queue(choice)),
            Operation::Execute { from, choice, value: sent } => {
                value = U256::from(sent);
                (from, choice.planned(scene, &[Some(QUEUED)]).execute(choice))
            }
            Operation::ExecuteDirectly { from, choice } => {
                to = timelock_address();
                (from, choice.planned(scene, &[Some(QUEUED)]).execute_directly())
            }
            Operation::Cancel { from, choice } => {
                let planned = choice.planned(scene, &[Some(PENDING)]);
                let proposer = scene.read(to, &proposalProposerCall { proposalId: planned.id() });
                (from.unwrap_or(Address::from_word(proposer.into())), planned.cancel(choice))
            }
            Operation::Govern { from, call, value: sent } => {
                let executor = Address::from_word(scene.read(to, &timelockCall {}).into());
                value = U256::from(sent);
                (if executor == to { to } else { from }, call.to_vec())
            }
            Operation::Receive { from, kind: 0, data } => {
                (from, onERC721ReceivedCall { operator: from, from, id: one, data }.abi_encode())
            }
            Operation::Receive { from, kind: 1, data } => {
                (from, onERC1155ReceivedCall { operator: from, from, id: one, amount: one, data }.abi_encode())
            }
            Operation::Receive { from, data, .. } => {
                let call =
                    onERC1155BatchReceivedCall { operator: from, from, ids: vec![one], amounts: vec![one], data };
                (from, call.abi_encode())
            }
            Operation::Pay { from, value: sent } => {
                value = U256::from(sent);
                (from, Vec::new())
            }
            Operation::Transfer { from, to: recipient, amount } => {
                to = contract(TOKEN);
                (from, transferCall { to: recipient, value: U256::from(amount) }.abi_encode())
            }
            Operation::Delegate { from, to: delegatee } => {
                to = contract(TOKEN);
                (from, delegateCall { delegatee }.abi_encode())
            }
        };
        Call { from, to, value, input: input.into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        let send =
            |from, to, value: u64, input: Vec<u8>| Call { from, to, value: U256::from(value), input: input.into() };
        let token = contract(TOKEN);
        let spread = |to| send(person(ADMIN), token, 0, transferCall { to, value: U256::from(200) }.abi_encode());
        let delegate = |index| send(person(index), token, 0, delegateCall { delegatee: person(index) }.abi_encode());
        let (role, account) = (values::role("MINTER_ROLE"), timelock_address());
        let rest = [
            spread(timelock_address()),
            send(person(ADMIN), token, 0, grantRoleCall { role, account }.abi_encode()),
            send(person(ADMIN), timelock_address(), 500, Vec::new()),
        ];
        (1..PERSONS).map(|index| spread(person(index))).chain((0..PERSONS).map(delegate)).chain(rest).collect()
    }

    fn keys(_: &Setup) -> Keys {
        let moments = values::numbers(FIRST_BLOCK..FIRST_BLOCK + 12);
        let numbers = pool().iter().map(Planned::id).chain(moments).collect();
        Keys { addresses: values::accounts(), numbers, words: vec![B256::ZERO] }
    }

    fn views(_: &Setup) -> Vec<Bytes> {
        let ids = |planned: &Planned| {
            let Planned { targets, values, calldatas, .. } = planned.clone();
            let id = getProposalIdCall { targets, values, calldatas, descriptionHash: planned.hash() };
            let getProposalIdCall { targets, values, calldatas, descriptionHash } = id.clone();
            let hash = hashProposalCall { targets, values, calldatas, descriptionHash };
            [id.abi_encode(), hash.abi_encode()]
        };
        let votes = |timepoint: u64| {
            let timepoint = U256::from(timepoint);
            getVotesWithParamsCall { account: person(1), timepoint, params: vec![1].into() }.abi_encode()
        };
        pool().iter().flat_map(ids).chain((FIRST_BLOCK..FIRST_BLOCK + 8).map(votes)).map(Bytes::from).collect()
    }
}

fn token_params() -> Erc20Params {
    Erc20Params { features: Erc20Features::ALL, ..Erc20Params::new("Gold", "GLD", U256::from(1_000), person(ADMIN)) }
}

/// Returns the input that proposes; with `short`, one of the lists lacks an element.
fn propose(planned: Planned, short: u8) -> Vec<u8> {
    let Planned { mut targets, mut values, mut calldatas, description } = planned;
    match short {
        1 => drop(targets.pop()),
        2 => drop(values.pop()),
        3 => drop(calldatas.pop()),
        _ => {}
    }
    proposeCall { targets, values, calldatas, description }.abi_encode()
}

/// Returns the input of the function of votes that has these arguments; a reason need not be UTF-8.
fn vote(id: U256, support: u8, reason: Option<Bytes>, params: Option<Bytes>) -> Vec<u8> {
    let support = U256::from(support);
    match (reason, params) {
        (None, _) => [castVoteCall::SELECTOR.to_vec(), (id, support).abi_encode_params()].concat(),
        (Some(reason), None) => {
            [castVoteWithReasonCall::SELECTOR.to_vec(), (id, support, reason).abi_encode_params()].concat()
        }
        (Some(reason), Some(params)) => {
            let arguments = (id, support, reason, params).abi_encode_params();
            [castVoteWithReasonAndParamsCall::SELECTOR.to_vec(), arguments].concat()
        }
    }
}

fn vote_by_signature(
    setup: &Setup,
    id: U256,
    support: u8,
    voter: Address,
    signing: &Signing,
    extended: Option<(String, Bytes)>,
    scene: &mut Scene<'_>,
) -> Vec<u8> {
    let governor = contract(GOVERNOR);
    let nonce = signing.nonce(governor, scene);
    let signed =
        |parts: crate::signatures::Parts| Bytes::from([parts.r.to_vec(), parts.s.to_vec(), vec![parts.v]].concat());
    match extended {
        None => {
            let message = Ballot { proposalId: id, support, voter, nonce };
            let signature = signed(signing.sign(&message, &setup.params.name, governor));
            castVoteBySigCall { proposalId: id, support, voter, signature }.abi_encode()
        }
        Some((reason, params)) => {
            let message = ExtendedBallot {
                proposalId: id,
                support,
                voter,
                nonce,
                reason: reason.clone(),
                params: params.clone(),
            };
            let signature = signed(signing.sign(&message, &setup.params.name, governor));
            let call =
                castVoteWithReasonAndParamsBySigCall { proposalId: id, support, voter, reason, params, signature };
            call.abi_encode()
        }
    }
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<Governor> {
        creations: |setup| vec![Creation::new(token_params().init_code()), Creation::new(setup.params.init_code())],
        own_slots: &[IMMUTABLES, OWN_SLOTS[0], OWN_SLOTS[1]],
        regressions: "tests/openzeppelin/regressions/governor.txt",
    }
    .run();
}
