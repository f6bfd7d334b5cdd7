//! What the contracts of a dApp's components say of themselves at the head of their chain.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

use super::record::DappComponent;
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, ComponentKind, NodeView},
    platform::{Blockchain, PlatformError},
    primitives::Height,
    templates::{
        auction::interface as auction, erc20::interface as token, governance_dao::interface as governance,
        lending::interface as lending, liquidity_pool::interface as pool, marketplace::interface as marketplace,
        multisig::interface as multisig, staking_pool::interface as staking,
    },
};

/// Addresses of one list that are shown.
const LISTED_MAX: usize = 20;

/// A figure of a component, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DappFigure {
    /// What it is.
    pub label: &'static str,
    /// Its value.
    pub value: String,
}

/// A component as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentState {
    /// Whether its contract is there.
    pub is_deployed: bool,
    /// Its figures.
    pub figures: Vec<DappFigure>,
}

/// Components as they are after one block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DappState {
    /// Height of the block.
    pub height: Height,
    /// The components, in their order.
    pub components: Vec<ComponentState>,
}

/// Reads the state of components at the head.
pub(super) fn read(chain: &Blockchain, components: &[DappComponent]) -> Result<DappState, PlatformError> {
    let view = chain.node().view();
    let read = |component: &DappComponent| {
        let code = view.code(component.address, BlockRef::Latest).map_err(PlatformError::from_query)?;
        let mut reader = Reader { view: &view, contract: component.address, figures: Vec::new() };
        if !code.is_empty()
            && let Some(kind) = ComponentKind::from_name(&component.kind)
        {
            reader.read(kind)?;
        }
        Ok(ComponentState { is_deployed: !code.is_empty(), figures: reader.figures })
    };
    let components = components.iter().map(read).collect::<Result<_, PlatformError>>()?;
    Ok(DappState { height: view.head().height(), components })
}

/// Figures of one contract, in the reading.
struct Reader<'a> {
    view: &'a NodeView,
    contract: Address,
    figures: Vec<DappFigure>,
}

impl Reader<'_> {
    fn read(&mut self, kind: ComponentKind) -> Result<(), PlatformError> {
        match kind {
            ComponentKind::Token => self.token(),
            ComponentKind::Staking => self.staking(),
            ComponentKind::LiquidityPool => self.pool(),
            ComponentKind::Lending => self.lending(),
            ComponentKind::Governance => self.governance(),
            ComponentKind::NftMarketplace => self.marketplace(),
            ComponentKind::Auction => self.auction(),
            ComponentKind::Multisig => self.multisig(),
        }
    }

    fn token(&mut self) -> Result<(), PlatformError> {
        self.show("Name", token::nameCall {}, |name| name)?;
        self.show("Symbol", token::symbolCall {}, |symbol| symbol)?;
        self.show("Supply, in the smallest unit", token::totalSupplyCall {}, |supply| supply.to_string())?;
        self.show("Decimals", token::decimalsCall {}, |decimals| decimals.to_string())
    }

    fn staking(&mut self) -> Result<(), PlatformError> {
        self.show("Staked token", staking::stakingTokenCall {}, |address| address.to_string())?;
        self.show("Staked", staking::totalSupplyCall {}, |staked| staked.to_string())?;
        self.show("Reward a second", staking::rewardRate_0Call {}, |rate| rate.to_string())?;
        self.show("Lock period, in seconds", staking::lockPeriodCall {}, |secs| secs.to_string())
    }

    fn pool(&mut self) -> Result<(), PlatformError> {
        self.show("First token", pool::token0Call {}, |address| address.to_string())?;
        self.show("Second token", pool::token1Call {}, |address| address.to_string())?;
        if let Some(reserves) = self.ask(&pool::getReservesCall {})? {
            self.push("Reserve of the first", reserves._reserve0.to_string());
            self.push("Reserve of the second", reserves._reserve1.to_string());
        }
        self.show("Shares", pool::totalSupplyCall {}, |shares| shares.to_string())
    }

    fn lending(&mut self) -> Result<(), PlatformError> {
        for asset in self.ask(&lending::getReservesListCall {})?.unwrap_or_default().into_iter().take(LISTED_MAX) {
            let Some(reserve) = self.ask(&lending::getReserveDataCall { asset })? else { continue };
            self.push("Asset", asset.to_string());
            self.push("Supplied", reserve.totalAToken.to_string());
            self.push("Borrowed", reserve.totalStableDebt.saturating_add(reserve.totalVariableDebt).to_string());
        }
        Ok(())
    }

    fn governance(&mut self) -> Result<(), PlatformError> {
        self.show("Name", governance::nameCall {}, |name| name)?;
        self.show("Proposals", governance::proposalCountCall {}, |count| count.to_string())?;
        let parts =
            (self.ask(&governance::quorumNumerator_0Call {})?, self.ask(&governance::quorumDenominatorCall {})?);
        if let (Some(numerator), Some(denominator)) = parts {
            self.push("Quorum", format!("{numerator}/{denominator} of all votes"));
        }
        self.show("Voting token", governance::tokenCall {}, |address| address.to_string())?;
        self.show("Timelock", governance::timelockCall {}, |address| address.to_string())
    }

    fn marketplace(&mut self) -> Result<(), PlatformError> {
        self.show("Listings", marketplace::totalListingsCall {}, |count| count.to_string())?;
        self.show("Offers", marketplace::totalOffersCall {}, |count| count.to_string())?;
        self.show("Fee", marketplace::feeCall {}, |fee| percent(U256::from(fee)))
    }

    fn auction(&mut self) -> Result<(), PlatformError> {
        self.show("Auctions", auction::totalAuctionsCall {}, |count| count.to_string())?;
        self.show("Fee", auction::feeCall {}, |fee| percent(U256::from(fee)))
    }

    fn multisig(&mut self) -> Result<(), PlatformError> {
        let owners = self.ask(&multisig::getOwnersCall {})?.unwrap_or_default();
        self.show("Threshold", multisig::requiredCall {}, |required| format!("{required} of {}", owners.len()))?;
        self.show("Transactions", multisig::transactionCountCall {}, |count| count.to_string())?;
        for owner in owners.into_iter().take(LISTED_MAX) {
            self.push("Owner", owner.to_string());
        }
        Ok(())
    }

    fn push(&mut self, label: &'static str, value: String) {
        self.figures.push(DappFigure { label, value });
    }

    fn show<C: SolCall>(
        &mut self,
        label: &'static str,
        call: C,
        text: impl FnOnce(C::Return) -> String,
    ) -> Result<(), PlatformError> {
        if let Some(answer) = self.ask(&call)? {
            self.push(label, text(answer));
        }
        Ok(())
    }

    /// Calls the contract; `None` where it answers something else.
    fn ask<C: SolCall>(&self, call: &C) -> Result<Option<C::Return>, PlatformError> {
        let request = CallRequest::call(self.contract, Bytes::from(call.abi_encode()));
        let outcome = self.view.call(&request, BlockRef::Latest, &StateOverrides::default(), None);
        let outcome = outcome.map_err(PlatformError::from_query)?;
        Ok(outcome.success_output().and_then(|output| C::abi_decode_returns(output).ok()))
    }
}

/// Writes hundredths of a percent as a percentage.
fn percent(hundredths: U256) -> String {
    let (whole, rest) = hundredths.div_rem(U256::from(100));
    format!("{whole}.{rest:0>2} %")
}
