//! The marketplace's rules, hostile tokens and receivers, what it costs, and all histories against a model.

mod golden;
mod hostile;
mod listings;
mod model;
mod offers;

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
const BUYER: Address = address!("000000000000000000000000000000000000c003");
const CREATOR: Address = address!("000000000000000000000000000000000000d004");
const FEES: Address = address!("000000000000000000000000000000000000e005");

const NATIVE: Address = Address::ZERO;

/// Coins that each of seller and buyer has at first.
const COINS: u64 = 100_000;

/// A marketplace with a fee of 2.5 %, and two collections with a royalty of 10 % for their creator. The seller has token 1 of the one and
/// 100 of token 1 of the other; the marketplace may move these, and the coins of all.
#[derive(Clone)]
struct World {
    chain: TestChain,
    market: Address,
    coin: Address,
    art: Address,
    items: Address,
}

impl World {
    fn new() -> Self {
        Self::with_coin(&TestToken::init_code(18, 4 * COINS))
    }

    fn with_coin(coin: &[u8]) -> Self {
        let mut chain = TestChain::new(&[OWNER, SELLER, BUYER, CREATOR, FEES]);
        let coin = chain.deploy(OWNER, 0, coin);
        let [art, items] = [false, true].map(|is_multi| chain.deploy(OWNER, 0, &TestNft::init_code(is_multi)));
        let params = MarketplaceParams { fee: 250, fee_recipient: FEES, token: Some(coin), owner: OWNER };
        let market = chain.deploy(OWNER, 0, &params.init_code());
        let mut world = Self { chain, market, coin, art, items };
        for user in [SELLER, BUYER] {
            world.chain.ok(OWNER, coin, &asset::transferCall { to: user, value: U256::from(COINS) });
            world.chain.ok(user, coin, &asset::approveCall { spender: market, value: U256::MAX });
            for collection in [art, items] {
                world.approve(user, collection, true);
            }
        }
        for (collection, quantity) in [(art, 1), (items, 100)] {
            world.mint(collection, SELLER, 1, quantity);
            world.set_royalty(collection, CREATOR, 1_000);
        }
        world
    }

    fn approve(&mut self, user: Address, collection: Address, approved: bool) {
        self.chain.ok(user, collection, &nft::setApprovalForAllCall { operator: self.market, approved });
    }

    fn mint(&mut self, collection: Address, to: Address, id: u64, quantity: u64) {
        let call = nft::mintCall { to, id: U256::from(id), quantity: U256::from(quantity) };
        self.chain.ok(OWNER, collection, &call);
    }

    /// Sets a royalty in hundredths of a per cent.
    fn set_royalty(&mut self, collection: Address, receiver: Address, share: u64) {
        self.chain.ok(OWNER, collection, &nft::setRoyaltyCall { receiver, amount: U256::from(share), isShare: true });
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.market, call)
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.market, call, error);
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.market, call)
    }

    /// Calls with ether, and returns what the marketplace returns or reverts with.
    fn pay<C: SolCall>(&mut self, from: Address, value: u64, call: &C) -> Result<C::Return, Bytes> {
        let result = self.chain.send(from, self.market, value, &call.abi_encode(), 10_000_000);
        match result.outcome {
            FrameOutcome::Success => Ok(C::abi_decode_returns_validate(&result.output).unwrap()),
            FrameOutcome::Revert => Err(result.output),
            FrameOutcome::Halt(reason) => panic!("{reason:?}"),
        }
    }

    fn coins(&self, account: Address) -> u64 {
        self.chain.read(self.coin, &asset::balanceOfCall { account }).to()
    }

    fn held(&self, collection: Address, account: Address, id: u64) -> u64 {
        self.chain.read(collection, &nft::balanceOfCall { account, id: U256::from(id) }).to()
    }

    fn pending(&self, account: Address, currency: Address) -> u64 {
        self.read(&sol::pendingWithdrawalsCall { account, currency }).to()
    }

    /// The listing of the seller's token 1 for 1,000 of a currency each.
    fn listing(&self, collection: Address, currency: Address) -> sol::ListingParameters {
        sol::ListingParameters {
            assetContract: collection,
            tokenId: U256::from(1),
            quantity: U256::from(if collection == self.items { 100 } else { 1 }),
            currency,
            pricePerToken: U256::from(1_000),
            startTimestamp: 0,
            endTimestamp: 0,
            reservedFor: Address::ZERO,
        }
    }

    fn list(&mut self, collection: Address, currency: Address) -> U256 {
        let params = self.listing(collection, currency);
        self.ok(SELLER, &sol::createListingCall { params })
    }

    /// The offer of 1,000 of a currency for token 1.
    fn offer(&self, collection: Address, currency: Address, quantity: u64) -> sol::OfferParameters {
        sol::OfferParameters {
            assetContract: collection,
            tokenId: U256::from(1),
            quantity: U256::from(quantity),
            currency,
            pricePerToken: U256::from(1_000),
            expirationTimestamp: 0,
        }
    }
}

