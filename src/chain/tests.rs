//! The chain as a whole: building, inserting, reorgs, hooks, reopening.

mod dumping;
pub(super) mod fixture;
mod forks;
mod governance;
mod headers;
mod hooks;
mod model;
mod parameters;
mod pruning;
mod reopening;
mod staking;
mod tree;
mod used_templates;
