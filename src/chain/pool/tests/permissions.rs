//! Chains with lists of accounts and deployers: who is admitted, and what waits for a permission.

use alloy_sol_types::SolCall;

use super::*;
use crate::{
    chain::{HeadChange, Intervention},
    system::permissions::{PERMISSIONS_ADDRESS, PermissionWord, PermissionsConfig, interface as sol},
};

/// A chain with three accounts, the first of which is the administrator, and a pool that follows it.
struct Lab {
    chain: Chain,
    pool: Pool,
}

fn address(number: u64) -> Address {
    key(number).address()
}

fn config() -> PermissionsConfig {
    PermissionsConfig::new(address(0))
}

fn not_allowed(number: u64) -> InvalidTransaction {
    InvalidTransaction::SenderNotAllowed { address: address(number) }
}

fn creation(from: u64, nonce: u64) -> Arc<Transaction> {
    let base = crate::chain::tests::fixture::request(nonce, TO, 0);
    let request = TransactionRequest { to: None, gas_limit: Gas::new(60_000), ..base };
    Arc::new(request.sign(&key(from)).unwrap())
}

fn set(account: u64, is_account: bool, is_deployer: bool) -> Vec<u8> {
    sol::setPermissionsCall { account: address(account), isAccount: is_account, isDeployer: is_deployer }.abi_encode()
}

impl Lab {
    fn new(config: PermissionsConfig) -> Self {
        let chain = builder_of(spec().with_permissions(config)).open().unwrap();
        Self { chain, pool: Pool::new(PoolConfig::new(CHAIN_ID)) }
    }

    fn add(&mut self, transaction: Arc<Transaction>) -> Result<AddOutcome, PoolError> {
        self.pool.add(transaction, &self.chain.pool_context().unwrap())
    }

    /// Returns what the pool has of an account: why each waits, or nothing for one that is ready.
    fn excluded(&self, number: u64) -> Vec<Option<ExclusionReason>> {
        self.pool.content_of(&address(number)).into_iter().map(|pooled| pooled.excluded).collect()
    }

    /// A transaction of the administrator to the contract.
    fn administer(&self, input: Vec<u8>) -> Arc<Transaction> {
        let state = self.chain.state_of(self.chain.head().hash()).unwrap();
        let nonce = state.account(&address(0)).unwrap().unwrap_or_default().nonce;
        let base = crate::chain::tests::fixture::request(nonce, PERMISSIONS_ADDRESS, 0);
        let request = TransactionRequest { input: input.into(), gas_limit: Gas::new(200_000), ..base };
        Arc::new(request.sign(&key(0)).unwrap())
    }

    /// Mines transactions that are not in the pool, which follows.
    fn mine(&mut self, transactions: Vec<Arc<Transaction>>) -> HeadChange {
        let change = extend(&mut self.chain, transactions);
        assert!(change.new.receipts().iter().all(|receipt| receipt.is_success()));
        assert!(self.pool.on_head(&change, &self.chain.pool_context().unwrap()).is_empty());
        change
    }

    /// Mines what the pool offers, and returns how many transactions.
    fn mine_pool(&mut self) -> usize {
        mine(&mut self.chain, &mut self.pool);
        self.chain.head().transactions().len()
    }
}

#[test]
fn transactions_are_admitted_by_the_heads_lists() {
    let mut lab = Lab::new(config().with_accounts([address(1)]).with_deployers([]));
    assert!(lab.add(transfer(1, 0, TO, 1)).unwrap().is_ready);
    assert_eq!(lab.add(transfer(2, 0, TO, 1)), Err(not_allowed(2).into()));
    let refused = InvalidTransaction::DeployerNotAllowed { address: address(1) };
    assert_eq!(lab.add(creation(1, 1)), Err(refused.into()));
    lab.mine(vec![lab.administer(set(2, true, true))]);
    assert!(lab.add(creation(2, 0)).unwrap().is_ready);
    assert_eq!(lab.mine_pool(), 2);
}

#[test]
fn what_lost_a_permission_waits_until_it_is_given_back() {
    let mut lab = Lab::new(config().with_accounts([address(1), address(2)]));
    for nonce in 0..2 {
        lab.add(transfer(1, nonce, TO, 1)).unwrap();
    }
    lab.add(transfer(2, 0, TO, 1)).unwrap();
    lab.mine(vec![lab.administer(set(1, false, false))]);
    let waits =
        [Some(ExclusionReason::NotAllowed { reason: not_allowed(1) }), Some(ExclusionReason::Predecessor { nonce: 0 })];
    assert_eq!((lab.excluded(1), lab.excluded(2)), (waits.to_vec(), vec![None]));
    assert!(waits[0].as_ref().unwrap().to_string().contains("list of accounts"));
    assert_eq!((lab.mine_pool(), lab.pool.counts()), (1, (0, 2)), "the other's alone");
    lab.mine(vec![lab.administer(set(1, true, false))]);
    assert_eq!((lab.excluded(1), lab.mine_pool()), (vec![None, None], 2));
}

