//! Identity of a store: written once, compared at every open.

use alloy_primitives::B256;

use super::{Batch, KeyValue, StoreError, Table};

const KEY: &[u8] = b"identity";

/// Checks that `store` has the identity `identity`, for example a chain's genesis hash.
///
/// For a store without an identity, writes this one to `batch`.
///
/// # Errors
/// [`StoreError::WrongIdentity`] when it has another one, [`StoreError::Corrupt`] when the stored identity is no hash,
/// [`StoreError::Io`] when it cannot be read.
pub fn check_identity(store: &dyn KeyValue, identity: B256, batch: &mut Batch) -> Result<(), StoreError> {
    let Some(found) = store.get(Table::Meta, KEY)? else {
        batch.put(Table::Meta, KEY, identity.to_vec());
        return Ok(());
    };
    let found = B256::try_from(&found[..]).map_err(|error| StoreError::Corrupt {
        table: Table::Meta,
        key: alloy_primitives::hex::encode(KEY),
        reason: error.to_string(),
    })?;
    if found == identity { Ok(()) } else { Err(StoreError::WrongIdentity { found, expected: identity }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn the_first_identity_stays() {
        let store = MemoryStore::new();
        let (own, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let mut batch = Batch::new();
        check_identity(&store, own, &mut batch).unwrap();
        store.write(batch).unwrap();

        let mut batch = Batch::new();
        check_identity(&store, own, &mut batch).unwrap();
        let refused = check_identity(&store, other, &mut batch).unwrap_err();
        assert!(matches!(refused, StoreError::WrongIdentity { found, expected } if found == own && expected == other));
        assert!(batch.is_empty());
    }
}
