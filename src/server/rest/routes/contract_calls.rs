//! Calls of deployed contracts, and their events.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::view::{SentTransaction, beside_signed};
use crate::{
    chain::{CallOutcome, CallRequest, LogFilter, StateOverrides},
    node::BlockRef,
    platform::{
        Blockchain, ContractCall, ContractEvent, DeploymentRecord, FieldError, Outgoing, PlatformError, Scope, abi_of,
        events_of, records::Stored, signed_call, try_signed,
    },
    primitives::{Address, Bytes, Height, U256},
    server::{
        api_error::ApiError,
        clock, decode,
        rest::{
            App,
            answer::Change,
            body::Body,
            endpoint::{Access, Endpoint, Runs, Tag},
            error_code::ErrorCode,
            page::Page,
            parameter::Parameter,
            request::Request,
            scalar::{AbiEntry, AbiMembers, AbiValue, Amount, GasLimit, HexAddress, HexBytes},
        },
    },
};

/// Blocks that one request for events looks through.
const BLOCKS_MAX: u64 = 100_000;

/// A call that changes nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CallContract {
    /// A function's name, or its signature where several have the name; or `data`.
    #[schema(min_length = 1, max_length = 256, example = "balanceOf")]
    method: Option<String>,
    /// Arguments of the function: integers are numbers or decimal strings, addresses and bytes hex strings, structs objects.
    #[schema(max_items = 64, value_type = Option<Vec<AbiValue>>)]
    args: Option<Vec<Value>>,
    /// Encoded call data, in place of `method` and `args`.
    data: Option<HexBytes>,
    /// Account in whose name is called; the zero address by default.
    from: Option<HexAddress>,
    /// Height of the block after which is asked; the newest by default.
    #[schema(maximum = 9007199254740991_u64, example = 1)]
    block_number: Option<u64>,
}

/// A call that is sent as a transaction.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ExecuteContract {
    /// A function's name, or its signature where several have the name; or `data`.
    #[schema(min_length = 1, max_length = 256, example = "transfer")]
    method: Option<String>,
    /// Arguments of the function: integers are numbers or decimal strings, addresses and bytes hex strings, structs objects.
    #[schema(max_items = 64, value_type = Option<Vec<AbiValue>>)]
    args: Option<Vec<Value>>,
    /// Encoded call data, in place of `method` and `args`.
    data: Option<HexBytes>,
    /// Amount of the native token that goes with the call; none by default.
    value: Option<Amount>,
    /// Account that sends it. The service must be able to sign for it; by default the workspace's wallet.
    from: Option<HexAddress>,
    /// Gas limit of the transaction; estimated by default.
    gas_limit: Option<GasLimit>,
    /// A transaction that calls the contract, signed by somebody else; in place of all else.
    signed_transaction: Option<HexBytes>,
}

/// Reads what is called; names what is missing or too much.
fn read_call(
    method: Option<&String>,
    args: Option<&Vec<Value>>,
    data: Option<&HexBytes>,
) -> Result<ContractCall, FieldError> {
    match (method, data) {
        (Some(name), None) => Ok(ContractCall::Function(name.clone(), args.cloned().unwrap_or_default())),
        (None, Some(data)) if args.is_none() => Ok(ContractCall::Data(data.0.clone())),
        (None, Some(_)) => Err(FieldError {
            path: "args".to_owned(),
            expected: "no value beside data, which has the arguments".to_owned(),
            got: "a value".to_owned(),
        }),
        (Some(_), Some(_)) => Err(FieldError {
            path: "data".to_owned(),
            expected: "no value beside method".to_owned(),
            got: "a value".to_owned(),
        }),
        (None, None) => Err(FieldError {
            path: "method".to_owned(),
            expected: "a function's name or signature, or data".to_owned(),
            got: "nothing".to_owned(),
        }),
    }
}

impl Body for CallContract {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let all = json!({ "method": "balanceOf", "args": [account], "from": account, "blockNumber": 1 });
        vec![("all fields", all), ("required fields", json!({ "method": "totalSupply" }))]
    }

    fn check(&self) -> Vec<FieldError> {
        read_call(self.method.as_ref(), self.args.as_ref(), self.data.as_ref()).err().into_iter().collect()
    }
}

