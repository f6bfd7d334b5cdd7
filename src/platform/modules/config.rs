//! Configurations of modules: what each takes, with its defaults.

mod planned;
mod scalars;

use alloy_primitives::U256;
use serde_json::{Map, Value};

pub(super) use self::scalars::{BlockSpan, TokenChoice};
use self::scalars::{Percent, own_token, percent, text_within, token};
use super::ModuleKind;
use crate::platform::{FieldError, Fields, PlatformError};

/// Fee of the pools of `liquidity-pool`, in hundredths of a percent, as in Uniswap v2: no parameter changes it.
const POOL_FEE: u64 = 30;
/// Threshold of liquidation above which no collateral pays a liquidator with its bonus of 5 %, in percent.
const THRESHOLD_MAX: u64 = 95;
/// Largest part of the collateral's worth that may be borrowed, in percent.
const LTV: u64 = 75;
/// Supply of a token that a module makes: a million of 18 decimals.
const SUPPLY: U256 = U256::from_limbs([0x1bce_cced_a100_0000, 0xd3c2, 0, 0]);
/// Price of the native token in the lent one, of 8 decimals.
const PRICE: u64 = 100_000_000;

/// Configuration of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModuleConfig {
    Defi(DefiConfig),
    Nft(NftConfig),
    Dao(DaoConfig),
    /// One that is valid, of a module that this build does not have.
    Planned,
}

/// `defi`: an exchange, a lending market and a staking pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DefiConfig {
    pub(super) dex: bool,
    pub(super) lending: bool,
    pub(super) staking: bool,
    /// What is lent and staked.
    pub(super) token: TokenChoice,
    /// Percent, as the template takes it.
    pub(super) liquidation_threshold: Percent,
    pub(super) ltv: Percent,
    /// First price of the native token in the lent one, of 8 decimals.
    pub(super) price: U256,
    /// The staked token's smallest unit a second.
    pub(super) reward_rate: U256,
}

/// `nft`: a collection that its owner mints, and a marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NftConfig {
    pub(super) minting: bool,
    pub(super) marketplace: bool,
    pub(super) is_multi: bool,
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) uri: String,
    pub(super) royalty: Percent,
    pub(super) fee: Percent,
    /// Accepted beside the native token.
    pub(super) currency: Option<TokenChoice>,
}

/// `dao`: a governor with its timelock, over a token with votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DaoConfig {
    pub(super) name: String,
    pub(super) token: TokenChoice,
    pub(super) voting_delay: BlockSpan,
    pub(super) voting_period: BlockSpan,
    pub(super) proposal_threshold: U256,
    pub(super) quorum: u64,
    pub(super) timelock_delay_secs: u64,
}

impl ModuleConfig {
    /// Reads a configuration; the paths of its errors begin with `config`.
    ///
    /// # Errors
    /// Every invalid field.
    pub(super) fn read(kind: ModuleKind, config: &Map<String, Value>) -> Result<Self, Vec<FieldError>> {
        let errors = |cause| match cause {
            PlatformError::Validation { fields } => fields,
            other => vec![FieldError { path: "config".to_owned(), expected: other.to_string(), got: String::new() }],
        };
        let whole = Value::Object([("config".to_owned(), Value::Object(config.clone()))].into_iter().collect());
        let mut body = Fields::read(whole).map_err(errors)?;
        let mut fields = body.object("config");
        let read = match kind {
            ModuleKind::Defi => Self::Defi(DefiConfig::read(&mut fields)),
            ModuleKind::Nft => Self::Nft(NftConfig::read(&mut fields)),
            ModuleKind::Dao => Self::Dao(DaoConfig::read(&mut fields)),
            other => {
                planned::check(other, &mut fields);
                Self::Planned
            }
        };
        body.absorb(fields);
        body.finish().map_err(errors)?;
        Ok(read)
    }

    /// The module whose token it takes.
    pub(super) const fn depends_on(&self) -> Option<ModuleKind> {
        let token = match self {
            Self::Defi(DefiConfig { token, .. }) | Self::Dao(DaoConfig { token, .. }) => Some(token),
            Self::Nft(NftConfig { currency, .. }) => currency.as_ref(),
            Self::Planned => None,
        };
        match token {
            Some(TokenChoice::Of(kind)) => Some(*kind),
            _ => None,
        }
    }

