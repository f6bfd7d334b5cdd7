//! Declarations of state variables.

use alloy_primitives::U256;

use super::{
    Cursor, Packed, Place,
    layout::camel_case,
    slot::{pack, unpack},
};
use crate::vm::{Host, Stop};

/// Declares the state variables of a contract, or the members of a struct in storage.
///
/// Each field is a [`Slot`](crate::vm::storage::Slot), a [`Mapping`](crate::vm::storage::Mapping), an
/// [`Array`](crate::vm::storage::Array), a struct declared by this macro, or (in a contract only) another contract, whose variables take
/// their places at that point, as those of a base contract do.
///
/// - `contract Name { ... }` makes a struct with the constant `STATE`, its variables from slot 0 on; `contract Name layout at ROOT
///   { ... }` from slot `ROOT` on. A variable is labelled as private ones of OpenZeppelin are: `total_supply` is `_totalSupply`.
/// - `struct Name { ... }` makes a struct that is a variable's type, as in `Mapping<Address, Name>`; its members have no underscore.
///
/// `field: Type as "label"` gives another label.
#[macro_export]
macro_rules! __storage {
    (
        $(#[$meta:meta])* $vis:vis contract $name:ident layout at $root:path {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty $(as $label:literal)?),* $(,)?
        }
    ) => {
        $crate::vm::storage::storage!(@variables
            [$(#[$meta])*] [$vis] $name { $([$(#[$field_meta])*] [$field_vis] $field: $ty),* }
        );

        impl $name {
            /// The variables at their places.
            #[allow(dead_code)] // Those of a base contract are used through its heir.
            $vis const STATE: Self = Self::new($crate::vm::storage::Place::slot($root));
        }

        impl $crate::vm::storage::ContractStorage for $name {
            const NAME: &'static str = stringify!($name);
            const ROOT: $crate::vm::storage::Place = $crate::vm::storage::Place::slot($root);
        }

        impl $crate::vm::storage::Storable for $name {
            type Handle = Self;
            const SHAPE: $crate::vm::storage::Shape = $crate::vm::storage::Shape::Inherited(Self::SHAPES);

            fn describe(_: &mut $crate::vm::storage::LayoutTypes) -> String {
                stringify!($name).to_owned()
            }

            fn list(
                _: &str,
                _: &str,
                cursor: &mut $crate::vm::storage::Cursor,
                types: &mut $crate::vm::storage::LayoutTypes,
                variables: &mut Vec<$crate::vm::storage::StorageVariable>,
            ) {
                $({
                    let label = [$($label.to_owned(),)? $crate::vm::storage::variable_label(stringify!($field))];
                    <$ty as $crate::vm::storage::Storable>::list(&label[0], stringify!($name), cursor, types, variables);
                })*
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis contract $name:ident { $($body:tt)* }) => {
        $crate::vm::storage::storage! {
            $(#[$meta])* $vis contract $name layout at $crate::vm::storage::FIRST_SLOT { $($body)* }
        }
    };
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty $(as $label:literal)?),* $(,)?
        }
    ) => {
        $crate::vm::storage::storage!(@variables
            [$(#[$meta])*] [$vis] $name { $([$(#[$field_meta])*] [$field_vis] $field: $ty),* }
        );

        impl $crate::vm::storage::Storable for $name {
            type Handle = Self;
            const SHAPE: $crate::vm::storage::Shape =
                $crate::vm::storage::Shape::Slots($crate::vm::storage::slots_of(Self::SHAPES));

            fn describe(types: &mut $crate::vm::storage::LayoutTypes) -> String {
                types.add_struct(stringify!($name), $crate::vm::storage::slots_of(Self::SHAPES), |cursor, types, members| {
                    $({
                        let label = [$($label.to_owned(),)? $crate::vm::storage::member_label(stringify!($field))];
                        <$ty as $crate::vm::storage::Storable>::list(&label[0], stringify!($name), cursor, types, members);
                    })*
                })
            }
        }
    };
    (
        @variables [$($meta:tt)*] [$vis:vis] $name:ident {
            $([$($field_meta:tt)*] [$field_vis:vis] $field:ident: $ty:ty),*
        }
    ) => {
        $($meta)*
        #[derive(Clone, Copy, Debug)]
        #[allow(dead_code)] // A variable takes its place whether code here reads it or not.
        $vis struct $name { $($($field_meta)* $field_vis $field: $ty),* }

        impl $name {
            const SHAPES: &'static [$crate::vm::storage::Shape] =
                &[$(<$ty as $crate::vm::storage::Storable>::SHAPE),*];

            /// Returns the variables from this place on.
            $vis const fn new(place: $crate::vm::storage::Place) -> Self {
                let mut cursor = $crate::vm::storage::Cursor::new(place);
                Self { $($field: <$ty>::new(cursor.place(&<$ty as $crate::vm::storage::Storable>::SHAPE))),* }
            }
        }

        impl $crate::vm::storage::Handle for $name {
            fn at_place(place: $crate::vm::storage::Place) -> Self {
                Self::new(place)
            }
        }
    };
}

/// Declares a struct of values that is read and written whole, each of its slots once: `Slot<Name>`, `Mapping<Key, Name>`.
///
/// Fields are [`Packed`](crate::vm::storage::Packed) values, laid out as the members of a Solidity struct.
#[macro_export]
macro_rules! __record {
    (
        $(#[$meta:meta])* $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $ty),* }

        impl $name {
            const SHAPES: &'static [$crate::vm::storage::Shape] =
                &[$(<$ty as $crate::vm::storage::Storable>::SHAPE),*];
            const SLOTS: u64 = $crate::vm::storage::slots_of(Self::SHAPES);
        }

        impl $crate::vm::storage::Storable for $name {
            type Handle = $crate::vm::storage::Slot<Self>;
            const SHAPE: $crate::vm::storage::Shape = $crate::vm::storage::Shape::Slots(Self::SLOTS);

            fn describe(types: &mut $crate::vm::storage::LayoutTypes) -> String {
                types.add_struct(stringify!($name), Self::SLOTS, |cursor, types, members| {
                    $(
                        let label = $crate::vm::storage::member_label(stringify!($field));
                        <$ty as $crate::vm::storage::Storable>::list(&label, stringify!($name), cursor, types, members);
                    )*
                })
            }
        }

        impl $crate::vm::storage::Value for $name {
            fn load(
                host: &mut $crate::vm::Host<'_>,
                place: $crate::vm::storage::Place,
            ) -> Result<Self, $crate::vm::Stop> {
                let words = $crate::vm::storage::Words::<{ Self::SLOTS as usize }>::load(host, place)?;
                let mut cursor = words.cursor();
                Ok(Self { $($field: words.get::<$ty>(&mut cursor)),* })
            }

            fn store(
                self,
                host: &mut $crate::vm::Host<'_>,
                place: $crate::vm::storage::Place,
            ) -> Result<(), $crate::vm::Stop> {
                let mut words = $crate::vm::storage::Words::<{ Self::SLOTS as usize }>::default();
                let mut cursor = words.cursor();
                $(words.put(&mut cursor, self.$field);)*
                words.store(host, place)
            }
        }
    };
}

#[doc(inline)]
pub use __record as record;
#[doc(inline)]
pub use __storage as storage;

/// The slot at which a contract's variables begin.
#[doc(hidden)]
pub const FIRST_SLOT: U256 = U256::ZERO;

/// Returns the label of a contract's variable: `_totalSupply` for `total_supply`.
#[doc(hidden)]
pub fn variable_label(field: &str) -> String {
    format!("_{}", camel_case(field))
}

/// Returns the label of a struct's member: `totalSupply` for `total_supply`.
#[doc(hidden)]
pub fn member_label(field: &str) -> String {
    camel_case(field)
}

/// The slots of a record.
#[doc(hidden)]
#[derive(Debug)]
pub struct Words<const N: usize>([U256; N]);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Self([U256::ZERO; N])
    }
}

impl<const N: usize> Words<N> {
    /// Reads the slots from `place` on.
    ///
    /// # Errors
    /// [`Stop`]: out of gas.
    pub fn load(host: &mut Host<'_>, place: Place) -> Result<Self, Stop> {
        let mut words = Self::default();
        for (number, word) in (0..).zip(&mut words.0) {
            *word = host.load(place.after(number).slot)?;
        }
        Ok(words)
    }

    /// Writes the slots from `place` on.
    ///
    /// # Errors
    /// [`Stop`]: out of gas, or inside a static call.
    pub fn store(self, host: &mut Host<'_>, place: Place) -> Result<(), Stop> {
        for (number, word) in (0..).zip(self.0) {
            host.store(place.after(number).slot, word)?;
        }
        Ok(())
    }

    /// Returns the start of the record.
    pub const fn cursor(&self) -> Cursor {
        Cursor::new(Place::FIRST)
    }

    /// Returns the next value.
    pub fn get<T: Packed>(&self, cursor: &mut Cursor) -> T {
        let (index, offset) = place_in(cursor, T::BYTES);
        unpack(self.0[index], offset)
    }

    /// Writes the next value.
    pub fn put<T: Packed>(&mut self, cursor: &mut Cursor, value: T) {
        let (index, offset) = place_in(cursor, T::BYTES);
        self.0[index] = pack(self.0[index], offset, value);
    }
}

/// Returns the index of the word in which the next value of so many bytes is, and its offset there.
fn place_in(cursor: &mut Cursor, bytes: u8) -> (usize, u8) {
    let place = cursor.place_bytes(bytes);
    // A record has as many words as its values need.
    (place.slot.saturating_to(), place.offset)
}
