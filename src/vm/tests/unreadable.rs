//! A state that fails during a message.

use alloy_primitives::B256;

use super::*;

/// A state whose slots cannot be read.
#[derive(Debug)]
struct Broken(MapView);

impl StateView for Broken {
    fn commit(&self) -> Commit {
        self.0.commit()
    }
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.0.account(address)
    }
    fn storage(&self, _: &Address, _: &U256) -> Result<U256, StateError> {
        Err(StateError::Store(StoreError::Io { operation: "read", reason: "gone".to_owned() }))
    }
    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        self.0.code(hash)
    }
    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError> {
        self.0.proof(address, slots)
    }
    fn for_each_account(
        &self,
        visit: &mut dyn FnMut(Address, Account) -> core::ops::ControlFlow<()>,
    ) -> Result<(), StateError> {
        self.0.for_each_account(visit)
    }
    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> core::ops::ControlFlow<()>,
    ) -> Result<(), StateError> {
        self.0.for_each_slot(address, visit)
    }
}

#[test]
fn an_unreadable_state_is_an_error_not_an_outcome() {
    let mut world = world();
    world.call(&[STORE]);
    world.call(&at(CALL, OTHER, &[STORE]));
    let view = MapView::default().apply(&world.journal.take_changes());
    let mut journal = Journal::new(Arc::new(Broken(view)));
    for input in [vec![READ], at(CALL, OTHER, &[READ])] {
        let message = Message::call(ALICE, PROBE, U256::ZERO, &input, Gas::new(100_000));
        let error = execute(&mut journal, &world.block, &world.registry, &message).unwrap_err();
        assert!(matches!(error, StateError::Store(_)), "{error}");
    }
    assert!(journal.take_changes().is_empty());
}
