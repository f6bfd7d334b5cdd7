//! The auction's rules, hostile tokens and receivers, what it costs, and all histories against a model.

mod dutch;
mod english;
mod golden;
mod hostile;
mod model;

use alloy_primitives::address;

use super::{interface as sol, *};
use crate::{
    templates::test_chain::{
        FUNDS, NOW, TestChain,
        actor::{self, ActorTemplate},
        test_nft::{self as nft, TestNft},
        test_token::{self as asset, TestToken},
    },
    vm::{Descriptor, FrameOutcome},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const SELLER: Address = address!("000000000000000000000000000000000000b002");
const ALICE: Address = address!("000000000000000000000000000000000000c003");
const BOB: Address = address!("000000000000000000000000000000000000d004");
const CREATOR: Address = address!("000000000000000000000000000000000000e005");
const FEES: Address = address!("000000000000000000000000000000000000f006");

const NATIVE: Address = Address::ZERO;

/// Coins that each of alice and bob has at first.
const COINS: u64 = 100_000;

/// Time of an auction, in seconds.
const DURATION: u64 = 1_000;

/// An auction with a fee of 2.5 %, and two collections with a royalty of 10 % for their creator. The seller has token 1 of the one and 100 of
/// token 1 of the other; the auction may move these, and the coins of all.
#[derive(Clone)]
struct World {
    chain: TestChain,
    house: Address,
    coin: Address,
    art: Address,
    items: Address,
}

impl World {
    fn new() -> Self {
        Self::with_coin(&TestToken::init_code(18, 4 * COINS))
    }

    fn with_coin(coin: &[u8]) -> Self {
        let mut chain = TestChain::new(&[OWNER, SELLER, ALICE, BOB, CREATOR, FEES]);
        let coin = chain.deploy(OWNER, 0, coin);
        let [art, items] = [false, true].map(|is_multi| chain.deploy(OWNER, 0, &TestNft::init_code(is_multi)));
        let params = AuctionParams { fee: 250, fee_recipient: FEES, token: Some(coin), owner: OWNER };
        let house = chain.deploy(OWNER, 0, &params.init_code());
        let mut world = Self { chain, house, coin, art, items };
        for user in [ALICE, BOB] {
            world.chain.ok(OWNER, coin, &asset::transferCall { to: user, value: U256::from(COINS) });
            world.chain.ok(user, coin, &asset::approveCall { spender: house, value: U256::MAX });
        }
        for (collection, quantity) in [(art, 1), (items, 100)] {
            let mint = nft::mintCall { to: SELLER, id: U256::from(1), quantity: U256::from(quantity) };
            world.chain.ok(OWNER, collection, &mint);
            world.approve(SELLER, collection, true);
            world.set_royalty(collection, CREATOR, 1_000);
        }
        world
    }

    fn approve(&mut self, user: Address, collection: Address, approved: bool) {
        self.chain.ok(user, collection, &nft::setApprovalForAllCall { operator: self.house, approved });
    }

    /// Sets a royalty in hundredths of a per cent.
    fn set_royalty(&mut self, collection: Address, receiver: Address, share: u64) {
        self.chain.ok(OWNER, collection, &nft::setRoyaltyCall { receiver, amount: U256::from(share), isShare: true });
    }

    /// Moves to so many seconds after the start.
    fn after(&mut self, seconds: u64) -> &mut Self {
        self.chain.at(NOW + seconds);
        self
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.house, call)
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.house, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.house, call)
    }

    /// Calls with ether, and returns what the auction reverts with.
    fn pay<C: SolCall>(&mut self, from: Address, value: u64, call: &C) -> Result<(), Bytes> {
        let result = self.chain.send(from, self.house, value, &call.abi_encode(), 10_000_000);
        match result.outcome {
            FrameOutcome::Success => Ok(()),
            FrameOutcome::Revert => Err(result.output),
            FrameOutcome::Halt(reason) => panic!("{reason:?}"),
        }
    }

    fn coins(&self, account: Address) -> u64 {
        self.chain.read(self.coin, &asset::balanceOfCall { account }).to()
    }

    fn held(&self, collection: Address, account: Address) -> u64 {
        self.chain.read(collection, &nft::balanceOfCall { account, id: U256::from(1) }).to()
    }

    fn pending(&self, account: Address, currency: Address) -> u64 {
        self.read(&sol::pendingWithdrawalsCall { account, currency }).to()
    }

    fn auction(&self, id: U256) -> sol::Auction {
        self.read(&sol::getAuctionCall { auctionId: id })
    }

    /// From now on, with a reserve of 1,000, raises of 5 % and extensions by 100 s.
    fn english(&self, collection: Address, currency: Address) -> sol::EnglishParameters {
        sol::EnglishParameters {
            assetContract: collection,
            tokenId: U256::from(1),
            quantity: U256::from(if collection == self.items { 10 } else { 1 }),
            currency,
            reservePrice: U256::from(1_000),
            minIncrement: 500,
            timeExtension: 100,
            startTimestamp: 0,
            endTimestamp: NOW + DURATION,
        }
    }

    /// From now on, from 5,000 to 1,000.
    fn dutch(&self, collection: Address, currency: Address) -> sol::DutchParameters {
        sol::DutchParameters {
            assetContract: collection,
            tokenId: U256::from(1),
            quantity: U256::from(if collection == self.items { 10 } else { 1 }),
            currency,
            startPrice: U256::from(5_000),
            reservePrice: U256::from(1_000),
            startTimestamp: 0,
            endTimestamp: NOW + DURATION,
        }
    }

    fn make_english(&mut self, collection: Address, currency: Address) -> U256 {
        let params = self.english(collection, currency);
        self.ok(SELLER, &sol::createEnglishAuctionCall { params })
    }

    fn make_dutch(&mut self, collection: Address, currency: Address) -> U256 {
        let params = self.dutch(collection, currency);
        self.ok(SELLER, &sol::createDutchAuctionCall { params })
    }
}

