//! Open proposals by the end of their periods: a binary heap in storage.

use crate::vm::{
    Host, Stop,
    storage::{Array, record, storage},
};

record! {
    /// When a proposal's period ends, in seconds since the Unix epoch.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Due {
        pub(super) ends_at: u64,
        pub(super) id: u64,
    }
}

storage! {
    /// The heap: the first element is the least, and none is less than the one at half its place.
    pub(super) struct Queue {
        heap: Array<Due>,
    }
}

impl Queue {
    pub(super) fn len(self, host: &mut Host<'_>) -> Result<u64, Stop> {
        self.heap.len(host)
    }

    /// Returns the first that ends.
    pub(super) fn first(self, host: &mut Host<'_>) -> Result<Option<Due>, Stop> {
        if self.len(host)? == 0 { Ok(None) } else { self.at(host, 0).map(Some) }
    }

    /// Returns all, in no order.
    pub(super) fn all(self, host: &mut Host<'_>) -> Result<Vec<Due>, Stop> {
        self.heap.to_vec(host)
    }

    pub(super) fn push(self, host: &mut Host<'_>, due: Due) -> Result<(), Stop> {
        let place = self.len(host)?;
        self.heap.push(host, due)?;
        self.rise(host, place, due)
    }

    /// Removes the first that ends.
    pub(super) fn pop(self, host: &mut Host<'_>) -> Result<Option<Due>, Stop> {
        let Some(first) = self.first(host)? else { return Ok(None) };
        self.remove_at(host, 0)?;
        Ok(Some(first))
    }

    /// Removes a proposal, wherever it is.
    pub(super) fn remove(self, host: &mut Host<'_>, due: Due) -> Result<(), Stop> {
        for place in 0..self.len(host)? {
            if self.at(host, place)? == due {
                return self.remove_at(host, place);
            }
        }
        Ok(())
    }

    /// Puts the last element in the place of another, and from there where it belongs.
    fn remove_at(self, host: &mut Host<'_>, place: u64) -> Result<(), Stop> {
        let last = self.heap.pop(host)?;
        if place == self.len(host)? {
            return Ok(());
        }
        self.put(host, place, last)?;
        self.sink(host, place, last)?;
        if self.at(host, place)? == last { self.rise(host, place, last) } else { Ok(()) }
    }

    fn rise(self, host: &mut Host<'_>, mut place: u64, due: Due) -> Result<(), Stop> {
        while let Some(parent) = place.checked_sub(1).map(|place| place / 2) {
            let above = self.at(host, parent)?;
            if above <= due {
                break;
            }
            self.put(host, place, above)?;
            self.put(host, parent, due)?;
            place = parent;
        }
        Ok(())
    }

    fn sink(self, host: &mut Host<'_>, mut place: u64, due: Due) -> Result<(), Stop> {
        let len = self.len(host)?;
        while 2 * place + 1 < len {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut least = (self.at(host, left)?, left);
            if right < len {
                least = least.min((self.at(host, right)?, right));
            }
            if due <= least.0 {
                break;
            }
            self.put(host, place, least.0)?;
            self.put(host, least.1, due)?;
            place = least.1;
        }
        Ok(())
    }

    fn at(self, host: &mut Host<'_>, place: u64) -> Result<Due, Stop> {
        self.heap.unchecked_at(host, place)?.get(host)
    }

    fn put(self, host: &mut Host<'_>, place: u64, due: Due) -> Result<(), Stop> {
        self.heap.unchecked_at(host, place)?.set(host, due)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vm::{sandbox::Sandbox, storage::Place};

    const QUEUE: Queue = Queue::new(Place::FIRST);

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64),
        Pop,
        /// By its place among those that are there, in order.
        Remove(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![4 => (0_u64..20).prop_map(Step::Push), 2 => Just(Step::Pop), 1 => (0_usize..20).prop_map(Step::Remove)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Against a sorted list.
        #[test]
        fn the_first_that_ends_comes_first(steps in proptest::collection::vec(step(), 1..60)) {
            let mut sandbox = Sandbox::new();
            let mut model: Vec<Due> = Vec::new();
            for (id, step) in (0_u64..).zip(steps) {
                match step {
                    Step::Push(ends_at) => {
                        let due = Due { ends_at, id };
                        sandbox.run(move |host| QUEUE.push(host, due)).unwrap();
                        model.push(due);
                        model.sort_unstable();
                    }
                    Step::Pop => {
                        let want = if model.is_empty() { None } else { Some(model.remove(0)) };
                        prop_assert_eq!(sandbox.run(|host| QUEUE.pop(host)), Ok(want));
                    }
                    Step::Remove(place) => {
                        let due = if place < model.len() { model.remove(place) } else { Due { ends_at: 99, id } };
                        sandbox.run(move |host| QUEUE.remove(host, due)).unwrap();
                    }
                }
                prop_assert_eq!(sandbox.run(|host| QUEUE.first(host)), Ok(model.first().copied()));
                let mut all = sandbox.run(|host| QUEUE.all(host)).unwrap();
                all.sort_unstable();
                prop_assert_eq!(&all, &model);
            }
        }
    }
}
