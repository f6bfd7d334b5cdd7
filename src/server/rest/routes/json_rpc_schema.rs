//! What the document says of JSON-RPC bodies: calls by method with their parameters, batches, results, errors.

use serde_json::{Value, json};

use crate::server::rest::body::ForeignBody;

/// Calls that an example of the document makes.
const ACCOUNT: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
/// Calls of a batch, by default.
const BATCH_CALLS_MAX: u32 = crate::server::limits::BATCH_CALLS_MAX;

/// Body of `/v1/rpc`.
pub(super) fn service_body() -> ForeignBody {
    let block = call("blockchain.getBlock", json!({ "blockchainId": "bc_default", "blockNumber": "latest" }));
    let balance = call("blockchain.getBalance", json!({ "blockchainId": "bc_default", "address": ACCOUNT }));
    let simulation = json!({ "blockchainId": "bc_default", "from": ACCOUNT, "to": ACCOUNT, "value": "1" });
    ForeignBody {
        schema: one_or_batch("RpcCall"),
        examples: vec![
            ("a block", block.clone()),
            ("a balance", balance.clone()),
            ("a simulation", call("transaction.simulate", simulation)),
            ("a batch", json!([block, balance])),
        ],
        components: service_components(),
    }
}

/// Response of `/v1/rpc`.
pub(super) fn service_response() -> Value {
    one_or_batch("RpcResponse")
}

/// Body of `/v1/blockchains/{blockchainId}/eth`.
pub(super) fn ethereum_body() -> ForeignBody {
    let chain_id = call("eth_chainId", json!([]));
    ForeignBody {
        schema: one_or_batch("EthereumCall"),
        examples: vec![
            ("a call", call("eth_getBalance", json!([ACCOUNT, "latest"]))),
            ("a batch", json!([chain_id, call("eth_blockNumber", json!([]))])),
        ],
        components: ethereum_components(),
    }
}

/// Response of `/v1/blockchains/{blockchainId}/eth`.
pub(super) fn ethereum_response() -> Value {
    one_or_batch("EthereumResponse")
}

