//! Random histories against a model in plain integers: what succeeds, who has what after it, and that the auction has nothing but open lots and
//! those that wait, the highest bids of open auctions and pending withdrawals. And arbitrary call data.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::vm::HaltReason;

const USERS: [Address; 3] = [SELLER, ALICE, BOB];

/// Who does a step.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// Who can, if anybody can.
    Able,
    User(usize),
}

#[derive(Clone, Debug)]
enum Step {
    English {
        who: Who,
        lot: Lot,
        is_native: bool,
        reserve: u64,
        increment: u16,
        extension: u64,
        secs: u64,
    },
    Dutch {
        who: Who,
        lot: Lot,
        is_native: bool,
        reserve: u64,
        above: u64,
        start: u64,
        secs: u64,
    },
    /// The least bid and so much more, or one less; with ether that is wrong by so much.
    Bid {
        user: usize,
        auction: usize,
        more: u64,
        is_short: bool,
        value_off: u64,
    },
    /// With ether that is so much more than the price, or one less.
    Buy {
        user: usize,
        auction: usize,
        more: u64,
        is_short: bool,
    },
    Cancel {
        who: Who,
        auction: usize,
    },
    Settle {
        user: usize,
        auction: usize,
    },
    Claim {
        who: Who,
        auction: usize,
    },
    Withdraw {
        who: Who,
        is_native: bool,
    },
    /// Whether the collection of many refuses transfers.
    Refuse {
        is_on: bool,
    },
    SetFee {
        fee: u16,
    },
    SetRoyalty {
        is_multi: bool,
        share: u64,
    },
    Wait {
        secs: u64,
    },
}

/// Of token 1 of a collection.
#[derive(Clone, Copy, Debug)]
struct Lot {
    is_multi: bool,
    quantity: u64,
}