    /// The token that is no contract of its own.
    pub(super) const fn named_token(&self) -> Option<alloy_primitives::Address> {
        let token = match self {
            Self::Defi(DefiConfig { token, .. }) | Self::Dao(DaoConfig { token, .. }) => Some(token),
            Self::Nft(NftConfig { currency, .. }) => currency.as_ref(),
            Self::Planned => None,
        };
        match token {
            Some(TokenChoice::At(address)) => Some(*address),
            _ => None,
        }
    }

    /// Returns whether contracts of `former` can be those of this configuration, with more beside them: nothing of them is changed.
    pub(super) fn only_adds_to(&self, former: &Self) -> bool {
        match (self, former) {
            (Self::Defi(new), Self::Defi(old)) => {
                let has_all = (new.dex || !old.dex) && (new.lending || !old.lending) && (new.staking || !old.staking);
                // What belongs to a part that was not there is free.
                let lending = !old.lending
                    || (new.liquidation_threshold == old.liquidation_threshold
                        && new.ltv == old.ltv
                        && new.price == old.price);
                let staking = !old.staking || new.reward_rate == old.reward_rate;
                let token = !(old.lending || old.staking) || new.token == old.token;
                has_all && lending && staking && token
            }
            (Self::Nft(new), Self::Nft(old)) => {
                let has_all = (new.minting || !old.minting) && (new.marketplace || !old.marketplace);
                let collection = |one: &NftConfig| {
                    (one.is_multi, one.name.clone(), one.symbol.clone(), one.uri.clone(), one.royalty.clone())
                };
                let minting = !old.minting || collection(new) == collection(old);
                let marketplace = !old.marketplace || (new.fee == old.fee && new.currency == old.currency);
                has_all && minting && marketplace
            }
            (new, old) => new == old,
        }
    }
}

impl DefiConfig {
    fn read(fields: &mut Fields) -> Self {
        let names = ["dex", "lending", "staking"];
        let [dex, lending, staking] = features(fields, names);
        let without = |fields: &mut Fields, is_there: bool, feature: &str, name: &str, got: Option<String>| {
            if let (false, Some(got)) = (is_there, got) {
                fields.refuse(name, format!("no value: `features` has no {feature}"), got);
            }
        };
        let fee = percent(fields, "swapFee", 0, 100);
        if let Some(fee) = fee.as_ref().filter(|fee| fee.hundredths() != POOL_FEE) {
            fields.refuse("swapFee", "0.3: the fee of the pools is fixed, as Uniswap v2's", fee.text());
        }
        without(fields, dex, "dex", "swapFee", fee.map(|fee| fee.text()));
        let threshold = percent(fields, "liquidationThreshold", 1, THRESHOLD_MAX);
        without(fields, lending, "lending", "liquidationThreshold", threshold.as_ref().map(Percent::text));
        let threshold = threshold.unwrap_or_else(|| Percent::whole(80));
        let ltv = percent(fields, "ltv", 0, THRESHOLD_MAX);
        without(fields, lending, "lending", "ltv", ltv.as_ref().map(Percent::text));
        let ltv = ltv.unwrap_or_else(|| Percent::whole(LTV).min(threshold.clone()));
        if ltv > threshold {
            fields.refuse("ltv", format!("at most the liquidationThreshold, {}", threshold.text()), ltv.text());
        }
        let price = fields.amount("price");
        without(fields, lending, "lending", "price", price.map(|price| price.to_string()));
        if price.is_some_and(|price| price.is_zero()) {
            fields.refuse("price", "a price above 0, of 8 decimals", "0");
        }
        let reward_rate = fields.amount("rewardRate");
        without(fields, staking, "staking", "rewardRate", reward_rate.map(|rate| rate.to_string()));
        let token = token(fields, "token", &[]);
        let needs_token = lending || staking;
        without(fields, needs_token, "lending or staking", "token", token.as_ref().map(|_| "a token".to_owned()));
        Self {
            dex,
            lending,
            staking,
            token: token.unwrap_or_else(|| own_token("DeFi", "DEFI")),
            liquidation_threshold: threshold,
            ltv,
            price: price.unwrap_or(U256::from(PRICE)),
            reward_rate: reward_rate.unwrap_or_default(),
        }
    }
}