fn bid(auction: U256, amount: u64) -> sol::bidCall {
    sol::bidCall { auctionId: auction, amount: U256::from(amount) }
}

fn buy(auction: U256, max_price: u64) -> sol::buyCall {
    sol::buyCall { auctionId: auction, maxPrice: U256::from(max_price) }
}

fn settle(auction: U256) -> sol::settleCall {
    sol::settleCall { auctionId: auction }
}

fn reason(error: &impl SolError) -> Bytes {
    error.abi_encode().into()
}

#[test]
fn an_auction_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Auction);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    assert_eq!(encode(serde_json::json!({})).unwrap(), AuctionParams::new(OWNER).init_code());
    let values = serde_json::json!({ "fee": "2.5", "feeRecipient": FEES.to_string(), "token": SELLER.to_string() });
    let want = AuctionParams { fee: 250, owner: OWNER, fee_recipient: FEES, token: Some(SELLER) };
    assert_eq!(encode(values).unwrap(), want.init_code());
}

#[test]
fn the_abi_is_complete() {
    let abi = Auction.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (25, 11, 31));
    assert!(abi.receive.is_none() && abi.fallback.is_none());
}

#[test]
fn only_the_owner_changes_settings_and_only_those_of_later_auctions() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let auction = world.make_english(art, coin);
    let fee = sol::setFeeCall { fee: 500, recipient: FEES };
    let currency = sol::setCurrencyCall { currency: coin, accepted: false };
    let stranger = sol::OwnableUnauthorizedAccount { account: ALICE };
    world.fails(ALICE, &fee, &stranger);
    world.fails(ALICE, &currency, &stranger);
    world.ok(OWNER, &fee);
    world.ok(OWNER, &currency);
    assert_eq!((world.read(&sol::feeCall {}), world.read(&sol::feeRecipientCall {})), (500, FEES));
    let params = world.english(items, coin);
    let refused = sol::CurrencyNotAccepted { currency: coin };
    world.fails(SELLER, &sol::createEnglishAuctionCall { params }, &refused);
    world.ok(ALICE, &bid(auction, 1_000));
    world.after(DURATION).ok(BOB, &settle(auction));
    assert_eq!([FEES, CREATOR, SELLER].map(|who| world.coins(who)), [25, 100, 875]);
}

