//! Header fields that follow from the parent and the genesis specification: computing and checking them.

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_primitives::{B256, Bytes};

use super::{
    base_fee::next_base_fee,
    block::{Block, EXTRA_DATA_BYTES_MAX, empty_header},
    error::BlockError,
    fee_rules::FeeRules,
    fork_fields::{check_fork_fields, check_mix_hash, next_mix_hash, with_fork_fields},
    intervention::Intervention,
    rules::{BlockAttributes, MixHashSource},
    spec::{GAS_LIMIT_MIN, GenesisSpec},
};
use crate::primitives::{Gas, Height, Timestamp};

/// A block changes the gas limit by less than the parent's divided by this (Yellow Paper, 4.3.4).
const GAS_LIMIT_BOUND_DIVISOR: u64 = 1_024;

/// Header fields set by the interventions that the block records; the last of a kind applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderOverrides {
    pub(super) base_fee: Option<u64>,
    pub(super) gas_limit: Option<Gas>,
    pub(super) prev_randao: Option<B256>,
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
            Intervention::PrevRandao { mix_hash } => self.prev_randao = Some(*mix_hash),
            _ => {}
        }
    }
}

/// Returns the base fee in the header of a child of `parent`: the override, or EIP-1559's; `None` or zero when the chain has none.
pub(super) fn expected_base_fee(
    spec: &GenesisSpec,
    fees: &FeeRules,
    parent: &Header,
    overrides: HeaderOverrides,
) -> Option<u64> {
    let rules = spec.rules_at(Height::new(parent.number).next());
    GenesisSpec::base_fee_by(fees.base_fee, &rules, |params| {
        let (used, limit) = (Gas::new(parent.gas_used), Gas::new(parent.gas_limit));
        let next = |base_fee| next_base_fee(params, used, limit, base_fee);
        overrides.base_fee.unwrap_or_else(|| parent.base_fee_per_gas.map_or(params.initial, next))
    })
}

/// Returns the header of a child of `parent`, with the fields that follow from execution empty.
pub(super) fn next_header(
    spec: &GenesisSpec,
    fees: &FeeRules,
    parent: &Block,
    attributes: &BlockAttributes,
    payload: &Bytes,
    overrides: HeaderOverrides,
) -> Header {
    let (parent_hash, parent) = (parent.hash(), parent.header());
    let extra_data = Block::extra_data_of(payload).unwrap_or_else(|| attributes.extra_data.clone());
    let target = attributes.gas_limit.unwrap_or(Gas::new(parent.gas_limit));
    let (low, high) = gas_limit_bounds(fees, parent, overrides);
    let height = Height::new(parent.number.saturating_add(1));
    let rules = spec.rules_at(height);
    Header {
        parent_hash,
        beneficiary: attributes.beneficiary,
        difficulty: attributes.difficulty,
        number: height.get(),
        gas_limit: target.clamp(low, high).get(),
        timestamp: attributes.timestamp.as_secs(),
        extra_data,
        mix_hash: next_mix_hash(&rules, (parent_hash, height), overrides.prev_randao, attributes.mix_hash),
        nonce: attributes.nonce,
        base_fee_per_gas: expected_base_fee(spec, fees, parent, overrides),
        ..with_fork_fields(empty_header(), &rules)
    }
}

/// Returns the lowest and the highest valid gas limit of a child of `parent`.
fn gas_limit_bounds(fees: &FeeRules, parent: &Header, overrides: HeaderOverrides) -> (Gas, Gas) {
    let limit = Gas::new(parent.gas_limit);
    let change = Gas::new((limit.get() / GAS_LIMIT_BOUND_DIVISOR).saturating_sub(1));
    let low = limit.saturating_sub(change).max(GAS_LIMIT_MIN);
    overrides.gas_limit.or(fees.gas_limit).map_or((low, limit.saturating_add(change)), |gas| (gas, gas))
}

/// Checks the fields that follow from the parent and the genesis specification; gas limit and base fee are taken on trust without
/// their rules.
pub(super) fn check_fixed_fields(
    spec: &GenesisSpec,
    fees: Option<&FeeRules>,
    mix_hash_source: MixHashSource,
    header: &Header,
    parent: &Header,
    overrides: HeaderOverrides,
) -> Result<(), BlockError> {
    let (got, height) = (Height::new(header.number), Height::new(parent.number).next());
    if got != height {
        return Err(BlockError::Number { got, want: height });
    }
    if header.timestamp < parent.timestamp {
        let (got, parent) = (Timestamp::from_secs(header.timestamp), Timestamp::from_secs(parent.timestamp));
        return Err(BlockError::Timestamp { got, parent });
    }
    fees.map_or(Ok(()), |fees| check_fees(spec, fees, header, parent, overrides))?;
    let (got, want) = (header.ommers_hash, EMPTY_OMMER_ROOT_HASH);
    if got != want {
        return Err(BlockError::OmmersHash { got, want });
    }
    let (got, max) = (header.extra_data.len(), EXTRA_DATA_BYTES_MAX);
    if got > max {
        return Err(BlockError::ExtraDataLength { got, max });
    }
    let rules = spec.rules_at(height);
    check_fork_fields(header, &rules)?;
    check_mix_hash(&rules, mix_hash_source, header, overrides.prev_randao)
}

fn check_fees(
    spec: &GenesisSpec,
    fees: &FeeRules,
    header: &Header,
    parent: &Header,
    overrides: HeaderOverrides,
) -> Result<(), BlockError> {
    let (low, high) = gas_limit_bounds(fees, parent, overrides);
    let got = Gas::new(header.gas_limit);
    if !(low..=high).contains(&got) {
        return Err(BlockError::GasLimit { got, low, high });
    }
    let (got, want) = (header.base_fee_per_gas, expected_base_fee(spec, fees, parent, overrides));
    if got == want { Ok(()) } else { Err(BlockError::BaseFee { got, want }) }
}
