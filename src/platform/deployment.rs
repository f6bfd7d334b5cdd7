//! Contract deployments from templates.

use alloy_primitives::{Address, B256, U256};
use serde_json::Value;

use super::{Blockchain, Fields, PlatformError, parse_amount};
use crate::{
    chain::CallRequest,
    node::{BlockRef, EstimateError, Located},
    primitives::Gas,
    templates::Erc20Params,
};

/// Largest gas limit of a deployment, in gas units.
const GAS_LIMIT_MAX: u64 = 1_000_000_000_000;

/// A template of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractTemplate {
    /// A fungible token (ERC-20) with permit, mint, burn, pause and cap.
    Erc20Token,
}

impl ContractTemplate {
    /// Template names of the service. [`ContractTemplate::from_name`] is `None` for those that this version cannot deploy.
    pub const NAMES: [&str; 6] =
        ["erc20-token", "erc721-nft", "erc1155-multi", "governance-dao", "staking-pool", "marketplace"];

    /// Returns the name of the template in the service.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Erc20Token => "erc20-token",
        }
    }

    /// Returns the template with this name, if this version has it.
    pub fn from_name(name: &str) -> Option<Self> {
        (name == Self::Erc20Token.name()).then_some(Self::Erc20Token)
    }
}

/// Specification of a deployment: the decoded body of a request to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentSpec {
    /// Id of the chain to deploy on.
    pub blockchain_id: String,
    /// Template of the contract.
    pub template: ContractTemplate,
    /// Name of the token.
    pub token_name: String,
    /// Symbol of the token.
    pub symbol: String,
    /// Initial balance of the deployer, in the smallest unit.
    pub total_supply: U256,
    /// Digits after the decimal point in user interfaces; does not scale amounts.
    pub decimals: u8,
    /// Account that deploys and owns the contract; the first unlocked account by default.
    pub from: Option<Address>,
    /// Gas limit of the transaction, in gas units; estimated by default.
    pub gas_limit: Option<Gas>,
}

impl DeploymentSpec {
    /// Reads a request body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read(body: Value) -> Result<Self, PlatformError> {
        let mut fields = Fields::read(body)?;
        let blockchain_id = fields.text("blockchainId").unwrap_or_default();
        let named = fields.choice("template", &ContractTemplate::NAMES, |name| {
            ContractTemplate::NAMES.into_iter().find(|known| *known == name)
        });
        let named = fields.require("template", &format!("one of {}", ContractTemplate::NAMES.join(", ")), named);
        let template = named.and_then(ContractTemplate::from_name);
        if let (Some(name), None) = (named, template) {
            fields.refuse("template", "erc20-token: the other templates are not available in this version", name);
        }
        let mut params = fields.object("params");
        let token_name = params.text("name").unwrap_or_default();
        let symbol = params.text("symbol").unwrap_or_default();
        let total_supply = params.amount("totalSupply").unwrap_or_default();
        let decimals =
            params.integer("decimals", 0, 255).and_then(|decimals| u8::try_from(decimals).ok()).unwrap_or(18);
        // The parameters of an unavailable template are unknown, so they are not validated.
        if template.is_some() {
            fields.absorb(params);
        }
        let from = fields.address("from");
        let gas_limit = gas_limit(&mut fields).map(Gas::new);
        fields.finish()?;
        let template = template.unwrap_or(ContractTemplate::Erc20Token);
        Ok(Self { blockchain_id, template, token_name, symbol, total_supply, decimals, from, gas_limit })
    }
}

fn gas_limit(fields: &mut Fields) -> Option<u64> {
    let expected = format!("a decimal integer string between 21000 and {GAS_LIMIT_MAX}");
    let text = fields.optional_text("gasLimit", &expected)?;
    let limit = parse_amount(&text).and_then(|limit| u64::try_from(limit).ok());
    let fitting = limit.filter(|limit| (21_000..=GAS_LIMIT_MAX).contains(limit));
    if fitting.is_none() {
        fields.refuse("gasLimit", expected, text);
    }
    fitting
}

/// A deployment whose transaction was sent.
#[derive(Clone, Debug)]
pub struct Deployment {
    id: String,
    spec: DeploymentSpec,
    from: Address,
    transaction_hash: B256,
    created_at_ms: u64,
}

impl Deployment {
    /// Simulates, then sends. A transaction whose simulation fails is not sent.
    pub(super) fn run(
        id: String,
        spec: DeploymentSpec,
        chain: &Blockchain,
        now_ms: u64,
    ) -> Result<Self, PlatformError> {
        let node = chain.node();
        let unlocked = node.accounts();
        let from = match spec.from.or_else(|| unlocked.first().copied()) {
            Some(from) if unlocked.contains(&from) => from,
            Some(from) => {
                let expected = "an account that this service can sign for (unlocked)";
                return Err(PlatformError::field("from", expected, from.to_string()));
            }
            None => return Err(PlatformError::field("from", "an unlocked account", "nothing, and none is unlocked")),
        };
        let params = Erc20Params {
            decimals: spec.decimals,
            ..Erc20Params::new(&spec.token_name, &spec.symbol, spec.total_supply, from)
        };
        let mut request =
            CallRequest { from: Some(from), input: params.init_code(), gas: spec.gas_limit, ..Default::default() };
        match node.view().estimate_gas(&request, BlockRef::Pending, &Default::default()) {
            Ok(gas) => request.gas = request.gas.or(Some(gas)),
            Err(EstimateError::Query(cause)) => return Err(PlatformError::from_query(cause)),
            Err(failure) => {
                let message = format!("the deployment would fail: {failure}");
                return Err(PlatformError::Conflict { message });
            }
        }
        let transaction_hash = node.send_as_account(request).map_err(PlatformError::from_send)?;
        Ok(Self { id, spec, from, transaction_hash, created_at_ms: now_ms })
    }

    /// Id in the service.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Specification of the deployment.
    pub const fn spec(&self) -> &DeploymentSpec {
        &self.spec
    }

    /// Account that deployed and owns the contract.
    pub const fn from(&self) -> Address {
        self.from
    }

    /// Hash of the creating transaction.
    pub const fn transaction_hash(&self) -> B256 {
        self.transaction_hash
    }

    /// Time of sending, in milliseconds since the Unix epoch.
    pub const fn created_at_ms(&self) -> u64 {
        self.created_at_ms
    }

    /// Returns the address of the contract, which the sender and nonce of the creating transaction determine (Yellow Paper, 7).
    ///
    /// # Errors
    /// [`PlatformError`] when the chain no longer has the transaction.
    pub fn contract_address(&self, chain: &Blockchain) -> Result<Address, PlatformError> {
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
