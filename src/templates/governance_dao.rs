//! `governance-dao`: proposals on which the holders of a token vote, equivalent to the Governor that OpenZeppelin 5's wizard prints with
//! settings, storage, simple counting, votes of a token, a quorum in per cent and a TimelockController.
//!
//! A proposal is a list of calls. After the voting delay, the votes that accounts have at that moment may be cast for the voting
//! period. A proposal with more votes in favour than against, and a quorum of those in favour and in abstention, is queued in the timelock and
//! executed after its delay, both by anybody. Votes are the token's (ERC-5805); moments are those of its clock (ERC-6372), which are numbers
//! of blocks where it has none.
//!
//! The constructor creates the timelock, a contract of the template [`timelock-controller`](super::timelock_controller): the governor alone
//! schedules and cancels, anybody executes, and nobody but the timelock itself administers its roles. `timelock()` answers it. It owns what is
//! governed, such as ether, tokens and roles; the governor itself refuses deposits.
//!
//! Settings, the quorum and the timelock are changed by proposals alone.
//!
//! The storage layout is solc's for that contract:
//!
//! | slot | what |
//! |---|---|
//! | 0, 1 | unused since OpenZeppelin 5.7 (`EIP712`) |
//! | 2 | `mapping(address => uint256)` nonces |
//! | 3 | name |
//! | 4 | `mapping(uint256 => ProposalCore)` proposals |
//! | 5, 6 | `Bytes32Deque` calls of the governor itself in the proposal that is executed |
//! | 7 | proposal threshold, in units of the token |
//! | 8 | voting delay (48 bits), voting period (32 bits) |
//! | 9 | `mapping(uint256 => ProposalVote)` votes that were cast |
//! | 10 | `uint256[]` ids of proposals |
//! | 11 | `mapping(uint256 => ProposalDetails)` what proposals are to do |
//! | 12 | `Trace208` quorum in per cent, by time |
//! | 13 | timelock |
//! | 14 | `mapping(uint256 => bytes32)` ids of queued proposals in the timelock |
//! | [`IMMUTABLES`] | the token, which Solidity would put into the code |

mod ballots;
mod governance;
pub mod interface;
mod proposals;
mod state;
#[cfg(test)]
mod tests;
mod timelock;
mod voting_power;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{aliases::U48, uint};

use self::{
    ballots::Ballot,
    governance::{only_governance, refuse_deposit},
    interface::Governor::{self as sol, GovernorCalls as Calls},
    proposals::Proposal,
    state::{FIXED, GOVERNOR},
};
use super::common::{calldata::Calldata, erc165, receivers};
use crate::vm::{
    Marker, ParameterNote, Template, TemplateId,
    abi::{self, string_bytes},
    contract::*,
};

/// Slot of the token: keccak of `chainbox.governance.immutables`.
pub const IMMUTABLES: U256 = uint!(0x33faaa510164ee770c6457973a928cc130f3253aa43b4ef7f379365ee36f2af9_U256);

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::execute_0Call::SELECTOR, sol::execute_1Call::SELECTOR, sol::relayCall::SELECTOR];

/// Returns a function's signature with the arguments that the reference leaves in call data.
fn signature(selector: [u8; 4]) -> Option<&'static str> {
    match selector {
        sol::relayCall::SELECTOR => Some("relay(address,uint256,bytes calldata)"),
        sol::castVoteWithReasonCall::SELECTOR => Some("castVoteWithReason(uint256,uint8,string calldata)"),
        sol::castVoteWithReasonAndParamsCall::SELECTOR => {
            Some("castVoteWithReasonAndParams(uint256,uint8,string calldata,bytes)")
        }
        sol::castVoteWithReasonAndParamsBySigCall::SELECTOR => {
            Some("castVoteWithReasonAndParamsBySig(uint256,uint8,address,string calldata,bytes,bytes)")
        }
        other => Calls::signature_by_selector(other),
    }
}

/// What `COUNTING_MODE` returns.
const COUNTING_MODE: &str = "support=bravo&quorum=for,abstain";

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, address token, uint48 votingDelay, uint32 votingPeriod, uint256 proposalThreshold,
/// uint256 quorum, uint256 timelockDelay)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::GovernanceDaoParams};
/// let params = GovernanceDaoParams::new("Council", Address::repeat_byte(1));
/// assert_eq!(params.quorum_percent, 4);
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 10, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GovernanceDaoParams {
    /// Name, also of the domain of signatures (EIP-712), of at most 31 bytes.
    pub name: String,
    /// Token with votes.
    pub token: Address,
    /// Time from a proposal to the moment at which votes are counted, in blocks (in units of the token's clock), below 2^48.
    pub voting_delay: u64,
    /// Time of voting, in blocks (in units of the token's clock); not 0.
    pub voting_period: u32,
    /// Votes that a proposer needs, in units of the token.
    pub proposal_threshold: U256,
    /// Share of all votes that a proposal needs in favour or in abstention, in per cent, at most 100.
    pub quorum_percent: u8,
    /// Least time from the queueing of a proposal to its execution, in seconds.
    pub timelock_delay_secs: u64,
}

