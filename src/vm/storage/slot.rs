//! A variable that holds a value: a part of a slot, a slot, or a few of them.

use core::{fmt, marker::PhantomData};

use alloy_primitives::U256;

use super::{Encoding, Handle, LayoutTypes, Place, Shape, Storable, StorageType};
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

/// A value that is read and written at once.
pub trait Value: Storable<Handle = Slot<Self>> + Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    fn load(host: &mut Host<'_>, place: Place) -> Result<Self, Stop>;

    /// Writes the value.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    fn store(self, host: &mut Host<'_>, place: Place) -> Result<(), Stop>;

    /// Reads the value, and writes what `change` makes of it, reading each slot once.
    ///
    /// # Errors
    /// Those of `change`; [`Stop`]: out of gas, or inside a static call.
    fn update(host: &mut Host<'_>, place: Place, change: impl FnOnce(Self) -> Result<Self, Stop>) -> Result<(), Stop> {
        let value = Self::load(host, place)?;
        change(value)?.store(host, place)
    }
}

/// A value of at most 32 bytes, which may share its slot.
pub trait Packed: Copy {
    /// Bytes that it takes, 1 to 32.
    const BYTES: u8;

    /// Reads it from the lowest bytes of a word whose others are zero.
    fn from_stored(word: U256) -> Self;

    /// Returns the word with the value in its lowest bytes and zeros in the others.
    fn to_stored(self) -> U256;

    /// Returns the value as a key of a mapping: left-padded, but for `bytesN`, as in memory.
    fn to_key(self) -> U256 {
        self.to_stored()
    }

    /// Returns the Solidity name of the type, such as `uint256`.
    fn solidity() -> String;
}

/// Returns the bits of a value of so many bytes in the lowest bits of a word.
const fn mask(bytes: u8) -> U256 {
    let mut limbs = [0; 4];
    let mut byte = 0;
    while byte < bytes {
        limbs[(byte / 8) as usize] |= 0xff << (8 * (byte % 8));
        byte += 1;
    }
    U256::from_limbs(limbs)
}

/// Returns the value at an offset of a word.
pub(super) fn unpack<T: Packed>(word: U256, offset: u8) -> T {
    if T::BYTES == 32 {
        return T::from_stored(word);
    }
    T::from_stored((word >> (8 * usize::from(offset))) & const { mask(T::BYTES) })
}

/// Returns the word with the value written at an offset.
pub(super) fn pack<T: Packed>(word: U256, offset: u8, value: T) -> U256 {
    if T::BYTES == 32 {
        return value.to_stored();
    }
    let shift = 8 * usize::from(offset);
    (word & !(const { mask(T::BYTES) } << shift)) | (value.to_stored() << shift)
}

impl<T: Packed> Storable for T {
    type Handle = Slot<T>;
    const SHAPE: Shape = Shape::Bytes(T::BYTES);

    fn describe(types: &mut LayoutTypes) -> String {
        let label = T::solidity();
        let ty = StorageType::new(Encoding::Inplace, &label, T::BYTES.into());
        types.add(format!("t_{label}"), ty)
    }
}

impl<T: Packed> Value for T {
    fn load(host: &mut Host<'_>, place: Place) -> Result<Self, Stop> {
        host.load(place.slot).map(|word| unpack(word, place.offset))
    }

    fn store(self, host: &mut Host<'_>, place: Place) -> Result<(), Stop> {
        let word = if T::BYTES == 32 { U256::ZERO } else { host.load(place.slot)? };
        host.store(place.slot, pack(word, place.offset, self))
    }

    fn update(host: &mut Host<'_>, place: Place, change: impl FnOnce(Self) -> Result<Self, Stop>) -> Result<(), Stop> {
        let word = host.load(place.slot)?;
        let value = change(unpack(word, place.offset))?;
        host.store(place.slot, pack(word, place.offset, value))
    }
}
