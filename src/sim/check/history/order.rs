//! Search for an order of the operations on one counter that explains every answer.
//!
//! The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with Lowe's memory of configurations ("Testing for
//! linearizability", 2017), specialised to a counter: a read that fits the value is taken at once, as it changes nothing, and only
//! additions branch.

use std::collections::BTreeSet;

use super::CONFIGURATIONS_MAX;
use crate::primitives::U256;

/// An operation on a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CounterOp {
    /// Number of the client.
    pub(super) session: usize,
    /// Time of the call.
    pub(super) called: u64,
    /// Time of the answer; an operation without one may have an effect or none.
    pub(super) answered: Option<u64>,
    pub(super) effect: CounterEffect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterEffect {
    Add(U256),
    Read(U256),
}

/// The order that an explanation must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Of operations answered before others were called.
    RealTime,
    /// Of each session.
    Session,
}

/// Whether there is an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explained {
    Yes,
    No,
    /// Too many configurations.
    Undecided,
}

/// Searches for an order of `ops`, which are in the order of their calls.
pub(super) fn explain(ops: &[CounterOp], order: Order) -> Explained {
    let mut seen = BTreeSet::new();
    let mut stack = vec![Configuration { taken: vec![0; ops.len().div_ceil(64)], value: U256::ZERO }];
    while let Some(mut configuration) = stack.pop() {
        configuration.take_reads(ops, order);
        if configuration.is_complete(ops) {
            return Explained::Yes;
        }
        if !seen.insert(configuration.taken.clone()) {
            continue;
        }
        if seen.len() > CONFIGURATIONS_MAX {
            return Explained::Undecided;
        }
        let mut additions: Vec<_> = configuration
            .enabled(ops, order)
            .filter_map(|place| match ops[place].effect {
                CounterEffect::Add(amount) => Some((place, amount)),
                CounterEffect::Read(_) => None,
            })
            .collect();
        // The last one on the stack is tried first: the one that was answered first.
        additions.sort_by_key(|(place, _)| core::cmp::Reverse(ops[*place].answered.unwrap_or(u64::MAX)));
        for (place, amount) in additions {
            let mut next = configuration.clone();
            next.take(place);
            next.value = next.value.wrapping_add(amount);
            stack.push(next);
        }
    }
    Explained::No
}

/// The operations that were put in order so far, and the counter after them.
#[derive(Clone, Debug)]
struct Configuration {
    taken: Vec<u64>,
    value: U256,
}

impl Configuration {
    fn is_taken(&self, place: usize) -> bool {
        self.taken[place / 64] >> (place % 64) & 1 == 1
    }

    fn take(&mut self, place: usize) {
        self.taken[place / 64] |= 1 << (place % 64);
    }

    /// Returns whether every answered operation is in order.
    fn is_complete(&self, ops: &[CounterOp]) -> bool {
        (0..ops.len()).all(|place| self.is_taken(place) || ops[place].answered.is_none())
    }

    /// Iterates over the operations that may come next.
    fn enabled<'a>(&'a self, ops: &'a [CounterOp], order: Order) -> impl Iterator<Item = usize> + 'a {
        let rest = (0..ops.len()).filter(|place| !self.is_taken(*place));
        let first_answer = rest.clone().filter_map(|place| ops[place].answered).min().unwrap_or(u64::MAX);
        let mut sessions = BTreeSet::new();
        rest.filter(move |place| match order {
            Order::RealTime => ops[*place].called <= first_answer,
            Order::Session => sessions.insert(ops[*place].session),
        })
    }

