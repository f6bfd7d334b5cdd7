//! All methods, what they are called with, and the errors that a call may have.
//!
//! A template is JSON with `'` for `"`; each `$name` is a value that [`World`](crate::world::World) draws.

/// How often a method is called, against others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    /// Makes what the others read.
    Often,
    Usual,
    /// Costs much.
    Seldom,
    /// Takes blocks back: not in the second half of a run, whose blocks are judged.
    Destructive,
}

/// A group of methods with the same parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) rate: Rate,
    pub(crate) methods: &'static [&'static str],
    pub(crate) templates: &'static [&'static str],
    /// Error codes of valid calls; what other clients do meanwhile is their cause.
    pub(crate) codes: &'static [i64],
}

const fn group(
    rate: Rate,
    methods: &'static [&'static str],
    templates: &'static [&'static str],
    codes: &'static [i64],
) -> Group {
    Group { rate, methods, templates, codes }
}

/// A block is unknown, not canonical or pruned after a revert or a reset of another client.
const BLOCK: &[i64] = &[-32000, -32001, 4444];
/// As [`BLOCK`]; or the call reverts or halts, or its sender can't pay.
const CALL: &[i64] = &[-32000, -32001, -32003, 3, 4444];
/// The pool refuses: a nonce was used meanwhile, a balance is too low, a bound is reached; or the estimate fails as [`CALL`].
const SEND: &[i64] = &[-32000, -32003, 3];
/// A time in the past, or a block that the changes of others make impossible.
const MINE: &[i64] = &[-32000, -32602];
const REFUSED: &[i64] = &[-32000];
const NONE: &[i64] = &[];

const NO_PARAMS: &[&str] = &["[]"];
const FROM_TO_DATA: &str = "[{'from': '$account', 'to': '$token', 'data': '$transfer'}, '$block']";

