//! Header fields that the chain's fork decides: their values in a new header, and their check.

use alloy_consensus::Header;
use alloy_primitives::{B256, U256, keccak256};

use super::{error::BlockError, rules::MixHashSource};
use crate::{primitives::Height, vm::ForkRules};

/// Returns the `mixHash` of a block from Paris on whose protocol has no randomness: keccak-256 of the parent's hash (32 bytes)
/// and the height (8 bytes, big-endian). Everybody can compute it before the block is made: nothing may be drawn by it that
/// somebody gains from.
pub fn predictable_mix_hash(parent: B256, height: Height) -> B256 {
    let mut input = [0; 40];
    input[..32].copy_from_slice(parent.as_slice());
    input[32..].copy_from_slice(&height.get().to_be_bytes());
    keccak256(input)
}

/// Sets the fields that exist for the sake of a fork.
pub(super) fn with_fork_fields(header: Header, rules: &ForkRules) -> Header {
    Header {
        withdrawals_root: rules.withdrawals_root,
        blob_gas_used: rules.blob_gas_used,
        excess_blob_gas: rules.excess_blob_gas,
        parent_beacon_block_root: rules.parent_beacon_block_root,
        requests_hash: rules.requests_hash,
        ..header
    }
}

/// Checks that the header has the fields of its fork, with the fork's values, and no others.
pub(super) fn check_fork_fields(header: &Header, rules: &ForkRules) -> Result<(), BlockError> {
    let (hash, number) = (|hash: B256| hash.into(), U256::from::<u64>);
    let fields: [(_, Option<U256>, Option<U256>); 7] = [
        ("withdrawalsRoot", header.withdrawals_root.map(hash), rules.withdrawals_root.map(hash)),
        ("blobGasUsed", header.blob_gas_used.map(number), rules.blob_gas_used.map(number)),
        ("excessBlobGas", header.excess_blob_gas.map(number), rules.excess_blob_gas.map(number)),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root.map(hash), rules.parent_beacon_block_root.map(hash)),
        ("requestsHash", header.requests_hash.map(hash), rules.requests_hash.map(hash)),
        ("blockAccessListHash", header.block_access_list_hash.map(hash), None),
        ("slotNumber", header.slot_number.map(number), None),
    ];
    let fork = rules.hardfork;
    for (field, got, want) in fields {
        match (got, want) {
            (None, Some(_)) => return Err(BlockError::MissingField { field, fork }),
            (Some(_), None) => return Err(BlockError::UnknownField { field, fork }),
            (Some(got), Some(want)) if got != want => return Err(BlockError::ForkField { field, fork, got, want }),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the `mixHash` of a new block: the one `set` by an intervention, else `given`, else the predictable one.
pub(super) fn next_mix_hash(
    rules: &ForkRules,
    (parent, height): (B256, Height),
    set: Option<B256>,
    given: B256,
) -> B256 {
    match set {
        Some(mix_hash) => mix_hash,
        None if rules.has_prev_randao && given.is_zero() => predictable_mix_hash(parent, height),
        None => given,
    }
}

/// Checks `mixHash`, as far as the protocol's rules don't; `set` is the one that an intervention sets.
pub(super) fn check_mix_hash(
    rules: &ForkRules,
    source: MixHashSource,
    header: &Header,
    set: Option<B256>,
) -> Result<(), BlockError> {
    let (got, fork) = (header.mix_hash, rules.hardfork);
    let want = match (set, source) {
        (Some(mix_hash), _) => mix_hash,
        (None, MixHashSource::Chain) if rules.has_prev_randao => {
            predictable_mix_hash(header.parent_hash, Height::new(header.number))
        }
        (None, MixHashSource::Chain) => B256::ZERO,
        (None, MixHashSource::Protocol | MixHashSource::Builder) => {
            let is_valid = !(rules.has_prev_randao && got.is_zero());
            return if is_valid { Ok(()) } else { Err(BlockError::MixHashZero { fork }) };
        }
    };
    if got == want { Ok(()) } else { Err(BlockError::MixHash { fork, got, want }) }
}
