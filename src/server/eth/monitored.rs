//! Telling a monitor of calls: which ones, and how.

use serde::Serialize;

use super::Eth;
use crate::server::{jsonrpc::errors::RpcError, monitor::MonitoredCall};

/// Bytes of the parameters of a call that a monitor sees; longer ones are left out.
const PARAMS_BYTES_MAX: usize = 64 << 10;

/// The calls of a method that a monitor is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Monitored {
    Successes,
    Failures,
}

/// Returns which calls of a method a monitor is told of. What moves the head or loads a dump is an event of the node.
fn monitored(method: &str) -> Option<Monitored> {
    if matches!(method, "eth_call" | "eth_estimateGas") || method.starts_with("eth_send") {
        return Some(Monitored::Failures);
    }
    let (namespace, name) = method.split_once('_')?;
    let changes =
        ["set", "increaseTime", "snapshot", "impersonate", "stopImpersonating", "autoImpersonate", "drop", "remove"];
    let is_change = changes.iter().any(|prefix| name.starts_with(prefix)) && name != "setLoggingEnabled";
    (is_change && matches!(namespace, "anvil" | "evm" | "hardhat")).then_some(Monitored::Successes)
}

impl Eth {
    /// Tells the monitor of a call, where it is one of those that it is told of.
    pub(super) fn tell_monitor(&self, method: &str, params: Option<&str>, result: Result<&impl Serialize, &RpcError>) {
        let Some(monitor) = &self.monitor else { return };
        let params = params.filter(|params| params.len() <= PARAMS_BYTES_MAX).unwrap_or_default();
        let view = self.view();
        match (monitored(method), result) {
            (Some(Monitored::Successes), Ok(result)) => {
                let result = serde_json::to_value(result).unwrap_or_default();
                monitor.on_call(&MonitoredCall { method, params, result: Ok(&result), view: &view });
            }
            (Some(Monitored::Failures), Err(error)) => {
                monitor.on_call(&MonitoredCall { method, params, result: Err(error.message()), view: &view });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_and_failed_requests_are_told_and_reads_and_blocks_are_not() {
        for (method, expected) in [
            ("eth_call", Some(Monitored::Failures)),
            ("eth_sendRawTransaction", Some(Monitored::Failures)),
            ("anvil_setBalance", Some(Monitored::Successes)),
            ("evm_increaseTime", Some(Monitored::Successes)),
            ("evm_snapshot", Some(Monitored::Successes)),
            ("hardhat_impersonateAccount", Some(Monitored::Successes)),
            ("anvil_mine", None),
            ("evm_revert", None),
            ("anvil_dumpState", None),
            ("anvil_setLoggingEnabled", None),
            ("eth_getBalance", None),
            ("net_version", None),
        ] {
            assert_eq!(monitored(method), expected, "{method}");
        }
    }
}
