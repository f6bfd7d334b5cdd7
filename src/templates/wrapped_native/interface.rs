//! The Solidity interface of WETH9.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// The chain's native token as an ERC-20 token.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract WrappedNative {
        constructor(string memory name, string memory symbol);

        event Approval(address indexed src, address indexed guy, uint256 wad);
        event Transfer(address indexed src, address indexed dst, uint256 wad);
        event Deposit(address indexed dst, uint256 wad);
        event Withdrawal(address indexed src, uint256 wad);

        receive() external payable;
        function name() external view returns (string memory);
        function symbol() external view returns (string memory);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address guy, uint256 wad) external returns (bool);
        function transfer(address dst, uint256 wad) external returns (bool);
        function transferFrom(address src, address dst, uint256 wad) external returns (bool);
        function deposit() external payable;
        function withdraw(uint256 wad) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use WrappedNative::*;
