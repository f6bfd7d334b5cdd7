//! What a token is made by, and what of it each standard can have.

use alloy_primitives::{Address, Bytes, U256};
use serde_json::{Map, Value, json};

use super::details::{TokenDetails, TokenStandard};
use crate::{
    platform::{FieldError, deployment::DeploymentSpec},
    templates::Erc20,
};

/// Bytes of the name of an ERC-20 contract, which an EIP-712 domain has in one word (OpenZeppelin's `ShortStrings`).
const NAME_BYTES_MAX: usize = 31;

/// Optional functions of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenFeatures {
    /// Whether holders of MINTER_ROLE make new tokens.
    pub mintable: bool,
    /// Whether holders destroy their tokens.
    pub burnable: bool,
    /// Whether holders of PAUSER_ROLE stop all transfers.
    pub pausable: bool,
}

/// A wait until tokens are the beneficiary's, in a vesting wallet from the deployment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vesting {
    /// Time until all has vested, in seconds.
    pub duration_secs: u64,
    /// Time before which nothing has vested, in seconds; at most the duration.
    pub cliff_secs: u64,
}

/// A part of the supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotment {
    /// Who gets it.
    pub address: Address,
    /// How much, in the smallest unit; of an ERC-721 token how many ids.
    pub amount: U256,
    /// When it is theirs; at once without.
    pub vesting: Option<Vesting>,
}

/// Specification of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenSpec {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Its standard.
    pub standard: TokenStandard,
    /// Its name.
    pub name: String,
    /// Its symbol.
    pub symbol: String,
    /// Digits after the decimal point in user interfaces; 18 by default where the standard has them.
    pub decimals: Option<u8>,
    /// Tokens that exist from the deployment on: in the smallest unit, ids from 1 on (ERC-721), units of id 1 (ERC-1155).
    pub total_supply: U256,
    /// Optional functions.
    pub features: TokenFeatures,
    /// Parts of the supply that are others'; the rest is the sender's.
    pub distribution: Vec<Allotment>,
    /// Token that a vault holds.
    pub asset: Option<Address>,
    /// URI of the metadata: the base of each id's (ERC-721), or one in which clients replace `{id}` (ERC-1155).
    pub uri: Option<String>,
    /// Who sends the transaction, owns the token and has the rest of its supply; the workspace's wallet by default.
    pub from: Option<Address>,
    /// The creating transaction, signed by the caller, in place of all that it says itself.
    pub signed_transaction: Option<Bytes>,
}

impl TokenSpec {
    /// A token without supply and optional functions.
    pub fn new(blockchain_id: &str, standard: TokenStandard, name: &str, symbol: &str) -> Self {
        Self {
            blockchain_id: blockchain_id.to_owned(),
            standard,
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            decimals: None,
            total_supply: U256::ZERO,
            features: TokenFeatures::default(),
            distribution: Vec::new(),
            asset: None,
            uri: None,
            from: None,
            signed_transaction: None,
        }
    }

    /// Returns what the standard can't have, by name.
    pub fn check(&self) -> Vec<FieldError> {
        let mut errors = Errors { standard: self.standard, errors: Vec::new() };
        match self.standard {
            TokenStandard::Erc20 => {
                errors.refuse_if(self.name.len() > NAME_BYTES_MAX, "name", "at most 31 bytes", &self.name);
                errors.has_no("uri", self.uri.is_some());
            }
            TokenStandard::Erc721 | TokenStandard::Erc1155 => {
                let decimals = self.decimals.unwrap_or(0);
                errors.refuse_if(decimals != 0, "decimals", "0: its tokens have no fractions", &decimals.to_string());
                let vesting = self.distribution.iter().enumerate().filter(|(_, part)| part.vesting.is_some());
                for (index, _) in vesting.filter(|_| self.standard == TokenStandard::Erc721) {
                    errors.has_no(&format!("distribution[{index}].vesting"), true);
                }
            }
            TokenStandard::Erc4626 => self.check_vault(&mut errors),
        }
        if self.standard != TokenStandard::Erc4626 {
            errors.has_no("asset", self.asset.is_some());
        }
        self.check_distribution(&mut errors);
        errors.errors
    }

    /// Shares are made by who deposits.
    fn check_vault(&self, errors: &mut Errors) {
        let supply = self.total_supply;
        let expected = "0: shares are made by deposits";
        errors.refuse_if(!supply.is_zero(), "totalSupply", expected, &supply.to_string());
        errors.has_no("decimals", self.decimals.is_some());
        errors.has_no("uri", self.uri.is_some());
        errors.has_no("distribution", !self.distribution.is_empty());
        let TokenFeatures { mintable, burnable, pausable } = self.features;
        for (name, is_on) in [("mintable", mintable), ("burnable", burnable), ("pausable", pausable)] {
            errors.has_no(&format!("features.{name}"), is_on);
        }
    }