fn a_step() -> impl Strategy<Value = Step> {
    let user = || 0..USERS.len();
    let who = || prop_oneof![4 => Just(Who::Able), 1 => user().prop_map(Who::User)];
    let rare = || prop_oneof![7 => Just(false), 1 => Just(true)];
    let lot = || {
        (rare(), 0_u64..4).prop_map(|(is_single, quantity)| match is_single {
            true => Lot { is_multi: false, quantity: quantity.max(1) / 2 + quantity % 2 },
            false => Lot { is_multi: true, quantity },
        })
    };
    let price = || prop_oneof![1 => Just(0_u64), 6 => 1_u64..1_500];
    let secs = || 0_u64..400;
    let auction = || 0_usize..32;
    let english = (who(), lot(), any::<bool>(), price(), 0_u16..3_000, 0_u64..150, secs());
    let dutch = (who(), lot(), any::<bool>(), price(), price(), 0_u64..3, secs());
    let bid = (user(), auction(), 0_u64..300, rare(), prop_oneof![9 => Just(0_u64), 1 => 1_u64..3]);
    let buy = (user(), auction(), 0_u64..100, rare());
    prop_oneof![
        4 => english.prop_map(|(who, lot, is_native, reserve, increment, extension, secs)| {
            Step::English { who, lot, is_native, reserve, increment, extension, secs }
        }),
        4 => dutch.prop_map(|(who, lot, is_native, reserve, above, start, secs)| {
            Step::Dutch { who, lot, is_native, reserve, above, start, secs }
        }),
        12 => bid.prop_map(|(user, auction, more, is_short, value_off)| {
            Step::Bid { user, auction, more, is_short, value_off }
        }),
        6 => buy.prop_map(|(user, auction, more, is_short)| Step::Buy { user, auction, more, is_short }),
        2 => (who(), auction()).prop_map(|(who, auction)| Step::Cancel { who, auction }),
        6 => (user(), auction()).prop_map(|(user, auction)| Step::Settle { user, auction }),
        3 => (who(), auction()).prop_map(|(who, auction)| Step::Claim { who, auction }),
        3 => (who(), any::<bool>()).prop_map(|(who, is_native)| Step::Withdraw { who, is_native }),
        2 => prop_oneof![2 => Just(false), 1 => Just(true)].prop_map(|is_on| Step::Refuse { is_on }),
        1 => (0_u16..1_000).prop_map(|fee| Step::SetFee { fee }),
        1 => (any::<bool>(), prop_oneof![4 => 0_u64..1_500, 1 => 9_000_u64..11_000])
            .prop_map(|(is_multi, share)| Step::SetRoyalty { is_multi, share }),
        4 => (1_u64..120).prop_map(|secs| Step::Wait { secs }),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Over,
    Cancelled,
}

#[derive(Clone, Copy, Debug)]
struct Sale {
    creator: Address,
    lot: Lot,
    is_native: bool,
    is_dutch: bool,
    first: u64,
    reserve: u64,
    increment: u64,
    extension: u64,
    start: u64,
    first_end: u64,
    end: u64,
    fee: u64,
    best: Option<(Address, u64)>,
    state: State,
    claimant: Option<Address>,
}

impl Sale {
    /// Returns the price of a Dutch auction, or the least bid.
    fn price(&self, now: u64) -> u64 {
        match self.best {
            _ if self.is_dutch => {
                let elapsed = now.clamp(self.start, self.first_end) - self.start;
                self.first - (self.first - self.reserve) * elapsed / (self.first_end - self.start)
            }
            None => self.reserve.max(1),
            Some((_, bid)) => bid + (bid * self.increment).div_ceil(10_000).max(1),
        }
    }

    fn is_running(&self, now: u64) -> bool {
        self.state == State::Open && (self.start..self.end).contains(&now)
    }
}

/// Amounts by account and whether they are ether.
type Money = BTreeMap<(Address, bool), u64>;

#[derive(Clone, Debug)]
struct Model {
    now: u64,
    fee: u64,
    /// Of the collection of single tokens and of that of many.
    royalties: [u64; 2],
    is_refusing: bool,
    money: Money,
    pending: Money,
    /// By holder and whether there are many.
    tokens: BTreeMap<(Address, bool), u64>,
    sales: Vec<Sale>,
    house: Address,
    /// Who gets the royalties of each collection; the second takes no ether.
    creators: [Address; 2],
}

fn of<K: Ord>(amounts: &BTreeMap<K, u64>, key: K) -> u64 {
    amounts.get(&key).copied().unwrap_or_default()
}

impl Model {
    /// Moves money; what is in the auction's hands included.
    fn pay(&mut self, from: Address, to: Address, is_native: bool, amount: u64) {
        *self.money.entry((from, is_native)).or_default() -= amount;
        *self.money.entry((to, is_native)).or_default() += amount;
    }

    fn give(&mut self, from: Address, to: Address, lot: Lot) {
        *self.tokens.entry((from, lot.is_multi)).or_default() -= lot.quantity;
        *self.tokens.entry((to, lot.is_multi)).or_default() += lot.quantity;
    }

    fn credit(&mut self, to: Address, is_native: bool, amount: u64) {
        *self.pending.entry((to, is_native)).or_default() += amount;
    }

    /// Returns fee and royalty of a price.
    fn parts(&self, sale: &Sale, price: u64) -> (u64, u64) {
        (price * sale.fee / 10_000, price * self.royalties[usize::from(sale.lot.is_multi)] / 10_000)
    }

    /// Pays a price that is the auction's, or in coins the buyer's.
    fn divide(&mut self, sale: &Sale, payer: Address, price: u64, (fee, royalty): (u64, u64)) {
        let creator = self.creators[usize::from(sale.lot.is_multi)];
        for (to, amount) in [(FEES, fee), (creator, royalty), (sale.creator, price - fee - royalty)] {
            if sale.is_native && to == self.creators[1] {
                self.credit(to, true, amount);
            } else {
                self.pay(payer, to, sale.is_native, amount);
            }
        }
    }

    fn make(&mut self, sale: Sale) -> bool {
        let Sale { lot, creator, reserve, start, end, first, .. } = sale;
        let (fee, royalty) = self.parts(&sale, reserve);
        let is_good = lot.quantity > 0
            && (lot.is_multi || lot.quantity == 1)
            && first >= reserve
            && end > start
            && end > self.now
            && fee + royalty <= reserve
            && of(&self.tokens, (creator, lot.is_multi)) >= lot.quantity
            && !(lot.is_multi && self.is_refusing);
        if is_good {
            self.give(creator, self.house, lot);
            self.sales.push(sale);
        }
        is_good
    }

    fn bid(&mut self, user: Address, auction: usize, amount: u64, value: u64) -> bool {
        let Some(sale) = self.sales.get(auction).copied() else { return false };
        let is_good = !sale.is_dutch
            && sale.is_running(self.now)
            && amount >= sale.price(self.now)
            && value == if sale.is_native { amount } else { 0 }
            && of(&self.money, (user, sale.is_native)) >= amount;
        if is_good {
            if let Some((before, bid)) = sale.best {
                self.credit(before, sale.is_native, bid);
            }
            self.pay(user, self.house, sale.is_native, amount);
            let sale = &mut self.sales[auction];
            sale.best = Some((user, amount));
            sale.end = sale.end.max(self.now + sale.extension);
        }
        is_good
    }

    fn buy(&mut self, user: Address, auction: usize, most: u64, value: u64) -> bool {
        let Some(sale) = self.sales.get(auction).copied() else { return false };
        if !sale.is_dutch || !sale.is_running(self.now) {
            return false;
        }
        let price = sale.price(self.now);
        let parts = self.parts(&sale, price);
        let is_good = price <= most
            && if sale.is_native { value >= price } else { value == 0 }
            && of(&self.money, (user, sale.is_native)) >= price
            && parts.0 + parts.1 <= price
            && !(sale.lot.is_multi && self.is_refusing);
        if is_good {
            if sale.is_native {
                self.pay(user, self.house, true, price);
            }
            self.divide(&sale, if sale.is_native { self.house } else { user }, price, parts);
            self.give(self.house, user, sale.lot);
            (self.sales[auction].best, self.sales[auction].state) = (Some((user, price)), State::Over);
        }
        is_good
    }

    /// Sends a lot, or keeps it.
    fn deliver(&mut self, auction: usize, to: Address) {
        let lot = self.sales[auction].lot;
        if lot.is_multi && self.is_refusing {
            self.sales[auction].claimant = Some(to);
        } else {
            self.give(self.house, to, lot);
        }
    }

    fn cancel(&mut self, user: Address, auction: usize) -> bool {
        let Some(sale) = self.sales.get(auction).copied() else { return false };
        let is_good = sale.state == State::Open && sale.creator == user && sale.best.is_none();
        if is_good {
            self.sales[auction].state = State::Cancelled;
            self.deliver(auction, user);
        }
        is_good
    }

    fn settle(&mut self, auction: usize) -> bool {
        let Some(sale) = self.sales.get(auction).copied() else { return false };
        if sale.state != State::Open || self.now < sale.end {
            return false;
        }
        self.sales[auction].state = State::Over;
        if let Some((_, price)) = sale.best {
            let (fee, royalty) = self.parts(&sale, price);
            let royalty = if fee + royalty <= price { royalty } else { 0 };
            self.divide(&sale, self.house, price, (fee, royalty));
        }
        self.deliver(auction, sale.best.map_or(sale.creator, |(bidder, _)| bidder));
        true
    }

    fn claim(&mut self, user: Address, auction: usize) -> bool {
        let Some(sale) = self.sales.get(auction).copied() else { return false };
        let is_good = sale.claimant == Some(user) && !(sale.lot.is_multi && self.is_refusing);
        if is_good {
            self.sales[auction].claimant = None;
            self.give(self.house, user, sale.lot);
        }
        is_good
    }

    fn withdraw(&mut self, user: Address, is_native: bool) -> bool {
        let amount = self.pending.remove(&(user, is_native)).unwrap_or_default();
        self.pay(self.house, user, is_native, amount);
        amount > 0
    }

    /// What the auction holds for others.
    fn of_others(&self, is_native: bool) -> u64 {
        let open = self.sales.iter().filter(|sale| sale.state == State::Open && sale.is_native == is_native);
        let bids = open.filter_map(|sale| sale.best).map(|(_, bid)| bid);
        let pending = self.pending.iter().filter(|((_, native), _)| *native == is_native).map(|(_, amount)| *amount);
        bids.chain(pending).sum()
    }

    fn lots_of_others(&self, is_multi: bool) -> u64 {
        let held =
            |sale: &&Sale| sale.lot.is_multi == is_multi && (sale.state == State::Open || sale.claimant.is_some());
        self.sales.iter().filter(held).map(|sale| sale.lot.quantity).sum()
    }

    /// Returns the place of an auction: of one that is open, mostly.
    fn chosen(&self, draw: usize, suits: impl Fn(&Sale) -> bool) -> usize {
        let open: Vec<_> = (0..self.sales.len()).filter(|index| suits(&self.sales[*index])).collect();
        if draw == 0 || open.is_empty() { draw % (self.sales.len() + 1) } else { open[draw % open.len()] }
    }
}

/// An auction and its model.
struct Case {
    world: World,
    model: Model,
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
    fn new() -> Self {
        let mut world = World::new();
        let refuser = world.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
        world.chain.ok(BOB, refuser, &actor::refuseCall { how: 1 });
        world.set_royalty(world.items, refuser, 1_000);
        let (coin, house) = (world.coin, world.house);
        world.chain.ok(OWNER, coin, &asset::transferCall { to: SELLER, value: U256::from(COINS) });
        world.chain.ok(SELLER, coin, &asset::approveCall { spender: house, value: U256::MAX });
        for user in USERS {
            for collection in [world.art, world.items] {
                world.approve(user, collection, true);
            }
        }
        let wei = USERS.into_iter().chain([FEES, CREATOR]).map(|user| ((user, true), FUNDS));
        let model = Model {
            now: NOW,
            fee: 250,
            royalties: [1_000, 1_000],
            is_refusing: false,
            money: wei.chain(USERS.map(|user| ((user, false), COINS))).collect(),
            pending: Money::new(),
            tokens: BTreeMap::from([((SELLER, false), 1), ((SELLER, true), 100)]),
            sales: Vec::new(),
            house,
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

    fn holder_of(&self, lot: Lot) -> Option<Address> {
        USERS.into_iter().find(|user| of(&self.model.tokens, (*user, lot.is_multi)) >= lot.quantity)
    }

    /// Calls the auction; returns whether it succeeds.
    fn call(&mut self, from: Address, value: u64, call: &impl SolCall) -> bool {
        self.world.pay(from, value, call).is_ok()
    }

    /// Runs a step in both; returns whether each says that it succeeds.
    fn step(&mut self, step: &Step) -> (bool, bool) {
        let now = self.model.now;
        match *step {
            Step::English { who, lot, is_native, reserve, increment, extension, secs } => {
                let creator = who.or(self.holder_of(lot));
                let params = sol::EnglishParameters {
                    assetContract: self.collection(lot.is_multi),
                    tokenId: U256::from(1),
                    quantity: U256::from(lot.quantity),
                    currency: self.currency(is_native),
                    reservePrice: U256::from(reserve),
                    minIncrement: increment,
                    timeExtension: extension,
                    startTimestamp: 0,
                    endTimestamp: now + secs,
                };
                let got = self.call(creator, 0, &sol::createEnglishAuctionCall { params });
                let sale = Sale {
                    creator,
                    lot,
                    is_native,
                    is_dutch: false,
                    first: reserve,
                    reserve,
                    increment: increment.into(),
                    extension,
                    start: now,
                    first_end: now + secs,
                    end: now + secs,
                    fee: self.model.fee,
                    best: None,
                    state: State::Open,
                    claimant: None,
                };
                (got, self.model.make(sale))
            }
            Step::Dutch { who, lot, is_native, reserve, above, start, secs } => {
                let creator = who.or(self.holder_of(lot));
                // One time in a while, the price would rise.
                let first = if above == 7 { reserve.saturating_sub(1) } else { reserve + above };
                let params = sol::DutchParameters {
                    assetContract: self.collection(lot.is_multi),
                    tokenId: U256::from(1),
                    quantity: U256::from(lot.quantity),
                    currency: self.currency(is_native),
                    startPrice: U256::from(first),
                    reservePrice: U256::from(reserve),
                    startTimestamp: now + start,
                    endTimestamp: now + secs,
                };
                let got = self.call(creator, 0, &sol::createDutchAuctionCall { params });
                let sale = Sale {
                    creator,
                    lot,
                    is_native,
                    is_dutch: true,
                    first,
                    reserve,
                    increment: 0,
                    extension: 0,
                    start: now + start,
                    first_end: now + secs,
                    end: now + secs,
                    fee: self.model.fee,
                    best: None,
                    state: State::Open,
                    claimant: None,
                };
                (got, self.model.make(sale))
            }
            Step::Bid { user, auction, more, is_short, value_off } => {
                let auction = self.model.chosen(auction, |sale| !sale.is_dutch && sale.is_running(now));
                let sale = self.model.sales.get(auction);
                let amount = sale.map_or(1, |sale| sale.price(now)) + more;
                let amount = if is_short { amount.saturating_sub(more + 1) } else { amount };
                let value = if sale.is_some_and(|sale| sale.is_native) { amount } else { 0 } + value_off;
                let value = value.min(of(&self.model.money, (USERS[user], true)));
                let got = self.call(USERS[user], value, &bid(U256::from(auction), amount));
                (got, self.model.bid(USERS[user], auction, amount, value))
            }
            Step::Buy { user, auction, more, is_short } => {
                let auction = self.model.chosen(auction, |sale| sale.is_dutch && sale.is_running(now));
                let sale = self.model.sales.get(auction);
                let price = sale.map_or(1, |sale| sale.price(now));
                let is_native = sale.is_some_and(|sale| sale.is_native);
                let (most, value) = match (is_short, is_native) {
                    (true, true) => (price, price.saturating_sub(1)),
                    (true, false) => (price.saturating_sub(1), 0),
                    (false, true) => (price + more, price + more),
                    (false, false) => (price + more, 0),
                };
                let value = value.min(of(&self.model.money, (USERS[user], true)));
                let got = self.call(USERS[user], value, &buy(U256::from(auction), most));
                (got, self.model.buy(USERS[user], auction, most, value))
            }
            Step::Cancel { who, auction } => {
                let auction = self.model.chosen(auction, |sale| sale.state == State::Open && sale.best.is_none());
                let user = who.or(self.model.sales.get(auction).map(|sale| sale.creator));
                let got = self.call(user, 0, &sol::cancelAuctionCall { auctionId: U256::from(auction) });
                (got, self.model.cancel(user, auction))
            }
            Step::Settle { user, auction } => {
                let auction = self.model.chosen(auction, |sale| sale.state == State::Open && sale.end <= now);
                (self.call(USERS[user], 0, &settle(U256::from(auction))), self.model.settle(auction))
            }
            Step::Claim { who, auction } => {
                let auction = self.model.chosen(auction, |sale| sale.claimant.is_some());
                let user = who.or(self.model.sales.get(auction).and_then(|sale| sale.claimant));
                let got = self.call(user, 0, &sol::claimCall { auctionId: U256::from(auction), to: user });
                (got, self.model.claim(user, auction))
            }
            Step::Withdraw { who, is_native } => {
                let user = who.or(USERS.into_iter().find(|user| of(&self.model.pending, (*user, is_native)) > 0));
                let got = self.call(user, 0, &sol::withdrawCall { currency: self.currency(is_native), to: user });
                (got, self.model.withdraw(user, is_native))
            }
            _ => {
                self.set(step);
                (true, true)
            }
        }
    }

    /// Runs a step that is none of the auction's users.
    fn set(&mut self, step: &Step) {
        match *step {
            Step::Refuse { is_on } => {
                self.world.chain.ok(OWNER, self.world.items, &nft::setRefusalCall { isOn: is_on });
                self.model.is_refusing = is_on;
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
        for account in USERS.into_iter().chain([FEES, creator, refuser, model.house]) {
            prop_assert_eq!(world.chain.wei(account), of(&model.money, (account, true)));
            prop_assert_eq!(world.coins(account), of(&model.money, (account, false)));
            prop_assert_eq!(world.held(world.art, account), of(&model.tokens, (account, false)));
            prop_assert_eq!(world.held(world.items, account), of(&model.tokens, (account, true)));
            for is_native in [false, true] {
                let currency = if is_native { NATIVE } else { world.coin };
                prop_assert_eq!(world.pending(account, currency), of(&model.pending, (account, is_native)));
            }
        }
        prop_assert_eq!(world.chain.wei(model.house), model.of_others(true));
        prop_assert_eq!(world.coins(model.house), model.of_others(false));
        prop_assert_eq!(world.held(world.art, model.house), model.lots_of_others(false));
        prop_assert_eq!(world.held(world.items, model.house), model.lots_of_others(true));
        let auctions = world.read(&sol::getAuctionsCall { from: U256::ZERO, count: U256::MAX });
        prop_assert_eq!(auctions.len(), model.sales.len());
        for (auction, sale) in auctions.iter().zip(&model.sales) {
            let (bidder, bid) = sale.best.unwrap_or_default();
            prop_assert_eq!((auction.highestBidder, auction.highestBid), (bidder, U256::from(bid)));
            prop_assert_eq!(auction.endTimestamp, sale.end);
            if sale.state == State::Open {
                let price = world.read(&sol::currentPriceCall { auctionId: auction.auctionId });
                prop_assert_eq!(price, U256::from(sale.price(model.now)));
                prop_assert!(price >= U256::from(sale.reserve));
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_sale_divides_its_price_and_the_auction_keeps_nothing(steps in vec(a_step(), 1..60)) {
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
        let known = sol::AuctionHouseCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let input = [known.as_slice(), &tail].concat();
        for gas in [1_000_000, 20_000] {
            let result = world.chain.clone().send(ALICE, world.house, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(Auction::ID).init_code(&tail);
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
    for name in ["English", "Dutch", "Bid", "Buy", "Cancel", "Settle", "Claim", "Withdraw"] {
        let (successes, all) = reached[name];
        assert!(successes > 2 && successes < all, "{name}: {reached:#?}");
    }
}
