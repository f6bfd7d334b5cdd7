//! Requests that are right and wrong, one by one and in batches, to a vault that trusts the forwarder; what it costs.

mod golden;

use alloy_primitives::{address, aliases::U48, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain};
use proptest::prelude::*;

use super::{interface as sol, *};
use crate::{
    primitives::KeyPair,
    templates::{
        Erc4626Params,
        erc4626::interface as vault,
        test_chain::{
            FUNDS, NOW, TestChain,
            test_token::{self as asset, TestToken},
        },
    },
    vm::{Descriptor, FrameOutcome, FrameResult, HaltReason},
};

/// The message that wallets sign; hashed by alloy, independently of the template.
mod message {
    alloy_sol_types::sol! {
        struct ForwardRequest {
            address from;
            address to;
            uint256 value;
            uint256 gas;
            uint256 nonce;
            uint48 deadline;
            bytes data;
        }
    }
}

const RELAYER: Address = address!("000000000000000000000000000000000000a001");
const PLAIN: Address = address!("000000000000000000000000000000000000b002");
const DEADLINE: u64 = NOW + 100;
const GAS: u64 = 300_000;

/// A vault that trusts a forwarder, and a signer with 1,000 assets and no ether, of which the vault may take all.
#[derive(Clone)]
struct World {
    chain: TestChain,
    forwarder: Address,
    vault: Address,
    signer: KeyPair,
}

fn deploy() -> World {
    let signer = KeyPair::from_seed(1, "signer");
    let mut chain = TestChain::new(&[RELAYER]);
    let forwarder = chain.deploy(RELAYER, 0, &Erc2771ForwarderParams::new("Relay").init_code());
    let token = chain.deploy(RELAYER, 0, &TestToken::init_code(6, 1_000));
    let params =
        Erc4626Params { trusted_forwarder: Some(forwarder), ..Erc4626Params::new("Shares", "SHR", token, RELAYER) };
    let vault = chain.deploy(RELAYER, 0, &params.init_code());
    chain.ok(RELAYER, token, &asset::transferCall { to: signer.address(), value: U256::from(1_000) });
    chain.ok(signer.address(), token, &asset::approveCall { spender: vault, value: U256::MAX });
    World { chain, forwarder, vault, signer }
}

impl World {
    fn domain(&self) -> Eip712Domain {
        eip712_domain! { name: "Relay", version: "1", chain_id: 1, verifying_contract: self.forwarder, }
    }

    /// A request of the signer with its nonce in force, plus `nonce`.
    fn request(&self, to: Address, nonce: u64, data: Vec<u8>) -> sol::ForwardRequestData {
        let request = sol::ForwardRequestData {
            from: self.signer.address(),
            to,
            value: U256::ZERO,
            gas: U256::from(GAS),
            deadline: U48::from(DEADLINE),
            data: data.into(),
            signature: Bytes::new(),
        };
        self.sign(request, nonce)
    }

    fn sign(&self, request: sol::ForwardRequestData, nonce: u64) -> sol::ForwardRequestData {
        let sol::ForwardRequestData { from, to, value, gas, deadline, ref data, .. } = request;
        let nonce = self.nonce() + U256::from(nonce);
        let signed = message::ForwardRequest { from, to, value, gas, nonce, deadline, data: data.clone() };
        let signature = self.signer.sign_hash(signed.eip712_signing_hash(&self.domain()));
        sol::ForwardRequestData { signature: signature.as_bytes().into(), ..request }
    }

    /// A request that deposits assets of the signer in its own name.
    fn deposit(&self, assets: u64, nonce: u64) -> sol::ForwardRequestData {
        let call = vault::depositCall { assets: U256::from(assets), receiver: self.signer.address() };
        self.request(self.vault, nonce, call.abi_encode())
    }

    fn execute(&mut self, request: &sol::ForwardRequestData, value: u64) -> FrameResult {
        let call = sol::executeCall { request: request.clone() };
        self.chain.send(RELAYER, self.forwarder, value, &call.abi_encode(), 10_000_000)
    }

    fn refuses(&mut self, request: &sol::ForwardRequestData, value: u64, error: &impl SolError) {
        let result = self.execute(request, value);
        assert_eq!((result.outcome, result.output.to_vec()), (FrameOutcome::Revert, error.abi_encode()));
    }

    fn batch(&mut self, requests: &[sol::ForwardRequestData], refund: Address, value: u64) -> FrameResult {
        let call = sol::executeBatchCall { requests: requests.to_vec(), refundReceiver: refund };
        self.chain.send(RELAYER, self.forwarder, value, &call.abi_encode(), 10_000_000)
    }

