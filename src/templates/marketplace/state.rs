//! State variables, and what listings and offers have in common: orders.

use super::interface as sol;
use crate::{
    templates::common::{
        Currency, Nft, Ownable, ReentrancyGuard, Sale, SaleSettings, Withdrawals,
        nft::{TokenType, check_available},
        sale::{Payees, Proceeds},
        sale_settings::FeeInfo,
    },
    vm::contract::*,
};

storage! {
    /// State variables.
    pub(super) contract MarketplaceStorage {
        pub(super) ownable: Ownable,
        pub(super) settings: SaleSettings,
        pub(super) withdrawals: Withdrawals,
        pub(super) listing_count: Slot<U256>,
        pub(super) listings: Mapping<U256, Order>,
        pub(super) offer_count: Slot<U256>,
        pub(super) offers: Mapping<U256, Order>,
    }
}

storage! {
    /// A listing or an offer.
    pub(super) struct Order {
        pub(super) terms: Slot<Terms>,
        /// What is left of it.
        pub(super) quantity: Slot<U256>,
        pub(super) is_cancelled: Slot<bool>,
    }
}

record! {
    /// Terms of a listing or an offer.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Terms {
        /// Who made the order; zero for one that was never made.
        pub(super) maker: Address,
        /// From when on it may be taken.
        pub(super) start: u64,
        pub(super) token_type: TokenType,
        /// In hundredths of a per cent.
        pub(super) fee: u16,
        pub(super) collection: Address,
        /// From when on it may no longer be taken.
        pub(super) end: u64,
        pub(super) currency: Address,
        pub(super) token_id: U256,
        /// Price of one.
        pub(super) price: U256,
        /// Who alone may take it; zero for anybody.
        pub(super) reserved_for: Address,
    }
}

pub(super) const MARKET: MarketplaceStorage = MarketplaceStorage::STATE;
pub(super) const GUARD: ReentrancyGuard = ReentrancyGuard::STATE;

/// An order as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) order: Order,
    pub(super) terms: Terms,
    /// What is left of it.
    pub(super) quantity: U256,
}

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { fee, owner, feeRecipient, token } = params;
    MARKET.ownable.construct(host, owner)?;
    MARKET.settings.construct(host, FeeInfo { recipient: feeRecipient, fee }, token)?;
    GUARD.construct(host)
}

/// Returns the end of an order: 0 in an ABI is none.
pub(super) const fn end_of(timestamp: u64) -> u64 {
    if timestamp == 0 { u64::MAX } else { timestamp }
}

/// Returns the timestamp of an end in an ABI.
const fn timestamp_of(end: u64) -> u64 {
    if end == u64::MAX { 0 } else { end }
}

impl Terms {
    pub(super) const fn nft(&self) -> Nft {
        Nft { collection: self.collection, token_id: self.token_id, token_type: self.token_type }
    }

    /// Refuses an order that would end before it starts, or is over.
    pub(super) fn check_time(&self, now: u64) -> Result<(), Stop> {
        let error = sol::InvalidTime { startTimestamp: self.start, endTimestamp: timestamp_of(self.end) };
        require(self.end > self.start && self.end > now, error)
    }

    /// Returns the price of a quantity.
    pub(super) fn total(&self, quantity: U256) -> Result<U256, Stop> {
        self.price.mul(quantity)
    }

    /// Divides the price of a sale.
    pub(super) fn proceeds(&self, host: &mut Host<'_>, price: U256) -> Result<Proceeds, Stop> {
        Sale { collection: self.collection, token_id: self.token_id, price, fee: self.fee }.proceeds(host)
    }
}

impl Entry {
    /// Reads an order, made or not.
    pub(super) fn read(host: &mut Host<'_>, order: Order) -> Result<Self, Stop> {
        Ok(Self { order, terms: order.terms.get(host)?, quantity: order.quantity.get(host)? })
    }

    /// Writes a new order.
    pub(super) fn write(&self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.order.terms.set(host, self.terms)?;
        self.order.quantity.set(host, self.quantity)
    }

    /// Returns whether something is left of it. Nothing is of one that was never made or is cancelled.
    pub(super) fn is_open(&self) -> bool {
        !self.quantity.is_zero()
    }

    pub(super) fn status(&self, host: &mut Host<'_>) -> Result<sol::Status, Stop> {
        Ok(match self {
            _ if self.is_open() => sol::Status::CREATED,
            _ if self.terms.maker.is_zero() => sol::Status::UNSET,
            _ if self.order.is_cancelled.get(host)? => sol::Status::CANCELLED,
            _ => sol::Status::COMPLETED,
        })
    }

    /// Takes a quantity off what is left.
    pub(super) fn take(&self, host: &mut Host<'_>, quantity: U256) -> Result<(), Stop> {
        check_available(quantity, self.quantity)?;
        self.order.quantity.set(host, self.quantity.sub(quantity)?)
    }

    /// Leaves nothing of it.
    pub(super) fn cancel(&self, host: &mut Host<'_>) -> Result<(), Stop> {
        self.order.quantity.set(host, U256::ZERO)?;
        self.order.is_cancelled.overwrite(host, true)
    }

    pub(super) fn listing(&self, host: &mut Host<'_>, id: U256) -> Result<sol::Listing, Stop> {
        let status = self.status(host)?;
        let Self { terms, quantity, .. } = *self;
        Ok(sol::Listing {
            listingId: id,
            listingCreator: terms.maker,
            tokenType: token_type(terms.token_type),
            status,
            assetContract: terms.collection,
            tokenId: terms.token_id,
            quantity,
            currency: terms.currency,
            pricePerToken: terms.price,
            startTimestamp: terms.start,
            endTimestamp: timestamp_of(terms.end),
            reservedFor: terms.reserved_for,
            fee: terms.fee,
        })
    }

    pub(super) fn offer(&self, host: &mut Host<'_>, id: U256) -> Result<sol::Offer, Stop> {
        let status = self.status(host)?;
        let Self { terms, quantity, .. } = *self;
        Ok(sol::Offer {
            offerId: id,
            offeror: terms.maker,
            tokenType: token_type(terms.token_type),
            status,
            assetContract: terms.collection,
            tokenId: terms.token_id,
            quantity,
            currency: terms.currency,
            pricePerToken: terms.price,
            expirationTimestamp: timestamp_of(terms.end),
            fee: terms.fee,
        })
    }
}

/// Pays a sale: out of what the contract holds in the native token, and out of what the payer approved in another one.
pub(super) fn pay(
    host: &mut Host<'_>,
    proceeds: &Proceeds,
    currency: Address,
    payer: Address,
    seller: Address,
) -> Result<(), Stop> {
    let payees = Payees { fee_recipient: MARKET.settings.fee_info.get(host)?.recipient, seller };
    proceeds.pay_by(host, Currency::of(currency), payer, payees, MARKET.withdrawals)
}

/// Returns the next id of listings or offers, from 0 on.
pub(super) fn next_id(host: &mut Host<'_>, count: Slot<U256>) -> Result<U256, Stop> {
    let id = count.get(host)?;
    count.set(host, id.add(U256::ONE)?)?;
    Ok(id)
}

const fn token_type(token_type: TokenType) -> sol::TokenType {
    match token_type {
        TokenType::Erc721 => sol::TokenType::ERC721,
        TokenType::Erc1155 => sol::TokenType::ERC1155,
    }
}
