//! What is sold and auctioned, and operations of who sells and buys.

use core::time::Duration;

use alloy_sol_types::SolCall;

use super::{
    choices::Choices,
    world::{World, amount},
};
use crate::{
    primitives::{Address, Bytes, U256},
    templates::{
        auction::interface as auction, erc20::interface as erc20, erc721::interface as erc721,
        erc1155::interface as erc1155, marketplace::interface as market,
    },
};

/// Prices that a call pays by chance in ether: those of the values that are drawn.
const PRICES: [u64; 4] = [1, 5, 700, 0];

/// In seconds.
const HOUR: u64 = 3_600;
const YEAR: u64 = 365 * 24 * HOUR;

impl World {
    /// Lets a contract move the tokens of all.
    fn approve_all(&self, operator: Address) {
        let [coin, art, items] = ["erc20-token", "erc721-nft", "erc1155-multi"].map(|name| self.contract(name).address);
        for account in self.accounts() {
            self.run(*account, art, 0, &erc721::setApprovalForAllCall { operator, approved: true });
            self.run(*account, items, 0, &erc1155::setApprovalForAllCall { operator, approved: true });
            self.run(*account, coin, 0, &erc20::approveCall { spender: operator, value: U256::MAX });
        }
    }

    /// Makes a listing, an offer and a pending withdrawal.
    pub(super) fn open_market(&self) {
        let [market, coin, items] =
            ["marketplace", "erc20-token", "erc1155-multi"].map(|name| self.contract(name).address);
        self.approve_all(market);
        let [_, seller, buyer, ..] = *self.accounts() else { panic!("three accounts") };
        let params = market::ListingParameters {
            assetContract: items,
            tokenId: amount(1),
            quantity: amount(1_000),
            currency: coin,
            pricePerToken: amount(1),
            startTimestamp: 0,
            endTimestamp: 0,
            reservedFor: Address::ZERO,
        };
        self.run(seller, market, 0, &market::createListingCall { params });
        let params = market::OfferParameters {
            assetContract: items,
            tokenId: amount(1),
            quantity: amount(1_000),
            currency: Address::ZERO,
            pricePerToken: amount(1),
            expirationTimestamp: 0,
        };
        for _ in 0..2 {
            self.run(buyer, market, 1_000, &market::makeOfferCall { params: params.clone() });
        }
        self.run(buyer, market, 0, &market::cancelOfferCall { offerId: amount(1) });
    }

    /// Makes auctions: one whose lot waits to be claimed, one that is over, one with a bid that was outbid, and others of each kind.
    pub(super) fn open_auctions(&self) {
        let [house, coin, items] = ["auction", "erc20-token", "erc1155-multi"].map(|name| self.contract(name).address);
        self.approve_all(house);
        let [owner, seller, bidder, other, ..] = *self.accounts() else { panic!("four accounts") };
        for secs in [HOUR, HOUR, YEAR, YEAR] {
            let params = self.english((items, amount(2), amount(2)), coin, U256::ZERO, secs);
            self.run(seller, house, 0, &auction::createEnglishAuctionCall { params });
        }
        for currency in [coin, Address::ZERO] {
            let params = self.dutch((items, amount(2), amount(2)), currency, amount(5));
            self.run(seller, house, 0, &auction::createDutchAuctionCall { params });
        }
        for (bidder, bid) in [(bidder, 1), (other, 2)] {
            self.run(bidder, house, 0, &auction::bidCall { auctionId: amount(2), amount: amount(bid) });
        }
        self.node.increase_time(Duration::from_secs(HOUR));
        self.run(owner, items, 0, &erc1155::pauseCall {});
        self.run(owner, house, 0, &auction::settleCall { auctionId: U256::ZERO });
        self.run(owner, items, 0, &erc1155::unpauseCall {});
    }

    fn english(
        &self,
        lot: (Address, U256, U256),
        currency: Address,
        reserve: U256,
        secs: u64,
    ) -> auction::EnglishParameters {
        auction::EnglishParameters {
            assetContract: lot.0,
            tokenId: lot.1,
            quantity: lot.2,
            currency,
            reservePrice: reserve,
            minIncrement: 0,
            timeExtension: 0,
            startTimestamp: 0,
            endTimestamp: self.last_time() + secs,
        }
    }

    fn dutch(&self, lot: (Address, U256, U256), currency: Address, start_price: U256) -> auction::DutchParameters {
        auction::DutchParameters {
            assetContract: lot.0,
            tokenId: lot.1,
            quantity: lot.2,
            currency,
            startPrice: start_price,
            reservePrice: U256::ZERO,
            startTimestamp: 0,
            endTimestamp: self.last_time() + YEAR,
        }
    }

    /// Returns the time of the last block, in seconds.
    fn last_time(&self) -> u64 {
        self.node.view().head().block().header().timestamp
    }

