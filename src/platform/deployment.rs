//! Contract deployments from templates.

use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Blockchain, FieldError, PlatformError,
    principal::Principal,
    records::{Index, Reach, Record, SortKey},
    sent::SentRecord,
    tokens::details::TokenDetails,
    transaction_outcome::TransactionOutcome,
    wallet::Wallets,
};
use crate::{
    chain::CallRequest,
    node::{BlockRef, EstimateError, Located},
    primitives::{Gas, Transaction},
    vm::{DeploymentContext, Descriptor, Marker, ParameterError},
};

/// Specification of a deployment: a contract from a template, or one that the caller's signed transaction creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeploymentSpec {
    /// Id of the chain to deploy on.
    pub blockchain_id: String,
    /// Name of the contract's template.
    pub template: String,
    /// Parameters of the constructor by name, in the form of [`Descriptor::encode`].
    pub params: Map<String, Value>,
    /// Account that deploys the contract; [`Wallets::default_sender`] by default.
    pub from: Option<Address>,
    /// Gas limit of the transaction, in gas units; estimated by default.
    pub gas_limit: Option<Gas>,
    /// The signed creating transaction (EIP-2718), in place of template, parameters, sender and gas limit.
    pub signed_transaction: Option<Bytes>,
    /// What the contract is where it is a token that the service keeps.
    pub(super) token: Option<TokenDetails>,
}

impl DeploymentSpec {
    /// A contract from a template, with the constructor's parameters by name.
    pub fn of_template(blockchain_id: &str, template: &str, params: Map<String, Value>) -> Self {
        let (blockchain_id, template) = (blockchain_id.to_owned(), template.to_owned());
        Self { blockchain_id, template, params, ..Self::default() }
    }

    /// A token.
    #[cfg(test)]
    pub(super) fn gold(blockchain_id: &str) -> Self {
        let params = [("name", "Gold"), ("symbol", "GLD")].map(|(name, value)| (name.to_owned(), value.into()));
        Self::of_template(blockchain_id, "erc20-token", params.into_iter().collect())
    }

    /// The contract that a signed transaction creates (EIP-2718).
    pub fn of_signed(blockchain_id: &str, transaction: Bytes) -> Self {
        Self { blockchain_id: blockchain_id.to_owned(), signed_transaction: Some(transaction), ..Self::default() }
    }
}

/// What is sent for a deployment.
pub(super) enum Sending {
    /// The transaction that the caller has signed, and the template that it deploys.
    Signed(Box<Transaction>, String),
    /// A transaction to be signed, the template, and its parameters as JSON text.
    Request(Box<CallRequest>, String, String),
}

impl DeploymentSpec {
    /// Returns what is to be sent. What a template would refuse or revert is refused here.
    pub(super) fn sending(
        self,
        wallets: &Wallets<'_>,
        principal: &Principal,
        chain: &Blockchain,
    ) -> Result<Sending, PlatformError> {
        if let Some(raw) = &self.signed_transaction {
            return Self::signed(raw, chain);
        }
        let from = match self.from {
            Some(from) if wallets.can_sign(principal, chain, from)? => from,
            Some(from) => {
                let expected = "a wallet of the workspace, for which this service can sign";
                return Err(PlatformError::field("from", expected, from.to_string()));
            }
            None => wallets.default_sender(principal, chain)?,
        };
        let unknown = |names: Vec<String>| {
            PlatformError::field("template", format!("one of {}", names.join(", ")), self.template.clone())
        };
        let input = descriptor(chain, &self.template)
            .map_err(unknown)?
            .encode(&self.params, context(chain, from)?)
            .map_err(invalid)?;
        let mut request = CallRequest { from: Some(from), input, gas: self.gas_limit, ..Default::default() };
        let view = chain.node().view();
        match view.estimate_gas(&view.as_sent(&request), BlockRef::Pending, &Default::default()) {
            Ok(gas) => request.gas = request.gas.or(Some(gas)),
            Err(EstimateError::Query(cause)) => return Err(PlatformError::from_query(cause)),
            Err(failure) => {
                let message = format!("the deployment would fail: {failure}");
                return Err(PlatformError::Conflict { message });
            }
        }
        Ok(Sending::Request(Box::new(request), self.template, Value::Object(self.params).to_string()))
    }

