//! Values: what a slot, or a part of it, or a few of them hold.

use alloy_primitives::{Address, Bytes, FixedBytes, U256, Uint};

use super::{Encoding, LayoutTypes, Place, Shape, Slot, Storable, StorageType};
use crate::vm::{Host, Stop};

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

impl Packed for bool {
    const BYTES: u8 = 1;

    fn from_stored(word: U256) -> Self {
        !word.is_zero()
    }

    fn to_stored(self) -> U256 {
        U256::from(self)
    }

    fn solidity() -> String {
        "bool".to_owned()
    }
}

impl Packed for Address {
    const BYTES: u8 = 20;

    fn from_stored(word: U256) -> Self {
        Self::from_word(word.into())
    }

    fn to_stored(self) -> U256 {
        Address::into_word(&self).into()
    }

    fn solidity() -> String {
        "address".to_owned()
    }
}

impl<const BITS: usize, const LIMBS: usize> Packed for Uint<BITS, LIMBS> {
    const BYTES: u8 = {
        assert!(BITS > 0 && BITS <= 256 && BITS.is_multiple_of(8), "Solidity has uint8 to uint256, in steps of 8 bits");
        (BITS / 8) as u8
    };

    fn from_stored(word: U256) -> Self {
        // The other bytes are zero.
        Self::from_limbs_slice(&word.as_limbs()[..LIMBS])
    }

    fn to_stored(self) -> U256 {
        U256::from_limbs_slice(self.as_limbs())
    }

    fn solidity() -> String {
        format!("uint{BITS}")
    }
}

impl<const N: usize> Packed for FixedBytes<N> {
    const BYTES: u8 = {
        assert!(N > 0 && N <= 32, "Solidity has bytes1 to bytes32");
        N as u8
    };

    fn from_stored(word: U256) -> Self {
        Self::from_slice(&word.to_be_bytes::<32>()[32 - N..])
    }

    fn to_stored(self) -> U256 {
        U256::from_be_slice(self.as_slice())
    }

    fn to_key(self) -> U256 {
        Packed::to_stored(self) << (8 * (32 - N))
    }

    fn solidity() -> String {
        format!("bytes{N}")
    }
}

/// Implements [`Packed`] for an integer type of Rust.
macro_rules! packed_integer {
    ($($int:ty),*) => { $(
        impl Packed for $int {
            const BYTES: u8 = (<$int>::BITS / 8) as u8;

            fn from_stored(word: U256) -> Self {
                // The other bytes are zero.
                word.wrapping_to()
            }

            fn to_stored(self) -> U256 {
                U256::from(self)
            }

            fn solidity() -> String {
                format!("uint{}", <$int>::BITS)
            }
        }
    )* };
}

packed_integer!(u8, u16, u32, u64, u128);

impl Storable for String {
    type Handle = Slot<Self>;
    const SHAPE: Shape = Shape::Bytes(32);

    fn describe(types: &mut LayoutTypes) -> String {
        types.add("t_string_storage".to_owned(), StorageType::new(Encoding::Bytes, "string", 32))
    }
}

/// Bytes that are no UTF-8 are replaced when they are read (U+FFFD): nothing but an intervention can store such.
impl Value for String {
    fn load(host: &mut Host<'_>, place: Place) -> Result<Self, Stop> {
        let bytes = host.load_bytes(place.slot)?;
        Ok(Self::from_utf8(bytes).unwrap_or_else(|error| Self::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    fn store(self, host: &mut Host<'_>, place: Place) -> Result<(), Stop> {
        host.store_bytes(place.slot, self.as_bytes())
    }
}

impl Storable for Bytes {
    type Handle = Slot<Self>;
    const SHAPE: Shape = Shape::Bytes(32);

    fn describe(types: &mut LayoutTypes) -> String {
        types.add("t_bytes_storage".to_owned(), StorageType::new(Encoding::Bytes, "bytes", 32))
    }
}

impl Value for Bytes {
    fn load(host: &mut Host<'_>, place: Place) -> Result<Self, Stop> {
        host.load_bytes(place.slot).map(Into::into)
    }

    fn store(self, host: &mut Host<'_>, place: Place) -> Result<(), Stop> {
        host.store_bytes(place.slot, &self)
    }
}
