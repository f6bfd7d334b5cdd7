//! Random histories against a model in plain integers: what succeeds, who has what after it, and that the marketplace has nothing but the
//! ether of open offers and of pending withdrawals. And arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::vm::HaltReason;

const USERS: [Address; 3] = [SELLER, BUYER, OWNER];

/// Ids of each collection, from 0 on: of the first one token each, of the second many.
const IDS: u64 = 3;

#[derive(Clone, Copy, Debug)]
struct Lot {
    is_multi: bool,
    id: u64,
    quantity: u64,
}

/// Who does a step.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// Who can, if anybody can: the holder of a token, the maker of an order.
    Able,
    User(usize),
}

#[derive(Clone, Debug)]
enum Step {
    List {
        who: Who,
        lot: Lot,
        is_native: bool,
        price: u64,
        start: u64,
        secs: u64,
        reserved: Option<usize>,
    },
    Update {
        who: Who,
        listing: usize,
        is_native: bool,
        price: u64,
    },
    /// With a price per token, and ether, that are more than needed by so much.
    Buy {
        user: usize,
        listing: usize,
        quantity: u64,
        price_off: u64,
        value_off: u64,
    },
    CancelListing {
        who: Who,
        listing: usize,
    },
    Offer {
        user: usize,
        lot: Lot,
        is_native: bool,
        price: u64,
        secs: u64,
        value_off: u64,
    },
    Accept {
        who: Who,
        offer: usize,
        quantity: u64,
    },
    CancelOffer {
        who: Who,
        offer: usize,
    },
    Withdraw {
        who: Who,
    },
    WithdrawRefused,
    Approve {
        user: usize,
        is_multi: bool,
        is_on: bool,
    },
    Allow {
        user: usize,
        is_on: bool,
    },
    Move {
        lot: Lot,
        from: usize,
        to: usize,
    },
    SetFee {
        fee: u16,
    },
    SetRoyalty {
        is_multi: bool,
        share: u64,
    },
    SetCurrency {
        is_native: bool,
        is_on: bool,
    },
    Wait {
        secs: u64,
    },
}

fn a_lot() -> impl Strategy<Value = Lot> {
    let quantity = prop_oneof![6 => 1_u64..4, 1 => Just(0), 1 => 4_u64..60];
    (any::<bool>(), 0..IDS, quantity).prop_map(|(is_multi, id, quantity)| Lot {
        is_multi,
        id,
        // One of one kind, mostly.
        quantity: if !is_multi && quantity > 1 && quantity < 4 { 1 } else { quantity },
    })
}

