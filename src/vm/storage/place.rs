//! Where variables are: slots, bytes in slots, and the order in which solc fills them.

use alloy_primitives::U256;

/// A place in storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The slot.
    pub slot: U256,
    /// Offset in the slot, in bytes from its lowest-order one.
    pub offset: u8,
}

impl Place {
    /// Slot 0.
    pub const FIRST: Self = Self::slot(U256::ZERO);

    /// Returns the start of a slot.
    pub const fn slot(slot: U256) -> Self {
        Self { slot, offset: 0 }
    }

    /// Returns the start of the slot so many slots after this one.
    pub const fn after(self, slots: u64) -> Self {
        Self::slot(self.slot.wrapping_add(U256::from_limbs([slots, 0, 0, 0])))
    }
}

/// Room that a variable takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many bytes, 1 to 32, in one slot, which it may share.
    Bytes(u8),
    /// So many slots that it shares with nothing: a struct.
    Slots(u64),
    /// The variables of a contract that another one inherits, each in its turn.
    Inherited(&'static [Self]),
}

/// The next free place, while variables are laid out in order.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    slot: U256,
    /// Bytes of the slot that are taken; 32 when it is full.
    taken: u8,
}

impl Cursor {
    /// Starts at a place.
    pub const fn new(start: Place) -> Self {
        Self { slot: start.slot, taken: start.offset }
    }

    /// Takes the next place for a variable of this shape.
    pub const fn place(&mut self, shape: &Shape) -> Place {
        match shape {
            Shape::Bytes(bytes) => self.place_bytes(*bytes),
            Shape::Slots(slots) => {
                if self.taken > 0 {
                    self.next_slot(1);
                }
                let place = self.here();
                self.next_slot(*slots);
                place
            }
            Shape::Inherited(shapes) => {
                let place = self.here();
                let mut index = 0;
                while index < shapes.len() {
                    self.place(&shapes[index]);
                    index += 1;
                }
                place
            }
        }
    }

    /// Takes the next place for so many bytes in one slot. The compiler knows it where it knows those before.
    #[inline]
    pub(super) const fn place_bytes(&mut self, bytes: u8) -> Place {
        if self.taken + bytes > 32 {
            self.next_slot(1);
        }
        let place = self.here();
        self.taken += bytes;
        place
    }

    const fn here(&self) -> Place {
        Place { slot: self.slot, offset: self.taken }
    }

    const fn next_slot(&mut self, slots: u64) {
        self.slot = self.slot.wrapping_add(U256::from_limbs([slots, 0, 0, 0]));
        self.taken = 0;
    }
}

/// Returns the number of slots that the members of a struct take.
pub const fn slots_of(members: &[Shape]) -> u64 {
    let mut cursor = Cursor::new(Place::FIRST);
    let mut index = 0;
    while index < members.len() {
        cursor.place(&members[index]);
        index += 1;
    }
    let [slots, ..] = cursor.slot.into_limbs();
    if cursor.taken > 0 { slots + 1 } else { slots }
}
