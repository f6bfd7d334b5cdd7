//! Types of values: integers, addresses, bytes, texts.

use alloy_primitives::{Address, Bytes, FixedBytes, Signed, U256, Uint};

use super::{Encoding, LayoutTypes, Packed, Place, Shape, Slot, Storable, StorageType, Value};
use crate::vm::{Host, Stop};

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

/// Two's complement, of which a value that shares its slot has the lowest bytes; a key of a mapping has its sign in all bits above.
impl<const BITS: usize, const LIMBS: usize> Packed for Signed<BITS, LIMBS> {
    const BYTES: u8 = <Uint<BITS, LIMBS> as Packed>::BYTES;

    fn from_stored(word: U256) -> Self {
        Self::from_raw(Packed::from_stored(word))
    }

    fn to_stored(self) -> U256 {
        Packed::to_stored(self.into_raw())
    }

    fn to_key(self) -> U256 {
        let stored = Packed::to_stored(self);
        if self.is_negative() && BITS < 256 { stored | (U256::MAX << BITS) } else { stored }
    }

    fn solidity() -> String {
        format!("int{BITS}")
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

/// Bytes that are no UTF-8 are replaced when they are read (U+FFFD): only an intervention and [`Host::store_bytes`] can store such.
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

#[cfg(test)]
mod tests {
    use alloy_primitives::{I256, aliases::I24};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As alloy's ABI encoding has them, which is sign-extended.
        #[test]
        fn signed_values_are_stored_in_their_bytes_and_keys_have_their_sign(number in -0x80_0000_i32..0x80_0000) {
            let (small, large) = (I24::try_from(number).unwrap(), I256::try_from(number).unwrap());
            prop_assert_eq!(Packed::to_stored(small), large.into_raw() & U256::from(0xff_ffff));
            prop_assert_eq!(<I24 as Packed>::from_stored(Packed::to_stored(small)), small);
            prop_assert_eq!(<I256 as Packed>::from_stored(Packed::to_stored(large)), large);
            prop_assert_eq!((Packed::to_key(small), Packed::to_key(large)), (large.into_raw(), large.into_raw()));
        }
    }

    #[test]
    fn signed_types_have_soliditys_names() {
        assert_eq!(
            (<I24 as Packed>::solidity(), <I256 as Packed>::solidity()),
            ("int24".to_owned(), "int256".to_owned())
        );
    }
}
