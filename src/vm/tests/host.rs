//! Single host operations: their results and their gas.

use alloy_primitives::{B256, keccak256};

use super::*;
use crate::primitives::KeyPair;

type Body = fn(&mut Host<'_>) -> Result<Bytes, Stop>;

/// A contract with one function.
#[derive(Debug)]
struct Do(Body);

impl Template for Do {
    fn id(&self) -> TemplateId {
        TemplateId::new(0x8002, 1)
    }

    fn name(&self) -> &str {
        "do"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
        (self.0)(host)
    }
}

/// Result of the body, called by Alice with 3 units of value, and gas used.
fn run(body: Body) -> (World, FrameResult, u64) {
    let mut world = world();
    let contract = Address::repeat_byte(0xdd);
    world.registry.register(Arc::new(Do(body))).unwrap();
    world.journal.create_account(&contract).unwrap();
    world.journal.set_code(&contract, Marker(TemplateId::new(0x8002, 1)).to_bytes().into()).unwrap();
    world.journal.begin_transaction();
    let result = world.run(&Message::call(ALICE, contract, U256::from(3), &[], Gas::new(1_000_000)));
    let used = 1_000_000 - result.gas_left.get();
    (world, result, used)
}

#[test]
fn the_context_costs_no_gas() {
    let (_, result, used) = run(|host| {
        assert_eq!((host.caller(), host.origin(), host.value()), (ALICE, ALICE, U256::from(3)));
        assert_eq!((host.address(), host.chain_id()), (Address::repeat_byte(0xdd), 31_337));
        assert!(!host.is_static());
        Ok(Bytes::new())
    });
    assert_eq!((result.outcome, used), (FrameOutcome::Success, 0));
}

#[test]
fn balances_cost_an_account_access() {
    let (_, result, used) = run(|host| {
        assert_eq!(host.balance(&host.address())?, U256::from(3));
        assert_eq!(host.balance(&OTHER)?, U256::ZERO);
        assert!(host.has_code(&OTHER)?);
        assert!(!host.has_code(&ALICE)?);
        Ok(Bytes::new())
    });
    // Itself and the caller are warm from the start (EIP-2929).
    assert_eq!((result.outcome, used), (FrameOutcome::Success, 100 + 2_600 + 100 + 100));
}

#[test]
fn reads_cost_by_warmth_and_hashes_by_words() {
    let (_, _, used) = run(|host| {
        host.load(SLOT)?;
        host.load(SLOT)?;
        assert_eq!(host.keccak(&[1; 33])?, keccak256([1; 33]));
        let slot = host.mapping_slot(U256::from(8), SLOT)?;
        assert_eq!(slot, mapping_slot(U256::from(8), SLOT));
        assert_eq!(host.array_slot(SLOT)?, U256::from_be_bytes(keccak256(B256::from(SLOT)).0));
        host.compute(7)?;
        Ok(Bytes::new())
    });
    assert_eq!(used, 2_100 + 100 + (30 + 12) + (30 + 12) + (30 + 6) + 7);
}

#[test]
fn recovery_costs_the_same_with_and_without_a_signer() {
    let (_, result, used) = run(|host| {
        let key = KeyPair::from_seed(1, "signer");
        let hash = keccak256("message");
        let signature = key.sign_hash(hash);
        let v = 27 + u8::from(signature.v());
        assert_eq!(host.recover(hash, v, signature.r(), signature.s())?, Some(key.address()));
        assert_ne!(host.recover(hash, 27 + 28 - v, signature.r(), signature.s())?, Some(key.address()));
        assert_eq!(host.recover(hash, 0, signature.r(), signature.s())?, None);
        assert_eq!(host.recover(hash, v, U256::ZERO, signature.s())?, None);
        Ok(Bytes::new())
    });
    assert_eq!((result.outcome, used), (FrameOutcome::Success, 4 * 3_000));
}

#[test]
fn a_transfer_moves_value_or_passes_the_failure_on() {
    let (mut world, result, _) = run(|host| host.transfer(ALICE, U256::from(2)).map(|()| Bytes::new()));
    assert!(result.is_success());
    assert_eq!(world.journal.balance(&ALICE).unwrap(), U256::from(1_000 - 3 + 2));
    let (mut world, result, _) = run(|host| host.transfer(OTHER, U256::from(2)).map(|()| Bytes::new()));
    assert_eq!(result.outcome, FrameOutcome::Revert, "the probe refuses an empty call");
    assert_eq!(world.journal.balance(&ALICE).unwrap(), U256::from(1_000));
}

#[test]
fn strings_shrink_and_grow_and_free_their_slots() {
    let (mut world, result, _) = run(|host| {
        for len in [0, 1, 31, 32, 33, 64, 100, 33, 31, 0] {
            let text = vec![b'x'; len];
            host.store_bytes(SLOT, &text)?;
            assert_eq!(host.load_bytes(SLOT)?, text);
        }
        Ok(Bytes::new())
    });
    assert!(result.is_success());
    let changes = world.journal.take_changes();
    let slots: usize = changes.accounts.values().map(|change| change.storage.len()).sum();
    assert_eq!(slots, 0, "all slots are zero again");
}

#[test]
fn a_log_carries_the_contract_and_costs_by_size() {
    let (world, _, used) = run(|host| {
        host.log(LogData::new_unchecked(vec![B256::ZERO, B256::ZERO], vec![1, 2, 3].into()))?;
        Ok(Bytes::new())
    });
    assert_eq!(used, 375 + 2 * 375 + 3 * 8);
    assert_eq!(world.journal.logs()[0].address, Address::repeat_byte(0xdd));
}