    /// Checks that the transaction creates a contract, and names its template; `bytecode` is what is of none.
    fn signed(raw: &Bytes, chain: &Blockchain) -> Result<Sending, PlatformError> {
        let wrong = |got: String| {
            PlatformError::field("signedTransaction", "a signed transaction that creates a contract (EIP-2718)", got)
        };
        let transaction = Transaction::decode(raw).map_err(|cause| wrong(cause.to_string()))?;
        if let Some(to) = transaction.to() {
            return Err(wrong(format!("a call of {to}")));
        }
        let marker = Marker::split(transaction.input()).and_then(|(Marker(id), _)| chain.node().templates().get(id));
        let template = marker.map_or_else(|| "bytecode".to_owned(), |template| template.name().to_owned());
        Ok(Sending::Signed(Box::new(transaction), template))
    }
}

/// Returns the description of the newest version of a template, or the names of those that the chain has.
fn descriptor(chain: &Blockchain, name: &str) -> Result<Descriptor, Vec<String>> {
    let templates = chain.node().templates();
    let found = templates.by_name(name).map(|template| Descriptor::of(&**template));
    found.ok_or_else(|| templates.iter().map(|template| template.name().to_owned()).collect())
}

/// Returns what parameters may depend on: who deploys, and the time of the chain's blocks.
fn context(chain: &Blockchain, deployer: Address) -> Result<DeploymentContext<'static>, PlatformError> {
    let context = DeploymentContext::new(deployer);
    Ok(match chain.block_time_secs().map_err(PlatformError::from_query)? {
        Some(secs) => context.with_block_time(secs),
        None => context,
    })
}

/// Returns the refusal of parameters.
fn invalid(errors: Vec<ParameterError>) -> PlatformError {
    let fields = errors.into_iter().map(|ParameterError { path, expected, got }| {
        let path = format!("params.{path}");
        FieldError { path, expected, got }
    });
    PlatformError::Validation { fields: fields.collect() }
}

/// A deployment whose transaction is signed, and is or will be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentRecord {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Name of the contract's template.
    pub template: String,
    /// Parameters of the constructor by name, as JSON text.
    pub params: String,
    /// Account that deployed the contract.
    pub from: Address,
    /// Hash of the creating transaction.
    pub transaction_hash: B256,
    /// The creating transaction (EIP-2718), to be sent again; `None` of a record of an earlier version, which was written after sending.
    pub transaction: Option<Bytes>,
    /// Its nonce; `None` likewise.
    pub nonce: Option<u64>,
    /// Whether a block is known to have the transaction, or one to have another with its nonce.
    pub is_settled: bool,
    /// What the contract is where it is a token that the service keeps.
    pub token: Option<TokenDetails>,
}