/// Every method of the Ethereum JSON-RPC.
pub(crate) const GROUPS: &[Group] = &[
    group(
        Rate::Usual,
        &[
            "eth_chainId",
            "net_version",
            "net_listening",
            "net_peerCount",
            "web3_clientVersion",
            "eth_protocolVersion",
            "eth_syncing",
            "eth_mining",
            "eth_hashrate",
            "eth_coinbase",
            "eth_accounts",
            "eth_blockNumber",
            "rpc_modules",
            "eth_gasPrice",
            "eth_maxPriorityFeePerGas",
            "txpool_status",
            "anvil_nodeInfo",
            "anvil_metadata",
            "hardhat_metadata",
            "anvil_getAutomine",
            "hardhat_getAutomine",
            "anvil_getIntervalMining",
            "eth_newBlockFilter",
            "eth_newPendingTransactionFilter",
        ],
        NO_PARAMS,
        NONE,
    ),
    group(Rate::Usual, &["eth_blobBaseFee"], NO_PARAMS, &[-32004]),
    group(Rate::Usual, &["web3_sha3"], &["['$data']"], NONE),
    group(
        Rate::Usual,
        &["eth_getBalance", "eth_getTransactionCount", "eth_getCode"],
        &["['$address', '$block']", "['$account', '$block']", "['$token', '$block']"],
        BLOCK,
    ),
    group(Rate::Usual, &["eth_getStorageAt"], &["['$token', '$slot', '$block']"], BLOCK),
    group(Rate::Usual, &["eth_getProof"], &["['$address', [], '$block']", "['$token', ['$slot'], '$block']"], BLOCK),
    group(Rate::Usual, &["eth_getBlockByNumber"], &["['$number', true]", "['$number', false]"], BLOCK),
    group(Rate::Usual, &["eth_getBlockByHash"], &["['$hash', true]", "['$hash', false]"], BLOCK),
    group(
        Rate::Usual,
        &[
            "eth_getHeaderByNumber",
            "eth_getBlockTransactionCountByNumber",
            "eth_getUncleCountByBlockNumber",
            "eth_getBlockReceipts",
        ],
        &["['$number']"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["eth_getHeaderByHash", "eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash"],
        &["['$hash']"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex"],
        &["['$number', '0x0']"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["eth_getTransactionByBlockHashAndIndex", "eth_getUncleByBlockHashAndIndex"],
        &["['$hash', '0x1']"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &[
            "eth_getTransactionByHash",
            "eth_getTransactionReceipt",
            "eth_getRawTransactionByHash",
            "debug_getRawTransaction",
        ],
        &["['$transaction']"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["eth_feeHistory"],
        &["['0x10', 'latest', [10, 50, 90]]", "['0x2', '$number', []]", "['0x400', 'latest', [50]]"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["eth_getLogs"],
        &["[{'fromBlock': '$number', 'toBlock': '$number'}]"],
        &[-32000, -32001, -32602, 4444],
    ),
    group(
        Rate::Usual,
        &["eth_getLogs"],
        &["[{'address': '$token', 'topics': [null, null]}]", "[{'blockHash': '$hash'}]"],
        BLOCK,
    ),
    group(Rate::Seldom, &["eth_getLogs"], &["[{'fromBlock': 'earliest', 'address': '$token'}]"], BLOCK),
    group(
        Rate::Usual,
        &["eth_newFilter"],
        &["[{'address': '$token'}]", "[{'fromBlock': 'latest', 'topics': [null]}]"],
        NONE,
    ),
    group(Rate::Usual, &["eth_getFilterChanges"], &["['$filter']"], &[-32000, -32001, 4444]),
    group(Rate::Seldom, &["eth_getFilterLogs"], &["['$filter']"], &[-32000, -32001, 4444]),
    group(Rate::Usual, &["eth_uninstallFilter"], &["['$filter']"], NONE),
    group(
        Rate::Usual,
        &["eth_call", "eth_estimateGas", "eth_createAccessList"],
        &[FROM_TO_DATA, "[{'from': '$account', 'to': '$address', 'value': '$wei'}, '$block']"],
        CALL,
    ),
    group(Rate::Usual, &["eth_call"], &["[{'to': '$token', 'data': '$balance_of'}, 'latest']"], CALL),
    group(
        Rate::Usual,
        &["debug_traceCall"],
        &["[{'from': '$account', 'to': '$token', 'data': '$transfer'}, '$block', {'tracer': 'callTracer'}]"],
        CALL,
    ),
    group(
        Rate::Usual,
        &["debug_traceTransaction"],
        &["['$transaction', {'tracer': 'callTracer'}]"],
        &[-32000, -32001, 4444],
    ),
    group(Rate::Seldom, &["txpool_content", "txpool_inspect"], NO_PARAMS, NONE),
    group(Rate::Usual, &["txpool_contentFrom"], &["['$account']"], NONE),
    group(Rate::Usual, &["eth_sign"], &["['$account', '$data']"], NONE),
    group(Rate::Usual, &["personal_sign"], &["['$data', '$account']"], NONE),
    group(
        Rate::Usual,
        &["eth_signTypedData", "eth_signTypedData_v4"],
        &[
            "['$account', {'types': {'EIP712Domain': [{'name': 'name', 'type': 'string'}], 'Note': [{'name': 'text', 'type': 'string'}]}, 'primaryType': 'Note', 'domain': {'name': 'load'}, 'message': {'text': 'hello'}}]",
        ],
        NONE,
    ),
    group(
        Rate::Usual,
        &["eth_signTransaction"],
        &[
            "[{'from': '$account', 'to': '$address', 'value': '0x1', 'gas': '0x5208', 'maxFeePerGas': '0x174876e800', 'maxPriorityFeePerGas': '0x1', 'nonce': '0x0'}]",
        ],
        SEND,
    ),
    group(
        Rate::Often,
        &["eth_sendTransaction", "eth_sendUnsignedTransaction"],
        &[
            "[{'from': '$account', 'to': '$address', 'value': '$wei', 'gas': '0x5208'}]",
            "[{'from': '$account', 'to': '$token', 'data': '$transfer', 'gas': '0x186a0'}]",
            "[{'from': '$account', 'to': '$token', 'data': '$transfer'}]",
            "[{'from': '$account', 'to': '$account', 'gasPrice': '0x2540be400', 'gas': '0x5208'}]",
        ],
        SEND,
    ),
    group(Rate::Often, &["eth_sendRawTransaction"], &["['$raw']"], SEND),
    group(
        Rate::Usual,
        &["eth_sendTransaction"],
        &["[{'from': '$address', 'to': '$account', 'value': '$wei'}]"],
        &[-32000, -32602, -32003, 3],
    ),
    group(Rate::Often, &["evm_mine"], &["[]", "[{'blocks': '0x2'}]"], MINE),
    group(Rate::Usual, &["evm_mine_detailed", "anvil_mine_detailed"], &["[]", "[{'blocks': '0x2'}]"], MINE),
    group(Rate::Usual, &["anvil_mine", "hardhat_mine"], &["[]", "['$small', '0x1']"], MINE),
    group(Rate::Usual, &["evm_setAutomine", "anvil_setAutomine"], &["[true]", "[true]", "[true]", "[false]"], MINE),
    group(Rate::Usual, &["evm_setIntervalMining", "anvil_setIntervalMining"], &["['0x1']", "['0x0']"], MINE),
    group(
        Rate::Usual,
        &["anvil_setBalance", "hardhat_setBalance"],
        &["['$address', '$wei']", "['$account', '0x21e19e0c9bab2400000']"],
        NONE,
    ),
    group(Rate::Usual, &["anvil_setNonce", "hardhat_setNonce"], &["['$address', '$small']"], &[-32000, -32602]),
    group(Rate::Usual, &["anvil_setStorageAt", "hardhat_setStorageAt"], &["['$token', '$slot', '$word']"], NONE),
    group(Rate::Usual, &["anvil_setCode", "hardhat_setCode"], &["['$address', '0x6001']", "['$address', '0x']"], NONE),
    group(Rate::Usual, &["anvil_setCoinbase", "hardhat_setCoinbase"], &["['$address']"], &[-32000, -32004]),
    group(Rate::Usual, &["anvil_setPrevRandao", "hardhat_setPrevRandao"], &["['$word']"], &[-32000, -32004]),
    group(Rate::Usual, &["anvil_setLoggingEnabled", "hardhat_setLoggingEnabled"], &["[true]"], NONE),
    group(
        Rate::Usual,
        &["anvil_setNextBlockBaseFeePerGas", "hardhat_setNextBlockBaseFeePerGas"],
        &["['0x3b9aca00']"],
        NONE,
    ),
    group(Rate::Usual, &["anvil_setBlockGasLimit", "evm_setBlockGasLimit"], &["['0x1c9c380']", "['0x1312d00']"], NONE),
    group(
        Rate::Usual,
        &[
            "anvil_impersonateAccount",
            "hardhat_impersonateAccount",
            "anvil_stopImpersonatingAccount",
            "hardhat_stopImpersonatingAccount",
        ],
        &["['$address']"],
        NONE,
    ),
    group(Rate::Usual, &["anvil_autoImpersonateAccount"], &["[false]"], NONE),
    group(Rate::Usual, &["anvil_dropTransaction", "hardhat_dropTransaction"], &["['$transaction']"], REFUSED),
    group(Rate::Seldom, &["anvil_dropAllTransactions"], NO_PARAMS, NONE),
    group(Rate::Usual, &["anvil_removePoolTransactions"], &["['$address']"], NONE),
    group(Rate::Usual, &["evm_increaseTime", "anvil_increaseTime"], &["['$small']"], MINE),
    group(
        Rate::Usual,
        &[
            "evm_setTime",
            "anvil_setTime",
            "evm_setNextBlockTimestamp",
            "anvil_setNextBlockTimestamp",
            "hardhat_setNextBlockTimestamp",
        ],
        &["['$time']"],
        MINE,
    ),
    group(Rate::Usual, &["evm_setBlockTimestampInterval", "anvil_setBlockTimestampInterval"], &["['0x1']"], NONE),
    group(Rate::Usual, &["evm_removeBlockTimestampInterval", "anvil_removeBlockTimestampInterval"], NO_PARAMS, NONE),
    group(Rate::Usual, &["evm_snapshot", "anvil_snapshot"], NO_PARAMS, NONE),
    group(Rate::Destructive, &["evm_revert", "anvil_revert"], &["['$snapshot']"], REFUSED),
    // Deeper than what is remembered, or a parent that the changes of others make impossible.
    group(Rate::Destructive, &["anvil_reorg", "anvil_rollback"], &["['$small']"], MINE),
    group(Rate::Destructive, &["anvil_reset", "hardhat_reset"], NO_PARAMS, REFUSED),
    group(Rate::Destructive, &["anvil_loadState", "hardhat_loadState"], &["['$dump']"], REFUSED),
    group(Rate::Seldom, &["anvil_dumpState", "hardhat_dumpState"], NO_PARAMS, NONE),
];

/// Methods of `/v1/rpc`, with parameters by name.
pub(crate) const SERVICE: &[Group] = &[
    group(
        Rate::Usual,
        &["blockchain.getBlock"],
        &["{'blockchainId': 'bc_default', 'blockNumber': '$number', 'fullTransactions': true}"],
        BLOCK,
    ),
    group(
        Rate::Usual,
        &["blockchain.getTransaction"],
        &["{'blockchainId': 'bc_default', 'transactionHash': '$transaction'}"],
        BLOCK,
    ),
    group(Rate::Usual, &["blockchain.getBalance"], &["{'blockchainId': 'bc_default', 'address': '$address'}"], NONE),
    group(
        Rate::Usual,
        &["transaction.send"],
        &["{'blockchainId': 'bc_default', 'signedTransaction': '$raw'}"],
        &[-32000, -32602, -32003, 3],
    ),
    group(
        Rate::Usual,
        &["transaction.simulate"],
        &["{'blockchainId': 'bc_default', 'from': '$account', 'to': '$address', 'value': '1'}"],
        CALL,
    ),
    group(
        Rate::Usual,
        &["contract.call"],
        &["{'blockchainId': 'bc_default', 'contractAddress': '$token', 'method': 'balanceOf', 'args': ['$address']}"],
        &[-32000, -32001, -32003, -32602, 3],
    ),
    group(
        Rate::Usual,
        &["contract.execute"],
        &[
            "{'blockchainId': 'bc_default', 'contractAddress': '$token', 'method': 'transfer', 'args': ['$address', '0']}",
        ],
        &[-32000, -32001, -32003, -32602, 3],
    ),
];

/// A REST route with the statuses of its responses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) body: &'static str,
    pub(crate) statuses: &'static [u16],
}

const fn route(method: &'static str, path: &'static str, body: &'static str, statuses: &'static [u16]) -> Route {
    Route { method, path, body, statuses }
}

/// The routes of `/v1`, called rightly and wrongly.
pub(crate) const ROUTES: &[Route] = &[
    route("GET", "/v1/health", "", &[200]),
    route("GET", "/v1/blockchains?limit=5&sort=name:desc", "", &[200]),
    route("GET", "/v1/blockchains?limit=x", "", &[400]),
    route("GET", "/v1/blockchains/bc_default", "", &[200]),
    route("GET", "/v1/blockchains/bc_none", "", &[404]),
    route("GET", "/v1/blockchains/bc_default/metrics", "", &[200]),
    route("GET", "/v1/contracts/$token", "", &[200, 400, 404]),
    route("GET", "/v1/openapi.json", "", &[200]),
    route("GET", "/v1/nowhere", "", &[404]),
    route("DELETE", "/v1/blockchains", "", &[405]),
    route("POST", "/v1/blockchains", "{'name': 7}", &[422]),
    route("POST", "/v1/blockchains", "{'name':", &[400]),
    route(
        "POST",
        "/v1/contracts/deploy",
        "{'blockchainId': 'bc_default', 'template': 'erc20-token', 'params': {'name': 'Load', 'symbol': 'LD', 'totalSupply': '1000'}}",
        &[201, 409, 422],
    ),
    route("POST", "/v1/contracts/deploy", "{'blockchainId': 'bc_default', 'template': 'none', 'params': {}}", &[422]),
    route("POST", "/v1/rpc", "[]", &[200]),
];

/// A chain of the service, made a few times in a run.
pub(crate) const NEW_CHAIN: Route = route("POST", "/v1/blockchains", "{'name': 'load', 'consensus': 'raft'}", &[201]);

/// What a wrong call has in place of a parameter. No large numbers: they are valid somewhere, and end all mining.
pub(crate) const WRONG: &[&str] = &[
    "true",
    "{}",
    "\"0x\"",
    "\"zz\"",
    "-1",
    "1.5",
    "null",
    "[]",
    "\"0x10000000000000000000000000000000000000000000000000000000000000000\"",
];
