//! Tokens, collections and accounts that call the marketplace while it runs, refuse what they get, or ask for too much.

use super::*;

fn locked() -> Bytes {
    reason(&sol::ReentrancyGuardReentrantCall {})
}

/// All functions that the lock guards.
fn guarded(world: &World) -> Vec<Vec<u8>> {
    let (listing, offer) = (world.listing(world.items, world.coin), world.offer(world.items, world.coin, 1));
    let id = U256::ZERO;
    vec![
        sol::createListingCall { params: listing }.abi_encode(),
        sol::updateListingCall { listingId: id, currency: world.coin, pricePerToken: U256::ONE, endTimestamp: 0 }
            .abi_encode(),
        sol::cancelListingCall { listingId: id }.abi_encode(),
        buy(id, 1, world.coin).abi_encode(),
        sol::makeOfferCall { params: offer }.abi_encode(),
        sol::cancelOfferCall { offerId: id }.abi_encode(),
        sol::acceptOfferCall { offerId: id, quantity: U256::from(1) }.abi_encode(),
        sol::withdrawCall { currency: NATIVE, to: BUYER }.abi_encode(),
    ]
}

#[test]
fn a_hostile_coin_finds_the_marketplace_locked() {
    let mut world = World::with_coin(&ActorTemplate::init_code(4 * COINS));
    let (items, coin, market) = (world.items, world.coin, world.market);
    let listing = world.list(items, coin);
    for inner in guarded(&world) {
        let mut world = world.clone();
        world.chain.ok(BUYER, coin, &actor::armCall { target: market, data: inner.into() });
        world.ok(BUYER, &buy(listing, 2, coin));
        let answer = world.chain.read(coin, &actor::answerCall {});
        assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
        assert_eq!(world.held(items, BUYER, 1), 2);
        // The lock is off again.
        world.ok(BUYER, &buy(listing, 2, coin));
    }
}

#[test]
fn a_hostile_collection_finds_the_marketplace_locked() {
    let mut world = World::new();
    let (items, coin, market) = (world.items, world.coin, world.market);
    let listing = world.list(items, coin);
    let params = world.offer(items, coin, 2);
    let offer = world.ok(BUYER, &sol::makeOfferCall { params });
    let entries = [
        (BUYER, buy(listing, 2, coin).abi_encode()),
        (SELLER, sol::acceptOfferCall { offerId: offer, quantity: U256::from(2) }.abi_encode()),
    ];
    for (from, entry) in entries {
        for inner in guarded(&world) {
            let mut world = world.clone();
            world.chain.ok(BUYER, items, &nft::armCall { target: market, data: inner.into() });
            let result = world.chain.send(from, market, 0, &entry, 5_000_000);
            assert!(result.is_success(), "{result:?}");
            let answer = world.chain.read(items, &nft::answerCall {});
            assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
            assert_eq!(world.held(items, BUYER, 1), 2);
        }
    }
}

/// Deploys an account that makes calls of its own, and arms it.
fn armed(world: &mut World, data: Vec<u8>) -> Address {
    let account = world.chain.deploy(BUYER, 0, &ActorTemplate::init_code(0));
    world.chain.ok(BUYER, account, &actor::armCall { target: world.market, data: data.into() });
    account
}

#[test]
fn a_hostile_receiver_of_tokens_finds_the_marketplace_locked() {
    let mut world = World::new();
    let coin = world.coin;
    for collection in [world.art, world.items] {
        let listing = world.list(collection, coin);
        for inner in guarded(&world) {
            let mut world = world.clone();
            let receiver = armed(&mut world, inner);
            world.ok(BUYER, &sol::buyFromListingCall { buyFor: receiver, ..buy(listing, 1, coin) });
            let answer = world.chain.read(receiver, &actor::answerCall {});
            assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
            assert_eq!(world.held(collection, receiver, 1), 1);
        }
    }
}

/// What a call of the marketplace and the keeping of its answer need is below the gas of a payout only where the call ends early.
#[test]
fn a_hostile_receiver_of_ether_finds_the_marketplace_locked() {
    let world = World::new();
    for inner in guarded(&world) {
        let mut world = world.clone();
        let receiver = armed(&mut world, inner);
        world.set_royalty(world.items, receiver, 1_000);
        let listing = world.list(world.items, NATIVE);
        world.pay(BUYER, 2_000, &buy(listing, 2, NATIVE)).unwrap();
        let answer = world.chain.read(receiver, &actor::answerCall {});
        assert!(!answer.isSuccess, "{answer:?}");
        // It got its royalty once: at once, or it waits.
        assert_eq!(world.chain.wei(receiver) + world.pending(receiver, NATIVE), 200);
        assert_eq!(world.chain.wei(world.market), world.pending(receiver, NATIVE));
    }
}