impl GovernanceDaoParams {
    /// Creates parameters with the wizard's delay (7,200 blocks), period (50,400 blocks), quorum (4 %) and threshold (0), and a
    /// timelock of two days.
    pub fn new(name: &str, token: Address) -> Self {
        Self {
            name: name.to_owned(),
            token,
            voting_delay: 7_200,
            voting_period: 50_400,
            proposal_threshold: U256::ZERO,
            quorum_percent: 4,
            timelock_delay_secs: 172_800,
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            name: self.name.clone(),
            token: self.token,
            votingDelay: U48::saturating_from(self.voting_delay),
            votingPeriod: self.voting_period,
            proposalThreshold: self.proposal_threshold,
            quorum: U256::from(self.quorum_percent),
            timelockDelay: U256::from(self.timelock_delay_secs),
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(GovernanceDao::ID).init_code(&self.encode())
    }
}

/// The template `governance-dao`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct GovernanceDao;

impl GovernanceDao {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(10, 1);
    /// Name of the template.
    pub const NAME: &'static str = "governance-dao";
}

impl Template for GovernanceDao {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "OpenZeppelin's Governor with a timelock"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("name", "Name, also of the domain of signatures (EIP-712), of at most 31 bytes."),
            ParameterNote::of("token", "Token whose votes count (ERC-5805), such as an erc20-token with votes."),
            ParameterNote::of("votingDelay", "Time from a proposal to the moment at which votes are counted.")
                .with_unit(Unit::Blocks)
                .with_default(7_200),
            ParameterNote::of("votingPeriod", "Time of voting, not 0.").with_unit(Unit::Blocks).with_default(50_400),
            ParameterNote::of("proposalThreshold", "Votes that a proposer needs.")
                .with_unit("the token's smallest unit")
                .with_default("0"),
            ParameterNote::of(
                "quorum",
                "Share of all votes that a proposal needs in favour or in abstention, at most 100.",
            )
            .with_unit(Unit::Percent { decimals: 0 })
            .with_default("4"),
            ParameterNote::of("timelockDelay", "Least time from the queueing of a proposal to its execution.")
                .with_unit(Unit::Duration)
                .with_default("2d"),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::GovernorStorage>().and::<state::GovernorImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("governance_dao/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: sol::constructorCall = host.decode_constructor(params)?;
        let sol::constructorCall { name, token, votingDelay: delay, votingPeriod: period, .. } = params;
        let timelock = timelock::create(host, params.timelockDelay)?;
        governance::construct(host, name, delay, period, params.proposalThreshold)?;
        voting_power::construct(host, token, params.quorum)?;
        timelock::update(host, timelock)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            // `receive`
            host.compute(abi::DISPATCH_UNITS)?;
            return refuse_deposit(host).map(|()| Bytes::new());
        }
        let reason = reason_of(input)?;
        charge_for_shared_bytes(host, input)?;
        let caller = host.caller();
        match host.decode_call_to_memory::<Calls>(input, PAYABLE, signature)? {
            Calls::name(call) => call.returns(GOVERNOR.name.get(host)?),
            Calls::version(call) => call.returns(state::VERSION.to_owned()),
            Calls::COUNTING_MODE(call) => call.returns(COUNTING_MODE.to_owned()),
            Calls::BALLOT_TYPEHASH(call) => call.returns(ballots::BALLOT_TYPE),
            Calls::EXTENDED_BALLOT_TYPEHASH(call) => call.returns(ballots::EXTENDED_BALLOT_TYPE),
            Calls::token(call) => call.returns(FIXED.token.get(host)?),
            Calls::timelock(call) => call.returns(GOVERNOR.timelock.get(host)?),
            Calls::clock(call) => call.returns(voting_power::clock(host)?),
            Calls::CLOCK_MODE(_) => Ok(abi::encode_output(&voting_power::clock_mode(host)?)),
            Calls::hashProposal(call) => { let id = Proposal::from(call.clone()).id(host)?; call.returns(id) }
            Calls::getProposalId(call) => { let id = Proposal::from(call.clone()).id(host)?; call.returns(id) }
            Calls::state(call) => call.returns(proposals::state(host, call.proposalId)?),
            Calls::proposalSnapshot(call) => call.returns(U256::from(proposals::head(host, call.proposalId)?.vote_start)),
            Calls::proposalDeadline(call) => call.returns(U256::from(proposals::head(host, call.proposalId)?.deadline()?)),
            Calls::proposalProposer(call) => call.returns(proposals::head(host, call.proposalId)?.proposer),
            Calls::proposalEta(call) => call.returns(U256::from(GOVERNOR.proposals.at(host, call.proposalId)?.eta_seconds.get(host)?)),
            Calls::proposalNeedsQueuing(call) => call.returns(true),
            Calls::proposalCount(call) => call.returns(U256::from(GOVERNOR.proposal_ids.len(host)?)),
            Calls::proposalDetails(call) => { let details = Proposal::load(host, call.proposalId)?.details(); call.returns(details) }
            Calls::proposalDetailsAt(call) => {
                let id = GOVERNOR.proposal_ids.get(host, call.index.saturating_to())?;
                let (targets, values, calldatas, hash) = Proposal::load(host, id)?.details();
                call.returns((id, targets, values, calldatas, hash))
            }
            Calls::proposalVotes(call) => call.returns(proposals::votes(host, call.proposalId)?),
            Calls::hasVoted(call) => call.returns(GOVERNOR.proposal_votes.at(host, call.proposalId)?.has_voted.get(host, call.account)?),
            Calls::votingDelay(call) => call.returns(U256::from(GOVERNOR.voting_delay.get(host)?)),
            Calls::votingPeriod(call) => call.returns(U256::from(GOVERNOR.voting_period.get(host)?)),
            Calls::proposalThreshold(call) => call.returns(GOVERNOR.proposal_threshold.get(host)?),
            Calls::quorum(call) => call.returns(voting_power::quorum(host, call.timepoint)?),
            Calls::quorumNumerator_0(call) => call.returns(voting_power::quorum_numerator(host)?),
            Calls::quorumNumerator_1(call) => call.returns(voting_power::past_quorum_numerator(host, call.timepoint)?),
            Calls::quorumDenominator(call) => call.returns(voting_power::QUORUM_DENOMINATOR),
            Calls::getVotes(call) => call.returns(voting_power::get_votes(host, call.account, call.timepoint)?),
            Calls::getVotesWithParams(call) => call.returns(voting_power::get_votes(host, call.account, call.timepoint)?),
            Calls::propose(call) => {
                let id = proposals::propose(host, call.clone(), string_bytes(input, 3)?)?;
                call.returns(id)
            }
            Calls::castVote(call) => call.returns(Ballot::plain(call.proposalId, caller, call.support).cast(host)?),
            Calls::castVoteWithReason(call) => {
                call.returns(Ballot { reason, ..Ballot::plain(call.proposalId, caller, call.support) }.cast(host)?)
            }
            Calls::castVoteWithReasonAndParams(call) => {
                let params = call.params.clone();
                call.returns(Ballot { reason, params, ..Ballot::plain(call.proposalId, caller, call.support) }.cast(host)?)
            }
            Calls::castVoteBySig(call) => {
                let ballot = Ballot::plain(call.proposalId, call.voter, call.support);
                ballot.check_signature(host, &call.signature)?;
                call.returns(ballot.cast(host)?)
            }
            Calls::castVoteWithReasonAndParamsBySig(call) => {
                let params = call.params.clone();
                let ballot = Ballot { reason, params, ..Ballot::plain(call.proposalId, call.voter, call.support) };
                ballot.check_extended_signature(host, &call.signature)?;
                call.returns(ballot.cast(host)?)
            }
            Calls::queue_0(call) => { let id = proposals::queue(host, &Proposal::from(call.clone()))?; call.returns(id) }
            Calls::queue_1(call) => { let proposal = Proposal::load(host, call.proposalId)?; proposals::queue(host, &proposal)?; call.returns(()) }
            Calls::execute_0(call) => { let id = proposals::execute(host, &Proposal::from(call.clone()))?; call.returns(id) }
            Calls::execute_1(call) => { let proposal = Proposal::load(host, call.proposalId)?; proposals::execute(host, &proposal)?; call.returns(()) }
            Calls::cancel_0(call) => { let id = Proposal::from(call.clone()).id(host)?; call.returns(proposals::cancel(host, id)?) }
            Calls::cancel_1(call) => call.returns(proposals::cancel_known(host, call.proposalId)?),
            Calls::relay(call) => { only_governance(host, input)?; call.returns(governance::relay(host, &call)?) }
            Calls::setVotingDelay(call) => { only_governance(host, input)?; call.returns(governance::set_voting_delay(host, call.newVotingDelay)?) }
            Calls::setVotingPeriod(call) => { only_governance(host, input)?; call.returns(governance::set_voting_period(host, call.newVotingPeriod)?) }
            Calls::setProposalThreshold(call) => {
                only_governance(host, input)?;
                call.returns(governance::set_proposal_threshold(host, call.newProposalThreshold)?)
            }
            Calls::updateQuorumNumerator(call) => {
                only_governance(host, input)?;
                call.returns(voting_power::update_quorum_numerator(host, call.newQuorumNumerator)?)
            }
            Calls::updateTimelock(call) => { only_governance(host, input)?; call.returns(timelock::update(host, call.newTimelock)?) }
            Calls::nonces(call) => call.returns(GOVERNOR.nonces.nonces.get(host, call.owner)?),
            Calls::eip712Domain(call) => call.returns(state::domain(host)?.fields(host)),
            Calls::onERC721Received(call) => { refuse_deposit(host)?; call.returns(receivers::accepted(&call)) }
            Calls::onERC1155Received(call) => { refuse_deposit(host)?; call.returns(receivers::accepted(&call)) }
            Calls::onERC1155BatchReceived(call) => { refuse_deposit(host)?; call.returns(receivers::accepted(&call)) }
            Calls::supportsInterface(call) => call.returns(erc165::supports(call.interfaceId.0, &INTERFACES)),
        }
    }
}

