//! The factory's Solidity interface: UniswapV2Factory's.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Makes one pool for each two tokens.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract LiquidityFactory {
        constructor(address feeToSetter);

        /// The last argument is the number of pools.
        event PairCreated(address indexed token0, address indexed token1, address pair, uint256);

        function feeTo() external view returns (address);
        function feeToSetter() external view returns (address);
        function getPair(address tokenA, address tokenB) external view returns (address pair);
        function allPairs(uint256 index) external view returns (address pair);
        function allPairsLength() external view returns (uint256);
        function createPair(address tokenA, address tokenB) external returns (address pair);
        function setFeeTo(address feeTo) external;
        function setFeeToSetter(address feeToSetter) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use LiquidityFactory::*;
