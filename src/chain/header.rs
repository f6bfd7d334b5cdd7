//! The fields of a header that follow from its parent and from genesis.

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

/// The parent's gas limit divided by this bounds a block's change of it (Yellow Paper, 4.3.4).
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1_024;

/// What interventions set in the header of the block that records them; the last of a kind counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderByHand {
    pub(super) base_fee: Option<u64>,
    pub(super) gas_limit: Option<u64>,
}

impl HeaderByHand {
    pub(super) fn of<'i>(interventions: impl IntoIterator<Item = &'i Intervention>) -> Self {
        let mut by_hand = Self::default();
        interventions.into_iter().for_each(|intervention| by_hand.add(intervention));
        by_hand
    }

    pub(super) fn add(&mut self, intervention: &Intervention) {
        match intervention {
            Intervention::BaseFee { per_gas } => self.base_fee = Some(*per_gas),
            Intervention::GasLimit { gas } => self.gas_limit = Some((*gas).max(GAS_LIMIT_MIN)),
            _ => {}
        }
    }
}

/// Base fee of a child of `parent`, as the rules and what was set by hand give it.
pub(super) fn expected_base_fee(spec: &GenesisSpec, parent: &Header, by_hand: HeaderByHand) -> Option<u64> {
    let BaseFee::Dynamic(params) = spec.base_fee else { return None };
    if !spec.forks.is_london(parent.number.saturating_add(1)) {
        return None;
    }
    by_hand.base_fee.or_else(|| {
        let follow = |base_fee| next_base_fee(params, parent.gas_used, parent.gas_limit, base_fee);
        Some(parent.base_fee_per_gas.map_or(params.initial, follow))
    })
}

pub(super) fn next_header(
    spec: &GenesisSpec,
    parent: &Block,
    attributes: &BlockAttributes,
    by_hand: HeaderByHand,
) -> Header {
    let (parent_hash, parent) = (parent.hash(), parent.header());
    let extra_data = Block::extra_data_of(&attributes.payload).unwrap_or_else(|| attributes.extra_data.clone());
    let wanted = attributes.gas_limit.map_or(parent.gas_limit, Gas::get);
    let (low, high) = gas_limit_bounds(parent, by_hand);
    Header {
        parent_hash,
        beneficiary: attributes.beneficiary,
        difficulty: attributes.difficulty,
        number: parent.number.saturating_add(1),
        gas_limit: wanted.clamp(low, high),
        timestamp: attributes.timestamp.as_secs(),
        extra_data,
        mix_hash: attributes.mix_hash,
        nonce: attributes.nonce,
        base_fee_per_gas: expected_base_fee(spec, parent, by_hand),
        ..empty_header()
    }
}

/// Lowest and highest gas limit of a child of `parent`.
fn gas_limit_bounds(parent: &Header, by_hand: HeaderByHand) -> (u64, u64) {
    let change = (parent.gas_limit / GAS_LIMIT_BOUND_DIVISOR).saturating_sub(1);
    let low = parent.gas_limit.saturating_sub(change).max(GAS_LIMIT_MIN);
    by_hand.gas_limit.map_or((low, parent.gas_limit.saturating_add(change)), |gas| (gas, gas))
}

/// Checks the fields that follow from the parent and the genesis specification alone.
pub(super) fn check_fixed_fields(
    spec: &GenesisSpec,
    header: &Header,
    parent: &Header,
    by_hand: HeaderByHand,
) -> Result<(), BlockError> {
    let (got, want) = (Height::new(header.number), Height::new(parent.number).next());
    if got != want {
        return Err(BlockError::Number { got, want });
    }
    if header.timestamp < parent.timestamp {
        let (got, parent) = (Timestamp::from_secs(header.timestamp), Timestamp::from_secs(parent.timestamp));
        return Err(BlockError::Timestamp { got, parent });
    }
    let (low, high) = gas_limit_bounds(parent, by_hand);
    if !(low..=high).contains(&header.gas_limit) {
        return Err(BlockError::GasLimit { got: Gas::new(header.gas_limit), low: Gas::new(low), high: Gas::new(high) });
    }
    let (got, want) = (header.base_fee_per_gas, expected_base_fee(spec, parent, by_hand));
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

/// The fields of forks after London that this chain's headers do not carry.
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