/// Returns the reason of a vote, which Solidity leaves in call data; empty for other functions.
fn reason_of(input: &[u8]) -> Result<Bytes, Stop> {
    let (parameters, index) = match input.first_chunk::<4>().copied().unwrap_or_default() {
        sol::castVoteWithReasonCall::SELECTOR => (3, 2),
        sol::castVoteWithReasonAndParamsCall::SELECTOR => (4, 2),
        sol::castVoteWithReasonAndParamsBySigCall::SELECTOR => (6, 3),
        _ => return Ok(Bytes::new()),
    };
    Calldata::new(input, parameters)?.bytes(index).map(Bytes::copy_from_slice)
}

/// Charges for the calls of a proposal as they are in memory: elements of the list may share their bytes in the input.
fn charge_for_shared_bytes(host: &mut Host<'_>, input: &[u8]) -> Result<(), Stop> {
    let selector = input.first_chunk::<4>().copied().unwrap_or_default();
    if !WITH_CALLS.contains(&selector) {
        return Ok(());
    }
    // What cannot be read is refused by the decoder.
    let Ok(calldatas) = Calldata::new(input, 4).and_then(|arguments| arguments.byte_strings(2)) else { return Ok(()) };
    for data in calldatas.iter() {
        let Ok(data) = data else { return Ok(()) };
        host.compute(data.len().div_ceil(32) as u64)?;
    }
    Ok(())
}