    /// Returns the input of a function of the auction that is about a token or an auction that there is.
    pub(super) fn auction_input(
        &self,
        house: Address,
        name: &str,
        from: Address,
        choices: &mut Choices,
    ) -> Option<Vec<u8>> {
        let currency = choices.one_of(&[Address::ZERO, self.contract("erc20-token").address]);
        let price = amount(choices.one_of(&PRICES));
        let auctions = self.read(house, &auction::getAuctionsCall { from: U256::ZERO, count: U256::MAX })?;
        let id = choices.one_of(&auctions).auctionId;
        let next = self.read(house, &auction::currentPriceCall { auctionId: id }).unwrap_or_default();
        Some(match name {
            "createEnglishAuction" => {
                let params = self.english(self.lot_of(from, choices), currency, price, YEAR);
                auction::createEnglishAuctionCall { params }.abi_encode()
            }
            "createDutchAuction" => {
                let params = self.dutch(self.lot_of(from, choices), currency, price);
                auction::createDutchAuctionCall { params }.abi_encode()
            }
            "bid" => auction::bidCall { auctionId: id, amount: next.max(price) }.abi_encode(),
            "buy" => auction::buyCall { auctionId: id, maxPrice: next }.abi_encode(),
            "cancelAuction" => auction::cancelAuctionCall { auctionId: id }.abi_encode(),
            "settle" => auction::settleCall { auctionId: id }.abi_encode(),
            "claim" => {
                // The first one's lot waits for its seller from the start.
                let auction_id = choices.one_of(&[U256::ZERO, id]);
                auction::claimCall { auctionId: auction_id, to: from }.abi_encode()
            }
            "withdraw" => auction::withdrawCall { currency, to: from }.abi_encode(),
            "onERC1155Received" => {
                auction::onERC1155ReceivedCall { operator: house, from, id: price, value: price, data: Bytes::new() }
                    .abi_encode()
            }
            _ => return None,
        })
    }

    /// Returns the input of a function of the marketplace that is about a token or an order that there is.
    pub(super) fn market_input(
        &self,
        market: Address,
        name: &str,
        from: Address,
        choices: &mut Choices,
    ) -> Option<Vec<u8>> {
        let currency = choices.one_of(&[Address::ZERO, self.contract("erc20-token").address]);
        Some(match name {
            "createListing" => {
                let (collection, token_id, quantity) = self.lot_of(from, choices);
                let params = market::ListingParameters {
                    assetContract: collection,
                    tokenId: token_id,
                    quantity,
                    currency,
                    pricePerToken: amount(choices.one_of(&PRICES)),
                    startTimestamp: 0,
                    endTimestamp: choices.one_of(&[0, u64::MAX - 1]),
                    reservedFor: choices.one_of(&[Address::ZERO, from]),
                };
                market::createListingCall { params }.abi_encode()
            }
            "makeOffer" => {
                let (collection, token_id, quantity) = self.lot_of(choices.one_of(self.accounts()), choices);
                let params = market::OfferParameters {
                    assetContract: collection,
                    tokenId: token_id,
                    quantity,
                    currency,
                    pricePerToken: amount(choices.one_of(&PRICES)),
                    expirationTimestamp: 0,
                };
                market::makeOfferCall { params }.abi_encode()
            }
            "buyFromListing" => {
                let listing = self.any_listing(market, choices)?;
                let quantity = amount(1);
                market::buyFromListingCall {
                    listingId: listing.listingId,
                    buyFor: choices.one_of(self.accounts()),
                    quantity,
                    currency: listing.currency,
                    expectedTotalPrice: listing.pricePerToken * quantity,
                }
                .abi_encode()
            }
            "updateListing" => market::updateListingCall {
                listingId: self.any_listing(market, choices)?.listingId,
                currency,
                pricePerToken: amount(choices.one_of(&PRICES)),
                endTimestamp: 0,
            }
            .abi_encode(),
            "cancelListing" => {
                market::cancelListingCall { listingId: self.any_listing(market, choices)?.listingId }.abi_encode()
            }
            "withdraw" => {
                market::withdrawCall { currency: Address::ZERO, to: choices.one_of(self.accounts()) }.abi_encode()
            }
            _ => return None,
        })
    }

    /// A token that an account had at first.
    fn lot_of(&self, account: Address, choices: &mut Choices) -> (Address, U256, U256) {
        let index = self.accounts().iter().position(|other| *other == account).unwrap_or_default();
        let number = choices.next(3) as u64;
        match choices.next(2) {
            0 => (self.contract("erc721-nft").address, amount(10 * index as u64 + number), amount(1)),
            _ => (self.contract("erc1155-multi").address, amount(number), amount(1 + number)),
        }
    }

    fn any_listing(&self, market: Address, choices: &mut Choices) -> Option<market::Listing> {
        let listings = self.read(market, &market::getListingsCall { from: U256::ZERO, count: U256::MAX })?;
        if listings.is_empty() { None } else { Some(choices.one_of(&listings)) }
    }
}
