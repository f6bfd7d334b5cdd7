//! Four replicas of any protocol under any schedule: nobody panics, what is refused changes nothing, and no two blocks
//! of one height are final.
#![no_main]

use chainbox_fuzz::cluster::{Act, Cluster, Kind};
use libfuzzer_sys::fuzz_target;

const ACTS_MAX: usize = 400;

fuzz_target!(|input: (Kind, Vec<Act>)| {
    let (kind, acts) = input;
    let mut cluster = Cluster::new(kind);
    acts.into_iter().take(ACTS_MAX).for_each(|act| cluster.act(act));
});
