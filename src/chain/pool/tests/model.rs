//! The pool against a plain list that is evaluated from scratch after every step.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    chain::pool::on_head::HeadUpdate,
    system::permissions::{PERMISSIONS_ADDRESS, PermissionLists, PermissionWord},
};

const SENDERS: u8 = 4;
const TRANSACTIONS_MAX: usize = 8;
const PER_SENDER_MAX: usize = 6;
const QUEUED_MAX: usize = 5;
const QUEUED_PER_SENDER_MAX: usize = 3;
const BYTES_MAX: usize = 1_800;
const TRANSACTION_BYTES_MAX: usize = 350;
const LIFETIME_SECS: u64 = 100;

#[derive(Clone, Debug)]
struct Item {
    transaction: Arc<Transaction>,
    sender: u8,
    nonce: u64,
    fee: u128,
    tip: u128,
    cost: U256,
    gas: u64,
    bytes: usize,
    arrival: u64,
    queued_since: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    nonce: u64,
    balance: u64,
    /// Whether it is on the chain's list of accounts.
    may_send: bool,
}

#[derive(Clone, Debug)]
struct Model {
    items: Vec<Item>,
    owners: [Owner; SENDERS as usize],
    refused: [Option<(B256, Owner)>; SENDERS as usize],
    base_fee: u64,
    gas_limit: u64,
    now: u64,
    arrivals: u64,
    /// Accounts before a mined block, and its transactions.
    mined: Vec<([Owner; SENDERS as usize], Vec<Arc<Transaction>>)>,
}

/// Rank of an offer at a base fee.
fn rank(fee: u128, tip: u128, base_fee: u64) -> (bool, u128) {
    let base_fee = u128::from(base_fee);
    if fee < base_fee { (false, fee) } else { (true, tip.min(fee - base_fee)) }
}