    /// Takes every read that fits, as long as there is one.
    fn take_reads(&mut self, ops: &[CounterOp], order: Order) {
        loop {
            let fitting = |place: &usize| ops[*place].effect == CounterEffect::Read(self.value);
            let reads: Vec<_> = self.enabled(ops, order).filter(fitting).collect();
            if reads.is_empty() {
                return;
            }
            reads.into_iter().for_each(|place| self.take(place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(session: usize, called: u64, answered: Option<u64>, amount: u64) -> CounterOp {
        CounterOp { session, called, answered, effect: CounterEffect::Add(U256::from(amount)) }
    }

    fn read(session: usize, called: u64, answered: u64, value: u64) -> CounterOp {
        CounterOp { session, called, answered: Some(answered), effect: CounterEffect::Read(U256::from(value)) }
    }

    #[test]
    fn histories_of_the_literature() {
        use Explained::{No, Yes};
        for (name, ops, real_time, by_session) in [
            ("nothing", vec![], Yes, Yes),
            ("a stale read", vec![add(0, 0, Some(1), 1), read(1, 2, 3, 0)], No, Yes),
            ("a read of the future", vec![read(1, 0, 1, 1), add(0, 2, Some(3), 1)], No, Yes),
            ("concurrent", vec![add(0, 0, Some(5), 1), read(1, 1, 2, 1), read(2, 3, 4, 1)], Yes, Yes),
            ("new then old", vec![add(0, 0, Some(9), 1), read(1, 1, 2, 1), read(2, 3, 4, 0)], No, Yes),
            ("back in one session", vec![add(0, 0, Some(9), 1), read(1, 1, 2, 1), read(1, 3, 4, 0)], No, No),
            ("a lost write", vec![add(0, 0, Some(1), 1), read(1, 2, 3, 0), read(1, 90, 91, 0)], No, Yes),
            ("never acknowledged", vec![add(0, 0, None, 1), read(1, 2, 3, 0), read(1, 4, 5, 1)], Yes, Yes),
            ("out of nothing", vec![add(0, 0, None, 2), read(1, 4, 5, 1)], No, No),
            (
                "the right one of two",
                vec![add(0, 0, Some(9), 1), add(1, 0, Some(9), 2), read(2, 1, 2, 2), read(2, 3, 4, 3)],
                Yes,
                Yes,
            ),
        ] {
            assert_eq!(explain(&ops, Order::RealTime), real_time, "{name}");
            assert_eq!(explain(&ops, Order::Session), by_session, "{name}");
        }
    }

    /// Compares with all permutations, on small histories.
    mod model {
        use proptest::prelude::*;

        use super::*;

        fn is_kept(ops: &[CounterOp], sequence: &[usize], order: Order) -> bool {
            let mut value = U256::ZERO;
            for (at, place) in sequence.iter().enumerate() {
                let op = ops[*place];
                let comes_before = |later: &usize| match order {
                    Order::RealTime => ops[*later].answered.is_some_and(|answered| answered < op.called),
                    Order::Session => ops[*later].session == op.session && later < place,
                };
                if sequence[at + 1..].iter().any(comes_before) {
                    return false;
                }
                match op.effect {
                    CounterEffect::Add(amount) => value += amount,
                    CounterEffect::Read(read) if read != value => return false,
                    CounterEffect::Read(_) => {}
                }
            }
            // What is left out has no answer; in a session nothing of it comes after.
            (0..ops.len()).filter(|place| !sequence.contains(place)).all(|place| {
                ops[place].answered.is_none()
                    && (order == Order::RealTime
                        || !sequence.iter().any(|later| ops[*later].session == ops[place].session && *later > place))
            })
        }

        fn any_order(ops: &[CounterOp], sequence: &mut Vec<usize>, order: Order) -> bool {
            if is_kept(ops, sequence, order) {
                return true;
            }
            for place in 0..ops.len() {
                if !sequence.contains(&place) {
                    sequence.push(place);
                    if any_order(ops, sequence, order) {
                        return true;
                    }
                    sequence.pop();
                }
            }
            false
        }

        fn op() -> impl Strategy<Value = CounterOp> {
            let effect = prop_oneof![
                (1_u64..3).prop_map(|amount| CounterEffect::Add(U256::from(amount))),
                (0_u64..4).prop_map(|value| CounterEffect::Read(U256::from(value))),
            ];
            (0_usize..3, 0_u64..10, proptest::option::weighted(0.8, 0_u64..5), effect).prop_map(
                |(session, called, lasts, effect)| {
                    let answered = match effect {
                        CounterEffect::Add(_) => lasts.map(|lasts| called + lasts),
                        CounterEffect::Read(_) => Some(called + lasts.unwrap_or(0)),
                    };
                    CounterOp { session, called, answered, effect }
                },
            )
        }

        proptest! {
            #[test]
            fn the_search_finds_an_order_exactly_where_there_is_one(mut ops in proptest::collection::vec(op(), 0..6)) {
                ops.sort_by_key(|op| op.called);
                for order in [Order::RealTime, Order::Session] {
                    let want = if any_order(&ops, &mut Vec::new(), order) { Explained::Yes } else { Explained::No };
                    prop_assert_eq!(explain(&ops, order), want, "{:?}", order);
                }
            }
        }
    }
}