impl Body for ExecuteContract {
    fn examples() -> Vec<(&'static str, Value)> {
        let account = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let call = json!({ "method": "transfer", "args": [account, "1"] });
        let mut all = call.clone();
        (all["value"], all["from"], all["gasLimit"]) = ("0".into(), account.into(), "300000".into());
        vec![("all fields", all), ("required fields", call)]
    }

    fn check(&self) -> Vec<FieldError> {
        if self.signed_transaction.is_some() {
            return beside_signed(&[
                ("method", self.method.is_some()),
                ("args", self.args.is_some()),
                ("data", self.data.is_some()),
                ("value", self.value.is_some()),
                ("from", self.from.is_some()),
                ("gasLimit", self.gas_limit.is_some()),
            ]);
        }
        read_call(self.method.as_ref(), self.args.as_ref(), self.data.as_ref()).err().into_iter().collect()
    }
}

/// What a call returned.
#[derive(Debug, Serialize, ToSchema)]
struct CallView {
    /// What the function returned: its one value, or an array of several; null of a call by data.
    #[schema(value_type = AbiValue)]
    result: Value,
    /// The same, encoded.
    data: String,
}

/// ABI of a contract.
#[derive(Debug, Serialize, ToSchema)]
struct AbiView {
    /// JSON ABI of the contract's template.
    #[schema(value_type = Vec<AbiEntry>)]
    abi: JsonAbi,
}

/// An event of a contract.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ContractEventView {
    /// Signature of the event; null of one that the contract's ABI does not have.
    #[schema(example = "Transfer(address,address,uint256)")]
    event: Option<String>,
    /// Its arguments by name; null likewise.
    #[schema(value_type = Option<AbiMembers>)]
    args: Option<Map<String, Value>>,
    /// Topics of the log.
    topics: Vec<String>,
    /// Data of the log.
    data: String,
    /// Height of the block.
    block_number: u64,
    /// Hash of the transaction.
    transaction_hash: String,
    /// Index of the event among the block's.
    log_index: u32,
    /// Time of the block: ISO 8601, UTC.
    timestamp: String,
}