/// A purchase of so many at 1,000 each.
fn buy(listing: U256, quantity: u64, currency: Address) -> sol::buyFromListingCall {
    sol::buyFromListingCall {
        listingId: listing,
        buyFor: BUYER,
        quantity: U256::from(quantity),
        currency,
        expectedTotalPrice: U256::from(1_000 * quantity),
    }
}

fn reason(error: &impl SolError) -> Bytes {
    error.abi_encode().into()
}

#[test]
fn a_marketplace_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Marketplace);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    assert_eq!(encode(serde_json::json!({})).unwrap(), MarketplaceParams::new(OWNER).init_code());
    let values = serde_json::json!({ "fee": "2.5", "feeRecipient": FEES.to_string(), "token": SELLER.to_string() });
    let want = MarketplaceParams { fee: 250, owner: OWNER, fee_recipient: FEES, token: Some(SELLER) };
    assert_eq!(encode(values).unwrap(), want.init_code());
    let errors = encode(serde_json::json!({ "fee": "2.555" })).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["fee"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = Marketplace.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (25, 12, 27));
    assert!(abi.receive.is_none() && abi.fallback.is_none());
}

#[test]
fn plain_ether_is_refused() {
    let mut world = World::new();
    assert!(!world.chain.send(BUYER, world.market, 1, &[], 1_000_000).is_success());
}

#[test]
fn a_construction_checks_its_parameters() {
    let mut chain = TestChain::new(&[OWNER]);
    let good = MarketplaceParams::new(OWNER);
    let refused = |params: &MarketplaceParams, chain: &mut TestChain| {
        chain.create(OWNER, 0, &params.init_code(), 1_000_000).1.output
    };
    let fee = MarketplaceParams { fee: 10_001, ..good.clone() };
    assert_eq!(refused(&fee, &mut chain), reason(&sol::InvalidFee { fee: 10_001, max: 10_000 }));
    let nobody = MarketplaceParams { fee_recipient: Address::ZERO, ..good.clone() };
    assert_eq!(refused(&nobody, &mut chain), reason(&sol::InvalidFeeRecipient { recipient: Address::ZERO }));
    let owner = MarketplaceParams { owner: Address::ZERO, ..good };
    assert_eq!(refused(&owner, &mut chain), reason(&sol::OwnableInvalidOwner { owner: Address::ZERO }));
}

#[test]
fn only_the_owner_changes_settings_and_only_those_of_later_orders() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let listing = world.list(art, coin);
    let fee = sol::setFeeCall { fee: 500, recipient: CREATOR };
    let currency = sol::setCurrencyCall { currency: coin, accepted: false };
    let stranger = sol::OwnableUnauthorizedAccount { account: BUYER };
    world.fails(BUYER, &fee, &stranger);
    world.fails(BUYER, &currency, &stranger);
    world.ok(OWNER, &fee);
    world.ok(OWNER, &currency);
    assert_eq!((world.read(&sol::feeCall {}), world.read(&sol::feeRecipientCall {})), (500, CREATOR));
    assert!(!world.read(&sol::isCurrencyAcceptedCall { currency: coin }));
    let params = world.listing(art, coin);
    world.fails(SELLER, &sol::createListingCall { params }, &sol::CurrencyNotAccepted { currency: coin });
    let params = world.offer(art, coin, 1);
    world.fails(BUYER, &sol::makeOfferCall { params }, &sol::CurrencyNotAccepted { currency: coin });
    let update =
        sol::updateListingCall { listingId: listing, currency: coin, pricePerToken: U256::ONE, endTimestamp: 0 };
    world.fails(SELLER, &update, &sol::CurrencyNotAccepted { currency: coin });
    // What was listed is sold as it was listed; the fee goes to the new recipient, who is also the creator.
    world.ok(BUYER, &buy(listing, 1, coin));
    assert_eq!((world.coins(CREATOR), world.coins(SELLER)), (100 + 25, COINS + 875));
    assert_eq!(world.list_native_fee(), 500);
}

impl World {
    /// Lists items, and returns the fee of the listing.
    fn list_native_fee(&mut self) -> u16 {
        let listing = self.list(self.items, NATIVE);
        self.read(&sol::getListingCall { listingId: listing }).fee
    }
}