fn a_step() -> impl Strategy<Value = Step> {
    let user = || 0..USERS.len();
    let who = || prop_oneof![4 => Just(Who::Able), 1 => user().prop_map(Who::User)];
    let order = || 0_usize..32;
    let price = || prop_oneof![1 => Just(0_u64), 5 => 1_u64..2_000, 1 => Just(3_u64)];
    let off = || prop_oneof![9 => Just(0_u64), 1 => 1_u64..3];
    let secs = || prop_oneof![2 => Just(0_u64), 2 => 1_u64..500];
    let often = || prop_oneof![4 => Just(true), 1 => Just(false)];
    let terms = || (a_lot(), any::<bool>(), price());
    let reserved = || prop_oneof![5 => Just(None), 1 => user().prop_map(Some)];
    let list = (who(), terms(), off(), secs(), reserved());
    let buy = (user(), order(), 0_u64..8, off(), off());
    let offer = (user(), terms(), secs(), off());
    prop_oneof![
        6 => list.prop_map(|(who, (lot, is_native, price), start, secs, reserved)| {
            Step::List { who, lot, is_native, price, start, secs, reserved }
        }),
        2 => (who(), order(), any::<bool>(), price())
            .prop_map(|(who, listing, is_native, price)| Step::Update { who, listing, is_native, price }),
        8 => buy.prop_map(|(user, listing, quantity, price_off, value_off)| {
            Step::Buy { user, listing, quantity, price_off, value_off }
        }),
        1 => (who(), order()).prop_map(|(who, listing)| Step::CancelListing { who, listing }),
        6 => offer.prop_map(|(user, (lot, is_native, price), secs, value_off)| {
            Step::Offer { user, lot, is_native, price, secs, value_off }
        }),
        8 => (who(), order(), 0_u64..8).prop_map(|(who, offer, quantity)| Step::Accept { who, offer, quantity }),
        2 => (who(), order()).prop_map(|(who, offer)| Step::CancelOffer { who, offer }),
        2 => who().prop_map(|who| Step::Withdraw { who }),
        1 => Just(Step::WithdrawRefused),
        1 => (user(), any::<bool>(), often()).prop_map(|(user, is_multi, is_on)| Step::Approve { user, is_multi, is_on }),
        1 => (user(), often()).prop_map(|(user, is_on)| Step::Allow { user, is_on }),
        2 => (a_lot(), user(), user()).prop_map(|(lot, from, to)| Step::Move { lot, from, to }),
        1 => prop_oneof![4 => 0_u16..1_000, 1 => 9_000_u16..=10_000].prop_map(|fee| Step::SetFee { fee }),
        1 => (any::<bool>(), prop_oneof![4 => 0_u64..1_500, 1 => 8_000_u64..11_000])
            .prop_map(|(is_multi, share)| Step::SetRoyalty { is_multi, share }),
        1 => (any::<bool>(), often()).prop_map(|(is_native, is_on)| Step::SetCurrency { is_native, is_on }),
        2 => (1_u64..200).prop_map(|secs| Step::Wait { secs }),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Order {
    maker: Address,
    lot: Lot,
    /// What is left.
    left: u64,
    is_native: bool,
    price: u64,
    start: u64,
    end: u64,
    reserved: Option<Address>,
    fee: u64,
}

/// Who has what.
#[derive(Clone, Debug)]
struct Model {
    now: u64,
    fee: u64,
    /// Of the collection of single tokens and of that of many.
    royalties: [u64; 2],
    /// Whether coins and ether may be paid in.
    accepted: [bool; 2],
    wei: BTreeMap<Address, u64>,
    coins: BTreeMap<Address, u64>,
    /// By whether there are many, id and holder.
    tokens: BTreeMap<(bool, u64, Address), u64>,
    approvals: BTreeMap<(bool, Address), bool>,
    allowances: BTreeMap<Address, bool>,
    pending: BTreeMap<Address, u64>,
    listings: Vec<Order>,
    offers: Vec<Order>,
    /// Who gets the royalties of each collection; the second takes no ether.
    creators: [Address; 2],
}

fn add(balances: &mut BTreeMap<Address, u64>, account: Address, amount: u64) {
    *balances.entry(account).or_default() += amount;
}

impl Model {
    fn held(&self, lot: Lot, holder: Address) -> u64 {
        self.tokens.get(&(lot.is_multi, lot.id, holder)).copied().unwrap_or_default()
    }

    fn wei(&self, account: Address) -> u64 {
        self.wei.get(&account).copied().unwrap_or_default()
    }

    fn move_tokens(&mut self, lot: Lot, from: Address, to: Address) {
        *self.tokens.entry((lot.is_multi, lot.id, from)).or_default() -= lot.quantity;
        *self.tokens.entry((lot.is_multi, lot.id, to)).or_default() += lot.quantity;
    }

    /// Returns fee and royalty of a price; `None` when they are above it.
    fn parts(&self, lot: Lot, fee: u64, price: u64) -> Option<(u64, u64)> {
        let (fee, royalty) = (price * fee / 10_000, price * self.royalties[usize::from(lot.is_multi)] / 10_000);
        (fee + royalty <= price).then_some((fee, royalty))
    }

    fn can_sell(&self, lot: Lot, seller: Address) -> bool {
        self.held(lot, seller) >= lot.quantity && self.approvals[&(lot.is_multi, seller)]
    }

    /// Divides what was paid, by a payer in coins or out of the marketplace's ether.
    fn pay(&mut self, order: &Order, payer: Address, seller: Address, price: u64, (fee, royalty): (u64, u64)) {
        let creator = self.creators[usize::from(order.lot.is_multi)];
        for (to, amount) in [(FEES, fee), (creator, royalty), (seller, price - fee - royalty)] {
            if !order.is_native {
                *self.coins.get_mut(&payer).unwrap() -= amount;
                add(&mut self.coins, to, amount);
            } else if to == self.creators[1] {
                add(&mut self.pending, to, amount);
            } else {
                add(&mut self.wei, to, amount);
            }
        }
    }

    fn can_pay(&self, payer: Address, price: u64) -> bool {
        price == 0 || self.coins.get(&payer).is_some_and(|coins| *coins >= price) && self.allowances[&payer]
    }

    fn list(&mut self, order: Order) -> bool {
        let Order { maker, lot, is_native, price, end, start, .. } = order;
        let is_good = self.accepted[usize::from(is_native)]
            && lot.quantity > 0
            && (lot.is_multi || lot.quantity == 1)
            && end > start
            && end > self.now
            && self.parts(lot, order.fee, price * lot.quantity).is_some()
            && self.can_sell(lot, maker);
        if is_good {
            self.listings.push(order);
        }
        is_good
    }

    fn update(&mut self, user: Address, listing: usize, is_native: bool, price: u64) -> bool {
        let Some(order) = self.listings.get(listing).copied() else { return false };
        let is_good = order.left > 0
            && order.maker == user
            && self.accepted[usize::from(is_native)]
            && order.end > self.now
            && self.parts(order.lot, order.fee, price * order.left).is_some();
        if is_good {
            self.listings[listing] = Order { is_native, price, ..order };
        }
        is_good
    }

    fn buy(&mut self, user: Address, listing: usize, quantity: u64, price_off: u64, value_off: u64) -> bool {
        let Some(order) = self.listings.get(listing).copied() else { return false };
        let price = order.price * quantity;
        let lot = Lot { quantity, ..order.lot };
        let parts = self.parts(lot, order.fee, price);
        let is_good = quantity > 0
            && quantity <= order.left
            && (order.start..order.end).contains(&self.now)
            && order.reserved.is_none_or(|buyer| buyer == user)
            && (price_off, value_off) == (0, 0)
            && self.can_sell(lot, order.maker)
            && if order.is_native { self.wei(user) >= price } else { self.can_pay(user, price) };
        let Some(parts) = parts.filter(|_| is_good) else { return false };
        self.listings[listing].left -= quantity;
        if order.is_native {
            *self.wei.get_mut(&user).unwrap() -= price;
        }
        self.pay(&order, user, order.maker, price, parts);
        self.move_tokens(lot, order.maker, user);
        true
    }

    fn offer(&mut self, order: Order, value_off: u64) -> bool {
        let Order { maker, lot, is_native, price, end, .. } = order;
        let is_good = self.accepted[usize::from(is_native)]
            && lot.quantity > 0
            && (lot.is_multi || lot.quantity == 1)
            && end > self.now
            && value_off == 0
            && (!is_native || self.wei(maker) >= price * lot.quantity);
        if is_good {
            if is_native {
                *self.wei.get_mut(&maker).unwrap() -= price * lot.quantity;
            }
            self.offers.push(order);
        }
        is_good
    }

    fn accept(&mut self, seller: Address, offer: usize, quantity: u64) -> bool {
        let Some(order) = self.offers.get(offer).copied() else { return false };
        let (price, lot) = (order.price * quantity, Lot { quantity, ..order.lot });
        let is_good = quantity > 0
            && quantity <= order.left
            && self.now < order.end
            && self.can_sell(lot, seller)
            && (order.is_native || self.can_pay(order.maker, price));
        let Some(parts) = self.parts(lot, order.fee, price).filter(|_| is_good) else { return false };
        self.offers[offer].left -= quantity;
        self.pay(&order, order.maker, seller, price, parts);
        self.move_tokens(lot, seller, order.maker);
        true
    }

    /// Cancels a listing or an offer, and returns the order if that was open and the user's.
    fn cancel(orders: &mut [Order], user: Address, index: usize) -> Option<Order> {
        let order = orders.get_mut(index).filter(|order| order.left > 0 && order.maker == user)?;
        let open = *order;
        order.left = 0;
        Some(open)
    }

    fn cancel_offer(&mut self, user: Address, offer: usize) -> bool {
        let Some(order) = Self::cancel(&mut self.offers, user, offer) else { return false };
        if order.is_native {
            add(&mut self.pending, user, order.price * order.left);
        }
        true
    }

    fn withdraw(&mut self, user: Address, to: Address) -> bool {
        let amount = self.pending.remove(&user).unwrap_or_default();
        add(&mut self.wei, to, amount);
        amount > 0
    }

    /// Ether of open offers and of pending withdrawals.
    fn of_others(&self) -> u64 {
        let open = self.offers.iter().filter(|offer| offer.is_native).map(|offer| offer.price * offer.left);
        open.chain(self.pending.values().copied()).sum()
    }
}

/// A marketplace and its model.
struct Case {
    world: World,
    model: Model,
}

/// Returns the place of an order: of one that is open, mostly.
fn chosen(orders: &[Order], draw: usize) -> usize {
    let open: Vec<_> = (0..orders.len()).filter(|index| orders[*index].left > 0).collect();
    if draw == 0 || open.is_empty() { draw % (orders.len() + 1) } else { open[draw % open.len()] }
}

/// Returns a quantity of an order: 0 to 6 of what is left, or one more than that.
fn part(orders: &[Order], index: usize, draw: u64) -> u64 {
    let left = orders.get(index).map_or(1, |order| order.left);
    if draw == 7 { left + 1 } else { draw.min(left) }
}

fn maker_of(orders: &[Order], index: usize) -> Option<Address> {
    orders.get(index).map(|order| order.maker)
}

impl Who {
    fn or(self, able: Option<Address>) -> Address {
        match self {
            Self::Able => able.unwrap_or(SELLER),
            Self::User(user) => USERS[user],
        }
    }
}

impl Case {
    fn holder_of(&self, lot: Lot) -> Option<Address> {
        USERS.into_iter().find(|user| self.model.can_sell(lot, *user))
    }

    fn new() -> Self {
        let mut world = World::new();
        let refuser = world.chain.deploy(BUYER, 0, &ActorTemplate::init_code(0));
        world.chain.ok(BUYER, refuser, &actor::refuseCall { how: 1 });
        world.set_royalty(world.items, refuser, 1_000);
        world.chain.ok(OWNER, world.coin, &asset::approveCall { spender: world.market, value: U256::MAX });
        let mut approvals = BTreeMap::new();
        for user in USERS {
            for (is_multi, collection) in [(false, world.art), (true, world.items)] {
                world.approve(user, collection, true);
                approvals.insert((is_multi, user), true);
            }
        }
        let mut tokens = BTreeMap::from([((false, 1, SELLER), 1), ((true, 1, SELLER), 100)]);
        for (id, user) in [(0, BUYER), (2, OWNER)] {
            for (collection, is_multi, quantity) in [(world.art, false, 1), (world.items, true, 100)] {
                world.mint(collection, user, id, quantity);
                tokens.insert((is_multi, id, user), quantity);
            }
        }
        let model = Model {
            now: NOW,
            fee: 250,
            royalties: [1_000, 1_000],
            accepted: [true, true],
            wei: USERS.into_iter().chain([FEES, CREATOR]).map(|user| (user, FUNDS)).collect(),
            coins: BTreeMap::from([(SELLER, COINS), (BUYER, COINS), (OWNER, 2 * COINS)]),
            tokens,
            approvals,
            allowances: USERS.map(|user| (user, true)).into(),
            pending: BTreeMap::new(),
            listings: Vec::new(),
            offers: Vec::new(),
            creators: [CREATOR, refuser],
        };
        Self { world, model }
    }

    fn collection(&self, is_multi: bool) -> Address {
        if is_multi { self.world.items } else { self.world.art }
    }

    fn currency(&self, is_native: bool) -> Address {
        if is_native { NATIVE } else { self.world.coin }
    }

    /// Runs a step in both; returns whether each says that it succeeds.
    fn step(&mut self, step: &Step) -> (bool, bool) {
        let now = self.model.now;
        match *step {
            Step::List { who, lot, is_native, price, start, secs, reserved } => {
                let (maker, reserved) = (who.or(self.holder_of(lot)), reserved.map(|user| USERS[user]));
                let (start, end) = (if start == 0 { now } else { now + start }, now + secs);
                let params = sol::ListingParameters {
                    assetContract: self.collection(lot.is_multi),
                    tokenId: U256::from(lot.id),
                    quantity: U256::from(lot.quantity),
                    currency: self.currency(is_native),
                    pricePerToken: U256::from(price),
                    startTimestamp: start,
                    endTimestamp: if secs == 0 { 0 } else { end },
                    reservedFor: reserved.unwrap_or_default(),
                };
                let end = if secs == 0 { u64::MAX } else { end };
                let fee = self.model.fee;
                let order = Order { maker, lot, left: lot.quantity, is_native, price, start, end, reserved, fee };
                let got = self.world.chain.call(maker, self.world.market, &sol::createListingCall { params });
                (got.is_ok(), self.model.list(order))
            }
            Step::Update { who, listing, is_native, price } => {
                let listing = chosen(&self.model.listings, listing);
                let user = who.or(maker_of(&self.model.listings, listing));
                let end = self.model.listings.get(listing).map_or(u64::MAX, |order| order.end);
                let call = sol::updateListingCall {
                    listingId: U256::from(listing),
                    currency: self.currency(is_native),
                    pricePerToken: U256::from(price),
                    endTimestamp: if end == u64::MAX { 0 } else { end },
                };
                let got = self.world.chain.call(user, self.world.market, &call);
                (got.is_ok(), self.model.update(user, listing, is_native, price))
            }
            Step::Buy { user, listing, quantity, price_off, value_off } => {
                let listing = chosen(&self.model.listings, listing);
                let quantity = part(&self.model.listings, listing, quantity);
                let order = self.model.listings.get(listing);
                let (is_native, price) = order.map_or((false, 1), |order| (order.is_native, order.price));
                let call = sol::buyFromListingCall {
                    buyFor: USERS[user],
                    expectedTotalPrice: U256::from(price * quantity + price_off),
                    ..buy(U256::from(listing), quantity, self.currency(is_native))
                };
                let value = if is_native { price * quantity } else { 0 } + value_off;
                let got = self.world.pay(USERS[user], value.min(self.model.wei(USERS[user])), &call);
                (got.is_ok(), self.model.buy(USERS[user], listing, quantity, price_off, value_off))
            }
            Step::CancelListing { who, listing } => {
                let listing = chosen(&self.model.listings, listing);
                let user = who.or(maker_of(&self.model.listings, listing));
                let call = sol::cancelListingCall { listingId: U256::from(listing) };
                let got = self.world.chain.call(user, self.world.market, &call);
                (got.is_ok(), Model::cancel(&mut self.model.listings, user, listing).is_some())
            }
            Step::Offer { user, lot, is_native, price, secs, value_off } => {
                let (maker, end) = (USERS[user], if secs == 0 { u64::MAX } else { now + secs });
                let params = sol::OfferParameters {
                    assetContract: self.collection(lot.is_multi),
                    tokenId: U256::from(lot.id),
                    quantity: U256::from(lot.quantity),
                    currency: self.currency(is_native),
                    pricePerToken: U256::from(price),
                    expirationTimestamp: if secs == 0 { 0 } else { end },
                };
                let value = if is_native { price * lot.quantity } else { 0 } + value_off;
                let value = value.min(self.model.wei(maker));
                let got = self.world.pay(maker, value, &sol::makeOfferCall { params });
                let (start, fee) = (now, self.model.fee);
                let order = Order { maker, lot, left: lot.quantity, is_native, price, start, end, reserved: None, fee };
                (got.is_ok(), self.model.offer(order, value_off))
            }
            Step::Accept { who, offer, quantity } => {
                let offer = chosen(&self.model.offers, offer);
                let quantity = part(&self.model.offers, offer, quantity);
                let lot = self.model.offers.get(offer).map(|order| Lot { quantity, ..order.lot });
                let user = who.or(lot.and_then(|lot| self.holder_of(lot)));
                let call = sol::acceptOfferCall { offerId: U256::from(offer), quantity: U256::from(quantity) };
                let got = self.world.chain.call(user, self.world.market, &call);
                (got.is_ok(), self.model.accept(user, offer, quantity))
            }
            Step::CancelOffer { who, offer } => {
                let offer = chosen(&self.model.offers, offer);
                let user = who.or(maker_of(&self.model.offers, offer));
                let call = sol::cancelOfferCall { offerId: U256::from(offer) };
                let got = self.world.chain.call(user, self.world.market, &call);
                (got.is_ok(), self.model.cancel_offer(user, offer))
            }
            Step::Withdraw { who } => {
                let user = who.or(USERS.into_iter().find(|user| self.model.pending.contains_key(user)));
                let call = sol::withdrawCall { currency: NATIVE, to: user };
                let got = self.world.chain.call(user, self.world.market, &call);
                (got.is_ok(), self.model.withdraw(user, user))
            }
            Step::WithdrawRefused => {
                let data = sol::withdrawCall { currency: NATIVE, to: CREATOR }.abi_encode().into();
                let (refuser, call) = (self.model.creators[1], actor::runCall { target: self.world.market, data });
                let got = self.world.chain.ok(BUYER, refuser, &call);
                (got.isSuccess, self.model.withdraw(refuser, CREATOR))
            }
            _ => {
                self.set(step);
                (true, true)
            }
        }
    }

    /// Runs a step that is none of the marketplace's users.
    fn set(&mut self, step: &Step) {
        match *step {
            Step::Approve { user, is_multi, is_on } => {
                self.world.approve(USERS[user], self.collection(is_multi), is_on);
                self.model.approvals.insert((is_multi, USERS[user]), is_on);
            }
            Step::Allow { user, is_on } => {
                let value = if is_on { U256::MAX } else { U256::ZERO };
                self.world.chain.ok(
                    USERS[user],
                    self.world.coin,
                    &asset::approveCall { spender: self.world.market, value },
                );
                self.model.allowances.insert(USERS[user], is_on);
            }
            Step::Move { lot, from, to } => {
                let (from, to, lot) = (USERS[from], USERS[to], Lot { quantity: 1, ..lot });
                if self.model.held(lot, from) > 0 {
                    let call = nft::transferFromCall { from, to, tokenId: U256::from(lot.id) };
                    self.world.chain.ok(from, self.collection(lot.is_multi), &call);
                    self.model.move_tokens(lot, from, to);
                }
            }
            Step::SetFee { fee } => {
                self.world.ok(OWNER, &sol::setFeeCall { fee, recipient: FEES });
                self.model.fee = fee.into();
            }
            Step::SetRoyalty { is_multi, share } => {
                let creator = self.model.creators[usize::from(is_multi)];
                self.world.set_royalty(self.collection(is_multi), creator, share);
                self.model.royalties[usize::from(is_multi)] = share;
            }
            Step::SetCurrency { is_native, is_on } => {
                let currency = self.currency(is_native);
                self.world.ok(OWNER, &sol::setCurrencyCall { currency, accepted: is_on });
                self.model.accepted[usize::from(is_native)] = is_on;
            }
            Step::Wait { secs } => {
                self.model.now += secs;
                self.world.chain.at(self.model.now);
            }
            _ => unreachable!("a step of a user"),
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let Self { world, model } = self;
        let [creator, refuser] = model.creators;
        for account in USERS.into_iter().chain([FEES, creator, refuser]) {
            prop_assert_eq!(world.chain.wei(account), model.wei(account));
            prop_assert_eq!(world.coins(account), model.coins.get(&account).copied().unwrap_or_default());
            prop_assert_eq!(world.pending(account, NATIVE), model.pending.get(&account).copied().unwrap_or_default());
        }
        for id in 0..IDS {
            for (is_multi, collection) in [(false, world.art), (true, world.items)] {
                for user in USERS {
                    let lot = Lot { is_multi, id, quantity: 0 };
                    prop_assert_eq!(world.held(collection, user, id), model.held(lot, user));
                }
                prop_assert_eq!(world.held(collection, world.market, id), 0);
            }
        }
        prop_assert_eq!(world.coins(world.market), 0);
        prop_assert_eq!(world.chain.wei(world.market), model.of_others());
        let listings = world.read(&sol::getListingsCall { from: U256::ZERO, count: U256::MAX });
        let offers = world.read(&sol::getOffersCall { from: U256::ZERO, count: U256::MAX });
        let left = |orders: &[Order]| orders.iter().map(|order| order.left).collect::<Vec<_>>();
        let listed: Vec<_> = listings.iter().map(|listing| listing.quantity.to::<u64>()).collect();
        let offered: Vec<_> = offers.iter().map(|offer| offer.quantity.to::<u64>()).collect();
        prop_assert_eq!((listed, offered), (left(&model.listings), left(&model.offers)));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_sale_divides_its_price_and_the_marketplace_keeps_nothing(steps in vec(a_step(), 1..60)) {
        let mut case = Case::new();
        for step in steps {
            let (got, want) = case.step(&step);
            prop_assert_eq!(got, want, "{:?}", step);
            case.check()?;
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..26, tail: Vec<u8>, value in 0_u64..2) {
        let world = World::new();
        let known = sol::MarketplaceCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = world.chain.clone().send(BUYER, world.market, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(Marketplace::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, value, &init_code, 1_000_000);
        prop_assert!(!result.is_success());
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}

/// The histories above reach each kind of step with success: without that they would prove little.
#[test]
fn histories_reach_every_step() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut reached = BTreeMap::<String, (u32, u32)>::new();
    for _ in 0..24 {
        let mut case = Case::new();
        for step in vec(a_step(), 60).new_tree(&mut runner).unwrap().current() {
            let (got, want) = case.step(&step);
            assert_eq!(got, want, "{step:?}");
            let name = format!("{step:?}").split([' ', '{']).next().unwrap().to_owned();
            let (successes, all) = reached.entry(name).or_default();
            (*successes, *all) = (*successes + u32::from(got), *all + 1);
        }
    }
    for name in
        ["List", "Update", "Buy", "CancelListing", "Offer", "Accept", "CancelOffer", "Withdraw", "WithdrawRefused"]
    {
        let (successes, all) = reached[name];
        assert!(successes > 2 && successes < all, "{name}: {reached:#?}");
    }
}