/// Functions that take the calls of a proposal.
const WITH_CALLS: &[[u8; 4]] = &[
    sol::hashProposalCall::SELECTOR,
    sol::getProposalIdCall::SELECTOR,
    sol::proposeCall::SELECTOR,
    sol::queue_0Call::SELECTOR,
    sol::execute_0Call::SELECTOR,
    sol::cancel_0Call::SELECTOR,
];

/// ERC-165 ids, beside ERC-165's own: `IGovernor`, the same before it had `getProposalId`, `IERC1155Receiver`.
const INTERFACES: [[u8; 4]; 3] = {
    use sol::*;
    let governor = [
        nameCall::SELECTOR,
        versionCall::SELECTOR,
        COUNTING_MODECall::SELECTOR,
        hashProposalCall::SELECTOR,
        stateCall::SELECTOR,
        proposalThresholdCall::SELECTOR,
        proposalSnapshotCall::SELECTOR,
        proposalDeadlineCall::SELECTOR,
        proposalProposerCall::SELECTOR,
        proposalEtaCall::SELECTOR,
        proposalNeedsQueuingCall::SELECTOR,
        votingDelayCall::SELECTOR,
        votingPeriodCall::SELECTOR,
        quorumCall::SELECTOR,
        getVotesCall::SELECTOR,
        getVotesWithParamsCall::SELECTOR,
        hasVotedCall::SELECTOR,
        proposeCall::SELECTOR,
        queue_0Call::SELECTOR,
        execute_0Call::SELECTOR,
        cancel_0Call::SELECTOR,
        castVoteCall::SELECTOR,
        castVoteWithReasonCall::SELECTOR,
        castVoteWithReasonAndParamsCall::SELECTOR,
        castVoteBySigCall::SELECTOR,
        castVoteWithReasonAndParamsBySigCall::SELECTOR,
    ];
    let before = erc165::interface_id(&governor);
    [erc165::interface_id(&[before, getProposalIdCall::SELECTOR]), before, receivers::ERC1155_RECEIVER_ID]
};