impl Model {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            owners: [Owner { nonce: 0, balance: 6_000_000, may_send: true }; SENDERS as usize],
            refused: [None; SENDERS as usize],
            base_fee: BASE_FEE,
            gas_limit: 60_000,
            now: 0,
            arrivals: 0,
            mined: Vec::new(),
        }
    }

    fn context(&self) -> PoolContext {
        let account =
            |owner: &Owner| Account { nonce: owner.nonce, balance: U256::from(owner.balance), ..Account::default() };
        let accounts = (0..).map(address_of).zip(self.owners.iter().map(account)).collect();
        let entry = |(index, owner): (u8, &Owner)| {
            let slot = PermissionWord::Entry(address_of(index)).slot();
            ((PERMISSIONS_ADDRESS, slot), U256::from(owner.may_send))
        };
        let storage = (0..).zip(&self.owners).map(entry).collect();
        PoolContext {
            state: Arc::new(MapView { accounts, storage, ..MapView::default() }),
            permissions: Some(PermissionLists { accounts: true, deployers: false }),
            base_fee: self.base_fee,
            gas_limit: Gas::new(self.gas_limit),
            timestamp: Timestamp::from_secs(self.now),
            ..context_of(core::iter::empty())
        }
    }

    fn owner(&self, sender: u8) -> Owner {
        self.owners[usize::from(sender)]
    }

    fn find(&self, sender: u8, nonce: u64) -> Option<&Item> {
        self.items.iter().find(|item| (item.sender, item.nonce) == (sender, nonce))
    }

    /// The ready transactions of a sender, in order.
    fn ready(&self, sender: u8) -> Vec<&Item> {
        let owner = self.owner(sender);
        let refused = self.refused[usize::from(sender)].filter(|(_, at)| *at == owner).map(|(hash, _)| hash);
        let mut spent = U256::ZERO;
        let run = (owner.nonce..).map_while(|nonce| self.find(sender, nonce));
        run.take_while(|item| {
            spent += item.cost;
            owner.may_send && spent <= U256::from(owner.balance) && Some(item.transaction.hash()) != refused
        })
        .collect()
    }

    fn is_ready(&self, item: &Item) -> bool {
        self.ready(item.sender).iter().any(|ready| ready.nonce == item.nonce)
    }

    fn queued(&self) -> Vec<&Item> {
        self.items.iter().filter(|item| !self.is_ready(item)).collect()
    }

    /// Notes since when each transaction is queued, and forgets refusals of other accounts.
    fn settle(&mut self) {
        for sender in 0..SENDERS {
            let owner = self.owner(sender);
            let refused = &mut self.refused[usize::from(sender)];
            *refused = refused.filter(|(_, at)| *at == owner);
            // A sender without transactions is forgotten.
            if !self.items.iter().any(|item| item.sender == sender) {
                self.refused[usize::from(sender)] = None;
            }
        }
        let ready: Vec<bool> = self.items.iter().map(|item| self.is_ready(item)).collect();
        for (item, is_ready) in self.items.iter_mut().zip(ready) {
            item.queued_since = if is_ready { None } else { item.queued_since.or(Some(self.now)) };
        }
    }

    fn take(&mut self, sender: u8, nonce: u64) -> Option<Item> {
        let index = self.items.iter().position(|item| (item.sender, item.nonce) == (sender, nonce))?;
        let item = self.items.remove(index);
        self.settle();
        Some(item)
    }

    fn cheapest_queued(&self) -> Option<Item> {
        self.queued().into_iter().min_by_key(|item| (item.fee, Reverse(item.arrival))).cloned()
    }

    /// The last ready transaction of the sender whose ready ones are worth least, with that worth.
    fn worst_ready(&self) -> Option<((bool, u128), Item)> {
        let of_sender = |sender| {
            let ready = self.ready(sender);
            let (first, last) = (*ready.first()?, *ready.last()?);
            let worth = rank(first.fee.min(last.fee), first.tip.min(last.tip), self.base_fee);
            Some(((worth, Reverse(first.arrival)), last.clone()))
        };
        let worst = (0..SENDERS).filter_map(of_sender).min_by_key(|(key, _)| *key);
        worst.map(|((worth, _), item)| (worth, item))
    }

    fn bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes).sum()
    }

    fn is_valid(&self, new: &Item) -> bool {
        let owner = self.owner(new.sender);
        new.bytes <= TRANSACTION_BYTES_MAX
            && new.gas <= self.gas_limit
            && new.nonce >= owner.nonce
            && new.cost <= U256::from(owner.balance)
            && owner.may_send
    }

    fn replaces(old: &Item, new: &Item) -> bool {
        let raised = |fee: u128| (fee + (fee * 10).div_ceil(100)).max(fee + 1);
        new.fee >= raised(old.fee) && new.tip >= raised(old.tip)
    }

    fn put(&mut self, new: Item) {
        self.items.retain(|item| (item.sender, item.nonce) != (new.sender, new.nonce));
        self.items.push(Item { arrival: self.arrivals, queued_since: None, ..new });
        self.arrivals += 1;
        self.settle();
    }

    /// Adds as the pool must; returns whether the transaction is in, and keeps itself unchanged otherwise.
    fn add(&mut self, new: Item) -> bool {
        let before = self.clone();
        let is_in = self.try_add(new).is_some();
        if !is_in {
            *self = before;
        }
        is_in
    }

    fn try_add(&mut self, new: Item) -> Option<()> {
        let known = self.items.iter().any(|item| item.transaction.hash() == new.transaction.hash());
        if known || !self.is_valid(&new) {
            return None;
        }
        let old = self.find(new.sender, new.nonce).cloned();
        let own = self.items.iter().filter(|item| item.sender == new.sender).count();
        if old.as_ref().map_or(own >= PER_SENDER_MAX, |old| !Self::replaces(old, &new)) {
            return None;
        }
        let ready = self.ready(new.sender);
        let spent: U256 = ready.iter().filter(|item| item.nonce != new.nonce).map(|item| item.cost).sum();
        let owner = self.owner(new.sender);
        if spent + new.cost > U256::from(owner.balance) {
            return None;
        }
        let is_ready = new.nonce <= owner.nonce + ready.len() as u64;
        if let Some(old) = old {
            let fits = self.bytes() - old.bytes + new.bytes <= BYTES_MAX;
            return fits.then(|| self.put(new));
        }
        let worth = ready.first().map_or(rank(new.fee, new.tip, self.base_fee), |first| {
            rank(first.fee.min(new.fee), first.tip.min(new.tip), self.base_fee)
        });
        let queued = self.queued();
        let of_sender = queued.iter().filter(|item| item.sender == new.sender);
        if !is_ready && of_sender.clone().count() >= QUEUED_PER_SENDER_MAX {
            let last = of_sender.map(|item| item.nonce).max().filter(|last| *last > new.nonce)?;
            self.take(new.sender, last);
        }
        while !is_ready && self.queued().len() >= QUEUED_MAX {
            let cheapest = self.cheapest_queued().filter(|item| item.fee < new.fee)?;
            self.take(cheapest.sender, cheapest.nonce);
        }
        while self.items.len() >= TRANSACTIONS_MAX || self.bytes() + new.bytes > BYTES_MAX {
            let victim = match self.cheapest_queued() {
                Some(cheapest) if is_ready || cheapest.fee < new.fee => cheapest,
                Some(_) => return None,
                None => {
                    let (worst, item) = self.worst_ready()?;
                    Some(item).filter(|item| is_ready && worth > worst && item.sender != new.sender)?
                }
            };
            self.take(victim.sender, victim.nonce);
        }
        self.put(new);
        Some(())
    }

    /// Takes the best candidate repeatedly.
    fn best(&self, base_fee: u64) -> Vec<Item> {
        let mut next = [0_usize; SENDERS as usize];
        let ready: Vec<Vec<&Item>> = (0..SENDERS).map(|sender| self.ready(sender)).collect();
        let mut best = Vec::new();
        loop {
            let heads = next
                .iter()
                .zip(&ready)
                .filter_map(|(next, ready)| ready.get(*next))
                .filter(|item| item.gas <= self.gas_limit && item.fee >= u128::from(base_fee));
            let key = |item: &&&Item| (rank(item.fee, item.tip, base_fee), Reverse(item.arrival));
            let Some(item) = heads.max_by_key(key) else { return best };
            next[usize::from(item.sender)] += 1;
            best.push((*item).clone());
        }
    }

    /// Drops what is queued for too long and what is over a bound.
    fn apply_bounds(&mut self) {
        let now = self.now;
        self.items.retain(|item| item.queued_since.is_none_or(|since| now.saturating_sub(since) <= LIFETIME_SECS));
        self.settle();
        for sender in 0..SENDERS {
            loop {
                let queued = self.queued();
                let own: Vec<u64> = queued.iter().filter(|item| item.sender == sender).map(|item| item.nonce).collect();
                if own.len() <= QUEUED_PER_SENDER_MAX {
                    break;
                }
                self.take(sender, *own.iter().max().unwrap());
            }
        }
        while self.queued().len() > QUEUED_MAX {
            let cheapest = self.cheapest_queued().unwrap();
            self.take(cheapest.sender, cheapest.nonce);
        }
        while self.items.len() > TRANSACTIONS_MAX || self.bytes() > BYTES_MAX {
            let victim = self.cheapest_queued().or_else(|| self.worst_ready().map(|(_, item)| item)).unwrap();
            self.take(victim.sender, victim.nonce);
        }
    }

    fn follow_accounts(&mut self) {
        let owners = self.owners;
        self.items.retain(|item| item.nonce >= owners[usize::from(item.sender)].nonce);
        self.settle();
    }
}

