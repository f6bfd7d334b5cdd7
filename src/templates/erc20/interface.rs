//! The token's Solidity interface: functions, events and errors as OpenZeppelin 5 has them.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// A fungible token (ERC-20) with metadata, permit (EIP-2612), ownership, cap, and by choice minting, burning,
    /// pausing.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Erc20Token {
        struct Features {
            bool mintable;
            bool burnable;
            bool pausable;
        }

        constructor(string name, string symbol, uint256 totalSupply, uint8 decimals, address owner, Features features, uint256 cap);

        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
        event Paused(address account);
        event Unpaused(address account);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
        event EIP712DomainChanged();

        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        error ERC20InvalidSender(address sender);
        error ERC20InvalidReceiver(address receiver);
        error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
        error ERC20InvalidApprover(address approver);
        error ERC20InvalidSpender(address spender);
        error ERC20ExceededCap(uint256 increasedSupply, uint256 cap);
        error ERC20InvalidCap(uint256 cap);
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);
        error EnforcedPause();
        error ExpectedPause();
        error ERC2612ExpiredSignature(uint256 deadline);
        error ERC2612InvalidSigner(address signer, address owner);
        error InvalidAccountNonce(address account, uint256 currentNonce);
        error ECDSAInvalidSignature();
        error ECDSAInvalidSignatureS(bytes32 s);

        function name() external view returns (string memory);
        function symbol() external view returns (string memory);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function mint(address to, uint256 amount) external;
        function burn(uint256 value) external;
        function burnFrom(address account, uint256 value) external;
        function cap() external view returns (uint256);
        function pause() external;
        function unpause() external;
        function paused() external view returns (bool);
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
        function nonces(address owner) external view returns (uint256);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function eip712Domain() external view returns (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] memory extensions);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Erc20Token::*;
