//! The chain as a whole: building, importing, reorganising, reopening.

mod dumping;
pub(super) mod fixture;
mod headers;
mod model;
mod reopening;
mod staking;
mod tree;
