//! The governor's Solidity interface, as OpenZeppelin 5.7 has it, and what it asks of a token with votes.
// The macros below make types whose fields are the Solidity parameters, and functions that take all fields of an event.
#![allow(missing_docs, clippy::too_many_arguments)]

alloy_sol_types::sol! {
    /// Holders of a token vote on proposals, which a timelock executes.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Governor {
        /// What becomes of a proposal.
        enum ProposalState { Pending, Active, Canceled, Defeated, Succeeded, Queued, Expired, Executed }

        constructor(string name, address token, uint48 votingDelay, uint32 votingPeriod, uint256 proposalThreshold, uint256 quorum, uint256 timelockDelay);

        event ProposalCreated(uint256 proposalId, address proposer, address[] targets, uint256[] values, string[] signatures, bytes[] calldatas, uint256 voteStart, uint256 voteEnd, string description);
        event ProposalQueued(uint256 proposalId, uint256 etaSeconds);
        event ProposalExecuted(uint256 proposalId);
        event ProposalCanceled(uint256 proposalId);
        event VoteCast(address indexed voter, uint256 proposalId, uint8 support, uint256 weight, string reason);
        event VoteCastWithParams(address indexed voter, uint256 proposalId, uint8 support, uint256 weight, string reason, bytes params);
        event VotingDelaySet(uint256 oldVotingDelay, uint256 newVotingDelay);
        event VotingPeriodSet(uint256 oldVotingPeriod, uint256 newVotingPeriod);
        event ProposalThresholdSet(uint256 oldProposalThreshold, uint256 newProposalThreshold);
        event QuorumNumeratorUpdated(uint256 oldQuorumNumerator, uint256 newQuorumNumerator);
        event TimelockChange(address oldTimelock, address newTimelock);
        event EIP712DomainChanged();

        error GovernorInvalidProposalLength(uint256 targets, uint256 calldatas, uint256 values);
        error GovernorAlreadyCastVote(address voter);
        error GovernorDisabledDeposit();
        error GovernorOnlyExecutor(address account);
        error GovernorNonexistentProposal(uint256 proposalId);
        error GovernorUnexpectedProposalState(uint256 proposalId, ProposalState current, bytes32 expectedStates);
        error GovernorInvalidVotingPeriod(uint256 votingPeriod);
        error GovernorInsufficientProposerVotes(address proposer, uint256 votes, uint256 threshold);
        error GovernorRestrictedProposer(address proposer);
        error GovernorInvalidVoteType();
        error GovernorInvalidVoteParams();
        error GovernorProposalQueueingNotRequired(uint256 proposalId);
        error GovernorProposalQueueingFailed(uint256 proposalId);
        error GovernorAlreadyQueuedProposal(uint256 proposalId);
        error GovernorInvalidSignature(address voter);
        error GovernorUnableToCancel(uint256 proposalId, address account);
        error GovernorInvalidQuorumFraction(uint256 quorumNumerator, uint256 quorumDenominator);
        error CheckpointUnorderedInsertion();
        error ERC6372InconsistentClock();
        error FailedCall();
        error InvalidAccountNonce(address account, uint256 currentNonce);
        error InvalidShortString();
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
        error StringTooLong(string str);

        receive() external payable;
        function name() external view returns (string memory);
        function version() external view returns (string memory);
        function COUNTING_MODE() external pure returns (string memory);
        function BALLOT_TYPEHASH() external view returns (bytes32);
        function EXTENDED_BALLOT_TYPEHASH() external view returns (bytes32);
        function token() external view returns (address);
        function timelock() external view returns (address);
        function clock() external view returns (uint48);
        function CLOCK_MODE() external view returns (string memory);
        function hashProposal(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash) external pure returns (uint256);
        function getProposalId(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash) external view returns (uint256);
        function state(uint256 proposalId) external view returns (ProposalState);
        function proposalSnapshot(uint256 proposalId) external view returns (uint256);
        function proposalDeadline(uint256 proposalId) external view returns (uint256);
        function proposalProposer(uint256 proposalId) external view returns (address);
        function proposalEta(uint256 proposalId) external view returns (uint256);
        function proposalNeedsQueuing(uint256 proposalId) external view returns (bool);
        function proposalCount() external view returns (uint256);
        function proposalDetails(uint256 proposalId) external view returns (address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash);
        function proposalDetailsAt(uint256 index) external view returns (uint256 proposalId, address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash);
        function proposalVotes(uint256 proposalId) external view returns (uint256 againstVotes, uint256 forVotes, uint256 abstainVotes);
        function hasVoted(uint256 proposalId, address account) external view returns (bool);
        function votingDelay() external view returns (uint256);
        function votingPeriod() external view returns (uint256);
        function proposalThreshold() external view returns (uint256);
        function quorum(uint256 timepoint) external view returns (uint256);
        function quorumNumerator() external view returns (uint256);
        function quorumNumerator(uint256 timepoint) external view returns (uint256);
        function quorumDenominator() external view returns (uint256);
        function getVotes(address account, uint256 timepoint) external view returns (uint256);
        function getVotesWithParams(address account, uint256 timepoint, bytes memory params) external view returns (uint256);
        function propose(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, string memory description) external returns (uint256);
        function castVote(uint256 proposalId, uint8 support) external returns (uint256);
        function castVoteWithReason(uint256 proposalId, uint8 support, string calldata reason) external returns (uint256);
        function castVoteWithReasonAndParams(uint256 proposalId, uint8 support, string calldata reason, bytes memory params) external returns (uint256);
        function castVoteBySig(uint256 proposalId, uint8 support, address voter, bytes memory signature) external returns (uint256);
        function castVoteWithReasonAndParamsBySig(uint256 proposalId, uint8 support, address voter, string calldata reason, bytes memory params, bytes memory signature) external returns (uint256);
        function queue(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash) external returns (uint256);
        function queue(uint256 proposalId) external;
        function execute(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash) external payable returns (uint256);
        function execute(uint256 proposalId) external payable;
        function cancel(address[] memory targets, uint256[] memory values, bytes[] memory calldatas, bytes32 descriptionHash) external returns (uint256);
        function cancel(uint256 proposalId) external;
        function relay(address target, uint256 value, bytes calldata data) external payable;
        function setVotingDelay(uint48 newVotingDelay) external;
        function setVotingPeriod(uint32 newVotingPeriod) external;
        function setProposalThreshold(uint256 newProposalThreshold) external;
        function updateQuorumNumerator(uint256 newQuorumNumerator) external;
        function updateTimelock(address newTimelock) external;
        function nonces(address owner) external view returns (uint256);
        function eip712Domain() external view returns (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] memory extensions);
        function onERC721Received(address operator, address from, uint256 tokenId, bytes memory data) external returns (bytes4);
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes memory data) external returns (bytes4);
        function onERC1155BatchReceived(address operator, address from, uint256[] memory ids, uint256[] memory values, bytes memory data) external returns (bytes4);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Governor::*;

/// What a token with votes answers (ERC-5805, ERC-6372).
pub mod votes {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        function clock() external view returns (uint48);
        /// Its text, which need not be UTF-8.
        function CLOCK_MODE() external view returns (bytes memory);
        function getPastVotes(address account, uint256 timepoint) external view returns (uint256);
        function getPastTotalSupply(uint256 timepoint) external view returns (uint256);
    }
}
