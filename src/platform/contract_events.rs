//! Events of a contract, decoded by the ABI of its template.

use alloy_dyn_abi::{DynSolEvent, Specifier as _};
use alloy_json_abi::{EventParam, JsonAbi};
use alloy_primitives::Address;
use serde_json::{Map, Value};

use super::{Blockchain, PlatformError};
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

/// Returns the events of a contract in a range that `filter` has, in order.
///
/// # Errors
/// [`PlatformError::Conflict`] when there are more than 100,000, [`PlatformError::Internal`] when the chain can't be read.
pub fn events_of(
    chain: &Blockchain,
    contract: Address,
    abi: &JsonAbi,
    filter: LogFilter,
) -> Result<Vec<ContractEvent>, PlatformError> {
    let view = chain.node().view();
    let filter = filter.with_addresses(vec![contract]);
    let logs = view.logs(&filter, EVENTS_MAX).map_err(PlatformError::from_query)?;
    Ok(logs.into_iter().map(|log| ContractEvent { decoded: decode(abi, &log), log }).collect())
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