impl DeploymentRecord {
    /// Deployments of a workspace by chain.
    pub const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |deployment| Some(Self::on_chain(&deployment.value.blockchain_id)),
        |deployment| SortKey::new().number(deployment.created_at_ms()),
    );
    /// Deployments of a workspace by the name of their template.
    pub(super) const BY_TEMPLATE: Index<Self> = Index::ordered(
        "template",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |deployment| SortKey::new().text(&deployment.value.template),
    );
    /// Deployments of a workspace whose transactions still may come into a block, by chain.
    pub(super) const UNSETTLED: Index<Self> = Index::ordered(
        "unsettled",
        Reach::Owner,
        |deployment| (!deployment.value.is_settled).then(|| Self::on_chain(&deployment.value.blockchain_id)),
        |deployment| SortKey::new().number(deployment.created_at_ms()),
    );

    /// Tokens of a workspace, of all chains.
    pub const TOKENS: Index<Self> = Index::ordered(
        "token",
        Reach::Owner,
        |deployment| deployment.value.token.is_some().then(SortKey::new),
        |deployment| SortKey::new().number(deployment.created_at_ms()),
    );

    /// Group of the deployments on a chain.
    pub(super) fn on_chain(blockchain_id: &str) -> SortKey {
        SortKey::new().text(blockchain_id)
    }

    /// The record of a creating transaction.
    pub(super) fn of_transaction(chain: &str, template: String, params: String, transaction: &Transaction) -> Self {
        Self {
            blockchain_id: chain.to_owned(),
            template,
            params,
            from: transaction.sender(),
            transaction_hash: transaction.hash(),
            transaction: Some(transaction.encoded()),
            nonce: Some(transaction.nonce()),
            is_settled: false,
            token: None,
        }
    }

    /// Returns the address of the contract, which the sender and nonce of the creating transaction determine (Yellow Paper, 7).
    ///
    /// # Errors
    /// [`PlatformError`] of a record of an earlier version, when the chain no longer has the transaction.
    pub fn contract_address(&self, chain: &Blockchain) -> Result<Address, PlatformError> {
        if let Some(nonce) = self.nonce {
            return Ok(self.from.create(nonce));
        }
        let found = chain.node().view().transaction(self.transaction_hash).map_err(PlatformError::from_query)?;
        let nonce = match found {
            Some(Located::Mined { block, index }) => block.block().transaction(index).map(|found| found.nonce()),
            Some(Located::Pooled(transaction)) => Some(transaction.nonce()),
            None => None,
        };
        nonce
            .map(|nonce| self.from.create(nonce))
            .ok_or_else(|| PlatformError::not_found("transaction", &self.transaction_hash.to_string()))
    }
}

impl DeploymentRecord {
    /// Looks for its transaction.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn outcome(&self, chain: &Blockchain) -> Result<TransactionOutcome, PlatformError> {
        TransactionOutcome::of_sent(chain, self)
    }

    /// Returns the address of the contract as far as it is known: always, but for a record of an earlier version whose chain is away, or no
    /// longer has the transaction.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn known_address(&self, chain: Option<&Blockchain>) -> Result<Option<Address>, PlatformError> {
        match (self.nonce, chain.map(|chain| self.contract_address(chain))) {
            (Some(nonce), _) => Ok(Some(self.from.create(nonce))),
            (None, Some(Ok(address))) => Ok(Some(address)),
            (None, None | Some(Err(PlatformError::NotFound { .. }))) => Ok(None),
            (None, Some(Err(cause))) => Err(cause),
        }
    }
}

impl Record for DeploymentRecord {
    const KIND: &'static str = "deployment";
    const VERSION: u16 = 3;
    const INDICES: &'static [Index<Self>] =
        &[Self::BY_BLOCKCHAIN, Self::UNSETTLED, Self::TOKENS, Self::BY_TEMPLATE, Index::UPDATED];

    /// Version 1 was written after its transaction was sent: what it has is all that is known. Version 2 had no tokens.
    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        type Described = (String, String, String, Address, B256);
        let sent: (Described, Option<Bytes>, Option<u64>, bool) = match version {
            1 => (postcard::from_bytes(bytes).ok()?, None, None, true),
            2 => postcard::from_bytes(bytes).ok()?,
            _ => return None,
        };
        let ((blockchain_id, template, params, from, transaction_hash), transaction, nonce, is_settled) = sent;
        let described = Self { blockchain_id, template, params, from, transaction_hash, ..Self::default() };
        Some(Self { transaction, nonce, is_settled, ..described })
    }
}

impl SentRecord for DeploymentRecord {
    const UNSETTLED: Index<Self> = Self::UNSETTLED;

    fn transaction(&self) -> (B256, Option<&Bytes>) {
        (self.transaction_hash, self.transaction.as_ref())
    }

    fn settle(&mut self) {
        self.is_settled = true;
    }
}
