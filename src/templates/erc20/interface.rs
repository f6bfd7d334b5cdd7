//! The token's Solidity interface: functions, events and errors as OpenZeppelin 5 has them.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// A fungible token (ERC-20) with metadata, permit (EIP-2612), roles, cap, and by choice minting, burning, pausing, votes
    /// (ERC-5805), flash loans (ERC-3156).
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Erc20Token {
        struct Features {
            bool mintable;
            bool burnable;
            bool pausable;
            bool votes;
            bool flashMint;
        }

        struct VestingAllocation {
            address beneficiary;
            uint256 amount;
            uint64 start;
            uint64 duration;
            uint64 cliff;
            bool revocable;
        }

        struct Checkpoint208 {
            uint48 _key;
            uint208 _value;
        }

        constructor(string name, string symbol, uint8 decimals, uint256 totalSupply, uint256 cap, address owner, Features features, VestingAllocation[] vesting);

        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
        event Paused(address account);
        event Unpaused(address account);
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);
        event DelegateChanged(address indexed delegator, address indexed fromDelegate, address indexed toDelegate);
        event DelegateVotesChanged(address indexed delegate, uint256 previousVotes, uint256 newVotes);
        event EIP712DomainChanged();
        /// The constructor made a wallet in which `amount` of the supply vests.
        event VestingWalletCreated(address indexed beneficiary, address indexed wallet, uint256 amount);

        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        error ERC20InvalidSender(address sender);
        error ERC20InvalidReceiver(address receiver);
        error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
        error ERC20InvalidApprover(address approver);
        error ERC20InvalidSpender(address spender);
        error ERC20ExceededCap(uint256 increasedSupply, uint256 cap);
        error ERC20InvalidCap(uint256 cap);
        /// More tokens are to vest than there are.
        error ERC20VestingExceededSupply(uint256 allocated, uint256 totalSupply);
        error ERC20ExceededSafeSupply(uint256 increasedSupply, uint256 cap);
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error AccessControlBadConfirmation();
        error EnforcedPause();
        error ExpectedPause();
        error ERC2612ExpiredSignature(uint256 deadline);
        error ERC2612InvalidSigner(address signer, address owner);
        error InvalidAccountNonce(address account, uint256 currentNonce);
        error ECDSAInvalidSignature();
        error ECDSAInvalidSignatureS(bytes32 s);
        error ECDSAInvalidSignatureLength(uint256 length);
        error StringTooLong(string str);
        error InvalidShortString();
        error VotesExpiredSignature(uint256 expiry);
        error ERC5805FutureLookup(uint256 timepoint, uint48 clock);
        error ERC6372InconsistentClock();
        error CheckpointUnorderedInsertion();
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
        error ERC3156UnsupportedToken(address token);
        error ERC3156ExceededMaxLoan(uint256 maxLoan);
        error ERC3156InvalidReceiver(address receiver);

        function name() external view returns (string memory);
        function symbol() external view returns (string memory);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function cap() external view returns (uint256);

        function mint(address to, uint256 amount) external;
        function burn(uint256 value) external;
        function burnFrom(address account, uint256 value) external;
        function pause() external;
        function unpause() external;
        function paused() external view returns (bool);

        function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
        function MINTER_ROLE() external view returns (bytes32);
        function PAUSER_ROLE() external view returns (bytes32);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function getRoleAdmin(bytes32 role) external view returns (bytes32);
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function renounceRole(bytes32 role, address callerConfirmation) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);

        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
        function nonces(address owner) external view returns (uint256);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function eip712Domain() external view returns (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] memory extensions);

        function clock() external view returns (uint48);
        function CLOCK_MODE() external view returns (string memory);
        function getVotes(address account) external view returns (uint256);
        function getPastVotes(address account, uint256 timepoint) external view returns (uint256);
        function getPastTotalSupply(uint256 timepoint) external view returns (uint256);
        function delegates(address account) external view returns (address);
        function delegate(address delegatee) external;
        function delegateBySig(address delegatee, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s) external;
        function numCheckpoints(address account) external view returns (uint32);
        function checkpoints(address account, uint32 pos) external view returns (Checkpoint208 memory);

        function maxFlashLoan(address token) external view returns (uint256);
        function flashFee(address token, uint256 value) external view returns (uint256);
        function flashLoan(address receiver, address token, uint256 value, bytes calldata data) external returns (bool);
    }
}

pub use Erc20Token::*;
