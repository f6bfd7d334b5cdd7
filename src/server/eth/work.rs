//! Where each method runs: one table.

use crate::server::commands::Length;

/// Bytes of the parameters of a read or a command that may run on a thread that serves connections.
const SHORT_PARAMS_BYTES_MAX: usize = 64 << 10;

/// The kind of a method's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A read of bounded cost, on the connection's thread.
    Lookup,
    /// A read whose cost depends on its parameters or on the chain.
    Read(Length),
    /// A change of the node, in the order of the chain's commands.
    Command(Length),
}

impl Work {
    /// Returns the kind of work of a call.
    pub(super) fn of(method: &str, params: Option<&str>) -> Self {
        let params_len = params.map_or(0, str::len);
        match Self::of_method(method) {
            // Transactions in full are as long as the block.
            Self::Read(_)
                if method.starts_with("eth_getBlockBy") && params.is_some_and(|params| params.contains("true")) =>
            {
                Self::Read(Length::Long)
            }
            Self::Read(_) if params_len > SHORT_PARAMS_BYTES_MAX => Self::Read(Length::Long),
            Self::Command(_) if params_len > SHORT_PARAMS_BYTES_MAX => Self::Command(Length::Long),
            // The pending block is executed when somebody first asks for it.
            Self::Lookup if params.is_some_and(|params| params.contains("\"pending\"")) => Self::Read(Length::Short),
            work => work,
        }
    }

    fn of_method(method: &str) -> Self {
        match method {
            "eth_getFilterChanges"
            | "eth_signTransaction"
            // As long as a list of a block's hashes, the pool or the request.
            | "eth_getBlockByNumber"
            | "eth_getBlockByHash"
            | "txpool_status"
            | "web3_sha3"
            | "eth_sign"
            | "personal_sign"
            | "eth_signTypedData"
            | "eth_signTypedData_v4" => Self::Read(Length::Short),
            // As long as its caller's gas lasts.
            "eth_call" | "eth_estimateGas" | "eth_createAccessList" => Self::Read(Length::Long),
            // While a thread that serves connections works, the other one may not look for new requests: a block of 10,000
            // receipts takes 60 ms.
            "eth_feeHistory"
            | "eth_getProof"
            | "eth_getBlockReceipts"
            | "eth_getLogs"
            | "eth_getFilterLogs"
            | "txpool_content"
            | "txpool_inspect"
            | "txpool_contentFrom" => Self::Read(Length::Long),
            // A dump takes the writer's lock: as a read it would wait for commands on a thread that reads need.
            "anvil_dumpState"
            | "hardhat_dumpState"
            | "anvil_mine"
            | "hardhat_mine"
            | "evm_mine"
            | "evm_mine_detailed"
            | "anvil_mine_detailed"
            | "anvil_loadState"
            | "hardhat_loadState"
            | "anvil_reset"
            | "hardhat_reset"
            | "anvil_reorg"
            | "anvil_rollback"
            | "evm_revert"
            | "anvil_revert" => Self::Command(Length::Long),
            "anvil_getAutomine"
            | "hardhat_getAutomine"
            | "anvil_getIntervalMining"
            | "anvil_nodeInfo"
            | "anvil_metadata"
            | "hardhat_metadata" => Self::Lookup,
            _ if method.starts_with("debug_trace") => Self::Read(Length::Long),
            _ if method.starts_with("eth_send") => Self::Command(Length::Short),
            _ if ["anvil_", "evm_", "hardhat_"].iter().any(|prefix| method.starts_with(prefix)) => {
                Self::Command(Length::Short)
            }
            _ => Self::Lookup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_method_and_from_the_pending_block() {
        for (method, params, expected) in [
            ("eth_blockNumber", None, Work::Lookup),
            ("eth_getBalance", Some("[\"0x1\",\"latest\"]"), Work::Lookup),
            ("eth_getBalance", Some("[\"0x1\", \"pending\"]"), Work::Read(Length::Short)),
            ("eth_getBlockByNumber", Some("[\"0x1\",false]"), Work::Read(Length::Short)),
            ("eth_getBlockByNumber", Some("[\"0x1\",true]"), Work::Read(Length::Long)),
            ("eth_getBlockReceipts", Some("[\"0x1\"]"), Work::Read(Length::Long)),
            ("web3_sha3", Some("[\"0x00\"]"), Work::Read(Length::Short)),
            ("web3_sha3", Some(&"0".repeat(SHORT_PARAMS_BYTES_MAX + 1)), Work::Read(Length::Long)),
            ("eth_getLogs", None, Work::Read(Length::Long)),
            ("eth_call", Some("[{}]"), Work::Read(Length::Long)),
            ("eth_estimateGas", Some("[{}]"), Work::Read(Length::Long)),
            ("eth_createAccessList", Some("[{}]"), Work::Read(Length::Long)),
            ("anvil_dumpState", None, Work::Command(Length::Long)),
            ("debug_traceTransaction", None, Work::Read(Length::Long)),
            ("eth_sendRawTransaction", None, Work::Command(Length::Short)),
            ("eth_sendRawTransaction", Some(&"0".repeat(SHORT_PARAMS_BYTES_MAX)), Work::Command(Length::Short)),
            ("eth_sendRawTransaction", Some(&"0".repeat(SHORT_PARAMS_BYTES_MAX + 1)), Work::Command(Length::Long)),
            ("anvil_setCode", Some(&"0".repeat(SHORT_PARAMS_BYTES_MAX + 1)), Work::Command(Length::Long)),
            ("anvil_mine", Some("[\"0x1\"]"), Work::Command(Length::Long)),
            ("anvil_setBalance", None, Work::Command(Length::Short)),
            ("anvil_getAutomine", None, Work::Lookup),
        ] {
            assert_eq!(Work::of(method, params), expected, "{method}");
        }
    }
}