#[derive(Clone, Debug)]
enum Step {
    Add {
        sender: u8,
        /// Distance from the nonce of the account; the first free nonce where there is none.
        ahead: Option<u64>,
        fee: u128,
        tip: u128,
        value: u64,
        gas: u64,
        bytes: usize,
    },
    Remove(usize),
    /// A block of some of the best transactions, and somebody who is paid by a contract.
    Block {
        mined: usize,
        base_fee: u64,
        gas_limit: u64,
        secs: u64,
        paid: Option<(u8, u64)>,
    },
    /// The last block is reverted.
    Revert,
    Balance(u8, u64),
    /// A block puts an account on the list of accounts, or takes it off.
    Permission(u8, bool),
    /// The nonce is set this far ahead.
    Nonce(u8, u64),
    /// A block left out one of the best transactions.
    Refuse(usize),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let sender = 0..SENDERS;
    let add = (
        sender.clone(),
        proptest::option::of(0_u64..6),
        (1_u128..12, 0_u128..12).prop_map(|(fee, tip)| (5 * fee, 5 * tip)),
        0_u64..1_000_000,
        0_usize..4,
        0_usize..260,
    );
    let gas = [25_000, 30_000, 40_000, 60_000];
    let block =
        (0_usize..4, 0_u64..50, 0_usize..4, 0_u64..60, proptest::option::of((sender.clone(), 0_u64..3_000_000)));
    prop_oneof![
        16 => add.prop_map(move |(sender, ahead, (fee, tip), value, index, bytes)| Step::Add {
            sender, ahead, fee, tip: tip.min(fee), value, gas: gas[index], bytes,
        }),
        1 => (0_usize..10).prop_map(Step::Remove),
        4 => block.prop_map(move |(mined, base_fee, index, secs, paid)| Step::Block {
            mined, base_fee, gas_limit: gas[index], secs, paid,
        }),
        1 => Just(Step::Revert),
        2 => (sender.clone(), 0_u64..8_000_000).prop_map(|(sender, balance)| Step::Balance(sender, balance)),
        2 => (sender.clone(), proptest::bool::weighted(0.7)).prop_map(|(sender, may)| Step::Permission(sender, may)),
        1 => (sender, 0_u64..3).prop_map(|(sender, ahead)| Step::Nonce(sender, ahead)),
        1 => (0_usize..4).prop_map(Step::Refuse),
        1 => prop_oneof![9 => Just(Step::Remove(0)), 1 => Just(Step::Clear)],
    ]
}

