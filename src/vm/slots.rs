//! Solidity's storage layout: slots of mappings, arrays and strings.
//!
//! See "Layout of State Variables in Storage" in Solidity's documentation.

use alloy_primitives::{U256, keccak256};

use super::{GasSchedule, Host, Stop};

/// Returns the slot of `key` in the mapping at slot `base`: keccak of both, 32 bytes each.
pub fn mapping_slot(key: U256, base: U256) -> U256 {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&key.to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&base.to_be_bytes::<32>());
    keccak256(bytes).into()
}

/// Slots, strings and bytes, on which [`storage`](super::storage) builds.
impl Host<'_> {
    /// Returns the slot of `key` in the mapping at slot `base`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas for a hash of 64 bytes.
    pub fn mapping_slot(&mut self, key: U256, base: U256) -> Result<U256, Stop> {
        self.charge(GasSchedule::STANDARD.hash_cost(64))?;
        Ok(self.derived_slot(key, base, mapping_slot))
    }

    /// Returns the slot of the first element of the dynamic array (or long string) at slot `base`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas for a hash of 32 bytes.
    pub fn array_slot(&mut self, base: U256) -> Result<U256, Stop> {
        self.keccak(&base.to_be_bytes::<32>()).map(Into::into)
    }

    /// Reads the `string` or `bytes` at `slot`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn load_bytes(&mut self, slot: U256) -> Result<Vec<u8>, Stop> {
        let head = self.load(slot)?;
        let Some(len) = long_len(head) else {
            let bytes = head.to_be_bytes::<32>();
            return Ok(bytes[..usize::from(bytes[31] / 2).min(31)].to_vec());
        };
        let first = self.array_slot(slot)?;
        let mut bytes = Vec::new();
        for i in 0..len.div_ceil(32) {
            let word = self.load(first.wrapping_add(U256::from(i)))?;
            bytes.extend_from_slice(&word.to_be_bytes::<32>());
        }
        bytes.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    /// Writes the `string` or `bytes` at `slot`, clearing words that it no longer needs.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn store_bytes(&mut self, slot: U256, bytes: &[u8]) -> Result<(), Stop> {
        let old_words = long_len(self.load(slot)?).map_or(0, |len| len.div_ceil(32));
        let new_words = if bytes.len() > 31 { bytes.len().div_ceil(32) as u64 } else { 0 };
        let head = if new_words == 0 {
            let mut word = [0; 32];
            word[..bytes.len()].copy_from_slice(bytes);
            word[31] = bytes.len() as u8 * 2;
            U256::from_be_bytes(word)
        } else {
            U256::from(bytes.len()) * U256::from(2) + U256::from(1)
        };
        self.store(slot, head)?;
        if old_words == 0 && new_words == 0 {
            return Ok(());
        }
        let first = self.array_slot(slot)?;
        for (i, chunk) in (0_u64..).zip(bytes.chunks(32)).take(new_words as usize) {
            let mut word = [0; 32];
            word[..chunk.len()].copy_from_slice(chunk);
            self.store(first.wrapping_add(U256::from(i)), U256::from_be_bytes(word))?;
        }
        for i in new_words..old_words {
            self.store(first.wrapping_add(U256::from(i)), U256::ZERO)?;
        }
        Ok(())
    }
}

/// Returns the length of a string that does not fit into its own slot: its lowest bit is set.
fn long_len(head: U256) -> Option<u64> {
    head.bit(0).then(|| (head >> 1_usize).saturating_to::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slot of `mapping(address => uint256)` at slot 0 for the address 1, as `cast index address 0x..01 0` prints
    /// it.
    #[test]
    fn a_known_slot() {
        let want = alloy_primitives::uint!(0xada5013122d395ba3c54772283fb069b10426056ef8ca54750cb9bb552a59e7d_U256);
        assert_eq!(mapping_slot(U256::ONE, U256::ZERO), want);
    }
}
