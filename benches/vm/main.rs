//! Execution alone: transactions with the work around them (nonce, fee, intrinsic gas, refund), but without signatures, roots or commits.
//!
//! `cargo bench --all-features --bench vm`

mod templates;
mod transaction;
mod transfers;
mod world;

use criterion::{criterion_group, criterion_main};

criterion_group!(benches, transfers::transfers, templates::template_calls);
criterion_main!(benches);