    fn verify(&self, request: &sol::ForwardRequestData) -> bool {
        self.chain.read(self.forwarder, &sol::verifyCall { request: request.clone() })
    }

    fn nonce(&self) -> U256 {
        self.chain.read(self.forwarder, &sol::noncesCall { owner: self.signer.address() })
    }

    fn shares(&self) -> u64 {
        self.chain.read(self.vault, &vault::balanceOfCall { account: self.signer.address() }).to()
    }
}

#[test]
fn constants_are_hashes_of_their_texts() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.forwarder.immutables").0), IMMUTABLES);
    let text =
        "ForwardRequest(address from,address to,uint256 value,uint256 gas,uint256 nonce,uint48 deadline,bytes data)";
    assert_eq!(keccak256(text), request::TYPE);
}

#[test]
fn a_request_runs_in_the_name_of_its_signer_once() {
    let mut world = deploy();
    let request = world.deposit(300, 0);
    assert!(world.verify(&request));
    let result = world.execute(&request, 0);
    assert!(result.is_success() && result.output.is_empty(), "{result:?}");
    let signer = world.signer.address();
    let logs = world.chain.journal.logs();
    let executed = sol::ExecutedForwardRequest { signer, nonce: U256::ZERO, success: true };
    assert_eq!(logs.last().unwrap().data, executed.encode_log_data());
    let (assets, shares) = (U256::from(300), U256::from(300));
    let deposit = vault::Deposit { sender: signer, owner: signer, assets, shares };
    assert_eq!(logs[logs.len() - 2].data, deposit.encode_log_data());
    assert_eq!((world.shares(), world.nonce()), (300, U256::ONE));
    assert!(!world.verify(&request), "its nonce is used");
    // The signature is of another nonce, and so of somebody else.
    let again = world.execute(&request, 0);
    assert_eq!(again.output[..4], sol::ERC2771ForwarderInvalidSigner::SELECTOR);
    assert!(world.execute(&world.deposit(300, 0), 0).is_success());
}

#[test]
fn others_requests_are_refused() {
    let mut world = deploy();
    let good = world.deposit(10, 0);
    let from = world.signer.address();
    let mismatch = |requested: u64, sent: u64| sol::ERC2771ForwarderMismatchedValue {
        requestedValue: U256::from(requested),
        msgValue: U256::from(sent),
    };
    world.refuses(&good, 1, &mismatch(0, 1));
    let late = world.sign(sol::ForwardRequestData { deadline: U48::from(NOW - 1), ..good.clone() }, 0);
    world.refuses(&late, 0, &sol::ERC2771ForwarderExpiredRequest { deadline: late.deadline });
    assert!(world.verify(&world.sign(sol::ForwardRequestData { deadline: U48::from(NOW), ..good.clone() }, 0)));
    let nobody = sol::ERC2771ForwarderInvalidSigner { signer: Address::ZERO, from };
    for signature in [Bytes::new(), good.signature.slice(..64), [good.signature.as_ref(), &[0]].concat().into()] {
        world.refuses(&sol::ForwardRequestData { signature, ..good.clone() }, 0, &nobody);
    }
    let other = sol::ForwardRequestData { from: PLAIN, ..good.clone() };
    let result = world.execute(&other, 0);
    assert_eq!(result.output[..4], sol::ERC2771ForwarderInvalidSigner::SELECTOR);
    let forwarder = world.forwarder;
    for to in [PLAIN, forwarder, world.chain.read(world.vault, &vault::assetCall {})] {
        let wary = world.request(to, 0, Vec::new());
        assert!(!world.verify(&wary));
        world.refuses(&wary, 0, &sol::ERC2771UntrustfulTarget { target: to, forwarder });
    }
    // A call that reverts uses no nonce.
    let failing = world.deposit(1_001, 0);
    world.refuses(&failing, 0, &sol::FailedCall {});
    assert_eq!((world.nonce(), world.shares()), (U256::ZERO, 0));
}

