//! The rules of keys, one by one and against a model.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::keccak256;
use alloy_sol_types::{SolStruct, sol};
use proptest::prelude::*;

use super::*;
use crate::{primitives::Height, vm::sandbox::Sandbox};

storage! {
    contract Registry {
        /// Operators that joined.
        joined: Mapping<Address, bool>,
        keys: SealingKeys,
    }
}

const REGISTRY: Registry = Registry::STATE;
const CHAIN: u64 = 31_337;
const INTERVAL: u64 = 3;

fn is_operator(host: &mut Host<'_>, address: Address) -> Result<bool, Stop> {
    REGISTRY.joined.get(host, address)
}

fn pair(index: usize) -> KeyPair {
    KeyPair::from_seed(index as u64, "sealing key")
}

fn register(sandbox: &mut Sandbox, operator: Address, key: Address, proof: Bytes) -> Result<Address, Stop> {
    let claim = KeyClaim { operator, key };
    sandbox.run(move |host| REGISTRY.keys.register(host, claim, &proof, INTERVAL, is_operator))
}

/// Registers a key with its proof.
fn rotate(sandbox: &mut Sandbox, operator: Address, key: &KeyPair) -> Result<Address, Stop> {
    let proof = prove_possession(CHAIN, Sandbox::CONTRACT, operator, key);
    register(sandbox, operator, key.address(), proof)
}

fn at(height: u64) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.block.height = Height::new(height);
    sandbox
}

fn pass(sandbox: &mut Sandbox, blocks: u64) {
    sandbox.block.height = Height::new(sandbox.block.height.get() + blocks);
}

fn both(sandbox: &mut Sandbox, address: Address) -> (Address, Address) {
    sandbox
        .run(move |host| Ok((REGISTRY.keys.key_of(host, address)?, REGISTRY.keys.operator_of(host, address)?)))
        .unwrap()
}

#[test]
fn an_operators_own_address_is_its_key_until_it_registers_one() {
    let mut sandbox = at(1);
    let (operator, first, second) = (Address::repeat_byte(1), pair(1), pair(2));
    assert_eq!(both(&mut sandbox, operator), (operator, operator));
    assert_eq!(rotate(&mut sandbox, operator, &first), Ok(operator));
    let changed = SealingKeyChanged { operator, oldKey: operator, newKey: first.address() };
    assert_eq!(sandbox.logs()[0].data, changed.encode_log_data());
    assert_eq!(both(&mut sandbox, operator), (first.address(), operator));
    pass(&mut sandbox, INTERVAL);
    assert_eq!(rotate(&mut sandbox, operator, &second), Ok(first.address()));
    for key in [operator, first.address(), second.address()] {
        assert_eq!(both(&mut sandbox, key).1, operator, "former keys too");
        let base = REGISTRY.keys;
        let read = base.read_operator(key, |slot| Ok::<_, ()>(sandbox.slot(slot)));
        assert_eq!(read, Ok(operator));
    }
}

#[test]
fn a_key_is_registered_once_and_by_nobody_else() {
    let mut sandbox = at(1);
    let (operator, other, key) = (Address::repeat_byte(1), Address::repeat_byte(2), pair(1));
    rotate(&mut sandbox, operator, &key).unwrap();
    let taken = |key, operator| Err(revert(&SealingKeyTaken { key, operator }));
    assert_eq!(rotate(&mut sandbox, other, &key), taken(key.address(), operator));
    pass(&mut sandbox, INTERVAL);
    assert_eq!(rotate(&mut sandbox, operator, &key), taken(key.address(), operator), "not its own again either");
    // Who has a key of its own as address, and registered another, seals with it no more.
    let (own, new) = (pair(3), pair(4));
    rotate(&mut sandbox, own.address(), &new).unwrap();
    pass(&mut sandbox, INTERVAL);
    assert_eq!(rotate(&mut sandbox, own.address(), &own), taken(own.address(), own.address()));
    assert_eq!(rotate(&mut sandbox, other, &own), taken(own.address(), own.address()));
    let check = move |address| move |host: &mut Host<'_>| REGISTRY.keys.check_operator(host, address);
    assert_eq!(
        sandbox.run(check(new.address())),
        Err(revert(&SealingKeyTaken { key: new.address(), operator: own.address() }))
    );
    assert_eq!(
        rotate(&mut sandbox, new.address(), &pair(5)),
        taken(new.address(), own.address()),
        "a key is no operator"
    );
    assert_eq!(sandbox.run(check(own.address())), Ok(()));
    assert_eq!(sandbox.run(check(other)), Ok(()));
}

#[test]
fn an_address_of_an_operator_is_no_key() {
    let mut sandbox = at(1);
    let joined = pair(1);
    let address = joined.address();
    sandbox.run(move |host| REGISTRY.joined.set(host, address, true)).unwrap();
    let refused = Err(revert(&SealingKeyIsOperator { key: address }));
    assert_eq!(rotate(&mut sandbox, Address::repeat_byte(1), &joined), refused);
    let claim = KeyClaim { operator: Address::repeat_byte(1), key: address };
    let adopted = sandbox.run(move |host| REGISTRY.keys.adopt(host, claim, is_operator));
    assert_eq!(adopted, Err(revert(&SealingKeyIsOperator { key: address })));
}

