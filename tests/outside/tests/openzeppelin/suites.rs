//! One file a kind of contract: its operations, and the tests that run them.

mod erc20_ownable;
