//! State variables: Solidity's storage, typed.
//!
//! A contract declares its variables once, in Solidity's order and with Solidity's types; their slots, their packing and the
//! table that solc prints as `storageLayout` all come from that declaration ("Layout of State Variables in Storage" in
//! Solidity's documentation):
//!
//! ```
//! use chainbox::{primitives::{Address, U256}, vm::{Host, Stop, math::CheckedMath, storage::{Mapping, Slot, StorageLayout, storage}}};
//!
//! storage! {
//!     /// State variables of a vault.
//!     contract Vault {
//!         balances: Mapping<Address, U256>,
//!         is_open: Slot<bool>,
//!         owner: Slot<Address>,
//!     }
//! }
//! const VAULT: Vault = Vault::STATE;
//!
//! fn deposit(host: &mut Host<'_>) -> Result<(), Stop> {
//!     let (caller, value) = (host.caller(), host.value());
//!     VAULT.balances.at(host, caller)?.add(host, value)
//! }
//!
//! let layout = StorageLayout::of::<Vault>();
//! let places: Vec<_> = layout.storage.iter().map(|v| (v.label.as_str(), v.slot.as_str(), v.offset)).collect();
//! assert_eq!(places, [("_balances", "0", 0), ("_isOpen", "1", 0), ("_owner", "1", 1)]);
//! # let _ = deposit;
//! ```
//!
//! Every access charges what the schedule has for it: a slot read or written, and a hash for each step into a mapping or
//! an array. A variable that shares its slot is read before it is written, as by solc without its optimiser; a [`record`]
//! is read and written whole, each slot once.

mod array;
mod layout;
mod macros;
mod mapping;
mod names;
mod place;
mod slot;
#[cfg(test)]
mod tests;
mod value;

pub use array::Array;
pub use layout::{Encoding, LayoutTypes, StorageLayout, StorageType, StorageVariable};
#[doc(hidden)]
pub use macros::{FIRST_SLOT, Words, member_label, variable_label};
pub use macros::{record, storage};
pub use mapping::{Key, Mapping};
pub use names::{SlotPreimages, SlotValue};
pub use place::{Cursor, Place, Shape, slots_of};
pub use slot::{Packed, Slot, Value};

/// What a state variable can be: a value, a mapping, an array, or a struct of such.
pub trait Storable {
    /// What reads and writes it.
    type Handle: Handle;

    /// Room that it takes.
    const SHAPE: Shape;

    /// Adds its Solidity type to `types` and returns the type's id, such as `t_uint256`.
    fn describe(types: &mut LayoutTypes) -> String;

    /// Adds the variable `label`, whose room starts at `cursor`, to `variables`; a contract adds each of its own.
    fn list(
        label: &str,
        contract: &str,
        cursor: &mut Cursor,
        types: &mut LayoutTypes,
        variables: &mut Vec<StorageVariable>,
    ) {
        let place = cursor.place(&Self::SHAPE);
        let ty = Self::describe(types);
        variables.push(StorageVariable::new(label, contract, place, ty));
    }
}

/// A variable at a place in storage, such as [`Slot`]. Copying it copies no stored value.
pub trait Handle: Copy {
    /// Returns the variable at this place.
    fn at_place(place: Place) -> Self;
}

/// The state variables of a contract, as [`storage`] declares them.
pub trait ContractStorage: Storable {
    /// Name of the contract.
    const NAME: &'static str;

    /// Place of the first variable.
    const ROOT: Place;
}
