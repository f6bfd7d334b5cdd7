//! What a connection writes: changes of a workspace of its own, or transactions of an account of its own, signed before the load.

use chainbox::primitives::{B256, Gas, KeyPair, TransactionRequest, U256, ether};
use serde_json::{Value, json};

use super::{
    api::{Api, Request},
    connection::Response,
};

/// What follows the description in the body of a change.
const END: &str = "\"}";

/// The chain that transactions are sent to.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) id: String,
    chain_id: u64,
    treasury: String,
}

impl Chain {
    pub(super) async fn make(api: &mut Api) -> Self {
        let token = json!({ "name": "Ether", "symbol": "ETH", "premine": ether(1_000_000).to_string() });
        let made = api.make("/v1/blockchains", &json!({ "name": "load", "config": { "nativeToken": token } })).await;
        Self {
            id: text(&made, "id"),
            chain_id: made["chainId"].as_u64().expect("a number"),
            treasury: text(&made, "treasury"),
        }
    }

    /// Gives an account what its transactions cost.
    async fn fund(&self, api: &mut Api, account: &str) {
        let params = json!({
            "blockchainId": self.id,
            "contractAddress": account,
            "data": "0x",
            "from": self.treasury,
            "value": ether(1_000).to_string(),
        });
        let request = api.rpc("contract.execute", &params);
        api.ask(&request).await.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

fn text(made: &Value, field: &str) -> String {
    made[field].as_str().unwrap_or_else(|| panic!("no text {field} in {made}")).to_owned()
}

/// Writes of one connection, and those that were acknowledged.
#[derive(Debug)]
pub(super) enum Writer {
    Editor(Editor),
    Sender(Sender),
}

impl Writer {
    /// Prepares the next write.
    pub(super) fn prepare(&mut self) -> Result<&Request, String> {
        match self {
            Self::Editor(editor) => Ok(editor.prepare()),
            Self::Sender(sender) => sender.prepare(),
        }
    }

    /// Takes the response to the last write: that of a success.
    pub(super) fn acknowledge(&mut self, response: &Response<'_>) -> Result<(), String> {
        match self {
            Self::Editor(editor) => {
                editor.acknowledged = Some(editor.asked);
                Ok(())
            }
            Self::Sender(sender) => sender.acknowledge(response),
        }
    }
}

/// Changes a workspace of its own.
#[derive(Debug)]
pub(super) struct Editor {
    workspace: String,
    request: Request,
    /// The last version that was sent: after a kill it may be there without an answer.
    asked: u64,
    /// The last version that was acknowledged.
    acknowledged: Option<u64>,
}

/// Returns the description of a version: equally long for each.
fn description(version: u64) -> String {
    format!("version {version:012}")
}

impl Editor {
    pub(super) async fn make(api: &mut Api, number: usize) -> Self {
        let made = api.make("/v1/workspaces", &json!({ "name": format!("load {number}") })).await;
        let workspace = text(&made, "id");
        let path = format!("/v1/workspaces/{workspace}");
        let request = api.rest("PATCH", &path, &json!({ "description": description(0) }));
        assert!(request.bytes.ends_with(format!("{}{END}", description(0)).as_bytes()), "{request:?}");
        Self { workspace, request, asked: 0, acknowledged: None }
    }

    fn prepare(&mut self) -> &Request {
        self.asked += 1;
        let text = description(self.asked);
        let end = self.request.bytes.len() - END.len();
        self.request.bytes[end - text.len()..end].copy_from_slice(text.as_bytes());
        &self.request
    }

    /// Returns whether a change was acknowledged.
    pub(super) const fn is_acknowledged(&self) -> bool {
        self.acknowledged.is_some()
    }

    /// Looks the workspace up, and says what of the acknowledged changes it lacks.
    pub(super) async fn lost(&self, api: &mut Api) -> Option<String> {
        let acknowledged = description(self.acknowledged?);
        let request = api.rest("GET", &format!("/v1/workspaces/{}", self.workspace), &Value::Null);
        let found = match api.ask(&request).await {
            Ok(found) => found["data"]["description"].clone(),
            Err(failure) => return Some(format!("{acknowledged:?} was acknowledged: {failure}")),
        };
        let asked = description(self.asked);
        let is_there = [&acknowledged, &asked].iter().any(|text| found == text.as_str());
        (!is_there).then(|| {
            format!("{} has {found}, {acknowledged:?} was acknowledged, {asked:?} the last sent", self.workspace)
        })
    }
}

/// A transaction that was signed.
#[derive(Debug)]
struct Signed {
    hash: String,
    request: Request,
}

/// Sends transactions of an account of its own, in the order of their nonces.
#[derive(Debug)]
pub(super) struct Sender {
    waiting: std::vec::IntoIter<Signed>,
    sent: Option<Signed>,
    /// Hashes of the transactions that were acknowledged.
    pub(super) acknowledged: Vec<String>,
}

impl Sender {
    /// Funds the account with this number and signs its transactions.
    pub(super) async fn make(api: &mut Api, chain: &Chain, number: usize, transactions: u64) -> Self {
        let key = KeyPair::from_bytes(&B256::from(U256::from(number + 1))).expect("a key");
        chain.fund(api, &key.address().to_string()).await;
        let signed: Vec<Signed> = (0..transactions).map(|nonce| Signed::new(api, chain, &key, nonce)).collect();
        Self { waiting: signed.into_iter(), sent: None, acknowledged: Vec::new() }
    }

    fn prepare(&mut self) -> Result<&Request, String> {
        self.sent = self.waiting.next();
        let sent = self.sent.as_ref().map(|signed| &signed.request);
        sent.ok_or_else(|| format!("all {} signed transactions are sent: sign more", self.acknowledged.len()))
    }

    fn acknowledge(&mut self, response: &Response<'_>) -> Result<(), String> {
        let Signed { hash, request } = self.sent.take().expect("one was sent");
        if !String::from_utf8_lossy(response.body).contains(&hash) {
            return Err(format!("expected {hash}: {}", request.refused(response)));
        }
        self.acknowledged.push(hash);
        Ok(())
    }

    /// Looks the acknowledged transactions up, and says which are not there.
    pub(super) async fn lost(&self, api: &mut Api, chain: &Chain) -> Vec<String> {
        let mut lost = Vec::new();
        for hash in &self.acknowledged {
            let params = json!({ "blockchainId": chain.id, "transactionHash": hash });
            let request = api.rpc("blockchain.getTransaction", &params);
            if let Err(failure) = api.ask(&request).await {
                lost.push(format!("{hash} was acknowledged: {failure}"));
            }
        }
        lost
    }
}

impl Signed {
    fn new(api: &Api, chain: &Chain, key: &KeyPair, nonce: u64) -> Self {
        let transfer = TransactionRequest {
            chain_id: Some(chain.chain_id),
            nonce,
            to: Some(key.address()),
            value: U256::from(1),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            ..TransactionRequest::default()
        };
        let signed = transfer.sign(key).expect("it is complete");
        let params = json!({ "blockchainId": chain.id, "signedTransaction": signed.encoded() });
        Self { hash: signed.hash().to_string(), request: api.rpc("transaction.send", &params) }
    }
}
