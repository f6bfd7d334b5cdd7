//! Dynamic arrays.

use core::{fmt, marker::PhantomData};

use alloy_primitives::U256;

use super::{Encoding, Handle, LayoutTypes, Place, Shape, Slot, Storable, StorageType, Value};
use crate::vm::{
    Host, Stop,
    abi::{self, PANIC_EMPTY_ARRAY_POP, PANIC_INDEX_OUT_OF_BOUNDS},
};

/// A dynamic array: `T[]`. Its slot holds the length; elements of 16 bytes or less share slots.
pub struct Array<T> {
    slot: U256,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<T> {}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Array").field(&self.slot).finish()
    }
}

impl<T> Array<T> {
    /// Returns the array at this place.
    pub const fn new(place: Place) -> Self {
        Self { slot: place.slot, element: PhantomData }
    }

    /// Returns its slot, for readers outside the contract.
    pub const fn slot(self) -> U256 {
        self.slot
    }

    /// Returns the variable that holds the length. Writing it neither checks nor clears elements.
    pub const fn length(self) -> Slot<U256> {
        Slot::new(Place::slot(self.slot))
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn len(self, host: &mut Host<'_>) -> Result<u64, Stop> {
        Ok(self.length().get(host)?.saturating_to())
    }
}

impl<T: Storable> Array<T> {
    /// Returns the element at an index that is below the length.
    ///
    /// # Errors
    /// `Panic(0x32)` for another index; [`Stop`]: out of gas.
    pub fn at(self, host: &mut Host<'_>, index: u64) -> Result<T::Handle, Stop> {
        if index >= self.len(host)? {
            return Err(abi::panic(PANIC_INDEX_OUT_OF_BOUNDS));
        }
        self.unchecked_at(host, index)
    }

    /// Returns the element at an index, without reading the length.
    ///
    /// # Errors
    /// [`Stop`]: out of gas for the hash.
    pub fn unchecked_at(self, host: &mut Host<'_>, index: u64) -> Result<T::Handle, Stop> {
        let first = host.array_slot(self.slot)?;
        Ok(T::Handle::at_place(element_place(first, &T::SHAPE, index)))
    }
}

impl<T: Value> Array<T> {
    /// Reads the element at an index that is below the length.
    ///
    /// # Errors
    /// `Panic(0x32)` for another index; [`Stop`]: out of gas.
    pub fn get(self, host: &mut Host<'_>, index: u64) -> Result<T, Stop> {
        self.at(host, index)?.get(host)
    }

    /// Writes the element at an index that is below the length.
    ///
    /// # Errors
    /// `Panic(0x32)` for another index; [`Stop`]: out of gas, or inside a static call.
    pub fn set(self, host: &mut Host<'_>, index: u64, value: T) -> Result<(), Stop> {
        self.at(host, index)?.set(host, value)
    }

    /// Appends an element.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn push(self, host: &mut Host<'_>, value: T) -> Result<(), Stop> {
        let len = self.len(host)?;
        self.unchecked_at(host, len)?.set(host, value)?;
        self.length().set(host, U256::from(len) + U256::ONE)
    }
}

impl<T: Value> Array<T> {
    /// Appends elements, writing the length once.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn extend(self, host: &mut Host<'_>, values: impl IntoIterator<Item = T>) -> Result<(), Stop> {
        let mut len = self.len(host)?;
        for value in values {
            self.unchecked_at(host, len)?.set(host, value)?;
            len += 1;
        }
        self.length().set(host, U256::from(len))
    }

    /// Reads all elements.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn to_vec(self, host: &mut Host<'_>) -> Result<Vec<T>, Stop> {
        let len = self.len(host)?;
        (0..len).map(|index| self.unchecked_at(host, index)?.get(host)).collect()
    }
}

impl<T: Value + Default> Array<T> {
    /// Removes the last element, clears its place and returns it.
    ///
    /// # Errors
    /// `Panic(0x31)` without an element; [`Stop`]: out of gas, or inside a static call.
    pub fn pop(self, host: &mut Host<'_>) -> Result<T, Stop> {
        let last = self.len(host)?.checked_sub(1).ok_or_else(|| abi::panic(PANIC_EMPTY_ARRAY_POP))?;
        let element = self.unchecked_at(host, last)?;
        let value = element.get(host)?;
        element.set(host, T::default())?;
        self.length().set(host, U256::from(last))?;
        Ok(value)
    }
}

/// Returns the place of an element in an array whose elements start at slot `first`.
fn element_place(first: U256, shape: &Shape, index: u64) -> Place {
    let index = U256::from(index);
    let (slots, offset) = match shape {
        Shape::Bytes(bytes) if *bytes <= 16 => {
            let each_slot = U256::from(32 / bytes);
            // Below 32.
            (index / each_slot, (index % each_slot).wrapping_to::<u8>() * bytes)
        }
        Shape::Bytes(_) => (index, 0),
        Shape::Slots(slots) => (index.wrapping_mul(U256::from(*slots)), 0),
        Shape::Inherited(members) => (index.wrapping_mul(U256::from(super::slots_of(members))), 0),
    };
    Place { slot: first.wrapping_add(slots), offset }
}

impl<T> Handle for Array<T> {
    fn at_place(place: Place) -> Self {
        Self::new(place)
    }
}

impl<T: Storable> Storable for Array<T> {
    type Handle = Self;
    const SHAPE: Shape = Shape::Bytes(32);

    fn describe(types: &mut LayoutTypes) -> String {
        let base = T::describe(types);
        let ty = StorageType::new(Encoding::DynamicArray, &format!("{}[]", types.label(&base)), 32);
        types.add(format!("t_array({base})dyn_storage"), StorageType { base: Some(base), ..ty })
    }
}
