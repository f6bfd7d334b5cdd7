//! The chain as a whole: building, inserting, reorgs, hooks, reopening.

mod dumping;
pub(super) mod fixture;
mod forks;
mod governance;
mod headers;
mod hooks;
mod model;
mod modules;
mod parameters;
mod permissions;
mod pruning;
mod reopening;
mod staking;
mod tree;
mod used_templates;