fn item(sender: u8, nonce: u64, (fee, tip): (u128, u128), value: u64, gas: u64, bytes: usize) -> Item {
    let request = TransactionRequest {
        max_priority_fee_per_gas: tip,
        value: U256::from(value),
        gas_limit: Gas::new(gas),
        input: vec![0; bytes].into(),
        ..request(nonce, fee)
    };
    item_of(Arc::new(request.impersonate(address_of(sender)).unwrap()))
}

fn item_of(transaction: Arc<Transaction>) -> Item {
    Item {
        sender: (0..SENDERS).find(|index| address_of(*index) == transaction.sender()).unwrap(),
        nonce: transaction.nonce(),
        fee: transaction.max_fee_per_gas(),
        tip: transaction.max_priority_fee_per_gas(),
        cost: transaction.max_cost().unwrap(),
        gas: transaction.gas_limit().get(),
        bytes: transaction.encoded_len(),
        arrival: 0,
        queued_since: None,
        transaction,
    }
}

fn block(pool: &mut Pool, model: &mut Model, included: &[Item], paid: Option<(u8, u64)>) {
    let before = model.owners;
    let mut update = HeadUpdate::default();
    for item in included {
        let owner = &mut model.owners[usize::from(item.sender)];
        // The cost is below the largest one.
        owner.nonce += 1;
        owner.balance -= item.cost.to::<u64>() / 2;
        update.changed.entry(address_of(item.sender)).or_default().push(item.transaction.hash());
    }
    if let Some((sender, amount)) = paid {
        model.owners[usize::from(sender)].balance += amount;
    }
    model.mined.push((before, included.iter().map(|item| item.transaction.clone()).collect()));
    model.follow_accounts();
    model.apply_bounds();
    pool.on_update(update, &model.context());
}

fn revert(pool: &mut Pool, model: &mut Model) {
    let Some((owners, reverted)) = model.mined.pop() else { return };
    model.owners = owners;
    model.follow_accounts();
    for new in reverted.iter().cloned().map(item_of) {
        let old = model.find(new.sender, new.nonce);
        if model.is_valid(&new) && old.is_none_or(|old| Model::replaces(old, &new)) {
            model.put(new);
        }
    }
    model.apply_bounds();
    pool.on_update(HeadUpdate { reverted, is_of_all: true, ..HeadUpdate::default() }, &model.context());
}

