//! Header fields that follow from the parent and the genesis specification: computing and checking them.

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};

use super::{
    base_fee::next_base_fee,
    block::{Block, EXTRA_DATA_BYTES_MAX, empty_header},
    error::BlockError,
    intervention::Intervention,
    rules::BlockAttributes,
    spec::{BaseFee, GAS_LIMIT_MIN, GenesisSpec},
};
use crate::primitives::{Gas, Height, Timestamp};

/// A block changes the gas limit by less than the parent's divided by this (Yellow Paper, 4.3.4).
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1_024;

/// Header fields set by the interventions that the block records; the last of a kind applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderOverrides {
    pub(super) base_fee: Option<u64>,
    pub(super) gas_limit: Option<Gas>,
}

impl HeaderOverrides {
    pub(super) fn of<'i>(interventions: impl IntoIterator<Item = &'i Intervention>) -> Self {
        let mut overrides = Self::default();
        interventions.into_iter().for_each(|intervention| overrides.add(intervention));
        overrides
    }

    pub(super) fn add(&mut self, intervention: &Intervention) {
        match intervention {
            Intervention::BaseFee { per_gas } => self.base_fee = Some(*per_gas),
            Intervention::GasLimit { gas } => self.gas_limit = Some((*gas).max(GAS_LIMIT_MIN)),
            _ => {}
        }
    }
}

/// Returns the base fee of a child of `parent`: the override, or EIP-1559's; `None` when the chain has none.
pub(super) fn expected_base_fee(spec: &GenesisSpec, parent: &Header, overrides: HeaderOverrides) -> Option<u64> {
    let BaseFee::Dynamic(params) = spec.base_fee else { return None };
    if !spec.forks.is_london(Height::new(parent.number).next()) {
        return None;
    }
    overrides.base_fee.or_else(|| {
        let (used, limit) = (Gas::new(parent.gas_used), Gas::new(parent.gas_limit));
        let next = |base_fee| next_base_fee(params, used, limit, base_fee);
        Some(parent.base_fee_per_gas.map_or(params.initial, next))
    })
}

/// Returns the header of a child of `parent`, with the fields that follow from execution empty.
pub(super) fn next_header(
    spec: &GenesisSpec,
    parent: &Block,
    attributes: &BlockAttributes,
    overrides: HeaderOverrides,
) -> Header {
    let (parent_hash, parent) = (parent.hash(), parent.header());
    let extra_data = Block::extra_data_of(&attributes.payload).unwrap_or_else(|| attributes.extra_data.clone());
    let target = attributes.gas_limit.unwrap_or(Gas::new(parent.gas_limit));
    let (low, high) = gas_limit_bounds(parent, overrides);
    Header {
        parent_hash,
        beneficiary: attributes.beneficiary,
        difficulty: attributes.difficulty,
        number: parent.number.saturating_add(1),
        gas_limit: target.clamp(low, high).get(),
        timestamp: attributes.timestamp.as_secs(),
        extra_data,
        mix_hash: attributes.mix_hash,
        nonce: attributes.nonce,
        base_fee_per_gas: expected_base_fee(spec, parent, overrides),
        ..empty_header()
    }
}

/// Returns the lowest and the highest valid gas limit of a child of `parent`.
fn gas_limit_bounds(parent: &Header, overrides: HeaderOverrides) -> (Gas, Gas) {
    let limit = Gas::new(parent.gas_limit);
    let change = Gas::new((limit.get() / GAS_LIMIT_BOUND_DIVISOR).saturating_sub(1));
    let low = limit.saturating_sub(change).max(GAS_LIMIT_MIN);
    overrides.gas_limit.map_or((low, limit.saturating_add(change)), |gas| (gas, gas))
}

/// Checks the fields that follow from the parent and the genesis specification.
pub(super) fn check_fixed_fields(
    spec: &GenesisSpec,
    header: &Header,
    parent: &Header,
    overrides: HeaderOverrides,
) -> Result<(), BlockError> {
    let (got, want) = (Height::new(header.number), Height::new(parent.number).next());
    if got != want {
        return Err(BlockError::Number { got, want });
    }
    if header.timestamp < parent.timestamp {
        let (got, parent) = (Timestamp::from_secs(header.timestamp), Timestamp::from_secs(parent.timestamp));
        return Err(BlockError::Timestamp { got, parent });
    }
    let (low, high) = gas_limit_bounds(parent, overrides);
    let got = Gas::new(header.gas_limit);
    if !(low..=high).contains(&got) {
        return Err(BlockError::GasLimit { got, low, high });
    }
    let (got, want) = (header.base_fee_per_gas, expected_base_fee(spec, parent, overrides));
    if got != want {
        return Err(BlockError::BaseFee { got, want });
    }
    let (got, want) = (header.ommers_hash, EMPTY_OMMER_ROOT_HASH);
    if got != want {
        return Err(BlockError::OmmersHash { got, want });
    }
    let (got, max) = (header.extra_data.len(), EXTRA_DATA_BYTES_MAX);
    if got > max {
        return Err(BlockError::ExtraDataLength { got, max });
    }
    check_unused_fields(header)
}

/// Checks that the fields of forks after London are absent: this chain's headers don't have them.
fn check_unused_fields(header: &Header) -> Result<(), BlockError> {
    let unused = [
        ("withdrawalsRoot", header.withdrawals_root.is_some()),
        ("blobGasUsed", header.blob_gas_used.is_some()),
        ("excessBlobGas", header.excess_blob_gas.is_some()),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root.is_some()),
        ("requestsHash", header.requests_hash.is_some()),
        ("blockAccessListHash", header.block_access_list_hash.is_some()),
        ("slotNumber", header.slot_number.is_some()),
    ];
    let set = unused.into_iter().find(|(_, is_set)| *is_set);
    set.map_or(Ok(()), |(field, _)| Err(BlockError::UnknownField { field }))
}
