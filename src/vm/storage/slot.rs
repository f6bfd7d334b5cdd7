//! A variable that holds a value.

use core::{fmt, marker::PhantomData};

use alloy_primitives::U256;

use super::{Handle, LayoutTypes, Packed, Place, Shape, Storable, Value, value::pack};
use crate::vm::{Host, Stop, math::CheckedMath};

/// A variable that holds a value.
pub struct Slot<T> {
    place: Place,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.place).finish()
    }
}

impl<T> Slot<T> {
    /// Returns the variable at this place.
    pub const fn new(place: Place) -> Self {
        Self { place, value: PhantomData }
    }

    /// Returns where it is.
    pub const fn place(self) -> Place {
        self.place
    }

    /// Returns its slot, for readers outside the contract.
    pub const fn slot(self) -> U256 {
        self.place.slot
    }
}

impl<T: Value> Slot<T> {
    /// Reads the value.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn get(self, host: &mut Host<'_>) -> Result<T, Stop> {
        T::load(host, self.place)
    }

    /// Writes the value.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn set(self, host: &mut Host<'_>, value: T) -> Result<(), Stop> {
        value.store(host, self.place)
    }

    /// Reads the value, and writes what `change` makes of it, reading each slot once.
    ///
    /// # Errors
    /// Those of `change`; [`Stop`]: out of gas, or inside a static call.
    pub fn update(self, host: &mut Host<'_>, change: impl FnOnce(T) -> Result<T, Stop>) -> Result<(), Stop> {
        T::update(host, self.place, change)
    }
}

impl<T: Packed> Slot<T> {
    /// Writes the value, and zeros to the rest of its slot, which is not read: for a value that has its slot to itself.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn overwrite(self, host: &mut Host<'_>, value: T) -> Result<(), Stop> {
        host.store(self.place.slot, pack(U256::ZERO, self.place.offset, value))
    }
}

impl<T: Value + CheckedMath> Slot<T> {
    /// Adds to the value: `variable += amount`.
    ///
    /// # Errors
    /// `Panic(0x11)` on overflow; [`Stop`]: out of gas, or inside a static call.
    pub fn add(self, host: &mut Host<'_>, amount: T) -> Result<(), Stop> {
        self.update(host, |value| value.add(amount))
    }

    /// Subtracts from the value: `variable -= amount`.
    ///
    /// # Errors
    /// `Panic(0x11)` when `amount` is larger; [`Stop`]: out of gas, or inside a static call.
    pub fn sub(self, host: &mut Host<'_>, amount: T) -> Result<(), Stop> {
        self.update(host, |value| value.sub(amount))
    }
}

impl<T> Handle for Slot<T> {
    fn at_place(place: Place) -> Self {
        Self::new(place)
    }
}

impl<T: Value> Storable for Slot<T> {
    type Handle = Self;
    const SHAPE: Shape = T::SHAPE;

    fn describe(types: &mut LayoutTypes) -> String {
        T::describe(types)
    }
}
