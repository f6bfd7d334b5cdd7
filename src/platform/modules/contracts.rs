//! The contracts of a module: what its configuration deploys, and how they are wired.

use serde_json::{Value, json};

use super::config::{BlockSpan, DaoConfig, DefiConfig, ModuleConfig, NftConfig, TokenChoice};
use crate::{
    platform::{PlatformError, contract_plan::PlannedContract},
    primitives::Address,
    templates::{
        Erc20, Erc721, Erc1155, GovernanceDao, Lending, LiquidityFactory, LiquidityRouter, Marketplace, PriceFeed,
        StakingPool, WrappedNative,
    },
};

/// Name of the token of a module among its contracts.
pub(super) const TOKEN: &str = "token";
const WRAPPED: &str = "wrapped-native";
const FACTORY: &str = "factory";
const FEED: &str = "price-feed";

/// What a plan depends on beside the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings {
    /// Time between blocks in seconds; `None` where blocks come on demand.
    pub(super) block_time_secs: Option<u64>,
    /// The token of the module that the configuration names.
    pub(super) other_token: Option<Address>,
}

/// Returns the contracts of a configuration, each after those that it needs.
///
/// # Errors
/// [`PlatformError::Validation`] for durations on a chain whose blocks come on demand.
pub(super) fn contracts(config: &ModuleConfig, around: Surroundings) -> Result<Vec<PlannedContract>, PlatformError> {
    match config {
        ModuleConfig::Defi(defi) => Ok(of_defi(defi, around)),
        ModuleConfig::Nft(nft) => Ok(of_nft(nft, around)),
        ModuleConfig::Dao(dao) => of_dao(dao, around),
        ModuleConfig::Planned => Ok(Vec::new()),
    }
}

fn of_defi(defi: &DefiConfig, around: Surroundings) -> Vec<PlannedContract> {
    let mut plan = Vec::new();
    if defi.lending || defi.staking {
        plan.extend(own_token(&defi.token));
    }
    if defi.dex || defi.lending {
        plan.push(PlannedContract::new(WRAPPED, WrappedNative::NAME, json!({})));
    }
    if defi.dex {
        plan.push(PlannedContract::new(FACTORY, LiquidityFactory::NAME, json!({})));
        let router = PlannedContract::new("router", LiquidityRouter::NAME, json!({}));
        plan.push(router.linked("factory", FACTORY).linked("WETH", WRAPPED));
    }
    if defi.lending {
        let feed =
            json!({ "decimals": 8, "description": "native token in the lent token", "answer": defi.price.to_string() });
        plan.push(PlannedContract::new(FEED, PriceFeed::NAME, feed));
        let terms = json!({ "ltv": defi.ltv.text(), "liquidationThreshold": defi.liquidation_threshold.text() });
        let market = PlannedContract::new("lending", Lending::NAME, terms).linked("collateral", WRAPPED);
        plan.push(with_token(market.linked("oracle", FEED), "token", &defi.token, around));
    }
    if defi.staking {
        let pool =
            PlannedContract::new("staking", StakingPool::NAME, json!({ "rewardRate": defi.reward_rate.to_string() }));
        plan.push(with_token(pool, "stakingToken", &defi.token, around));
    }
    plan
}

fn of_nft(nft: &NftConfig, around: Surroundings) -> Vec<PlannedContract> {
    let mut plan = Vec::new();
    if nft.minting {
        let (royalty, features) = (nft.royalty.text(), json!({ "mintable": true }));
        plan.push(if nft.is_multi {
            let params = json!({ "uri": nft.uri, "royaltyFee": royalty, "features": features });
            PlannedContract::new("collection", Erc1155::NAME, params)
        } else {
            let params = json!({
                "name": nft.name, "symbol": nft.symbol, "baseURI": nft.uri, "royaltyFee": royalty, "features": features,
            });
            PlannedContract::new("collection", Erc721::NAME, params)
        });
    }
    if nft.marketplace {
        if let Some(currency) = &nft.currency {
            plan.extend(own_token(currency));
        }
        let market = PlannedContract::new("marketplace", Marketplace::NAME, json!({ "fee": nft.fee.text() }));
        plan.push(match &nft.currency {
            Some(currency) => with_token(market, "token", currency, around),
            None => market,
        });
    }
    plan
}

fn of_dao(dao: &DaoConfig, around: Surroundings) -> Result<Vec<PlannedContract>, PlatformError> {
    let blocks = |field: &str, span: BlockSpan| {
        let on_demand = || {
            let expected =
                "a number of blocks: the chain makes them on demand, so that nobody knows how long they take";
            PlatformError::field(format!("config.{field}"), expected, "a duration")
        };
        span.blocks(around.block_time_secs).ok_or_else(on_demand)
    };
    let params = json!({
        "name": dao.name,
        "votingDelay": blocks("votingDelay", dao.voting_delay)?,
        "votingPeriod": blocks("votingPeriod", dao.voting_period)?,
        "proposalThreshold": dao.proposal_threshold.to_string(),
        "quorum": dao.quorum.to_string(),
        "timelockDelay": format!("{}s", dao.timelock_delay_secs),
    });
    let governor = PlannedContract::new("governor", GovernanceDao::NAME, params);
    let mut plan: Vec<_> = own_token(&dao.token).into_iter().collect();
    plan.push(with_token(governor, "token", &dao.token, around));
    Ok(plan)
}

/// The token that a module makes for itself. It has votes, so that a DAO may be of it.
fn own_token(token: &TokenChoice) -> Option<PlannedContract> {
    let TokenChoice::Own { name, symbol, supply } = token else { return None };
    let params = json!({
        "name": name, "symbol": symbol, "totalSupply": supply.to_string(), "features": { "votes": true },
    });
    Some(PlannedContract::new(TOKEN, Erc20::NAME, params))
}

fn with_token(
    mut contract: PlannedContract,
    parameter: &'static str,
    token: &TokenChoice,
    around: Surroundings,
) -> PlannedContract {
    let address = match token {
        TokenChoice::Own { .. } => return contract.linked(parameter, TOKEN),
        TokenChoice::At(address) => *address,
        TokenChoice::Of(_) => around.other_token.unwrap_or_default(),
    };
    contract.params.insert(parameter.to_owned(), Value::String(address.to_string()));
    contract
}
