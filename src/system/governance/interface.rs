//! The contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.
#![allow(clippy::too_many_arguments)] // And functions that take all fields of an event.

alloy_sol_types::sol! {
    /// Proposals on which the chain's validators vote, and which the chain executes.
    ///
    /// Weights are stake in gwei, or one a validator where there is no stake. Times are in seconds, `Permille` in thousandths.
    ///
    /// Kinds: 1 parameter change, 2 validator in, 3 validator out, 4 module on, 5 module off, 6 upgrade, 7 text.
    /// States: 1 active, 2 passed, 3 executed, 4 failed, 5 rejected, 6 vetoed, 7 expired, 8 canceled.
    /// Options: 1 yes, 2 abstain, 3 no, 4 veto.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Governance {
        /// Rules of the chain, fixed at genesis.
        struct Settings {
            bool hasStake;
            uint32 votingPeriodSecs;
            uint32 minVotingPeriodSecs;
            uint16 quorumPermille;
            uint16 thresholdPermille;
            uint16 vetoPermille;
            uint64 minProposerWeight;
            uint16 maxOpenProposals;
        }

        /// What every proposal has. A period, quorum or threshold of 0 is the chain's; a quorum or threshold may be higher than that, not lower.
        #[derive(Default)]
        struct Terms {
            string title;
            string description;
            uint32 votingPeriodSecs;
            uint16 quorumPermille;
            uint16 thresholdPermille;
        }

        /// A parameter's new value.
        struct Change {
            uint8 parameter;
            uint256 value;
        }

        /// Weight that voted, by option.
        struct Votes {
            uint128 yes;
            uint128 abstain;
            uint128 no;
            uint128 veto;
        }

        /// A proposal. `payload` is the ABI encoding of what its kind has besides the terms; `failure` is the revert data of a failed execution.
        /// `finalizedHeight` is 0 while it is active.
        struct Proposal {
            uint256 id;
            address proposer;
            uint8 kind;
            uint8 state;
            string title;
            string description;
            bytes payload;
            uint64 height;
            uint64 submittedAt;
            uint64 endsAt;
            uint16 quorumPermille;
            uint16 thresholdPermille;
            uint16 vetoPermille;
            uint128 totalWeight;
            Votes votes;
            uint64 finalizedHeight;
            uint64 finalizedAt;
            bytes failure;
        }

        /// One voter's vote, at this height; all zero without one.
        struct Vote {
            uint8 option;
            uint128 weight;
            uint64 height;
        }

        /// The upgrade that waits for its height; all zero without one.
        struct Plan {
            uint256 proposal;
            string name;
            uint64 height;
            string info;
        }

        constructor(Settings settings, address[] voters);

        event ProposalCreated(uint256 indexed id, address indexed proposer, uint8 kind, string title, string description, bytes payload, uint64 endsAt, uint16 quorumPermille, uint16 thresholdPermille, uint128 totalWeight);
        /// `previousOption` is 0 for a first vote.
        event VoteCast(uint256 indexed id, address indexed voter, uint8 option, uint128 weight, uint8 previousOption, uint128 previousWeight, string reason);
        event ProposalStateChanged(uint256 indexed id, uint8 from, uint8 to);
        /// The execution failed with this revert data, cut off after some bytes.
        event ExecutionFailed(uint256 indexed id, bytes data);
        event UpgradeScheduled(uint256 indexed id, string name, uint64 height, string info);
        /// The block's height is the upgrade's.
        event UpgradeReached(uint256 indexed id, string name, uint64 height, string info);

        /// Only a system call may use this function.
        error OnlySystem(address caller);
        /// Only the proposer may withdraw a proposal.
        error OnlyProposer(address proposer);
        /// There is no proposal with this id; the first has the id 1.
        error UnknownProposal(uint256 id);
        /// A vote is 1 (yes), 2 (abstain), 3 (no) or 4 (veto).
        error UnknownOption(uint8 option);
        /// The proposal takes no votes, nor can it be withdrawn, in this state.
        error NotActive(uint256 id, uint8 state);
        /// The proposal's period is over.
        error VotingClosed(uint256 id, uint64 endsAt);
        /// There are votes on the proposal: it can no longer be withdrawn.
        error HasVotes(uint256 id);
        /// The account had no weight at this height: only validators vote, by the weights before the proposal's block.
        error NoVotingPower(address voter, uint64 height);
        /// A vote uses at most the voter's weight; 0 and 2^256 - 1 mean all of it.
        error WeightAbovePower(uint256 weight, uint256 power);
        /// Only who has this weight before the block may propose.
        error NotEnoughWeight(uint256 weight, uint256 minimum);
        /// So many proposals are open: wait until one ends.
        error TooManyOpenProposals(uint256 maximum);
        /// The text has more bytes than it may have.
        error TextTooLong(string field, uint256 length, uint256 maximum);
        /// The text must not be empty.
        error TextMissing(string field);
        /// The voting period is not one that a proposal may have.
        error PeriodOutOfRange(uint32 secs, uint32 least, uint32 most);
        /// The quorum is not one that a proposal may have: the chain's or a higher one.
        error QuorumOutOfRange(uint16 permille, uint16 least, uint16 most);
        /// The threshold is not one that a proposal may have: the chain's or a higher one.
        error ThresholdOutOfRange(uint16 permille, uint16 least, uint16 most);
        /// The list has no change.
        error NoChanges();
        /// There is no parameter with this number.
        error UnknownParameter(uint8 parameter);
        /// The list names the parameter twice.
        error DuplicateParameter(uint8 parameter);
        /// This chain does not have the parameter.
        error ParameterUnavailable(uint8 parameter);
        /// The value is not one that the parameter may have.
        error ValueOutOfRange(uint8 parameter, uint256 value, uint256 least, uint256 most);
        /// The parameters have another owner than this contract: it has to be the `owner` in their section of genesis.
        error ParametersNotOwned(address owner);
        /// The registry of modules has another authority than this contract: it has to be the `authority` in their section of genesis.
        error ModulesNotOwned(address owner);
        /// The validators' contract has another administrator than this contract: it has to be the one in `validatorRegistry` of genesis.
        error ValidatorsNotOwned(address owner);
        /// The chain does not have the contract that would execute the proposal: its genesis lacks this section.
        error ContractMissing(string section, address target);
        /// Who joins is decided by stake on this chain: the validator itself calls `join` of the staking contract.
        error DecidedByStake();
        /// The address is no validator that could be removed.
        error NotAValidator(address validator);
        /// A validator needs an address that is not zero, and a weight of at least 1.
        error InvalidValidator(address validator, uint64 weight);
        /// The height of an upgrade must be ahead.
        error HeightNotAhead(uint64 height, uint64 current);
        /// Another upgrade waits for its height; at most one does.
        error UpgradeWaiting(string name, uint64 height);

        function proposeParameterChange(Terms terms, Change[] changes) external returns (uint256 id);
        function proposeValidatorAdd(Terms terms, address validator, uint64 weight) external returns (uint256 id);
        function proposeValidatorRemove(Terms terms, address validator) external returns (uint256 id);
        function proposeModuleEnable(Terms terms, string name, uint32 version, bytes32 configHash) external returns (uint256 id);
        function proposeModuleDisable(Terms terms, string name) external returns (uint256 id);
        function proposeUpgrade(Terms terms, string name, uint64 height, string info) external returns (uint256 id);
        function proposeText(Terms terms) external returns (uint256 id);
        function cancel(uint256 id) external;
        function vote(uint256 id, uint8 option, uint256 weight, string reason) external;

        function endVoting() external;

        function proposalCount() external view returns (uint256);
        function proposal(uint256 id) external view returns (Proposal memory);
        function proposals(uint256 from, uint256 count) external view returns (Proposal[] memory);
        function openProposals() external view returns (uint256[] memory);
        function state(uint256 id) external view returns (uint8);
        function tally(uint256 id) external view returns (Votes memory);
        function voteOf(uint256 id, address voter) external view returns (Vote memory);
        function powerOf(uint256 id, address voter) external view returns (uint128);
        function settings() external view returns (Settings memory);
        function upgradePlan() external view returns (Plan memory);
    }
}

pub use Governance::*;