#[test]
fn what_cannot_be_sold_is_not_auctioned() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let good = world.english(art, coin);
    let mut refused = |params: sol::EnglishParameters, error: Bytes| {
        let got = world.chain.call(SELLER, world.house, &sol::createEnglishAuctionCall { params });
        assert_eq!(got, Err(error));
    };
    let two = sol::EnglishParameters { quantity: U256::from(2), ..good.clone() };
    refused(two, reason(&sol::InvalidQuantity { quantity: U256::from(2), available: U256::from(1) }));
    let none = sol::EnglishParameters { assetContract: items, quantity: U256::ZERO, ..good.clone() };
    refused(none, reason(&sol::InvalidQuantity { quantity: U256::ZERO, available: U256::MAX }));
    let coins = sol::EnglishParameters { assetContract: coin, ..good.clone() };
    refused(coins, reason(&sol::UnsupportedToken { assetContract: coin }));
    let foreign = sol::EnglishParameters { currency: items, ..good.clone() };
    refused(foreign, reason(&sol::CurrencyNotAccepted { currency: items }));
    let over = sol::EnglishParameters { endTimestamp: NOW, ..good.clone() };
    refused(over, reason(&sol::InvalidTime { startTimestamp: NOW, endTimestamp: NOW }));
    let backwards = sol::EnglishParameters { startTimestamp: NOW + 9, endTimestamp: NOW + 9, ..good.clone() };
    refused(backwards, reason(&sol::InvalidTime { startTimestamp: NOW + 9, endTimestamp: NOW + 9 }));
    let many = sol::EnglishParameters { assetContract: items, quantity: U256::from(101), ..good.clone() };
    let not_held =
        sol::TokenNotHeld { assetContract: items, tokenId: U256::from(1), holder: SELLER, quantity: U256::from(101) };
    refused(many, reason(&not_held));
    world.approve(SELLER, art, false);
    let not_approved = sol::TokenNotApproved { assetContract: art, tokenId: U256::from(1), holder: SELLER };
    world.fails(SELLER, &sol::createEnglishAuctionCall { params: good }, &not_approved);
    let params = sol::DutchParameters { startPrice: U256::from(999), ..world.dutch(items, coin) };
    let rising = sol::InvalidPrice { startPrice: U256::from(999), reservePrice: U256::from(1_000) };
    world.fails(SELLER, &sol::createDutchAuctionCall { params }, &rising);
}

#[test]
fn an_auction_without_a_bid_is_cancelled_by_its_creator() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let auctions = [world.make_english(art, coin), world.make_dutch(items, coin)];
    assert_eq!((world.held(art, world.house), world.held(items, world.house)), (1, 10));
    for auction in auctions {
        let cancel = sol::cancelAuctionCall { auctionId: auction };
        world.fails(ALICE, &cancel, &sol::AuctionUnauthorizedAccount { auctionId: auction, account: ALICE });
        world.ok(SELLER, &cancel);
        assert_eq!(world.auction(auction).status, sol::Status::CANCELLED);
        let closed = sol::AuctionNotOpen { auctionId: auction, status: sol::Status::CANCELLED };
        world.fails(SELLER, &cancel, &closed);
        world.fails(ALICE, &bid(auction, 5_000), &closed);
        world.fails(ALICE, &settle(auction), &closed);
    }
    assert_eq!((world.held(art, SELLER), world.held(items, SELLER)), (1, 100));
    let unknown = U256::from(9);
    let unset = sol::AuctionNotOpen { auctionId: unknown, status: sol::Status::UNSET };
    world.fails(ALICE, &bid(unknown, 5_000), &unset);
}

#[test]
fn nobody_buys_and_the_lot_comes_back() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let auctions = [world.make_english(art, coin), world.make_dutch(items, NATIVE)];
    for auction in auctions {
        let early = sol::AuctionNotEnded { auctionId: auction, endTimestamp: NOW + DURATION };
        world.after(DURATION - 1).fails(BOB, &settle(auction), &early);
        world.after(DURATION).ok(BOB, &settle(auction));
        assert_eq!(world.auction(auction).status, sol::Status::COMPLETED);
        let done = sol::AuctionNotOpen { auctionId: auction, status: sol::Status::COMPLETED };
        world.fails(BOB, &settle(auction), &done);
        world.after(0);
    }
    assert_eq!((world.held(art, SELLER), world.held(items, SELLER)), (1, 100));
}

#[test]
fn bids_and_purchases_are_for_auctions_of_their_kind() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let (english, dutch) = (world.make_english(art, coin), world.make_dutch(items, coin));
    world.fails(ALICE, &buy(english, 9_000), &sol::AuctionOfOtherKind { auctionId: english, kind: sol::Kind::ENGLISH });
    world.fails(ALICE, &bid(dutch, 9_000), &sol::AuctionOfOtherKind { auctionId: dutch, kind: sol::Kind::DUTCH });
    let page = |from: u64, count| {
        let auctions = world.read(&sol::getAuctionsCall { from: U256::from(from), count });
        auctions.iter().map(|auction| auction.kind).collect::<Vec<_>>()
    };
    assert_eq!(page(0, U256::MAX), [sol::Kind::ENGLISH, sol::Kind::DUTCH]);
    assert_eq!(page(1, U256::from(1)), [sol::Kind::DUTCH]);
    assert_eq!(world.read(&sol::totalAuctionsCall {}), U256::from(2));
}
