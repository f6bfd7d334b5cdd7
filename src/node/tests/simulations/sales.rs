//! What is sold, and operations of who sells and buys.

use alloy_sol_types::SolCall;

use super::{operations::Choices, world::World};
use crate::{
    chain::CallRequest,
    primitives::{Address, U256},
    templates::{
        erc20::interface as erc20, erc721::interface as erc721, erc1155::interface as erc1155,
        marketplace::interface as market,
    },
};

/// Prices that a call pays by chance in ether: those of the values that are drawn.
const PRICES: [u64; 4] = [1, 5, 700, 0];

fn amount(value: u64) -> U256 {
    U256::from(value)
}

impl World {
    /// Lets the marketplace move the tokens of all, and makes a listing, an offer and a pending withdrawal.
    pub(super) fn open_market(&self) {
        let [market, coin, art, items] =
            ["marketplace", "erc20-token", "erc721-nft", "erc1155-multi"].map(|name| self.contract(name).address);
        for account in self.accounts() {
            let approval = erc721::setApprovalForAllCall { operator: market, approved: true };
            self.run(*account, art, 0, &approval);
            self.run(*account, items, 0, &erc1155::setApprovalForAllCall { operator: market, approved: true });
            self.run(*account, coin, 0, &erc20::approveCall { spender: market, value: U256::MAX });
        }
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

    fn run(&self, from: Address, to: Address, value: u64, call: &impl SolCall) {
        let request = CallRequest::call(to, call.abi_encode()).with_from(from).with_value(amount(value));
        let mined = self.node.send_and_mine(request).unwrap();
        assert!(mined.is_success(), "{mined:?}");
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
