//! The chain as a whole: building, importing, reorganising, reopening.

mod fixture;
mod headers;
mod reopening;
mod tree;