#[test]
fn what_is_before_a_creation_without_permission_stays_ready() {
    let mut lab = Lab::new(config().with_deployers([address(1)]));
    lab.add(transfer(1, 0, TO, 1)).unwrap();
    lab.add(creation(1, 1)).unwrap();
    lab.add(transfer(1, 2, TO, 1)).unwrap();
    lab.mine(vec![lab.administer(set(1, false, false))]);
    let reason = InvalidTransaction::DeployerNotAllowed { address: address(1) };
    let waits = [None, Some(ExclusionReason::NotAllowed { reason }), Some(ExclusionReason::Predecessor { nonce: 1 })];
    assert_eq!((lab.excluded(1), lab.mine_pool()), (waits.to_vec(), 1));
    lab.mine(vec![lab.administer(set(1, false, true))]);
    assert_eq!(lab.mine_pool(), 2);
}

#[test]
fn a_switched_list_is_of_all_senders() {
    let mut lab = Lab::new(config());
    for number in 0..3 {
        lab.add(transfer(number, u64::from(number == 0), TO, 1)).unwrap();
    }
    lab.mine(vec![lab.administer(sol::switchAccountListCall { isOn: true }.abi_encode())]);
    let excluded: Vec<_> = (0..3).map(|number| lab.excluded(number)[0].is_some()).collect();
    assert_eq!(excluded, [false, true, true], "the administrator sends");
    assert_eq!(lab.mine_pool(), 1);
    lab.mine(vec![lab.administer(sol::switchAccountListCall { isOn: false }.abi_encode())]);
    assert_eq!(lab.mine_pool(), 2);
}

#[test]
fn a_hand_over_of_the_administration_changes_who_may_send() {
    let mut lab = Lab::new(config().with_accounts([address(1)]));
    lab.add(transfer(0, 1, TO, 1)).unwrap();
    let offer = sol::transferOwnershipCall { newOwner: address(1) }.abi_encode();
    let base = crate::chain::tests::fixture::request(0, PERMISSIONS_ADDRESS, 0);
    let accept = TransactionRequest {
        input: sol::acceptOwnershipCall {}.abi_encode().into(),
        gas_limit: Gas::new(200_000),
        ..base
    };
    lab.mine(vec![lab.administer(offer), Arc::new(accept.sign(&key(1)).unwrap())]);
    assert_eq!(lab.excluded(0), [Some(ExclusionReason::NotAllowed { reason: not_allowed(0) })]);
    assert_eq!(lab.mine_pool(), 0);
}

/// The pool learns what the block has shown: it must not offer the transaction to the next one.
#[test]
fn a_permission_lost_within_the_block_leaves_the_transaction_out() {
    let mut lab = Lab::new(config().with_accounts([address(1)]));
    lab.add(transfer(1, 0, TO, 1)).unwrap();
    let candidates = vec![lab.administer(set(1, false, false)), transfer(1, 0, TO, 1)];
    let built = build_on(&lab.chain, lab.chain.head().hash(), 1, candidates);
    let [(transaction, reason)] = &built.left_out[..] else { panic!("{:?}", built.left_out) };
    assert_eq!(*reason, not_allowed(1));
    // Before it follows the block it only knows that one left it out.
    lab.pool.refuse(transaction, reason, &lab.chain.pool_context().unwrap());
    assert_eq!(lab.excluded(1), [Some(ExclusionReason::Refused { reason: not_allowed(1) })]);
    let change = adopt(&mut lab.chain, built.block);
    lab.pool.on_head(&change, &lab.chain.pool_context().unwrap());
    assert_eq!(lab.excluded(1), [Some(ExclusionReason::NotAllowed { reason: not_allowed(1) })]);
    lab.mine(vec![lab.administer(set(1, true, false))]);
    assert_eq!(lab.mine_pool(), 1);
}

#[test]
fn a_reorg_brings_the_permissions_of_its_branch() {
    let mut lab = Lab::new(config().with_accounts([]));
    let genesis = lab.chain.head().hash();
    lab.mine(vec![lab.administer(set(1, true, false))]);
    lab.add(transfer(1, 0, TO, 1)).unwrap();
    let side = build_on(&lab.chain, genesis, 50, vec![]).block;
    let change = adopt(&mut lab.chain, side);
    assert!(lab.pool.on_head(&change, &lab.chain.pool_context().unwrap()).is_empty());
    assert_eq!(lab.excluded(1), [Some(ExclusionReason::NotAllowed { reason: not_allowed(1) })]);
    assert_eq!(lab.excluded(0), [None], "the setting that was reverted");
    assert_eq!((lab.mine_pool(), lab.mine_pool()), (1, 1), "the setting is mined again, then what waited");
}

#[test]
fn an_intervention_in_the_contracts_storage_is_followed() {
    let mut lab = Lab::new(config().with_accounts([address(1)]));
    lab.add(transfer(1, 0, TO, 1)).unwrap();
    let (address, slot) = (PERMISSIONS_ADDRESS, PermissionWord::Entry(address(1)).slot());
    lab.chain.intervene(Intervention::Storage { address, slot, value: U256::ZERO }).unwrap();
    assert!(lab.pool.refresh_sender(address, &lab.chain.pool_context().unwrap()).is_empty());
    assert_eq!((lab.excluded(1).len(), lab.pool.has_ready()), (1, false));
    // Another replica's pool hears of it by the block.
    let mut other = Lab::new(config().with_accounts([super::permissions::address(1)]));
    other.add(transfer(1, 0, TO, 1)).unwrap();
    let built = build_on(&lab.chain, lab.chain.head().hash(), 1, vec![]);
    let change = adopt(&mut other.chain, built.block);
    other.pool.on_head(&change, &other.chain.pool_context().unwrap());
    assert!(!other.pool.has_ready());
}
