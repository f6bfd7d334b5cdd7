//! One file a kind of contract: its operations, and the tests that run them.

mod erc1155;
mod erc20;
mod erc4626;
mod erc721;
mod forwarder;
mod governor;
mod lending_math;
mod multicall;
mod multisig;
mod price_feed;
mod receiver;
mod staking;
mod timelock;
mod uniswap;
mod vesting;
