//! Events of a contract, decoded by the ABI of its template.

use alloy_dyn_abi::{DynSolEvent, Specifier as _};
use alloy_json_abi::{EventParam, JsonAbi};
use alloy_primitives::Address;
use serde_json::{Map, Value};

use super::{Blockchain, PlatformError, abi_of};
use crate::{
    chain::{LocatedLog, LogFilter},
    vm::abi_json,
};

/// Events that one request reads, at most.
pub(super) const EVENTS_MAX: usize = 100_000;

/// An event with what its contract's ABI says of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ContractEvent {
    /// The event as the chain has it.
    pub log: LocatedLog,
    /// Signature, as `Transfer(address,address,uint256)`, and the arguments by name; a nameless one has its number. `None` of an event that
    /// the ABI does not have.
    pub decoded: Option<(String, Map<String, Value>)>,
}

/// Returns those events of a contract in a range of `filter` that `select` takes of all of them, which are in order; and how many there
/// are. Only those that it takes are decoded.
///
/// # Errors
/// [`PlatformError::Conflict`] when there are more than 100,000, [`PlatformError::Internal`] when the chain can't be read.
pub fn events_of(
    chain: &Blockchain,
    contract: Address,
    filter: LogFilter,
    select: impl FnOnce(Vec<LocatedLog>) -> Vec<LocatedLog>,
) -> Result<(Vec<ContractEvent>, u64), PlatformError> {
    let view = chain.node().view();
    let filter = filter.with_addresses(vec![contract]);
    let logs = view.logs(&filter, EVENTS_MAX).map_err(PlatformError::from_query)?;
    let abi = abi_of(chain.node(), contract).unwrap_or_default();
    Ok(page_of(logs, select, |log| ContractEvent { decoded: decode(&abi, &log), log }))
}

/// Shows what a page has of a list, and nothing else of it; returns it with the length of the whole list.
fn page_of<L, T>(all: Vec<L>, select: impl FnOnce(Vec<L>) -> Vec<L>, show: impl FnMut(L) -> T) -> (Vec<T>, u64) {
    let total = all.len() as u64;
    (select(all).into_iter().map(show).collect(), total)
}

fn decode(abi: &JsonAbi, located: &LocatedLog) -> Option<(String, Map<String, Value>)> {
    let data = &located.log.data;
    let event = abi.events().find(|event| Some(&event.selector()) == data.topics().first())?;
    let resolved: DynSolEvent = event.resolve().ok()?;
    let decoded = resolved.decode_log_data(data).ok()?;
    let (mut indexed, mut body) = (decoded.indexed.iter(), decoded.body.iter());
    let mut arguments = Map::new();
    for (place, parameter) in event.inputs.iter().enumerate() {
        let value = if parameter.indexed { indexed.next() } else { body.next() };
        arguments.insert(name_of(parameter, place), abi_json(value?));
    }
    Some((event.signature(), arguments))
}

fn name_of(parameter: &EventParam, place: usize) -> String {
    if parameter.name.is_empty() { place.to_string() } else { parameter.name.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_page_is_not_decoded() {
        let mut decoded = Vec::new();
        let select = |all: Vec<u32>| all.into_iter().rev().skip(20).take(3).collect::<Vec<u32>>();
        let (page, total) = page_of((0..100_000).collect(), select, |log: u32| {
            decoded.push(log);
            log.to_string()
        });
        assert_eq!((page, total), (["99979", "99978", "99977"].map(str::to_owned).to_vec(), 100_000));
        assert_eq!(decoded, [99_979, 99_978, 99_977]);
    }
}
