//! Interventions: changes that a developer makes between blocks, recorded in the next block so that every replica applies them.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Decodable, Encodable, RlpDecodable, RlpEncodable};

use crate::primitives::Gas;

/// A change of the state or of header fields outside transactions. Applied in order, before the first transaction of the
/// block that records it.
///
/// Invalid unless genesis has `allowInterventions`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Intervention {
    /// Sets an account's balance.
    Balance {
        /// The account.
        address: Address,
        /// New balance, in the smallest unit.
        balance: U256,
    },
    /// Sets an account's nonce.
    Nonce {
        /// The account.
        address: Address,
        /// New nonce.
        nonce: u64,
    },
    /// Sets an account's code.
    Code {
        /// The account.
        address: Address,
        /// New code; empty removes it.
        code: Bytes,
    },
    /// Sets a storage slot.
    Storage {
        /// The account.
        address: Address,
        /// The slot.
        slot: U256,
        /// New value; zero clears the slot.
        value: U256,
    },
    /// Sets the base fee of the block that records it, in place of EIP-1559's.
    BaseFee {
        /// Base fee, in the smallest unit per unit of gas.
        per_gas: u64,
    },
    /// Sets the gas limit from the block that records it on, without the bound of 1/1024 per block.
    GasLimit {
        /// New gas limit; raised to [`GAS_LIMIT_MIN`](super::GAS_LIMIT_MIN).
        gas: Gas,
    },
    /// Sets `mixHash`, which contracts read as `prevRandao`, of the block that records it. Invalid before Paris, for zero, and
    /// where the protocol decides `mixHash`.
    PrevRandao {
        /// New mix hash; not zero.
        mix_hash: B256,
    },
}

impl Intervention {
    /// Returns the account that it changes; `None` for header fields.
    pub const fn address(&self) -> Option<Address> {
        match self {
            Self::Balance { address, .. }
            | Self::Nonce { address, .. }
            | Self::Code { address, .. }
            | Self::Storage { address, .. } => Some(*address),
            Self::BaseFee { .. } | Self::GasLimit { .. } | Self::PrevRandao { .. } => None,
        }
    }
}

/// The RLP encoding of all kinds: `[kind, address, first, second, code]`; unused fields are empty.
#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    kind: u8,
    address: Address,
    first: U256,
    second: U256,
    code: Bytes,
}

impl From<&Intervention> for Fields {
    fn from(intervention: &Intervention) -> Self {
        let fields =
            |kind, address: &Address, first, second, code| Self { kind, address: *address, first, second, code };
        let (none, zero) = (Bytes::new(), U256::ZERO);
        match intervention {
            Intervention::Balance { address, balance } => fields(0, address, *balance, zero, none),
            Intervention::Nonce { address, nonce } => fields(1, address, U256::from(*nonce), zero, none),
            Intervention::Code { address, code } => fields(2, address, zero, zero, code.clone()),
            Intervention::Storage { address, slot, value } => fields(3, address, *slot, *value, none),
            Intervention::BaseFee { per_gas } => fields(4, &Address::ZERO, U256::from(*per_gas), zero, none),
            Intervention::GasLimit { gas } => fields(5, &Address::ZERO, U256::from(gas.get()), zero, none),
            Intervention::PrevRandao { mix_hash } => fields(6, &Address::ZERO, (*mix_hash).into(), zero, none),
        }
    }
}

impl TryFrom<Fields> for Intervention {
    type Error = alloy_rlp::Error;

    fn try_from(fields: Fields) -> Result<Self, alloy_rlp::Error> {
        let Fields { kind, address, first, second, .. } = fields;
        let number = || u64::try_from(first).map_err(|_| alloy_rlp::Error::Overflow);
        let intervention = match kind {
            0 => Self::Balance { address, balance: first },
            1 => Self::Nonce { address, nonce: number()? },
            2 => Self::Code { address, code: fields.code.clone() },
            3 => Self::Storage { address, slot: first, value: second },
            4 => Self::BaseFee { per_gas: number()? },
            5 => Self::GasLimit { gas: Gas::new(number()?) },
            6 => Self::PrevRandao { mix_hash: first.into() },
            _ => return Err(alloy_rlp::Error::Custom("unknown kind of intervention")),
        };
        let again = Fields::from(&intervention);
        let unused_are_empty =
            again.address == address && again.first == first && again.second == second && again.code == fields.code;
        if unused_are_empty {
            Ok(intervention)
        } else {
            Err(alloy_rlp::Error::Custom("intervention with unused fields"))
        }
    }
}

impl Encodable for Intervention {
    fn encode(&self, out: &mut dyn alloy_rlp::BufMut) {
        Fields::from(self).encode(out);
    }

    fn length(&self) -> usize {
        Fields::from(self).length()
    }
}

impl Decodable for Intervention {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        Fields::decode(buf)?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips() {
        let address = Address::repeat_byte(3);
        let all = vec![
            Intervention::Balance { address, balance: U256::MAX },
            Intervention::Nonce { address, nonce: 7 },
            Intervention::Code { address, code: vec![1, 2, 3].into() },
            Intervention::Storage { address, slot: U256::from(4), value: U256::from(5) },
            Intervention::BaseFee { per_gas: 9 },
            Intervention::GasLimit { gas: Gas::new(30_000_000) },
            Intervention::PrevRandao { mix_hash: B256::with_last_byte(1) },
        ];
        let bytes = alloy_rlp::encode(&all);
        assert_eq!(Vec::<Intervention>::decode(&mut bytes.as_slice()).unwrap(), all);
    }

    #[test]
    fn unknown_kinds_and_unused_fields_are_refused() {
        let fields =
            |kind, second| Fields { kind, address: Address::ZERO, first: U256::ZERO, second, code: Bytes::new() };
        for bad in [fields(7, U256::ZERO), fields(0, U256::from(1))] {
            assert!(Intervention::decode(&mut alloy_rlp::encode(bad).as_slice()).is_err());
        }
    }
}