fn run(pool: &mut Pool, model: &mut Model, step: Step) -> Result<(), TestCaseError> {
    match step {
        Step::Add { sender, ahead, fee, tip, value, gas, bytes } => {
            let first = model.owner(sender).nonce;
            let free = || (first..).find(|nonce| model.find(sender, *nonce).is_none());
            let nonce = ahead.map(|ahead| first + ahead).or_else(free).unwrap();
            let new = item(sender, nonce, (fee, tip), value, gas, bytes);
            let added = pool.add(new.transaction.clone(), &model.context());
            prop_assert_eq!(added.is_ok(), model.add(new), "{:?}", added);
            if let Ok(added) = added {
                let found = model.find(sender, nonce).is_some_and(|item| model.is_ready(item));
                prop_assert_eq!(added.is_ready, found);
            }
        }
        Step::Remove(index) => {
            if let Some(item) = model.items.get(index).cloned() {
                model.take(item.sender, item.nonce);
                prop_assert_eq!(pool.remove(&item.transaction.hash()), Some(item.transaction));
            }
        }
        Step::Block { mined, base_fee, gas_limit, secs, paid } => {
            let included: Vec<Item> = model.best(model.base_fee).into_iter().take(mined).collect();
            (model.base_fee, model.gas_limit, model.now) = (base_fee, gas_limit, model.now + secs);
            block(pool, model, &included, paid);
        }
        Step::Revert => revert(pool, model),
        Step::Balance(sender, balance) => {
            model.owners[usize::from(sender)].balance = balance;
            model.settle();
            pool.refresh_sender(address_of(sender), &model.context());
        }
        Step::Permission(sender, may_send) => {
            model.owners[usize::from(sender)].may_send = may_send;
            model.follow_accounts();
            model.apply_bounds();
            let changed = BTreeMap::from([(address_of(sender), Vec::new())]);
            pool.on_update(HeadUpdate { changed, ..HeadUpdate::default() }, &model.context());
        }
        Step::Nonce(sender, ahead) => {
            model.owners[usize::from(sender)].nonce += ahead;
            model.follow_accounts();
            pool.refresh_sender(address_of(sender), &model.context());
        }
        Step::Refuse(index) => {
            if let Some(item) = model.best(model.base_fee).get(index).cloned() {
                let owner = model.owner(item.sender);
                model.refused[usize::from(item.sender)] = Some((item.transaction.hash(), owner));
                model.settle();
                let reason = InvalidTransaction::CostOverflow { address: item.transaction.sender() };
                pool.refuse(&item.transaction, &reason, &model.context());
            }
        }
        Step::Clear => {
            model.items.clear();
            model.settle();
            pool.clear();
        }
    }
    Ok(())
}

fn check(pool: &Pool, model: &Model) -> Result<(), TestCaseError> {
    let content = pool.content();
    let listed: BTreeMap<_, _> = content.iter().map(|pooled| (pooled.transaction.hash(), pooled.arrival)).collect();
    let expected: BTreeMap<_, _> = model.items.iter().map(|item| (item.transaction.hash(), item.arrival)).collect();
    prop_assert_eq!(listed, expected);
    prop_assert_eq!(pool.size_bytes(), model.bytes());
    let queued = model.queued().len();
    prop_assert_eq!(pool.counts(), (model.items.len() - queued, queued));
    for index in 0..SENDERS {
        let pending = model.ready(index).last().map(|item| item.nonce + 1);
        prop_assert_eq!(pool.pending_nonce(&address_of(index)), pending);
    }
    for base_fee in [model.base_fee, 0, model.base_fee + 9] {
        let hashes = |items: Vec<Item>| items.iter().map(|item| item.transaction.hash()).collect::<Vec<_>>();
        let best: Vec<_> = drain(pool.best(base_fee)).iter().map(|transaction| transaction.hash()).collect();
        prop_assert_eq!(&best, &hashes(model.best(base_fee)), "at {}", base_fee);
        if base_fee == model.base_fee {
            prop_assert_eq!(pool.has_ready(), !best.is_empty());
            let included = content.iter().filter(|pooled| pooled.excluded.is_none()).count();
            prop_assert_eq!(included, best.len(), "who is listed without a reason is a candidate");
        }
    }
    for pooled in content {
        prop_assert_eq!(pool.get(&pooled.transaction.hash()), Some(pooled.transaction));
    }
    prop_assert!(pool.len() <= TRANSACTIONS_MAX && pool.size_bytes() <= BYTES_MAX);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn agrees_with_a_plain_list(steps in vec(step(), 1..60)) {
        let config = PoolConfig::new(CHAIN_ID)
            .with_impersonated(true)
            .with_limits(TRANSACTIONS_MAX, PER_SENDER_MAX)
            .with_byte_limits(BYTES_MAX, TRANSACTION_BYTES_MAX)
            .with_queue_limits(QUEUED_MAX, QUEUED_PER_SENDER_MAX)
            .with_queued_lifetime(core::time::Duration::from_secs(LIFETIME_SECS));
        let (mut pool, mut model) = (Pool::new(config), Model::new());
        pool.follow(&model.context());
        for step in steps {
            let (kept, before) = (pool.clone(), pool.content());
            run(&mut pool, &mut model, step)?;
            check(&pool, &model)?;
            prop_assert_eq!(kept.content(), before, "a clone does not change");
        }
    }
}