#[test]
fn a_batch_leaves_out_what_is_invalid_and_refunds_it() {
    let mut world = deploy();
    let [first, used, second] = [world.deposit(10, 0), world.deposit(10, 0), world.deposit(20, 1)];
    let failing = world.deposit(5_000, 2);
    assert!(world.batch(&[first.clone(), used, second, failing], PLAIN, 0).is_success());
    assert_eq!((world.shares(), world.nonce()), (30, U256::from(3)), "a failed call has used its nonce");
    // Without a receiver of refunds, each has to be valid.
    let refused = world.batch(&[first], Address::ZERO, 0);
    assert_eq!(refused.output[..4], sol::ERC2771ForwarderInvalidSigner::SELECTOR);
    // The vault takes no ether, so the call fails and its value goes back.
    let paid = world.sign(sol::ForwardRequestData { value: U256::from(7), ..world.deposit(1, 0) }, 0);
    let refused = world.batch(std::slice::from_ref(&paid), Address::ZERO, 7);
    assert_eq!(refused.output, sol::ERC2771ForwarderNoRefundReceiver {}.abi_encode());
    assert!(world.batch(&[paid], PLAIN, 7).is_success());
    assert_eq!((world.chain.wei(PLAIN), world.chain.wei(RELAYER)), (7, FUNDS - 7));
    let good = world.deposit(1, 0);
    let mismatch = sol::ERC2771ForwarderMismatchedValue { requestedValue: U256::ZERO, msgValue: U256::ONE };
    assert_eq!(world.batch(&[good], PLAIN, 1).output, mismatch.abi_encode());
    assert!(world.batch(&[], Address::ZERO, 0).is_success());
}

#[test]
fn values_that_overflow_panic() {
    let mut world = deploy();
    let huge = sol::ForwardRequestData { value: U256::MAX, ..world.deposit(1, 0) };
    let panic = alloy_sol_types::Panic { code: U256::from(0x11) };
    assert_eq!(world.batch(&[huge.clone(), huge], PLAIN, 0).output, panic.abi_encode());
}

/// Whoever sends a request with too little gas for it does not use it up.
#[test]
fn a_request_that_gets_too_little_gas_is_undone() {
    let mut world = deploy();
    let input = sol::executeBatchCall { requests: vec![world.deposit(10, 0)], refundReceiver: PLAIN }.abi_encode();
    let limits = (20_000..=10_000_000).step_by(7_001);
    let mut executed = 0;
    for gas in limits {
        let mut world = world.clone();
        let result = world.chain.send(RELAYER, world.forwarder, 0, &input, gas);
        // The deposit succeeds, or nothing happens.
        assert_eq!(result.is_success(), world.shares() == 10, "{gas}");
        assert_eq!(world.nonce(), U256::from(world.shares() / 10));
        executed += u64::from(result.is_success());
        if !result.is_success() {
            assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::OutOfGas), "{gas}");
        }
    }
    assert!(executed > 0);
    let greedy = world.sign(sol::ForwardRequestData { gas: U256::MAX, ..world.deposit(10, 0) }, 0);
    assert_eq!(world.execute(&greedy, 0).outcome, FrameOutcome::Halt(HaltReason::OutOfGas));
}

#[test]
fn the_domain_is_told_and_its_name_is_short() {
    let world = deploy();
    let domain = world.chain.read(world.forwarder, &sol::eip712DomainCall {});
    assert_eq!((domain.name.as_str(), domain.version.as_str()), ("Relay", "1"));
    assert_eq!((domain.fields.0, domain.verifyingContract), ([0x0f], world.forwarder));
    let long = "n".repeat(32);
    let init_code = Erc2771ForwarderParams::new(&long).init_code();
    let (_, result) = TestChain::new(&[RELAYER]).create(RELAYER, 0, &init_code, 1_000_000);
    assert_eq!(result.output, sol::StringTooLong { str: long }.abi_encode());
}

#[test]
fn a_forwarder_is_described_and_encoded_by_names() {
    let encoded = Descriptor::of(&Erc2771Forwarder).encode(&serde_json::Map::new(), RELAYER).unwrap();
    assert_eq!(encoded, Erc2771ForwarderParams::new("ERC2771Forwarder").init_code());
    let abi = Erc2771Forwarder.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (6, 2, 10));
    let layout = Erc2771Forwarder.storage_layout();
    let slots: Vec<_> = layout.storage.iter().map(|entry| (entry.label.as_str(), entry.slot.clone())).collect();
    let name = IMMUTABLES.to_string();
    let want = [("_nameFallback", "0"), ("_versionFallback", "1"), ("_nonces", "2"), ("_name", &name)];
    assert_eq!(slots, want.map(|(label, slot)| (label, slot.to_owned())));
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..6, tail: Vec<u8>, words: [u16; 16], gas in 0_u64..200_000) {
        let mut world = deploy();
        let known = sol::ERC2771ForwarderCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| U256::from(word % 520).to_be_bytes::<32>()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(RELAYER, world.forwarder, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(Erc2771Forwarder::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[RELAYER]).create(RELAYER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
