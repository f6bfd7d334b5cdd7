//! The vault's Solidity interface: functions, events and errors as OpenZeppelin 5 has them, and those of fees and the forwarder.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// A vault (ERC-4626): a token whose shares stand for a part of what the vault has of another token, its asset.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Erc4626Vault {
        constructor(string name, string symbol, address asset, uint8 decimalsOffset, address owner, uint16 entryFee, uint16 exitFee, address feeRecipient, address trustedForwarder);

        event Transfer(address indexed from, address indexed to, uint256 value);
        event Approval(address indexed owner, address indexed spender, uint256 value);
        event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
        event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
        /// The owner set other fees, in hundredths of a percent.
        event FeesChanged(uint16 entryFee, uint16 exitFee);
        /// The owner named another recipient of fees.
        event FeeRecipientChanged(address recipient);

        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        error ERC20InvalidSender(address sender);
        error ERC20InvalidReceiver(address receiver);
        error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
        error ERC20InvalidApprover(address approver);
        error ERC20InvalidSpender(address spender);
        error ERC4626ExceededMaxDeposit(address receiver, uint256 assets, uint256 max);
        error ERC4626ExceededMaxMint(address receiver, uint256 shares, uint256 max);
        error ERC4626ExceededMaxWithdraw(address owner, uint256 assets, uint256 max);
        error ERC4626ExceededMaxRedeem(address owner, uint256 shares, uint256 max);
        error SafeERC20FailedOperation(address token);
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);
        /// The decimals offset is above the largest with which conversions don't overflow.
        error VaultDecimalsOffsetTooHigh(uint8 decimalsOffset, uint8 max);
        /// A fee is above 10,000 hundredths of a percent.
        error VaultInvalidFee(uint16 fee);
        /// The recipient of fees is no valid account, such as the zero address.
        error VaultInvalidFeeRecipient(address recipient);

        function name() external view returns (string memory);
        function symbol() external view returns (string memory);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function asset() external view returns (address);
        function totalAssets() external view returns (uint256);
        function convertToShares(uint256 assets) external view returns (uint256);
        function convertToAssets(uint256 shares) external view returns (uint256);
        function maxDeposit(address receiver) external view returns (uint256);
        function previewDeposit(uint256 assets) external view returns (uint256);
        function deposit(uint256 assets, address receiver) external returns (uint256);
        function maxMint(address receiver) external view returns (uint256);
        function previewMint(uint256 shares) external view returns (uint256);
        function mint(uint256 shares, address receiver) external returns (uint256);
        function maxWithdraw(address owner) external view returns (uint256);
        function previewWithdraw(uint256 assets) external view returns (uint256);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256);
        function maxRedeem(address owner) external view returns (uint256);
        function previewRedeem(uint256 shares) external view returns (uint256);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
        function entryFee() external view returns (uint16);
        function exitFee() external view returns (uint16);
        function feeRecipient() external view returns (address);
        function setFees(uint16 entryFee, uint16 exitFee) external;
        function setFeeRecipient(address recipient) external;
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
        function trustedForwarder() external view returns (address);
        function isTrustedForwarder(address forwarder) external view returns (bool);
    }
}

pub use Erc4626Vault::*;