    fn check_distribution(&self, errors: &mut Errors) {
        let sum = self.distribution.iter().try_fold(U256::ZERO, |sum, part| sum.checked_add(part.amount));
        let is_too_much = sum.is_none_or(|sum| sum > self.total_supply);
        let got = sum.map_or_else(|| "more than 2^256".to_owned(), |sum| sum.to_string());
        let expected = format!("amounts of at most totalSupply, {}, in all", self.total_supply);
        errors.refuse_if(is_too_much && !self.distribution.is_empty(), "distribution", &expected, &got);
        for (index, part) in self.distribution.iter().enumerate() {
            let path = format!("distribution[{index}].address");
            errors.refuse_if(part.address.is_zero(), &path, "another address than zero", "the zero address");
            let Some(Vesting { duration_secs, cliff_secs }) = part.vesting else { continue };
            let path = format!("distribution[{index}].vesting.cliff");
            let expected = format!("at most the duration, {duration_secs} s");
            errors.refuse_if(cliff_secs > duration_secs, &path, &expected, &format!("{cliff_secs} s"));
            let path = format!("distribution[{index}].amount");
            let expected = format!(
                "less: times the duration, {duration_secs} s, below 2^256, as the vesting wallet multiplies them and would release nothing"
            );
            let is_too_much = part.amount.checked_mul(U256::from(duration_secs)).is_none();
            errors.refuse_if(is_too_much, &path, &expected, &part.amount.to_string());
        }
    }

    /// Returns the deployment of the token; of a vault that of this asset.
    pub(super) fn deployment(self, asset: Option<Address>) -> DeploymentSpec {
        let params = self.params(asset);
        let Self { blockchain_id, standard, name, symbol, from, signed_transaction, .. } = self;
        let deployment = match signed_transaction {
            Some(signed) => DeploymentSpec::of_signed(&blockchain_id, signed),
            None => DeploymentSpec { from, ..DeploymentSpec::of_template(&blockchain_id, standard.template(), params) },
        };
        DeploymentSpec { token: Some(TokenDetails { standard, name, symbol }), ..deployment }
    }

    /// Returns the deployment of a token for a vault without an asset: named after the vault, minted by its sender.
    pub(super) fn asset_deployment(&self) -> DeploymentSpec {
        let end = |text: &str, most: usize| (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let named = format!("{} asset", self.name);
        let (name, symbol) = (named[..end(&named, NAME_BYTES_MAX.min(named.len()))].to_owned(), self.symbol.clone());
        let params = json!({ "name": name, "symbol": symbol, "features": { "mintable": true } });
        let params = params.as_object().cloned().unwrap_or_default();
        let deployment = DeploymentSpec::of_template(&self.blockchain_id, Erc20::NAME, params);
        let token = TokenDetails { standard: TokenStandard::Erc20, name, symbol };
        DeploymentSpec { from: self.from, token: Some(token), ..deployment }
    }

    /// The parameters of the template's constructor.
    fn params(&self, asset: Option<Address>) -> Map<String, Value> {
        let TokenFeatures { mintable, burnable, pausable } = self.features;
        let features = json!({ "mintable": mintable, "burnable": burnable, "pausable": pausable });
        let mut params = match self.standard {
            TokenStandard::Erc20 => json!({
                "name": self.name, "symbol": self.symbol, "decimals": self.decimals.unwrap_or(18),
                "totalSupply": self.total_supply.to_string(), "features": features,
                "vesting": self.distribution.iter().map(vesting).collect::<Vec<_>>(),
            }),
            TokenStandard::Erc721 => json!({
                "name": self.name, "symbol": self.symbol, "features": features,
                "distribution": self.parts(allotment),
            }),
            TokenStandard::Erc1155 => {
                json!({ "features": features, "distribution": self.parts(vesting) })
            }
            TokenStandard::Erc4626 => json!({ "name": self.name, "symbol": self.symbol, "asset": asset }),
        };
        if let Some(uri) = &self.uri {
            let name = if self.standard == TokenStandard::Erc721 { "baseURI" } else { "uri" };
            params[name] = uri.as_str().into();
        }
        params.as_object().cloned().unwrap_or_default()
    }

    /// The distribution without what is left for the sender, whose account the template fills in.
    fn parts(&self, part: fn(&Allotment) -> Value) -> Vec<Value> {
        let mut all: Vec<Value> = self.distribution.iter().map(part).collect();
        let given = self.distribution.iter().fold(U256::ZERO, |sum, part| sum.saturating_add(part.amount));
        let rest = self.total_supply.saturating_sub(given);
        if !rest.is_zero() {
            all.push(rest_of_sender(rest));
        }
        all
    }
}

/// The part of a distribution that is the sender's, whose account the template fills in.
pub(super) fn rest_of_sender(amount: U256) -> Value {
    json!({ "amount": amount.to_string() })
}

/// A part of the ids of `erc721-nft`.
fn allotment(part: &Allotment) -> Value {
    json!({ "account": part.address, "amount": part.amount.to_string() })
}

/// A part of `erc20-token` and `erc1155-multi`; without a duration it is the beneficiary's at once.
fn vesting(part: &Allotment) -> Value {
    let Vesting { duration_secs, cliff_secs } = part.vesting.unwrap_or(Vesting { duration_secs: 0, cliff_secs: 0 });
    let (amount, address) = (part.amount.to_string(), part.address);
    json!({ "beneficiary": address, "amount": amount, "duration": duration_secs, "cliff": cliff_secs })
}

/// Collects what is wrong.
struct Errors {
    standard: TokenStandard,
    errors: Vec<FieldError>,
}

impl Errors {
    fn refuse_if(&mut self, is_wrong: bool, path: &str, expected: &str, got: &str) {
        if is_wrong {
            let (path, expected, got) = (path.to_owned(), expected.to_owned(), got.to_owned());
            self.errors.push(FieldError { path, expected, got });
        }
    }

    fn has_no(&mut self, path: &str, is_there: bool) {
        let expected = format!("no value: a token of {} has nothing of this name", self.standard.name());
        self.refuse_if(is_there, path, &expected, "a value");
    }
}