#[test]
fn only_the_keys_own_signature_for_this_operator_chain_and_contract_is_a_proof() {
    let mut sandbox = at(1);
    let (operator, key, thief) = (Address::repeat_byte(1), pair(1), pair(2));
    let (address, claim) = (key.address(), KeyClaim { operator, key: key.address() });
    let own = |chain, contract, operator| prove_possession(chain, contract, operator, &key);
    let thiefs = Bytes::from(thief.sign_hash(possession_digest(CHAIN, Sandbox::CONTRACT, claim)).as_bytes());
    assert_eq!(
        register(&mut sandbox, operator, address, thiefs),
        Err(revert(&SealingKeyUnproven { key: address, signer: thief.address() }))
    );
    let none = Err(revert(&SealingKeyUnproven { key: address, signer: Address::ZERO }));
    assert_eq!(register(&mut sandbox, operator, address, Bytes::new()), none);
    for proof in [
        own(CHAIN + 1, Sandbox::CONTRACT, operator),
        own(CHAIN, Address::ZERO, operator),
        own(CHAIN, Sandbox::CONTRACT, thief.address()),
    ] {
        assert!(register(&mut sandbox, operator, address, proof).is_err());
    }
    assert_eq!(both(&mut sandbox, operator), (operator, operator), "nothing was kept");
    assert_eq!(register(&mut sandbox, operator, address, own(CHAIN, Sandbox::CONTRACT, operator)), Ok(operator));
}

#[test]
fn keys_change_once_an_interval() {
    let mut sandbox = at(5);
    let operator = Address::repeat_byte(1);
    rotate(&mut sandbox, operator, &pair(1)).unwrap();
    for _ in 0..INTERVAL {
        let recently = Err(revert(&SealingKeyChangedRecently { earliestHeight: 5 + INTERVAL }));
        assert_eq!(rotate(&mut sandbox, operator, &pair(2)), recently);
        pass(&mut sandbox, 1);
    }
    assert_eq!(rotate(&mut sandbox, operator, &pair(2)), Ok(pair(1).address()));
}

/// Against alloy's implementation of EIP-712.
#[test]
fn the_digest_is_typed_data() {
    sol! {
        struct SealingKey {
            address operator;
            address key;
        }
    }
    assert_eq!(keccak256(SealingKey::eip712_encode_type().as_bytes()), SEALING_KEY_TYPE);
    let (operator, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    let known = eip712_domain! {
        name: "chainbox validators", version: "1", chain_id: CHAIN, verifying_contract: Sandbox::CONTRACT,
    };
    let want = SealingKey { operator, key }.eip712_signing_hash(&known);
    let claim = KeyClaim { operator, key };
    assert_eq!(possession_digest(CHAIN, Sandbox::CONTRACT, claim), want);
    assert_eq!(Sandbox::new().run(move |host| digest_in(host, claim)), Ok(want));
}

/// Operators and keys are the same six key pairs, so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Join(usize),
    Register { operator: usize, key: usize, is_proven: bool },
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0_usize..6).prop_map(Step::Join),
        6 => (0_usize..6, 0_usize..6, prop::bool::weighted(0.9))
            .prop_map(|(operator, key, is_proven)| Step::Register { operator, key, is_proven }),
        2 => (0_u64..5).prop_map(Step::Pass),
    ]
}

/// The history of registrations, from which everything else is computed anew.
#[derive(Default)]
struct Model {
    joined: BTreeSet<usize>,
    registered: Vec<(usize, usize, u64)>,
}

impl Model {
    fn operator_of(&self, key: usize) -> usize {
        self.registered.iter().find(|(_, registered, _)| *registered == key).map_or(key, |(operator, ..)| *operator)
    }

    fn key_of(&self, operator: usize) -> usize {
        self.registered.iter().rfind(|(owner, ..)| *owner == operator).map_or(operator, |(_, key, _)| *key)
    }

    fn may_register(&self, operator: usize, key: usize, height: u64) -> bool {
        let is_free = self.registered.iter().all(|(owner, registered, at)| {
            *registered != key && *owner != key && (*owner != operator || height >= at + INTERVAL)
        });
        is_free && key != operator && self.operator_of(operator) == operator && !self.joined.contains(&key)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn keys_follow_a_model(steps in proptest::collection::vec(step(), 1..40)) {
        let mut sandbox = at(1);
        let mut model = Model::default();
        let mut seen = BTreeMap::<usize, usize>::new();
        for step in steps {
            let height = sandbox.block.height.get();
            match step {
                Step::Join(index) => {
                    let address = pair(index).address();
                    let joined = sandbox.run(move |host| {
                        REGISTRY.keys.check_operator(host, address)?;
                        REGISTRY.joined.set(host, address, true)
                    });
                    prop_assert_eq!(joined.is_ok(), model.operator_of(index) == index);
                    if joined.is_ok() {
                        model.joined.insert(index);
                    }
                }
                Step::Register { operator, key, is_proven } => {
                    let signer = pair(if is_proven { key } else { key + 1 });
                    let claim = KeyClaim { operator: pair(operator).address(), key: pair(key).address() };
                    let proof = signer.sign_hash(possession_digest(CHAIN, Sandbox::CONTRACT, claim)).as_bytes().into();
                    let got = register(&mut sandbox, claim.operator, claim.key, proof);
                    let may = is_proven && model.may_register(operator, key, height);
                    let old = pair(model.key_of(operator)).address();
                    prop_assert_eq!(got.ok(), may.then_some(old));
                    if may {
                        model.registered.push((operator, key, height));
                        prop_assert_eq!(seen.insert(key, operator), None, "a key serves once");
                    }
                }
                Step::Pass(blocks) => pass(&mut sandbox, blocks),
            }
            for index in 0..6 {
                let want = (pair(model.key_of(index)).address(), pair(model.operator_of(index)).address());
                prop_assert_eq!(both(&mut sandbox, pair(index).address()), want);
            }
        }
    }
}
