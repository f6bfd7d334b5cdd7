//! Deploying contracts from templates.

use alloy_primitives::{Address, B256, U256};
use serde_json::Value;

use super::{Blockchain, Fields, PlatformError, parse_amount};
use crate::{
    chain::CallRequest,
    node::{BlockRef, Located},
    templates::Erc20Params,
};

/// Characters of a token's name or symbol.
const GAS_LIMIT_MAX: u64 = 1_000_000_000_000;

/// A template that the service names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractTemplate {
    /// A fungible token (ERC-20) with permit, mint, burn, pause and cap.
    Erc20Token,
}

impl ContractTemplate {
    /// Every name that the service knows; [`ContractTemplate::from_name`] says which can be deployed.
    pub const NAMES: [&str; 6] =
        ["erc20-token", "erc721-nft", "erc1155-multi", "governance-dao", "staking-pool", "marketplace"];

    /// The template's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Erc20Token => "erc20-token",
        }
    }

    /// The template of this name, if this version has it.
    pub fn from_name(name: &str) -> Option<Self> {
        (name == Self::Erc20Token.name()).then_some(Self::Erc20Token)
    }
}

/// A contract to deploy: the decoded body of the deploying request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentSpec {
    /// The chain to deploy on.
    pub blockchain_id: String,
    /// The template.
    pub template: ContractTemplate,
    /// The token's name.
    pub token_name: String,
    /// The token's symbol.
    pub symbol: String,
    /// What the deployer gets, in the smallest unit.
    pub total_supply: U256,
    /// Digits after the point that a user interface shows; never scales an amount.
    pub decimals: u8,
    /// Who deploys and owns; the first unlocked account when absent.
    pub from: Option<Address>,
    /// The most gas; estimated when absent.
    pub gas_limit: Option<u64>,
}

impl DeploymentSpec {
    /// Reads a request body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every field at fault.
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
        // A template that can't be deployed has parameters of its own, which are not judged here.
        if template.is_some() {
            fields.absorb(params);
        }
        let from = fields.address("from");
        let gas_limit = gas_limit(&mut fields);
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

/// A deployment that was sent.
#[derive(Clone, Debug)]
pub struct Deployment {
    id: String,
    spec: DeploymentSpec,
    from: Address,
    transaction_hash: B256,
    created_at_ms: u64,
}

impl Deployment {
    /// Simulates, then sends: a transaction that would fail is never sent.
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
        let mut request = CallRequest {
            from: Some(from),
            input: params.init_code(),
            gas: spec.gas_limit.map(crate::primitives::Gas::new),
            ..Default::default()
        };
        let estimate = node
            .view()
            .estimate_gas(&request, BlockRef::Pending, &Default::default())
            .map_err(PlatformError::from_query)?;
        match estimate {
            Ok(gas) => request.gas = spec.gas_limit.map(crate::primitives::Gas::new).or(Some(gas)),
            Err(failure) => {
                let message = format!("the deployment would fail: {}", failure.describe());
                return Err(PlatformError::Conflict { message });
            }
        }
        let transaction_hash = node.send_request(request).map_err(PlatformError::from_send)?;
        Ok(Self { id, spec, from, transaction_hash, created_at_ms: now_ms })
    }

    /// Its id in this process.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was asked for.
    pub const fn spec(&self) -> &DeploymentSpec {
        &self.spec
    }

    /// Who deployed, and owns the contract.
    pub const fn from(&self) -> Address {
        self.from
    }

    /// The creating transaction.
    pub const fn transaction_hash(&self) -> B256 {
        self.transaction_hash
    }

    /// When it was sent, in milliseconds since the Unix epoch.
    pub const fn created_at_ms(&self) -> u64 {
        self.created_at_ms
    }

    /// The creating transaction's nonce decides the contract's address, mined or not (Yellow Paper, 7).
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
