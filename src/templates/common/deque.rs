//! OpenZeppelin's `DoubleEndedQueue.Bytes32Deque`: words that are added at one end and taken from the other.

use crate::vm::{
    abi::{PANIC_EMPTY_ARRAY_POP, PANIC_OUT_OF_MEMORY},
    contract::*,
};

storage! {
    /// The words, by numbers from `begin` up to `end`.
    pub struct Bytes32Deque {
        /// Number of the first word.
        pub begin: Slot<u128> as "_begin",
        /// Number after the last word's.
        pub end: Slot<u128> as "_end",
        /// The words.
        pub data: Mapping<u128, B256> as "_data",
    }
}

record! {
    /// Both ends, which share a slot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Ends {
        begin: u128,
        end: u128,
    }
}

impl Bytes32Deque {
    /// The variables `begin` and `end` at once.
    const fn ends(self) -> Slot<Ends> {
        Slot::new(self.begin.place())
    }

    /// Adds a word at the end (`pushBack`).
    ///
    /// # Errors
    /// `Panic(0x41)` when it is full; [`Stop`].
    pub fn push_back(self, host: &mut Host<'_>, word: B256) -> Result<(), Stop> {
        let Ends { begin, end } = self.ends().get(host)?;
        let next = end.wrapping_add(1);
        if next == begin {
            return Err(panic(PANIC_OUT_OF_MEMORY));
        }
        self.data.set(host, end, word)?;
        self.ends().set(host, Ends { begin, end: next })
    }

    /// Takes the first word (`popFront`).
    ///
    /// # Errors
    /// `Panic(0x31)` when there is none; [`Stop`].
    pub fn pop_front(self, host: &mut Host<'_>) -> Result<B256, Stop> {
        let Ends { begin, end } = self.ends().get(host)?;
        if begin == end {
            return Err(panic(PANIC_EMPTY_ARRAY_POP));
        }
        let place = self.data.at(host, begin)?;
        let word = place.get(host)?;
        place.set(host, B256::ZERO)?;
        self.ends().set(host, Ends { begin: begin.wrapping_add(1), end })?;
        Ok(word)
    }

    /// Returns whether there are no words (`empty`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn is_empty(self, host: &mut Host<'_>) -> Result<bool, Stop> {
        let Ends { begin, end } = self.ends().get(host)?;
        Ok(begin == end)
    }

    /// Forgets all words, which stay in storage (`clear`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn clear(self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.ends().set(host, Ends { begin: 0, end: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::vm::{sandbox::Sandbox, storage::Place};

    const DEQUE: Bytes32Deque = Bytes32Deque::new(Place::FIRST);

    #[test]
    fn ends_share_a_slot_and_a_full_one_is_refused() {
        let mut sandbox = Sandbox::new();
        let ends = Ends { begin: 3, end: 2 };
        sandbox.run(move |host| DEQUE.ends().set(host, ends)).unwrap();
        assert_eq!(sandbox.slot(U256::ZERO), U256::from(3) | U256::from(2) << 128_usize);
        let full = sandbox.run(|host| DEQUE.push_back(host, B256::ZERO));
        assert_eq!(full, Err(panic(PANIC_OUT_OF_MEMORY)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Against the standard library's: `Some` adds a word, `None` takes one.
        #[test]
        fn words_come_out_as_they_went_in(steps in proptest::collection::vec(any::<Option<u8>>(), 0..30), clears_at in 0_usize..30) {
            let mut sandbox = Sandbox::new();
            let mut model = VecDeque::new();
            for (index, step) in steps.into_iter().enumerate() {
                if index == clears_at {
                    sandbox.run(|host| DEQUE.clear(host)).unwrap();
                    model.clear();
                }
                match step {
                    Some(byte) => {
                        let word = B256::repeat_byte(byte);
                        sandbox.run(move |host| DEQUE.push_back(host, word)).unwrap();
                        model.push_back(word);
                    }
                    None => {
                        let want = model.pop_front().ok_or_else(|| panic(PANIC_EMPTY_ARRAY_POP));
                        prop_assert_eq!(sandbox.run(|host| DEQUE.pop_front(host)), want);
                    }
                }
                prop_assert_eq!(sandbox.run(|host| DEQUE.is_empty(host)), Ok(model.is_empty()));
            }
        }
    }
}
