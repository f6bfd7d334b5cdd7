//! Gas that a chain used, counted for its workspace once.

use super::{
    blockchain::Blockchain,
    plan::{Usage, period},
    records::{RecordError, Unit},
};

/// Counts the gas that a chain used since it was last counted, before it leaves memory.
pub(super) fn count_last_gas(unit: &mut Unit<'_>, chain: &Blockchain) -> Result<(), RecordError> {
    // A chain that can't be read has failed, and says so where it is read.
    chain.gas_used().map_or(Ok(()), |total| count_gas(unit, chain, total).map(drop))
}

/// Counts the gas that a chain used since it was last counted; returns how much of it is counted now. Gas that a reorganisation takes back
/// stays counted, and is not counted again.
pub(super) fn count_gas(unit: &mut Unit<'_>, chain: &Blockchain, total: u64) -> Result<u64, RecordError> {
    let (owner, mark) = (chain.owner(), format!("usage-gas-of:{}", chain.id()));
    let counted = unit.counter(owner, &mark)?;
    let added = total.saturating_sub(counted);
    if added > 0 {
        unit.add(owner, &mark, added)?;
        unit.add(owner, &Usage::Gas.counter_of(period(unit.now_ms())), added)?;
    }
    Ok(counted.max(total))
}
