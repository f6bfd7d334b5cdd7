//! The staking contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// The validators of a chain with stake: bonding, delegation, rewards, penalties.
    ///
    /// Amounts are in wei, times in seconds, `Bps` in ten-thousandths, `Ppm` in millionths.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract StakingContract {
        /// Parameters, fixed at genesis.
        struct Params {
            uint64 unbondingSecs;
            uint256 minSelfStake;
            uint256 minDelegation;
            uint32 maxValidators;
            uint256 blockReward;
            bool shareFees;
            uint16 genesisCommissionBps;
            uint64 commissionChangeSecs;
            uint32 doubleSignSlashPpm;
            uint32 downtimeSlashPpm;
            uint32 downtimeWindow;
            uint32 downtimeMinSignedPpm;
            uint64 downtimeJailSecs;
            uint64 evidenceMaxAgeBlocks;
            uint64 evidenceMaxAgeSecs;
            uint32 churnLimit;
        }

        /// A validator of genesis; a zero key is its own address.
        struct GenesisStake {
            address validator;
            address sealingKey;
            uint256 stake;
        }

        /// What an operator consents to that another bonds stake for: a zero key is the one that it has. The consent is good once, until
        /// `deadline`.
        struct JoinTerms {
            address operator;
            address sealingKey;
            uint16 commissionBps;
            uint16 maxCommissionBps;
            uint16 maxCommissionChangeBps;
            uint256 deadline;
        }

        /// Record of a validator, under its operator's address. Status: 0 unknown, 1 bonded, 2 waiting in the exit queue (bonded still), 3
        /// jailed, 4 unbonding, 5 unbonded, 6 tombstoned, 7 waiting in the activation queue.
        struct ValidatorInfo {
            address validator;
            uint8 status;
            uint64 weight;
            uint256 tokens;
            uint256 shares;
            uint256 selfStake;
            uint16 commissionBps;
            uint16 maxCommissionBps;
            uint16 maxCommissionChangeBps;
            uint256 commission;
            uint256 selfRewards;
            uint64 jailedUntil;
            uint64 missedBlocks;
            address sealingKey;
        }

        /// Unbonding stake. `amount` is the payment if nothing more is slashed.
        struct Unbonding {
            address validator;
            uint256 amount;
            uint64 begunHeight;
            uint64 completesAt;
        }

        /// An amount that a validator and its delegators earn or lose, in wei.
        struct StakeChange {
            address validator;
            uint256 amount;
        }

        /// Liabilities of the contract, and amounts minted and burned since genesis.
        struct Totals {
            uint256 bonded;
            uint256 unbonding;
            uint256 rewards;
            uint256 minted;
            uint256 burned;
        }

        constructor(Params params, GenesisStake[] stakes);

        /// Consensus weight of a sealing key from the protocol's next boundary on.
        event WeightChanged(address indexed sealingKey, uint64 weight);
        /// The operator's sealing key is another from the protocol's next boundary on.
        event SealingKeyChanged(address indexed operator, address indexed oldKey, address indexed newKey);
        /// The operator's sealing key waits in the queue of rotations.
        event SealingKeyRequested(address indexed operator, address indexed key);
        event ValidatorJoined(address indexed validator, uint256 stake, uint16 commissionBps);
        event Delegated(address indexed delegator, address indexed validator, uint256 amount, uint256 shares);
        /// Another paid for an operator's own stake.
        event StakedFor(address indexed payer, address indexed validator, uint256 amount);
        event Undelegated(address indexed delegator, address indexed validator, uint256 amount, uint256 shares, uint64 completesAt);
        event Withdrawn(address indexed delegator, uint256 amount);
        event RewardsClaimed(address indexed delegator, address indexed validator, uint256 amount);
        event CommissionClaimed(address indexed validator, uint256 amount);
        event CommissionChanged(address indexed validator, uint16 oldBps, uint16 newBps);
        event Slashed(address indexed validator, uint8 offence, uint64 infractionHeight, uint32 fractionPpm, uint256 burned);
        event EvidenceIgnored(address indexed validator, uint8 offence, uint64 infractionHeight);
        event Penalized(address indexed validator, uint256 burned);
        event Jailed(address indexed validator, uint64 until);
        event Tombstoned(address indexed validator);
        event Unjailed(address indexed validator);
        event ExitRequested(address indexed validator);
        event Ejected(address indexed validator, uint256 tokens);
        event Left(address indexed validator);
        /// Governance removed the validator, as if it had asked to leave.
        event Removed(address indexed validator);

        /// Only a system call may use this function.
        error OnlySystem(address caller);
        /// Only the contract of the chain's parameters may use this function.
        error OnlyParameters(address caller);
        /// Only the governance contract may use this function.
        error OnlyGovernance(address caller);
        /// Without this validator none would take part in consensus.
        error LastValidator(address validator);
        /// The chain keeps no past weights: its genesis has no `governance`.
        error NoHistory();
        /// Weights are final once their block is past: ask for a height below the current one.
        error HeightNotPast(uint64 height, uint64 current);
        /// No validator joined under this address.
        error UnknownValidator(address validator);
        /// It is a validator already: add stake with `stake`.
        error AlreadyValidator(address validator);
        /// The chain has its maximum number of validators: wait until one leaves.
        error TooManyValidators(uint256 maximum);
        /// Less own stake than a validator must keep: send more, or `exit` before undelegating.
        error SelfStakeTooLow(uint256 selfStake, uint256 minimum);
        /// Less than the minimum of one delegation.
        error DelegationTooLow(uint256 amount, uint256 minimum);
        /// The validator's stake was slashed entirely: its shares are worthless and no new ones are sold.
        error PoolEmpty(address validator);
        /// The validator left or is tombstoned: delegate to another.
        error NotAccepting(address validator);
        /// More than the worth of the delegation; 2^256 - 1 means all of it.
        error InsufficientDelegation(uint256 worth, uint256 wanted);
        /// The amount is zero.
        error ZeroAmount();
        /// The delegator has its maximum number of unbondings: `withdraw` completed ones, or wait.
        error TooManyUnbondings(uint256 maximum);
        /// No unbonding of the caller is complete; the first one is at `completesAt` (0: there is none).
        error NothingToWithdraw(uint64 completesAt);
        /// Nothing was earned since the last claim.
        error NothingToClaim();
        /// The commission exceeds the validator's own maximum, fixed when it joined.
        error CommissionTooHigh(uint16 commissionBps, uint16 maximum);
        /// The commission rises by more than the maximum change, fixed when the validator joined.
        error CommissionChangeTooLarge(uint16 changeBps, uint16 maximum);
        /// The commission was changed too recently: try again at `earliest`.
        error CommissionChangedRecently(uint64 earliest);
        /// The validator is not in jail.
        error NotJailed(address validator);
        /// The jail time is not over.
        error JailedUntil(uint64 until);
        /// The validator equivocated. Neither the operator nor a key of it validates again: join with another account.
        error IsTombstoned(address validator);
        /// The validator has left, or waits in the exit queue.
        error AlreadyExiting(address validator);
        /// The key serves, or served, this operator: a key is registered once. Make a new one.
        error SealingKeyTaken(address key, address operator);
        /// The address is an operator's own: make a key for sealing alone.
        error SealingKeyIsOperator(address key);
        /// The proof is not the key's signature of the operator's address; `signer` is who signed (0: nobody).
        error SealingKeyUnproven(address key, address signer);
        /// The operator changed its key too recently: try again at this height.
        error SealingKeyChangedRecently(uint64 earliestHeight);
        /// The consent is not the operator's signature of these terms for this payer with its next nonce; `signer` is who signed (0:
        /// nobody).
        error ConsentNotGiven(address operator, address signer);
        /// The consent was good until `deadline`.
        error ConsentExpired(uint256 deadline);
        /// Genesis lists a validator twice, or without a stake of at least one gwei.
        error BadGenesisStake(address validator, uint256 stake);
        /// The contract's genesis balance is below the sum of the genesis stakes.
        error GenesisUnfunded(uint256 balance, uint256 stakes);

        function join(uint16 commissionBps, uint16 maxCommissionBps, uint16 maxCommissionChangeBps) external payable;
        function joinWithKey(uint16 commissionBps, uint16 maxCommissionBps, uint16 maxCommissionChangeBps, address sealingKey, bytes proof) external payable;
        function joinFor(JoinTerms terms, bytes consent, bytes proof) external payable;
        function setSealingKey(address key, bytes proof) external;
        function stake() external payable;
        function stakeFor(address validator) external payable;
        function unstake(uint256 amount) external;
        function delegate(address validator) external payable;
        function undelegate(address validator, uint256 amount) external;
        function withdraw() external returns (uint256 amount);
        function claimRewards(address validator) external returns (uint256 amount);
        function claimCommission() external returns (uint256 amount);
        function setCommission(uint16 commissionBps) external;
        function unjail() external;
        function exit() external;

        function beginBlock(address proposer, address[] absent) external;
        function beginTurn(address proposer, address[] absent) external;
        function slash(address validator, uint8 offence, uint64 infractionHeight, uint64 infractionTime) external;
        function penalize(address[] validators, uint256[] amounts) external;
        function setParameter(uint8 parameter, uint256 value) external;
        function removeValidator(address validator) external;
        function electSet(address[] members) external;
        function beginSet() external;
        function endEpoch(uint64 epoch, StakeChange[] rewards, StakeChange[] penalties, uint8 ejectionPercent) external;

        function params() external view returns (Params memory);
        function totals() external view returns (Totals memory);
        function validatorCount() external view returns (uint256);
        function validators(uint256 from, uint256 count) external view returns (ValidatorInfo[] memory);
        function validator(address validator) external view returns (ValidatorInfo memory);
        function sealingKey(address operator) external view returns (address);
        function operatorOf(address key) external view returns (address);
        function stakeLockedUntil(address validator) external view returns (uint64);
        function nonces(address operator) external view returns (uint256);
        function weightAt(address validator, uint64 height) external view returns (uint128);
        function totalWeightAt(uint64 height) external view returns (uint128);
        function delegation(address delegator, address validator) external view returns (uint256 shares, uint256 amount, uint256 rewards);
        function unbondings(address delegator) external view returns (Unbonding[] memory);
        function exitQueueLength() external view returns (uint256);
        function activationQueueLength() external view returns (uint256);
        function rotationQueueLength() external view returns (uint256);
    }
}

pub use StakingContract::*;
