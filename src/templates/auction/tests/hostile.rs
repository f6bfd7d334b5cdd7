//! Tokens, collections and accounts that call the auction while it runs, refuse what they get, or ask for too much.

use super::*;

fn locked() -> Bytes {
    reason(&sol::ReentrancyGuardReentrantCall {})
}

/// All functions that the lock guards.
fn guarded(world: &World) -> Vec<Vec<u8>> {
    let id = U256::ZERO;
    vec![
        sol::createEnglishAuctionCall { params: world.english(world.items, world.coin) }.abi_encode(),
        sol::createDutchAuctionCall { params: world.dutch(world.items, world.coin) }.abi_encode(),
        sol::cancelAuctionCall { auctionId: id }.abi_encode(),
        bid(id, 9_000).abi_encode(),
        buy(id, 9_000).abi_encode(),
        settle(id).abi_encode(),
        sol::claimCall { auctionId: id, to: ALICE }.abi_encode(),
        sol::withdrawCall { currency: NATIVE, to: ALICE }.abi_encode(),
    ]
}

#[test]
fn a_hostile_coin_finds_the_auction_locked() {
    let mut world = World::with_coin(&ActorTemplate::init_code(4 * COINS));
    let (art, items, coin, house) = (world.art, world.items, world.coin, world.house);
    let (english, dutch) = (world.make_english(art, coin), world.make_dutch(items, coin));
    world.ok(BOB, &bid(english, 1_000));
    let withdraw = sol::withdrawCall { currency: coin, to: BOB };
    for inner in guarded(&world) {
        let mut world = world.clone();
        let entries: [(u64, Address, Vec<u8>); 4] = [
            (0, ALICE, bid(english, 2_000).abi_encode()),
            (0, ALICE, buy(dutch, 9_000).abi_encode()),
            (0, BOB, withdraw.abi_encode()),
            (DURATION, BOB, settle(english).abi_encode()),
        ];
        for (seconds, from, entry) in entries {
            world.chain.ok(BOB, coin, &actor::armCall { target: house, data: inner.clone().into() });
            let result = world.after(seconds).chain.send(from, house, 0, &entry, 10_000_000);
            assert!(result.is_success(), "{result:?}");
            let answer = world.chain.read(coin, &actor::answerCall {});
            assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
        }
        assert_eq!((world.held(art, ALICE), world.held(items, ALICE)), (1, 10));
        assert_eq!(world.coins(house), 0);
    }
}

#[test]
fn a_hostile_collection_finds_the_auction_locked() {
    let world = World::new();
    let (art, coin, house) = (world.art, world.coin, world.house);
    for inner in guarded(&world) {
        let mut world = world.clone();
        let arm = nft::armCall { target: house, data: inner.into() };
        let entry = |world: &mut World, from: Address, input: Vec<u8>| {
            world.chain.ok(BOB, art, &arm);
            let result = world.chain.send(from, house, 0, &input, 10_000_000);
            assert!(result.is_success(), "{result:?}");
            let answer = world.chain.read(art, &nft::answerCall {});
            assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
        };
        let params = world.dutch(art, coin);
        entry(&mut world, SELLER, sol::createDutchAuctionCall { params }.abi_encode());
        entry(&mut world, SELLER, sol::cancelAuctionCall { auctionId: U256::ZERO }.abi_encode());
        let dutch = world.make_dutch(art, coin);
        entry(&mut world, ALICE, buy(dutch, 9_000).abi_encode());
        assert_eq!((world.held(art, ALICE), world.coins(house)), (1, 0));
    }
}

#[test]
fn a_hostile_winner_finds_the_auction_locked() {
    let mut world = World::new();
    let (items, house) = (world.items, world.house);
    let winner = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
    let auction = world.make_english(items, NATIVE);
    let run = actor::runCall { target: house, data: bid(auction, 1_000).abi_encode().into() };
    assert!(world.chain.send(BOB, winner, 1_000, &run.abi_encode(), 10_000_000).is_success());
    for inner in guarded(&world) {
        let mut world = world.clone();
        world.chain.ok(BOB, winner, &actor::armCall { target: house, data: inner.into() });
        world.after(DURATION).ok(OWNER, &settle(auction));
        let answer = world.chain.read(winner, &actor::answerCall {});
        assert_eq!((answer.wasMade, answer.isSuccess, answer.output), (true, false, locked()));
        assert_eq!((world.held(items, winner), world.chain.wei(house)), (10, 0));
    }
}

#[test]
fn a_winner_that_takes_no_token_claims_it_elsewhere() {
    let mut world = World::new();
    let (art, house) = (world.art, world.house);
    let auction = world.make_english(art, NATIVE);
    let winner = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
    let run = |data: Vec<u8>| actor::runCall { target: house, data: data.into() };
    assert!(
        world
            .chain
            .send(BOB, winner, 1_000, &run(bid(auction, 1_000).abi_encode()).abi_encode(), 10_000_000)
            .is_success()
    );
    // The collection moves nothing for a while.
    world.chain.ok(OWNER, art, &nft::setRefusalCall { isOn: true });
    world.after(DURATION).ok(OWNER, &settle(auction));
    assert_eq!(world.chain.wei(SELLER), FUNDS + 875, "the seller is paid");
    assert_eq!((world.read(&sol::claimantOfCall { auctionId: auction }), world.held(art, house)), (winner, 1));
    let claim = |to| sol::claimCall { auctionId: auction, to };
    world.chain.ok(OWNER, art, &nft::setRefusalCall { isOn: false });
    world.fails(BOB, &claim(BOB), &sol::NothingToClaim { auctionId: auction, account: BOB });
    assert!(!world.chain.ok(BOB, winner, &run(claim(house).abi_encode())).isSuccess, "not to the auction itself");
    assert!(world.chain.ok(BOB, winner, &run(claim(BOB).abi_encode())).isSuccess);
    assert_eq!((world.held(art, BOB), world.held(art, house)), (1, 0));
    assert!(!world.chain.ok(BOB, winner, &run(claim(BOB).abi_encode())).isSuccess, "once");
}

