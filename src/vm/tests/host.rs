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

#[test]
fn a_salted_creation_has_its_address_and_pays_for_its_hash() {
    let (mut world, result, used) = run(|host| {
        let init_code = Marker(TemplateId::new(0x8002, 1)).to_bytes();
        let (first, created) = host.create2(&init_code, U256::from(1), B256::repeat_byte(7))?;
        let (again, collided) = host.create2(&init_code, U256::ZERO, B256::repeat_byte(7))?;
        assert!(created.is_success() && again == first);
        assert_eq!(collided.outcome, FrameOutcome::Halt(HaltReason::Collision));
        Ok(first.into_word().to_vec().into())
    });
    assert_eq!(result.outcome, FrameOutcome::Success);
    let created = Address::from_word(B256::from_slice(&result.output));
    let init_code = Marker(TemplateId::new(0x8002, 1)).to_bytes();
    // EIP-1014: keccak256(0xff ++ address ++ salt ++ keccak256(init_code))[12..].
    let preimage = [&[0xff], [0xdd; 20].as_slice(), &[7; 32], keccak256(init_code).as_slice()].concat();
    assert_eq!(created, Address::from_word(keccak256(preimage)));
    assert_eq!(world.journal.balance(&created).unwrap(), U256::from(1));
    assert_eq!(world.journal.nonce(&Address::repeat_byte(0xdd)).unwrap(), 3, "1 at first, and one for each attempt");
    // A collision consumes what was forwarded: all but one part in 64.
    assert!(used > 1_000_000 - 1_000_000 / 64, "{used}");
    let (_, _, used) = run(|host| host.create2(&[], U256::ZERO, B256::ZERO).map(|_| Bytes::new()));
    assert_eq!(used, 32_000);
    let (_, _, plain) =
        run(|host| host.create(&Marker(TemplateId::new(0x8002, 1)).to_bytes(), U256::ZERO).map(|_| Bytes::new()));
    let (_, _, salted) = run(|host| {
        host.create2(&Marker(TemplateId::new(0x8002, 1)).to_bytes(), U256::ZERO, B256::ZERO).map(|_| Bytes::new())
    });
    assert_eq!(salted - plain, 6, "one word hashed");
}

#[test]
fn frames_in_the_name_of_the_signer_are_for_the_batch_alone() {
    let (_, result, _) = run(|host| {
        assert!(host.is_called_by_signer());
        assert_eq!(host.call_for_signer(Address::repeat_byte(9), U256::ZERO, &[]).unwrap_err(), abi::empty_revert());
        host.create_for_signer(&[], U256::ZERO, B256::ZERO).map(|_| Bytes::new())
    });
    assert_eq!((result.outcome, result.output), (FrameOutcome::Revert, Bytes::new()));
}
