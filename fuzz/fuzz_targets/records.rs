//! Recovery from any records: an error or a machine, never a panic.
#![no_main]

use std::{collections::BTreeMap, sync::LazyLock};

use chainbox_fuzz::cluster::{Cluster, Kind};
use libfuzzer_sys::fuzz_target;

static RUN: LazyLock<BTreeMap<Kind, Cluster>> =
    LazyLock::new(|| Kind::ALL.into_iter().map(|kind| (kind, Cluster::with_history(kind))).collect());

fuzz_target!(|input: (Kind, Vec<(u8, u16, u8)>)| {
    let (kind, changes) = input;
    RUN[&kind].recover_from_changed(&changes);
});