impl NftConfig {
    fn read(fields: &mut Fields) -> Self {
        let [minting, marketplace] = features(fields, ["minting", "marketplace"]);
        let standards = ["ERC721", "ERC1155"];
        let standard = fields.choice("standard", &standards, |name| standards.iter().position(|one| *one == name));
        let is_multi = standard == Some(1);
        let mut collection = fields.object("collection");
        let name = text_within(&mut collection, "name", 256);
        let symbol = text_within(&mut collection, "symbol", 64);
        if is_multi {
            for (field, value) in [("name", &name), ("symbol", &symbol)] {
                if let Some(value) = value {
                    collection.refuse(field, "no value: an ERC1155 contract has none", value.clone());
                }
            }
        }
        let uri = text_within(&mut collection, "uri", 256);
        fields.absorb(collection);
        let royalty = percent(fields, "royalty", 0, 100);
        let fee = percent(fields, "marketplaceFee", 0, 100);
        let currency = token(fields, "token", &[ModuleKind::Defi, ModuleKind::Dao]);
        let given = [
            (minting, "minting", "standard", standard.is_some()),
            (minting, "minting", "royalty", royalty.is_some()),
            (minting, "minting", "collection", name.is_some() || symbol.is_some() || uri.is_some()),
            (marketplace, "marketplace", "marketplaceFee", fee.is_some()),
            (marketplace, "marketplace", "token", currency.is_some()),
        ];
        for (_, feature, field, _) in given.into_iter().filter(|(is_on, _, _, is_there)| *is_there && !is_on) {
            fields.refuse(field, format!("no value: `features` has no {feature}"), "a value");
        }
        Self {
            minting,
            marketplace,
            is_multi,
            name: name.unwrap_or_else(|| "Collection".to_owned()),
            symbol: symbol.unwrap_or_else(|| "NFT".to_owned()),
            uri: uri.unwrap_or_default(),
            royalty: royalty.unwrap_or_else(|| Percent::whole(0)),
            fee: fee.unwrap_or_else(|| Percent::whole(0)),
            currency,
        }
    }
}

impl DaoConfig {
    fn read(fields: &mut Fields) -> Self {
        let quorum = percent(fields, "quorum", 0, 100);
        if let Some(quorum) = quorum.as_ref().filter(|quorum| quorum.hundredths() % 100 != 0) {
            fields.refuse("quorum", "whole percent", quorum.text());
        }
        let voting_period = BlockSpan::read(fields, "votingPeriod", 1);
        Self {
            // The domain of signatures has it in one word.
            name: text_within(fields, "name", 31).unwrap_or_else(|| "DAO".to_owned()),
            token: token(fields, "token", &[ModuleKind::Defi]).unwrap_or_else(|| own_token("Votes", "VOTE")),
            voting_delay: BlockSpan::read(fields, "votingDelay", 0).unwrap_or(BlockSpan::Blocks(7_200)),
            voting_period: voting_period.unwrap_or(BlockSpan::Blocks(50_400)),
            proposal_threshold: fields.amount("proposalThreshold").unwrap_or_default(),
            quorum: quorum.map_or(4, |quorum| quorum.hundredths() / 100),
            timelock_delay_secs: fields.duration_secs("timelockDelay").unwrap_or(2 * 86_400),
        }
    }
}

/// Reads which parts there are; all by default.
fn features<const N: usize>(fields: &mut Fields, names: [&str; N]) -> [bool; N] {
    let expected = format!("one of {}", names.join(", "));
    let found = fields.list("features", &expected, |name| names.iter().position(|one| *one == name));
    if found.as_ref().is_some_and(Vec::is_empty) && !fields.is_invalid("features") {
        fields.refuse("features", format!("at least one of {}", names.join(", ")), "none");
    }
    match found {
        None => [true; N],
        Some(found) => core::array::from_fn(|index| found.contains(&index)),
    }
}