fn call(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn one_or_batch(name: &str) -> Value {
    let items = reference(name);
    json!({ "oneOf": [items, { "type": "array", "items": items, "minItems": 1, "maxItems": BATCH_CALLS_MAX }] })
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn nullable(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

fn integer(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

fn address(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$", "description": description })
}

fn hash(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{64}$", "description": description })
}

fn bytes(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$", "description": description })
}

fn amount(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^(0|[1-9][0-9]{0,77})$", "description": description })
}

/// Id of a call, which its response repeats with its type.
fn id() -> Value {
    json!({ "type": ["string", "number", "null"], "description": "Repeated in the response, with its type." })
}

fn response(result: Value, error: Value) -> Value {
    let common = |name: &str, schema: Value| {
        let id = json!({ "type": ["string", "number", "boolean", "null"], "description": "Id of the call; null where none could be read." });
        object(json!({ "jsonrpc": { "const": "2.0" }, "id": id, name: schema }), &["jsonrpc", "id", name])
    };
    json!({ "oneOf": [common("result", result), common("error", error)] })
}

/// Details of errors, as those of REST: which there are follows from the code.
fn details() -> Value {
    let field = object(
        json!({ "path": text("Place of the parameter."), "expected": text("What it may be."), "got": text("What it was."), "message": text("Both.") }),
        &["path", "expected", "got", "message"],
    );
    let whole = |description: &str| json!({ "type": "integer", "description": description });
    object(
        json!({
            "fields": { "type": "array", "items": field, "description": "Parameters that are wrong." },
            "requiredScope": text("Scope that the credentials lack."),
            "resource": text("Kind of what was not found."),
            "id": text("Its id."),
            "required": text("Amount that is needed, in the smallest unit."),
            "available": text("Amount that is there, in the smallest unit."),
            "retryAfter": whole("Seconds after which to try again."),
            "usage": text("What the plan's quota counts."),
            "limit": whole("How much of it the plan allows."),
            "freeBytes": text("Free bytes of the disk."),
            "freeBytesMin": text("Free bytes below which nothing is written."),
        }),
        &[],
    )
}

fn error_data() -> Value {
    object(
        json!({ "code": text("Code of the error in REST."), "details": details(), "output": bytes("Revert data.") }),
        &["code", "details"],
    )
}

fn error(data: Value) -> Value {
    object(
        json!({
            "code": { "type": "integer", "description": "Code of JSON-RPC 2.0, or of this interface: its description lists them." },
            "message": text("Description for people; may change between versions."),
            "data": data,
        }),
        &["code", "message"],
    )
}

fn ethereum_components() -> Vec<(&'static str, Value)> {
    let params = json!({ "type": "array", "items": {}, "maxItems": 16, "description": "Parameters in the order of the method's." });
    let method = json!({ "type": "string", "minLength": 1, "description": "Name of a method of Ethereum JSON-RPC.", "examples": ["eth_blockNumber"] });
    let call = object(
        json!({ "jsonrpc": { "const": "2.0" }, "id": id(), "method": method, "params": params }),
        &["jsonrpc", "id", "method"],
    );
    let data = json!({ "oneOf": [bytes("Revert data."), error_data()] });
    let result = json!({ "description": "What the method returns, as the Ethereum execution API specifies it." });
    vec![
        ("EthereumCall", call),
        ("EthereumError", error(data)),
        ("EthereumResponse", response(result, reference("EthereumError"))),
    ]
}

fn service_components() -> Vec<(&'static str, Value)> {
    let results = ["RpcBlock", "RpcTransaction", "RpcBalance", "RpcSent", "RpcSimulation", "RpcCallResult"];
    let result = json!({ "oneOf": results.map(reference) });
    vec![
        ("RpcCall", json!({ "oneOf": calls() })),
        ("RpcError", error(error_data())),
        ("RpcResponse", response(result, reference("RpcError"))),
        ("RpcBlock", block()),
        ("RpcTransaction", transaction()),
        ("RpcBalance", balance()),
        ("RpcSent", sent()),
        ("RpcSimulation", simulation()),
        ("RpcCallResult", call_result()),
    ]
}

/// The seven methods with their parameters.
fn calls() -> Vec<Value> {
    let chain = || json!({ "type": "string", "minLength": 1, "maxLength": 256, "description": "Id of the blockchain; by default the only one that the caller can see." });
    let block = || {
        json!({
            "description": "Block after which is asked.",
            "default": "latest",
            "oneOf": [
                { "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 },
                { "type": "string", "pattern": "^(latest|earliest|pending|safe|finalized|0x[0-9a-fA-F]{64}|0x[0-9a-fA-F]{1,15}|[0-9]{1,15})$" },
            ],
        })
    };
    let signed = || bytes("A signed transaction (EIP-2718).");
    let gas = || json!({ "type": "string", "pattern": "^[1-9][0-9]{0,17}$", "description": "Gas limit, in gas units; estimated by default." });
    let value = || amount("Amount of the native token, in the smallest unit.");
    let function = json!({ "type": "string", "minLength": 1, "maxLength": 256, "description": "A function's name, or its signature; or data." });
    let args = json!({ "type": "array", "items": {}, "maxItems": 64, "description": "Arguments of the function." });
    let data = || bytes("Encoded call data.");
    let contract = || address("Address of the contract.");
    [
        (
            "blockchain.getBlock",
            json!({ "blockchainId": chain(), "blockNumber": block(), "fullTransactions": { "type": "boolean", "default": false } }),
            vec![],
        ),
        (
            "blockchain.getTransaction",
            json!({ "blockchainId": chain(), "transactionHash": hash("Hash of the transaction.") }),
            vec!["transactionHash"],
        ),
        (
            "blockchain.getBalance",
            json!({ "blockchainId": chain(), "address": address("Account."), "blockNumber": block() }),
            vec!["address"],
        ),
        ("transaction.send", json!({ "blockchainId": chain(), "signedTransaction": signed() }), vec!["signedTransaction"]),
        (
            "transaction.simulate",
            json!({
                "blockchainId": chain(), "blockNumber": block(), "signedTransaction": signed(), "from": address("Sender."),
                "to": address("Recipient; none for a creation."), "value": value(), "data": data(), "gasLimit": gas(),
            }),
            vec![],
        ),
        (
            "contract.call",
            json!({
                "blockchainId": chain(), "contractAddress": contract(), "method": function, "args": args, "data": data(),
                "from": address("Account in whose name is called."), "blockNumber": block(),
            }),
            vec!["contractAddress"],
        ),
        (
            "contract.execute",
            json!({
                "blockchainId": chain(), "contractAddress": contract(), "method": function, "args": args, "data": data(),
                "from": address("Account that sends it; by default the workspace's wallet."), "value": value(), "gasLimit": gas(),
                "signedTransaction": bytes("A signed transaction that calls the contract, in place of all else."),
            }),
            vec!["contractAddress"],
        ),
    ]
    .into_iter()
    .map(|(method, properties, required)| {
        let mut members = vec!["jsonrpc", "id", "method"];
        members.extend((!required.is_empty()).then_some("params"));
        let params = object(properties, &required);
        object(json!({ "jsonrpc": { "const": "2.0" }, "id": id(), "method": { "const": method }, "params": params }), &members)
    })
    .collect()
}

/// An object all of whose properties are always there.
fn whole(properties: Value) -> Value {
    let names: Vec<String> = properties.as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
    json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false })
}

fn block() -> Value {
    whole(json!({
        "blockchainId": text("Id of the blockchain."),
        "number": integer("Height."),
        "hash": nullable("Hash; null of the pending block."),
        "parentHash": hash("Hash of the block before."),
        "timestamp": text("Time: ISO 8601, UTC."),
        "gasUsed": text("Gas of its transactions."),
        "gasLimit": text("Gas that it has room for."),
        "baseFeePerGas": nullable("Base fee, in the smallest unit."),
        "miner": nullable("Account of its author; null of the pending block."),
        "stateRoot": hash("Root of the state after it."),
        "transactionsRoot": hash("Root of its transactions."),
        "receiptsRoot": hash("Root of its receipts."),
        "size": integer("Bytes of its RLP."),
        "transactionCount": integer("Transactions in it."),
        "transactions": {
            "type": "array",
            "description": "Hashes, or with fullTransactions the transactions.",
            "items": { "oneOf": [hash("Hash."), reference("RpcTransaction")] },
        },
    }))
}

/// State of a transaction.
fn status() -> Value {
    json!({
        "type": "string",
        "enum": ["pending", "success", "failed"],
        "description": "`pending` until a block has it, which leads to `success` or `failed`; a reorganisation leads back.",
    })
}

fn transaction() -> Value {
    let log = whole(json!({
        "address": address("Contract."), "topics": { "type": "array", "items": hash("Topic.") }, "data": bytes("Data."),
    }));
    whole(json!({
        "hash": hash("Hash."),
        "status": status(),
        "blockNumber": { "type": ["integer", "null"] },
        "blockHash": nullable("Block that has it."),
        "transactionIndex": { "type": ["integer", "null"] },
        "confirmations": integer("Blocks from its block to the newest."),
        "from": address("Sender."),
        "to": nullable("Recipient; null of a creation."),
        "contractAddress": nullable("Contract that it created."),
        "value": text("Amount, in the smallest unit."),
        "nonce": integer("Nonce."),
        "gasLimit": text("Gas limit."),
        "gasUsed": nullable("Gas that it used; null while it is pending."),
        "effectiveGasPrice": nullable("Price of a unit of gas; null while it is pending."),
        "input": bytes("Call data or init code."),
        "logs": { "type": "array", "items": log },
    }))
}

fn balance() -> Value {
    whole(
        json!({ "address": address("Account."), "balance": text("Balance, in the smallest unit."), "blockNumber": integer("Height.") }),
    )
}

fn sent() -> Value {
    whole(json!({
        "transactionHash": hash("Hash."),
        "status": status(),
        "blockNumber": { "type": ["integer", "null"], "description": "Height of its block; null while it is pending." },
    }))
}

fn simulation() -> Value {
    whole(json!({
        "success": { "type": "boolean" },
        "gasUsed": text("Gas that it would use."),
        "returnData": bytes("What it would return, or the revert data."),
        "error": nullable("Why it would fail, or why no block would have it."),
        "revertReason": nullable("The revert's reason, decoded."),
    }))
}

fn call_result() -> Value {
    whole(json!({
        "result": { "description": "What the function returned: its one value, or an array of several; null of a call by data." },
        "data": bytes("The same, encoded."),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_described_and_examples_fit() {
        let calls = calls();
        assert_eq!(calls.len(), 7);
        for body in [service_body(), ethereum_body()] {
            let components: serde_json::Map<String, Value> =
                body.components.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
            let whole = json!({ "allOf": [body.schema], "components": { "schemas": components } });
            let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap();
            for (name, example) in &body.examples {
                assert!(validator.is_valid(example), "{name}: {example}");
            }
            for wrong in [json!([]), json!({}), json!({ "jsonrpc": "2.0", "id": [], "method": "eth_chainId" })] {
                assert!(!validator.is_valid(&wrong), "{wrong}");
            }
        }
    }
}
