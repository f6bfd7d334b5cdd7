//! The pool's Solidity interface: Uniswap v2's, and the refusals of a pool that is made alone.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// A pool of two tokens with a constant product.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract LiquidityPool {
        constructor(address token0, address token1);

        event Approval(address indexed owner, address indexed spender, uint256 value);
        event Transfer(address indexed from, address indexed to, uint256 value);
        event Mint(address indexed sender, uint256 amount0, uint256 amount1);
        event Burn(address indexed sender, uint256 amount0, uint256 amount1, address indexed to);
        event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to);
        event Sync(uint112 reserve0, uint112 reserve1);

        /// Both tokens of a pool made alone are this one.
        error PoolIdenticalTokens(address token);
        /// A token of a pool made alone is no valid account, such as the zero address.
        error PoolInvalidToken(address token);

        function name() external pure returns (string memory);
        function symbol() external pure returns (string memory);
        function decimals() external pure returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address owner) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function approve(address spender, uint256 value) external returns (bool);
        function transfer(address to, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function PERMIT_TYPEHASH() external pure returns (bytes32);
        function nonces(address owner) external view returns (uint256);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
        function MINIMUM_LIQUIDITY() external pure returns (uint256);
        function factory() external view returns (address);
        function token0() external view returns (address);
        function token1() external view returns (address);
        function getReserves() external view returns (uint112 _reserve0, uint112 _reserve1, uint32 _blockTimestampLast);
        function price0CumulativeLast() external view returns (uint256);
        function price1CumulativeLast() external view returns (uint256);
        function kLast() external view returns (uint256);
        function mint(address to) external returns (uint256 liquidity);
        function burn(address to) external returns (uint256 amount0, uint256 amount1);
        function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
        function skim(address to) external;
        function sync() external;
        function initialize(address token0, address token1) external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }

    /// What a pool asks of the factory that made it.
    #[sol(extra_derives(Debug, PartialEq, Eq))]
    interface IUniswapV2Factory {
        function feeTo() external view returns (address);
    }

    /// What a receiver of a flash swap has.
    #[sol(extra_derives(Debug, PartialEq, Eq))]
    interface IUniswapV2Callee {
        function uniswapV2Call(address sender, uint256 amount0, uint256 amount1, bytes calldata data) external;
    }
}

pub use LiquidityPool::*;
