//! Trie keys: keccak of addresses and slots, in a bounded cache.

use std::sync::Mutex;

use alloy_primitives::{Address, B256, U256, keccak256};

/// Caches the hashes of recently used addresses and slots, so that executing and committing a block hashes each
/// of them once. An evicted hash is computed again.
#[derive(Debug, Default)]
pub(crate) struct KeyCache {
    addresses: Mutex<Cells<20, 52>>,
    slots: Mutex<Cells<32, 64>>,
}

/// Log2 of the address hashes kept at most: 13 MiB.
const ADDRESSES_LOG2_MAX: u32 = 18;
/// Log2 of the slot hashes kept at most: 8 MiB.
const SLOTS_LOG2_MAX: u32 = 17;
/// Log2 of the cells of a new cache.
const LOG2_MIN: u32 = 10;

impl KeyCache {
    /// Returns the trie key of an account.
    pub(crate) fn address(&self, address: &Address) -> B256 {
        recall(&self.addresses, ADDRESSES_LOG2_MAX, &address.0.0)
    }

    /// Returns the trie key of a slot in its account's storage.
    pub(crate) fn slot(&self, slot: &U256) -> B256 {
        recall(&self.slots, SLOTS_LOG2_MAX, &slot.to_be_bytes())
    }
}

/// A direct-mapped cache: the last input of a cell wins; `SIZE` is `LEN` and a hash.
///
/// It starts small and grows fourfold whenever as many inputs were missed as there are cells.
#[derive(Default)]
struct Cells<const LEN: usize, const SIZE: usize> {
    cells: Vec<[u8; SIZE]>,
    log2: u32,
    missed: usize,
}

impl<const LEN: usize, const SIZE: usize> Cells<LEN, SIZE> {
    fn make_room(&mut self, log2_max: u32) {
        let log2 = match self.cells.len() {
            0 => LOG2_MIN.min(log2_max),
            count if self.missed >= count && self.log2 < log2_max => (self.log2 + 2).min(log2_max),
            _ => return,
        };
        let fewer = core::mem::replace(&mut self.cells, vec![[0; SIZE]; 1 << log2]);
        (self.log2, self.missed) = (log2, 0);
        for cell in fewer.into_iter().filter(|cell| cell[LEN..] != [0; 32]) {
            self.cells[place(&cell[..LEN], log2)] = cell;
        }
    }
}

impl<const LEN: usize, const SIZE: usize> core::fmt::Debug for Cells<LEN, SIZE> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} cells", self.cells.len())
    }
}

fn recall<const LEN: usize, const SIZE: usize>(
    cells: &Mutex<Cells<LEN, SIZE>>,
    log2_max: u32,
    input: &[u8; LEN],
) -> B256 {
    // If another thread holds the cells, the hash is computed: no thread waits here.
    let Ok(mut cells) = cells.try_lock() else { return keccak256(input) };
    cells.make_room(log2_max);
    let place = place(input, cells.log2);
    let Cells { cells, missed, .. } = &mut *cells;
    let cell = &mut cells[place];
    let (known, hash) = cell.split_at_mut(LEN);
    // No input is known to have the hash zero, so that is an unused cell.
    if known == input && *hash != [0; 32] {
        return B256::from_slice(hash);
    }
    *missed += 1;
    let computed = keccak256(input);
    known.copy_from_slice(input);
    hash.copy_from_slice(&computed.0);
    computed
}

/// Returns the cell of `input` among `1 << cells_log2`, by a hash: addresses are spread evenly, slot numbers are not.
fn place(input: &[u8], cells_log2: u32) -> usize {
    let words = input.chunks(8).map(|chunk| chunk.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte)));
    let mixed = words.fold(0_u64, |mixed, word| (mixed.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> (64 - cells_log2)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hashes_at_first_and_again() {
        let keys = KeyCache::default();
        for _ in 0..2 {
            for number in 0..5000_u64 {
                let address = Address::left_padding_from(&number.to_be_bytes());
                assert_eq!(keys.address(&address), keccak256(address));
                let slot = U256::from(number) << 192;
                assert_eq!(keys.slot(&slot), keccak256(slot.to_be_bytes::<32>()));
            }
        }
    }

    #[test]
    fn inputs_that_share_a_cell_do_not_mix() {
        let cells = Mutex::new(Cells::<20, 52>::default());
        for number in (0..64_u8).chain(0..64) {
            assert_eq!(recall(&cells, 2, &[number; 20]), keccak256([number; 20]));
        }
        assert_eq!(cells.lock().unwrap().cells.len(), 4);
    }

    #[test]
    fn cells_grow_with_what_is_missed_up_to_the_bound() {
        let cells = Mutex::new(Cells::<20, 52>::default());
        for (inputs, expected) in [(1_u64, 1 << 10), (1_000, 1 << 10), (100_000, 1 << 13)] {
            for number in 0..inputs {
                let address = Address::left_padding_from(&number.to_be_bytes());
                assert_eq!(recall(&cells, 13, &address.0.0), keccak256(address));
            }
            assert_eq!(cells.lock().unwrap().cells.len(), expected, "after {inputs} inputs");
        }
    }

    #[test]
    fn numbered_inputs_spread() {
        let places = (0..1024_u64).map(|number| place(&U256::from(number).to_be_bytes::<32>(), 12));
        let distinct = places.collect::<std::collections::BTreeSet<_>>().len();
        assert!(distinct > 850, "{distinct} of 1024 places");
    }
}