#[test]
fn who_refuses_ether_or_burns_gas_holds_up_nobody() {
    for how in [1, 2] {
        let mut world = World::new();
        let (items, house) = (world.items, world.house);
        let receiver = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
        world.chain.ok(BOB, receiver, &actor::refuseCall { how });
        world.set_royalty(items, receiver, 1_000);
        let english = world.make_english(items, NATIVE);
        let run = |data: Vec<u8>| actor::runCall { target: house, data: data.into() }.abi_encode();
        // It bids and is outbid all the same.
        let sent = world.chain.send(BOB, receiver, 1_000, &run(bid(english, 1_000).abi_encode()), 10_000_000);
        assert!(sent.is_success());
        world.pay(ALICE, 2_000, &bid(english, 2_000)).unwrap();
        assert_eq!(world.pending(receiver, NATIVE), 1_000);
        world.after(DURATION).ok(OWNER, &settle(english));
        assert_eq!((world.pending(receiver, NATIVE), world.chain.wei(house)), (1_200, 1_200));
        assert_eq!([SELLER, FEES].map(|who| world.chain.wei(who)), [FUNDS + 1_750, FUNDS + 50]);
        let withdraw = sol::withdrawCall { currency: NATIVE, to: OWNER }.abi_encode();
        assert!(world.chain.send(BOB, receiver, 0, &run(withdraw), 10_000_000).is_success());
        assert_eq!((world.chain.wei(OWNER), world.chain.wei(house)), (FUNDS + 1_200, 0));
    }
}

#[test]
fn a_royalty_above_the_price_is_refused_before_and_left_out_after_the_payment() {
    let mut world = World::new();
    let (art, items, coin) = (world.art, world.items, world.coin);
    let auction = world.make_english(art, coin);
    let dutch = world.make_dutch(items, coin);
    world.ok(ALICE, &bid(auction, 1_000));
    for collection in [art, items] {
        world.set_royalty(collection, CREATOR, 9_800);
    }
    let too_much = sol::FeesExceedPrice { price: U256::from(5_000), fee: U256::from(125), royalty: U256::from(4_900) };
    assert_eq!(world.chain.call(ALICE, world.house, &buy(dutch, 9_000)).err(), Some(reason(&too_much)));
    let params = world.english(items, coin);
    let all = sol::FeesExceedPrice { price: U256::from(1_000), fee: U256::from(25), royalty: U256::from(980) };
    let got = world.chain.call(SELLER, world.house, &sol::createEnglishAuctionCall { params });
    assert_eq!(got, Err(reason(&all)));
    world.after(DURATION).ok(OWNER, &settle(auction));
    assert_eq!([SELLER, CREATOR, FEES].map(|who| world.coins(who)), [975, 0, 25]);
}

#[test]
fn a_collection_that_moves_nothing_is_not_auctioned() {
    let mut world = World::new();
    let coin = world.coin;
    for collection in [world.art, world.items] {
        world.chain.ok(OWNER, collection, &nft::setIdleCall { isOn: true });
        let params = world.dutch(collection, coin);
        let missing = sol::TokenNotHeld {
            assetContract: collection,
            tokenId: U256::from(1),
            holder: world.house,
            quantity: params.quantity,
        };
        world.fails(SELLER, &sol::createDutchAuctionCall { params }, &missing);
    }
}

#[test]
fn tokens_that_nobody_auctions_are_refused() {
    let mut world = World::new();
    let (items, house) = (world.items, world.house);
    let one = nft::safeTransferFrom_1Call {
        from: SELLER,
        to: house,
        id: U256::from(1),
        value: U256::from(1),
        data: Bytes::new(),
    };
    let refused = sol::UnsolicitedToken { assetContract: items, operator: SELLER };
    world.chain.fails(SELLER, items, &one, &refused);
    let batch = sol::onERC1155BatchReceivedCall {
        operator: house,
        from: SELLER,
        ids: vec![],
        values: vec![],
        data: Bytes::new(),
    };
    world.fails(BOB, &batch, &sol::UnsolicitedToken { assetContract: BOB, operator: house });
    let receiver = sol::supportsInterfaceCall { interfaceId: [0x4e, 0x23, 0x12, 0xe0].into() };
    assert!(world.read(&receiver));
}

#[test]
fn a_coin_that_moves_another_amount_is_refused() {
    let mut world = World::with_coin(&ActorTemplate::init_code(4 * COINS));
    let (art, coin, house) = (world.art, world.coin, world.house);
    let auction = world.make_english(art, coin);
    // In the middle of the payment, somebody else pays the auction too.
    let helper = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
    let pay = |to, value: u64| actor::transferCall { to, value: U256::from(value) };
    world.chain.ok(OWNER, coin, &pay(helper, 5));
    let run = actor::runCall { target: coin, data: pay(house, 5).abi_encode().into() };
    world.chain.ok(BOB, coin, &actor::armCall { target: helper, data: run.abi_encode().into() });
    let refused = sol::IncompletePayment { token: coin, received: U256::from(1_005), needed: U256::from(1_000) };
    world.fails(ALICE, &bid(auction, 1_000), &refused);
    assert_eq!((world.coins(ALICE), world.coins(house)), (COINS, 0));
}
