//! Mappings.

use core::{fmt, marker::PhantomData};

use alloy_primitives::{Bytes, U256};

use super::{Encoding, Handle, LayoutTypes, Packed, Place, Shape, Storable, StorageType, Value};
use crate::vm::{Host, Stop};

/// A key of a mapping: a value of at most 32 bytes, a `string` or `bytes`.
pub trait Key {
    /// Returns the slot of the key's value in the mapping at slot `base`.
    ///
    /// # Errors
    /// [`Stop`]: out of gas for the hash.
    fn slot(&self, host: &mut Host<'_>, base: U256) -> Result<U256, Stop>;

    /// Adds the key's type to `types` and returns its id.
    fn describe(types: &mut LayoutTypes) -> String;
}

impl<T: Packed> Key for T {
    fn slot(&self, host: &mut Host<'_>, base: U256) -> Result<U256, Stop> {
        host.mapping_slot(self.to_key(), base)
    }

    fn describe(types: &mut LayoutTypes) -> String {
        <T as Storable>::describe(types)
    }
}

impl Key for String {
    fn slot(&self, host: &mut Host<'_>, base: U256) -> Result<U256, Stop> {
        bytes_slot(host, self.as_bytes(), base)
    }

    fn describe(types: &mut LayoutTypes) -> String {
        types.add("t_string_memory_ptr".to_owned(), StorageType::new(Encoding::Bytes, "string", 32))
    }
}

impl Key for Bytes {
    fn slot(&self, host: &mut Host<'_>, base: U256) -> Result<U256, Stop> {
        bytes_slot(host, self, base)
    }

    fn describe(types: &mut LayoutTypes) -> String {
        types.add("t_bytes_memory_ptr".to_owned(), StorageType::new(Encoding::Bytes, "bytes", 32))
    }
}

fn bytes_slot(host: &mut Host<'_>, key: &[u8], base: U256) -> Result<U256, Stop> {
    let hash = host.keccak(&[key, &base.to_be_bytes::<32>()].concat())?;
    Ok(hash.into())
}

/// A mapping: `mapping(K => V)`.
///
/// `V` is a value, as in `Mapping<Address, U256>`, or another mapping, an array or a struct.
pub struct Mapping<K, V> {
    slot: U256,
    types: PhantomData<fn(K) -> V>,
}

impl<K, V> Clone for Mapping<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Mapping<K, V> {}

impl<K, V> fmt::Debug for Mapping<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mapping").field(&self.slot).finish()
    }
}

impl<K, V> Mapping<K, V> {
    /// Returns the mapping at this place.
    pub const fn new(place: Place) -> Self {
        Self { slot: place.slot, types: PhantomData }
    }

    /// Returns its slot, for readers outside the contract.
    pub const fn slot(self) -> U256 {
        self.slot
    }
}

impl<K: Key, V: Storable> Mapping<K, V> {
    /// Returns the variable under a key, without an access to it.
    ///
    /// # Errors
    /// [`Stop`]: out of gas for the hash.
    pub fn at(self, host: &mut Host<'_>, key: K) -> Result<V::Handle, Stop> {
        let slot = key.slot(host, self.slot)?;
        Ok(V::Handle::at_place(Place::slot(slot)))
    }
}

impl<K: Packed, V> Mapping<K, V> {
    /// Begins to fetch the value under a key that is read soon; costs no gas and is no access. It makes a function that reads two
    /// values under unrelated keys wait for memory once.
    pub fn fetch_ahead(self, host: &Host<'_>, key: K) {
        host.fetch_ahead(key.to_key(), self.slot);
    }
}

impl<K: Key, V: Value> Mapping<K, V> {
    /// Reads the value under a key.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn get(self, host: &mut Host<'_>, key: K) -> Result<V, Stop> {
        self.at(host, key)?.get(host)
    }

    /// Writes the value under a key.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn set(self, host: &mut Host<'_>, key: K, value: V) -> Result<(), Stop> {
        self.at(host, key)?.set(host, value)
    }
}

impl<K, V> Handle for Mapping<K, V> {
    fn at_place(place: Place) -> Self {
        Self::new(place)
    }
}

impl<K: Key, V: Storable> Storable for Mapping<K, V> {
    type Handle = Self;
    const SHAPE: Shape = Shape::Bytes(32);

    fn describe(types: &mut LayoutTypes) -> String {
        let (key, value) = (K::describe(types), V::describe(types));
        let label = format!("mapping({} => {})", types.label(&key), types.label(&value));
        let id = format!("t_mapping({key},{value})");
        let ty = StorageType::new(Encoding::Mapping, &label, 32);
        types.add(id, StorageType { key: Some(key), value: Some(value), ..ty })
    }
}
