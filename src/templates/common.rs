//! What contracts have in common: OpenZeppelin 5's base contracts and libraries, each once.
//!
//! A base contract is a struct of state variables, which a contract inherits by naming it among its own
//! ([`storage`](crate::vm::storage::storage)); its functions, events and errors are OpenZeppelin's. What is `onlyOwner` there is
//! `only_owner(host)?` on a function's first line here. A contract's `sol!` interface lists the functions, events and errors that its
//! ABI has; the types here encode to the same bytes.
//!
//! Contracts of Solidity before 0.8, such as Uniswap's, have DappHub's arithmetic ([`ds_math`]) and calls of their own kind
//! ([`legacy_calls`]), or those of OpenZeppelin 2 ([`safe_math`], [`safe_erc20_v2`]).
//!
//! Places of sales have a library of this project: [`currency`], [`nft`], [`sale`], [`sale_settings`], [`withdrawals`].

pub mod access_control;
pub mod address;
pub mod calldata;
pub mod checkpoints;
pub mod currency;
pub mod deque;
pub mod ds_math;
pub mod ecdsa;
pub mod eip712;
pub mod erc165;
pub mod erc20_base;
pub mod erc2771_context;
pub mod external;
pub mod legacy_calls;
pub mod nft;
pub mod nonces;
pub mod ownable;
pub mod ownable_2step;
pub mod page;
pub mod pausable;
pub mod receivers;
pub mod reentrancy_guard;
pub mod royalty;
pub mod safe_erc20;
pub mod safe_erc20_v2;
pub mod safe_math;
pub mod sale;
pub mod sale_settings;
pub mod signature_checker;
pub mod votes;
pub mod withdrawals;

pub use access_control::{AccessControl, DEFAULT_ADMIN_ROLE};
pub use checkpoints::Trace208;
pub use currency::Currency;
pub use deque::Bytes32Deque;
pub use eip712::{Domain, Eip712};
pub use erc20_base::Erc20Base;
pub use erc2771_context::Erc2771Context;
pub use nft::Nft;
pub use nonces::Nonces;
pub use ownable::Ownable;
pub use ownable_2step::Ownable2Step;
pub use pausable::Pausable;
pub use reentrancy_guard::ReentrancyGuard;
pub use royalty::Erc2981;
pub use sale::Sale;
pub use sale_settings::SaleSettings;
pub use votes::Votes;
pub use withdrawals::Withdrawals;