#[test]
fn who_refuses_ether_or_burns_gas_holds_up_nobody() {
    for how in [1, 2] {
        let mut world = World::new();
        let receiver = world.chain.deploy(BUYER, 0, &ActorTemplate::init_code(0));
        world.chain.ok(BUYER, receiver, &actor::refuseCall { how });
        world.set_royalty(world.items, receiver, 1_000);
        let listing = world.list(world.items, NATIVE);
        world.pay(BUYER, 2_000, &buy(listing, 2, NATIVE)).unwrap();
        assert_eq!((world.pending(receiver, NATIVE), world.chain.wei(world.market)), (200, 200));
        assert_eq!([SELLER, FEES].map(|who| world.chain.wei(who)), [FUNDS + 1_750, FUNDS + 50]);
        // It can't take it, but send it elsewhere.
        let withdraw = |to| actor::runCall {
            target: world.market,
            data: sol::withdrawCall { currency: NATIVE, to }.abi_encode().into(),
        };
        let [own, elsewhere] = [withdraw(receiver), withdraw(OWNER)];
        assert!(!world.chain.ok(BUYER, receiver, &own).isSuccess);
        assert_eq!(world.pending(receiver, NATIVE), 200);
        assert!(world.chain.ok(BUYER, receiver, &elsewhere).isSuccess);
        assert_eq!((world.chain.wei(OWNER), world.chain.wei(world.market)), (FUNDS + 200, 0));
    }
}

#[test]
fn fee_and_royalty_above_the_price_are_refused() {
    let mut world = World::new();
    let (items, coin) = (world.items, world.coin);
    let listing = world.list(items, coin);
    let params = world.offer(items, coin, 1);
    let offer = world.ok(BUYER, &sol::makeOfferCall { params });
    let too_much = |price: u64, fee: u64, royalty: u64| sol::FeesExceedPrice {
        price: U256::from(price),
        fee: U256::from(fee),
        royalty: U256::from(royalty),
    };
    // 2.5 % and 97.5 % leave the seller nothing; more can't be.
    world.set_royalty(items, CREATOR, 9_751);
    world.fails(BUYER, &buy(listing, 10, coin), &too_much(10_000, 250, 9_751));
    let update = sol::updateListingCall {
        listingId: listing,
        currency: coin,
        pricePerToken: U256::from(10_000),
        endTimestamp: 0,
    };
    world.fails(SELLER, &update, &too_much(1_000_000, 25_000, 975_100));
    world.chain.ok(OWNER, items, &nft::setRoyaltyCall { receiver: CREATOR, amount: U256::MAX, isShare: false });
    let absolute = sol::FeesExceedPrice { royalty: U256::MAX, ..too_much(1_000, 25, 0) };
    world.fails(SELLER, &sol::acceptOfferCall { offerId: offer, quantity: U256::from(1) }, &absolute);
    let params = world.listing(items, coin);
    let all = sol::FeesExceedPrice { royalty: U256::MAX, ..too_much(100_000, 2_500, 0) };
    world.fails(SELLER, &sol::createListingCall { params }, &all);
    world.set_royalty(items, CREATOR, 9_750);
    world.ok(BUYER, &buy(listing, 10, coin));
    assert_eq!([SELLER, CREATOR, FEES].map(|who| world.coins(who)), [COINS, 9_750, 250]);
}

#[test]
fn a_royalty_for_nobody_for_the_marketplace_or_too_slow_to_say_is_none() {
    let mut world = World::new();
    let (items, coin, market) = (world.items, world.coin, world.market);
    let listing = world.list(items, coin);
    for receiver in [Address::ZERO, market] {
        world.set_royalty(items, receiver, 5_000);
        world.ok(BUYER, &buy(listing, 1, coin));
    }
    world.set_royalty(items, CREATOR, 5_000);
    world.chain.ok(OWNER, items, &nft::setRoyaltyGasCall { units: u64::MAX });
    world.ok(BUYER, &buy(listing, 1, coin));
    assert_eq!([SELLER, CREATOR, FEES, market].map(|who| world.coins(who)), [COINS + 2_925, 0, 75, 0]);
}

#[test]
fn a_refusal_of_a_collection_or_a_receiver_undoes_the_sale() {
    let mut world = World::new();
    let (art, coin) = (world.art, world.coin);
    let listing = world.list(art, coin);
    // A contract without the function that receivers have.
    let deaf = sol::buyFromListingCall { buyFor: coin, ..buy(listing, 1, coin) };
    let refused = crate::templates::erc721::interface::ERC721InvalidReceiver { receiver: coin };
    world.fails(BUYER, &deaf, &refused);
    world.chain.ok(OWNER, art, &nft::setRefusalCall { isOn: true });
    world.fails(BUYER, &buy(listing, 1, coin), &alloy_sol_types::Revert::from("refused"));
    assert_eq!((world.coins(BUYER), world.coins(SELLER)), (COINS, COINS));
    assert_eq!(world.read(&sol::getListingCall { listingId: listing }).status, sol::Status::CREATED);
}