impl ContractEventView {
    fn new(ContractEvent { log, decoded, .. }: ContractEvent) -> Self {
        let (event, args) = decoded.unzip();
        Self {
            event,
            args,
            topics: log.log.data.topics().iter().map(ToString::to_string).collect(),
            data: log.log.data.data.to_string(),
            block_number: log.height.get(),
            transaction_hash: log.transaction_hash.to_string(),
            log_index: log.log_index,
            timestamp: clock::iso_8601(log.timestamp.as_secs().saturating_mul(1_000)),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let (tag, read) = (Tag::Contracts, Access::Scope(Scope::BlockchainRead));
    vec![
        Endpoint::get(
            "/v1/contracts/{deploymentId}/abi",
            "getContractAbi",
            tag,
            read,
            "Returns the ABI of a contract.",
        )
        .reads(abi),
        Endpoint::post(
            "/v1/contracts/{deploymentId}/call",
            "callContract",
            tag,
            read,
            "Calls a function of a contract without a transaction.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .runs(Runs::Long)
        .takes::<CallContract>()
        .acts(call),
        Endpoint::post(
            "/v1/contracts/{deploymentId}/execute",
            "executeContract",
            tag,
            Access::Scope(Scope::BlockchainDeploy),
            "Sends a transaction that calls a function of a contract. One that would fail is not sent.",
        )
        .fails_with(&[ErrorCode::InsufficientBalance])
        .runs(Runs::Long)
        .takes::<ExecuteContract>()
        .acts(execute),
        Endpoint::get(
            "/v1/contracts/{deploymentId}/events",
            "listContractEvents",
            tag,
            read,
            "Lists the events of a contract, oldest first.",
        )
        .described(
            "Without a range those of the newest 100000 blocks, from the contract's deployment on: all of them while that is no older. With \
             `toBlock` alone those of the 100000 blocks up to it: for older events, ask with a lower one, 100000 less each time. A `fromBlock` \
             that asks for more blocks is 400, and 409 says that they have more than 100000 events: ask for fewer then. Name `toBlock` where \
             several pages are to be of one list, for the newest block moves on.",
        )
        .fails_with(&[ErrorCode::Conflict, ErrorCode::Pruned])
        .runs(Runs::Long)
        .parameter(Parameter::height(
            "fromBlock",
            "First height, inclusive; 99999 before the last one by default. Of one below the contract's deployment, that of the deployment.",
        ))
        .parameter(Parameter::height("toBlock", "Last height, inclusive; the newest by default."))
        .lists(&["blockNumber"], events),
    ]
}

/// Finds a deployment of the caller's workspace, and its chain.
fn deployment_of(app: &App, request: &Request) -> Result<(Arc<Blockchain>, Stored<DeploymentRecord>), ApiError> {
    let (blockchains, principal) = (app.platform().blockchains(), request.principal()?);
    let stored = blockchains.deployments().require(&principal.owner(), request.path("deploymentId"))?;
    let chain = blockchains.require(principal, &stored.value.blockchain_id)?;
    Ok((chain, stored))
}

/// Finds the chain and the address of a deployment of the caller's workspace.
fn contract_of(app: &App, request: &Request) -> Result<(Arc<Blockchain>, Address), ApiError> {
    let (chain, deployment) = deployment_of(app, request)?;
    let contract = deployment.value.contract_address(&chain)?;
    Ok((chain, contract))
}

fn abi(app: &App, request: &Request) -> Result<AbiView, ApiError> {
    let (chain, contract) = contract_of(app, request)?;
    Ok(AbiView { abi: abi_of(chain.node(), contract)? })
}

fn call(app: &App, request: &Request, body: CallContract) -> Result<Change<CallView>, ApiError> {
    let (chain, contract) = contract_of(app, request)?;
    let target = read_call(body.method.as_ref(), body.args.as_ref(), body.data.as_ref())
        .map_err(|field| PlatformError::Validation { fields: vec![field] })?
        .encode(chain.node(), contract)?;
    let at = body.block_number.map_or(BlockRef::Latest, |number| BlockRef::Number(Height::new(number)));
    let mut asked = CallRequest::call(contract, target.input.clone());
    asked.from = body.from.map(|from| from.0);
    let output = output_of(app, &chain, (&asked, at))?;
    Ok(Change::done(CallView { result: target.decode(&output).unwrap_or_default(), data: output.to_string() }))
}

fn execute(app: &App, request: &Request, body: ExecuteContract) -> Result<Change<SentTransaction>, ApiError> {
    let (chain, contract) = contract_of(app, request)?;
    send_call(app, request, (&chain, contract), (body.signed_transaction.as_ref(), body.from), |_| {
        let call = read_call(body.method.as_ref(), body.args.as_ref(), body.data.as_ref())
            .map_err(|field| PlatformError::Validation { fields: vec![field] })?;
        let mut wanted = CallRequest::call(contract, call.encode(chain.node(), contract)?.input);
        wanted.value = body.value.map_or(U256::ZERO, |value| value.0);
        wanted.gas = body.gas_limit.map(|limit| limit.0);
        Ok(wanted)
    })
}

/// Sends a call of a contract under the request's id: the signed one, or what `call` makes for `from`, by default the workspace's wallet. One
/// that would fail is not sent.
pub(super) fn send_call(
    app: &App,
    request: &Request,
    (chain, contract): (&Blockchain, Address),
    (signed, from): (Option<&HexBytes>, Option<HexAddress>),
    call: impl FnOnce(Address) -> Result<CallRequest, PlatformError>,
) -> Result<Change<SentTransaction>, ApiError> {
    let (platform, principal) = (app.platform(), request.principal()?);
    let id = request.new_id(platform, "tx")?;
    let is_new = platform.blockchains().sent(principal, &id)?.is_none();
    let outgoing = match signed {
        Some(signed) => {
            let transaction = signed_call(&signed.0, contract)?;
            if is_new && let Some((tried, outcome)) = try_signed(chain, &transaction)? {
                success_of(chain, &tried, &outcome)?;
            }
            Outgoing::Signed(Box::new(transaction))
        }
        None => {
            let from = match from {
                Some(from) => from.0,
                None => platform.wallets().default_sender(principal, chain)?,
            };
            let wanted = call(from)?.with_from(from);
            if is_new {
                output_of(app, chain, (&wanted, BlockRef::Pending))?;
            }
            Outgoing::Request(Box::new(wanted))
        }
    };
    let sent = platform.blockchains().send_as(principal, chain.id(), &id, outgoing)?;
    Ok(Change::done(SentTransaction::of(chain, sent.value.hash)?))
}

/// Returns what a call returns, with no more gas than a call has on the chain; one that fails is a conflict with its reason.
fn output_of(app: &App, chain: &Blockchain, (asked, at): (&CallRequest, BlockRef)) -> Result<Bytes, ApiError> {
    let view = chain.node().view();
    let request = app.chains.capped((chain, &view), asked.clone(), at).map_err(PlatformError::from_query)?;
    let outcome = view.call(&request, at, &StateOverrides::default(), None);
    success_of(chain, &request, &outcome.map_err(PlatformError::from_query)?)
}

/// Returns what a call that was tried returned; one that failed is a conflict with its reason.
fn success_of(chain: &Blockchain, request: &CallRequest, outcome: &CallOutcome) -> Result<Bytes, ApiError> {
    if let Some(output) = outcome.success_output() {
        return Ok(output.clone());
    }
    let reason = decode::describe_revert(chain.node(), request, outcome).unwrap_or_else(|| outcome.describe());
    Err(PlatformError::Conflict { message: format!("the call fails: {reason}") }.into())
}

/// Reads the range of blocks in which events are looked for, of a contract that is there since the height `deployed`; `None` of an empty
/// one. Without its first block it is as long as one request looks through, or begins with the deployment.
///
/// # Errors
/// 400 for one that is too long.
fn span(request: &Request, deployed: u64, head: u64) -> Result<Option<(u64, u64)>, ApiError> {
    let height = |name| request.query(name).and_then(|text| text.parse::<u64>().ok());
    let to = height("toBlock").unwrap_or(head).min(head);
    // It has emitted nothing before it was there.
    let from = height("fromBlock").unwrap_or_else(|| to.saturating_sub(BLOCKS_MAX - 1)).max(deployed);
    match to.checked_sub(from) {
        None => Ok(None),
        Some(more) if more >= BLOCKS_MAX => Err(ApiError::bad_request(format!(
            "{from} to {to} are more than {BLOCKS_MAX} blocks: ask for fewer at once, with a lower toBlock"
        ))),
        Some(_) => Ok(Some((from, to))),
    }
}

/// Returns the height from which a deployment may have emitted events; `None` of one that no block has. That of a block that the chain has
/// forgotten is not known, and 0.
fn deployed_at(
    chain: &Blockchain,
    (deployment, contract): (&DeploymentRecord, Address),
) -> Result<Option<u64>, PlatformError> {
    let (height, view) = (deployment.outcome(chain)?.height, chain.node().view());
    let has_every_block = view.chain().oldest_block() <= Height::new(1);
    if height.is_some() || has_every_block {
        return Ok(height.map(Height::get));
    }
    let code = view.code(contract, BlockRef::Latest).map_err(PlatformError::from_query)?;
    Ok((!code.is_empty()).then_some(0))
}

fn events(app: &App, request: &Request, page: &Page) -> Result<(Vec<ContractEventView>, u64), ApiError> {
    let (chain, deployment) = deployment_of(app, request)?;
    let contract = deployment.value.contract_address(&chain)?;
    let Some(deployed) = deployed_at(&chain, (&deployment.value, contract))? else { return Ok((Vec::new(), 0)) };
    let head = chain.node().view().head().height().get();
    let Some((from, to)) = span(request, deployed, head)? else { return Ok((Vec::new(), 0)) };
    let filter = LogFilter::new(Height::new(from), Height::new(to));
    let (found, total) = events_of(&chain, contract, filter, |logs| page.select(logs))?;
    Ok((found.into_iter().map(ContractEventView::new).collect(), total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        node::{ManualClock, Mining, Node},
        platform::{BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, DeploymentSpec, Platform},
    };

    /// Neither one that waits for a block nor one whose nonce another transaction has used: however long the chain is, there is nothing to
    /// look through.
    #[test]
    fn a_deployment_that_no_block_has_has_emitted_nothing() {
        let node = Node::new();
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node.clone(), 0);
        let platform = Platform::builder(Arc::new(ManualClock::default())).open(chain).unwrap();
        let chain = platform.default_blockchain().unwrap();
        let deploy = || {
            let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
            let params = params.as_object().cloned().unwrap();
            let spec = DeploymentSpec::of_template(chain.id(), "erc20-token", params);
            platform.blockchains().deploy(&platform.service_principal(), spec).unwrap().value
        };
        let at = |deployment: &DeploymentRecord| {
            deployed_at(chain, (deployment, deployment.contract_address(chain).unwrap())).unwrap()
        };
        node.set_mining(Mining::Manual).unwrap();
        let (first, second) = (deploy(), deploy());
        assert_eq!((at(&first), at(&second)), (None, None), "they wait");
        node.drop_transaction(second.transaction_hash).unwrap();
        node.mine(1).unwrap();
        assert_eq!((at(&first), at(&second)), (Some(1), None), "one is in a block, the other nowhere");
        node.set_mining(Mining::EachTransaction).unwrap();
        node.transfer(second.from, Address::repeat_byte(7), U256::from(1)).unwrap();
        assert_eq!((at(&first), at(&second)), (Some(1), None), "its nonce is used");
    }

    fn range(query: &[(&str, &str)], deployed: u64, head: u64) -> Result<Option<(u64, u64)>, ApiError> {
        span(&Request::of_query(query), deployed, head)
    }

    #[test]
    fn events_are_looked_for_from_the_deployment_on() {
        type Case = (&'static [(&'static str, &'static str)], Option<(u64, u64)>);
        let cases: [Case; 8] = [
            (&[], Some((7, 9))),
            (&[("fromBlock", "0")], Some((7, 9))),
            (&[("fromBlock", "8")], Some((8, 9))),
            (&[("fromBlock", "8"), ("toBlock", "8")], Some((8, 8))),
            (&[("toBlock", "9007199254740991")], Some((7, 9))),
            (&[("fromBlock", "9"), ("toBlock", "8")], None),
            (&[("toBlock", "6")], None),
            (&[("fromBlock", "10")], None),
        ];
        for (query, wanted) in cases {
            assert_eq!(range(query, 7, 9).unwrap(), wanted, "{query:?}");
        }
    }

    #[test]
    fn so_many_blocks_are_looked_through_and_no_more() {
        let last = 7 + BLOCKS_MAX - 1;
        assert_eq!(range(&[], 7, last).unwrap(), Some((7, last)));
        let error = range(&[("fromBlock", "7")], 7, last + 1).unwrap_err();
        assert_eq!((error.status().as_u16(), error.code()), (400, "BAD_REQUEST"));
        assert!(error.message().contains("7 to 100007 are more than 100000 blocks"), "{}", error.message());
        assert_eq!(range(&[("toBlock", "100006")], 7, last + 1).unwrap(), Some((7, last)));
        assert_eq!(range(&[("fromBlock", "8")], 7, last + 1).unwrap(), Some((8, last + 1)));
        assert!(range(&[("fromBlock", "0"), ("toBlock", "100007")], 0, last + 1).is_err());
    }

    #[test]
    fn without_a_range_the_newest_blocks_are_looked_through_and_older_ones_by_their_last() {
        let (deployed, head) = (7, 250_006);
        let (mut seen, mut last) = (Vec::new(), None::<u64>);
        loop {
            let text = last.map(|last| last.to_string());
            let query: Vec<(&str, &str)> = text.iter().map(|text| ("toBlock", text.as_str())).collect();
            let Some((from, to)) = range(&query, deployed, head).unwrap() else { break };
            seen.push((from, to));
            last = Some(from - 1);
        }
        assert_eq!(seen, [(150_007, 250_006), (50_007, 150_006), (7, 50_006)], "every block since the deployment once");
    }
}
