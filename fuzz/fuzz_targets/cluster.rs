//! Four replicas of any protocol under any schedule: no replica panics, refused input changes nothing, and no two blocks
//! of one height are final.
#![no_main]

use chainbox_fuzz::cluster::{Cluster, Kind, Operation};
use libfuzzer_sys::fuzz_target;

const OPERATIONS_MAX: usize = 400;

fuzz_target!(|input: (Kind, Vec<Operation>)| {
    let (kind, operations) = input;
    let mut cluster = Cluster::new(kind);
    operations.into_iter().take(OPERATIONS_MAX).for_each(|operation| cluster.apply(operation));
});
