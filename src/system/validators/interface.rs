//! The validators' contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// The validators of a chain without stake, and their weights.
    ///
    /// The owner is the administrator. Every change is taken over by the consensus protocol at the next boundary of its own. `Ppm` is in
    /// millionths.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Validators {
        /// A validator of genesis; a zero key is its own address.
        struct Member {
            address validator;
            address sealingKey;
            uint64 weight;
        }

        /// A validator, under its operator's address: its weight, 0 for who is none, and whether evidence proved that it misbehaved.
        struct ValidatorInfo {
            address validator;
            address sealingKey;
            uint64 weight;
            bool isConvicted;
        }

        /// What the chain's protocol asks of the set.
        struct Limits {
            uint64 weightMax;
            uint32 validatorsMin;
            uint32 validatorsMax;
        }

        constructor(address administrator, uint64 weightMax, uint32 validatorsMin, Member[] members);

        /// The sealing key has this weight from the protocol's next boundary on; with 0 it seals no more.
        event WeightChanged(address indexed sealingKey, uint64 weight);
        /// The operator's sealing key is another from the protocol's next boundary on.
        event SealingKeyChanged(address indexed operator, address indexed oldKey, address indexed newKey);
        /// The administrator took this part of the validator's weight.
        event Slashed(address indexed validator, uint32 partPpm, uint64 oldWeight, uint64 newWeight, string reason);
        /// Evidence in a block proved that a key of the validator misbehaved. It is none any more, for ever.
        event Convicted(address indexed validator);
        event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// The caller is not the administrator.
        error OwnableUnauthorizedAccount(address account);
        /// The administrator can't be the zero address.
        error OwnableInvalidOwner(address owner);
        /// Only a system call may use this function.
        error OnlySystem(address caller);
        /// The zero address seals nothing, and so is no validator.
        error InvalidValidator(address validator);
        /// It is no validator: add it with `setValidator`.
        error UnknownValidator(address validator);
        /// The weight is more than a validator of this chain may have: where the protocol counts validators alone, that is 1.
        error WeightTooHigh(uint64 weight, uint64 maximum);
        /// Fewer than the protocol needs would be left: add another validator first.
        error TooFewValidators(uint256 minimum);
        /// The chain has its maximum number of validators: remove one first, or raise the parameter `validatorsMax`.
        error TooManyValidators(uint256 maximum);
        /// Evidence proved that it misbehaved: it never validates again.
        error IsConvicted(address validator);
        /// It is a validator already: change its weight with `setValidator`.
        error AlreadyValidator(address validator);
        /// The key serves, or served, this operator: a key is registered once. Make a new one.
        error SealingKeyTaken(address key, address operator);
        /// The address is an operator's own: make a key for sealing alone.
        error SealingKeyIsOperator(address key);
        /// The proof is not the key's signature of the operator's address; `signer` is who signed (0: nobody).
        error SealingKeyUnproven(address key, address signer);
        /// The operator changed its key too recently: try again at this height.
        error SealingKeyChangedRecently(uint64 earliestHeight);
        /// A part to slash is from 1 to 1000000 millionths.
        error InvalidPart(uint32 partPpm);
        /// The text has more bytes than are kept.
        error ReasonTooLong(uint256 length, uint256 maximum);
        /// Genesis lists a validator twice, or with a weight that none may have.
        error InvalidGenesisMember(address validator, uint64 weight);
        /// Weights are final once their block is past: ask for a height below the current one.
        error HeightNotPast(uint64 height, uint64 current);

        /// Sets a validator's weight: adds it when it is none, removes it with 0; for the administrator.
        function setValidator(address validator, uint64 weight) external;
        /// Adds a validator that seals with this key, by the key's own proof; for the administrator.
        function addValidator(address validator, address sealingKey, uint64 weight, bytes proof) external;
        /// Registers a sealing key of the caller, by the key's own proof: a validator's new one, or that of who is to become one.
        function setSealingKey(address key, bytes proof) external;
        /// Takes a part of a validator's weight, rounded up, so that who weighs 1 is removed; for the administrator.
        function slash(address validator, uint32 partPpm, string reason) external;
        /// Removes the validator one of whose keys evidence convicts; a system call.
        function convict(address sealingKey) external;

        /// Returns what is known of a validator.
        function validator(address validator) external view returns (ValidatorInfo memory);
        /// Returns whether the address is a validator, or ever was one.
        function wasValidator(address validator) external view returns (bool);
        /// Returns an operator's present key; its own address until it registers one.
        function sealingKey(address operator) external view returns (address);
        /// Returns the operator of a key, a present or a former one.
        function operatorOf(address key) external view returns (address);
        /// Returns the number of validators.
        function validatorCount() external view returns (uint256);
        /// Returns validators from an index on, up to 100. A removal moves the last one into the gap.
        function validators(uint256 from, uint256 count) external view returns (ValidatorInfo[] memory);
        /// Returns the bounds of the set and of a weight.
        function limits() external view returns (Limits memory);
        /// Returns a validator's weight at the end of a past block.
        function weightAt(address validator, uint64 height) external view returns (uint128);
        /// Returns the sum of all weights at the end of a past block.
        function totalWeightAt(uint64 height) external view returns (uint128);

        /// Returns the administrator.
        function owner() external view returns (address);
        /// Returns who may become the administrator by `acceptOwnership`; zero for nobody.
        function pendingOwner() external view returns (address);
        /// Offers the administration to another account or contract; zero withdraws the offer.
        function transferOwnership(address newOwner) external;
        /// Takes the administration over; for the pending owner.
        function acceptOwnership() external;
    }
}

pub use Validators::*;
