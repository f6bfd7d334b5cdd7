//! Telling an observer of calls: which ones, and how.

use serde::Serialize;

use super::Eth;
use crate::server::{jsonrpc::errors::RpcError, observer::ObservedCall};

/// Bytes of the parameters of a call that an observer sees; longer ones are left out.
const PARAMS_BYTES_MAX: usize = 64 << 10;

/// The calls of a method that are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observed {
    Successes,
    Failures,
}

/// Returns which calls of a method are observed. What moves the head or loads a dump is an event of the node.
fn observed(method: &str) -> Option<Observed> {
    if matches!(method, "eth_call" | "eth_estimateGas") || method.starts_with("eth_send") {
        return Some(Observed::Failures);
    }
    let (namespace, name) = method.split_once('_')?;
    let changes =
        ["set", "increaseTime", "snapshot", "impersonate", "stopImpersonating", "autoImpersonate", "drop", "remove"];
    let is_change = changes.iter().any(|prefix| name.starts_with(prefix)) && name != "setLoggingEnabled";
    (is_change && matches!(namespace, "anvil" | "evm" | "hardhat")).then_some(Observed::Successes)
}

impl Eth {
    /// Tells the observer of a call, where it is one of those that it is told of.
    pub(super) fn tell_observer(&self, method: &str, params: Option<&str>, result: Result<&impl Serialize, &RpcError>) {
        let Some(observer) = &self.observer else { return };
        let params = params.filter(|params| params.len() <= PARAMS_BYTES_MAX).unwrap_or_default();
        let view = self.view();
        match (observed(method), result) {
            (Some(Observed::Successes), Ok(result)) => {
                let result = serde_json::to_value(result).unwrap_or_default();
                observer.observe(&ObservedCall { method, params, result: Ok(&result), view: &view });
            }
            (Some(Observed::Failures), Err(error)) => {
                observer.observe(&ObservedCall { method, params, result: Err(error.message()), view: &view });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_failed_requests_are_observed_and_reads_and_blocks_are_not() {
        for (method, expected) in [
            ("eth_call", Some(Observed::Failures)),
            ("eth_sendRawTransaction", Some(Observed::Failures)),
            ("anvil_setBalance", Some(Observed::Successes)),
            ("evm_increaseTime", Some(Observed::Successes)),
            ("evm_snapshot", Some(Observed::Successes)),
            ("hardhat_impersonateAccount", Some(Observed::Successes)),
            ("anvil_mine", None),
            ("evm_revert", None),
            ("anvil_dumpState", None),
            ("anvil_setLoggingEnabled", None),
            ("eth_getBalance", None),
            ("net_version", None),
        ] {
            assert_eq!(observed(method), expected, "{method}");
        }
    }
}
