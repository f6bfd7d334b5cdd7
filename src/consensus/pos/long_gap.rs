//! The state of a branch after many epochs without a block, as after weeks in which no process ran.
//!
//! Each epoch is accounted for, one after the other, and replicas of one process do the same for the same head: a thread remembers how far
//! it came.

use core::cell::RefCell;
use std::{collections::VecDeque, sync::Arc};

use super::{
    PosConfig,
    state::{EpochDeltas, State},
};

/// Epochs without a block from which on a thread remembers the state after them.
pub(super) const REMEMBERED_AFTER_EPOCHS: u64 = 8;
/// Heads for which a thread remembers it.
const REMEMBERED_MAX: usize = 4;

/// A head's state, and the one at the start of the latest epoch that was asked for.
struct Remembered {
    config: PosConfig,
    since: State,
    latest: Arc<(State, EpochDeltas)>,
}

thread_local! {
    /// Newest first.
    static REMEMBERED: RefCell<VecDeque<Remembered>> = const { RefCell::new(VecDeque::new()) };
}

/// Returns the state at the start of `epoch`, with the deltas of the epochs that ended since `since`.
pub(super) fn long_after(config: &PosConfig, since: &State, epoch: u64) -> (State, EpochDeltas) {
    REMEMBERED.with_borrow_mut(|all| {
        let place = all.iter().position(|it| it.config == *config && it.since == *since);
        let known = place.and_then(|place| all.remove(place)).map(|known| known.latest);
        let (mut state, mut deltas) = match known.filter(|latest| latest.0.epoch() <= epoch) {
            Some(latest) => Arc::unwrap_or_clone(latest),
            None => since.at_epoch(config, epoch),
        };
        while epoch > state.epoch() {
            state.end_epoch(config, &mut deltas);
        }
        let latest = Arc::new((state, deltas));
        all.truncate(REMEMBERED_MAX - 1);
        all.push_front(Remembered { config: *config, since: since.clone(), latest: latest.clone() });
        latest.as_ref().clone()
    })
}
