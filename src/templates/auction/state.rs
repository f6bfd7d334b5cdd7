//! State variables, and an auction as it is.

use super::interface as sol;
use crate::{
    templates::common::{
        Currency, Nft, Ownable, ReentrancyGuard, Sale, SaleSettings, Withdrawals, nft::TokenType, sale::Payees,
        sale_settings::FeeInfo,
    },
    vm::contract::*,
};

storage! {
    /// State variables.
    pub(super) contract AuctionStorage {
        pub(super) ownable: Ownable,
        pub(super) settings: SaleSettings,
        pub(super) withdrawals: Withdrawals,
        pub(super) auction_count: Slot<U256>,
        pub(super) auctions: Mapping<U256, Lot>,
    }
}

storage! {
    /// An auction.
    pub(super) struct Lot {
        pub(super) terms: Slot<Terms>,
        pub(super) standing: Slot<Standing>,
        /// For whom the tokens wait, who did not take them when they were sent; zero for nobody.
        pub(super) claimant: Slot<Address>,
    }
}

record! {
    /// Terms of an auction.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Terms {
        /// Who made it; zero for one that was never made.
        pub(super) creator: Address,
        pub(super) start: u64,
        pub(super) token_type: TokenType,
        /// In hundredths of a per cent.
        pub(super) fee: u16,
        pub(super) collection: Address,
        /// The end without extensions.
        pub(super) first_end: u64,
        pub(super) is_dutch: bool,
        pub(super) currency: Address,
        /// In seconds.
        pub(super) time_extension: u64,
        /// In hundredths of a per cent.
        pub(super) min_increment: u16,
        pub(super) token_id: U256,
        pub(super) quantity: U256,
        pub(super) start_price: U256,
        pub(super) reserve_price: U256,
    }
}

record! {
    /// How an auction stands.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Standing {
        /// Who has bid most, or has bought; zero for nobody.
        pub(super) bidder: Address,
        pub(super) end: u64,
        pub(super) is_settled: bool,
        pub(super) is_cancelled: bool,
        pub(super) bid: U256,
    }
}

pub(super) const HOUSE: AuctionStorage = AuctionStorage::STATE;
pub(super) const GUARD: ReentrancyGuard = ReentrancyGuard::STATE;

/// An auction as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) id: U256,
    pub(super) lot: Lot,
    pub(super) terms: Terms,
    pub(super) standing: Standing,
}

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { fee, owner, feeRecipient, token } = params;
    HOUSE.ownable.construct(host, owner)?;
    HOUSE.settings.construct(host, FeeInfo { recipient: feeRecipient, fee }, token)?;
    GUARD.construct(host)
}

pub(super) fn now(host: &Host<'_>) -> u64 {
    host.block().timestamp.as_secs()
}

impl Terms {
    pub(super) const fn nft(&self) -> Nft {
        Nft { collection: self.collection, token_id: self.token_id, token_type: self.token_type }
    }

    pub(super) fn currency(&self) -> Currency {
        Currency::of(self.currency)
    }

    pub(super) const fn sale(&self, price: U256) -> Sale {
        Sale { collection: self.collection, token_id: self.token_id, price, fee: self.fee }
    }

    pub(super) fn payees(&self, host: &mut Host<'_>) -> Result<Payees, Stop> {
        Ok(Payees { fee_recipient: HOUSE.settings.fee_info.get(host)?.recipient, seller: self.creator })
    }

    const fn kind(&self) -> sol::Kind {
        if self.is_dutch { sol::Kind::DUTCH } else { sol::Kind::ENGLISH }
    }
}

impl Entry {
    /// Reads an auction, made or not.
    pub(super) fn read(host: &mut Host<'_>, id: U256) -> Result<Self, Stop> {
        let lot = HOUSE.auctions.at(host, id)?;
        Ok(Self { id, lot, terms: lot.terms.get(host)?, standing: lot.standing.get(host)? })
    }

    /// Reads an auction that is open.
    pub(super) fn open(host: &mut Host<'_>, id: U256) -> Result<Self, Stop> {
        let entry = Self::read(host, id)?;
        let status = entry.status();
        require(status == sol::Status::CREATED, sol::AuctionNotOpen { auctionId: id, status })?;
        Ok(entry)
    }

    /// Reads an auction in which bids or purchases are taken now.
    pub(super) fn running(host: &mut Host<'_>, id: U256, is_dutch: bool) -> Result<Self, Stop> {
        let entry = Self::open(host, id)?;
        let kind = entry.terms.kind();
        require(entry.terms.is_dutch == is_dutch, sol::AuctionOfOtherKind { auctionId: id, kind })?;
        let (start, end, now) = (entry.terms.start, entry.standing.end, now(host));
        require(start <= now, sol::AuctionNotStarted { auctionId: id, startTimestamp: start })?;
        require(now < end, sol::AuctionEnded { auctionId: id, endTimestamp: end })?;
        Ok(entry)
    }

    pub(super) const fn status(&self) -> sol::Status {
        match self.standing {
            Standing { is_cancelled: true, .. } => sol::Status::CANCELLED,
            Standing { is_settled: true, .. } => sol::Status::COMPLETED,
            // An end is after the beginning of time.
            Standing { end: 0, .. } => sol::Status::UNSET,
            Standing { .. } => sol::Status::CREATED,
        }
    }

    pub(super) fn auction(&self) -> sol::Auction {
        let Self { id, terms, standing, .. } = *self;
        sol::Auction {
            auctionId: id,
            kind: terms.kind(),
            status: self.status(),
            auctionCreator: terms.creator,
            tokenType: match terms.token_type {
                TokenType::Erc721 => sol::TokenType::ERC721,
                TokenType::Erc1155 => sol::TokenType::ERC1155,
            },
            assetContract: terms.collection,
            tokenId: terms.token_id,
            quantity: terms.quantity,
            currency: terms.currency,
            startPrice: terms.start_price,
            reservePrice: terms.reserve_price,
            minIncrement: terms.min_increment,
            timeExtension: terms.time_extension,
            startTimestamp: terms.start,
            endTimestamp: standing.end,
            fee: terms.fee,
            highestBidder: standing.bidder,
            highestBid: standing.bid,
        }
    }
}
