//! Permits: a fixed vector, a round trip with a key, every refusal.

use alloy_primitives::b256;
use alloy_sol_types::{SolStruct, eip712_domain};

use super::*;
use crate::primitives::KeyPair;

alloy_sol_types::sol! {
    /// The message that wallets sign; hashed by alloy, independently of the template.
    struct Permit {
        address owner;
        address spender;
        uint256 value;
        uint256 nonce;
        uint256 deadline;
    }
}

const DEADLINE: u64 = 2_000;

fn signed(token: &Deployed, key: &KeyPair, nonce: u64, deadline: u64) -> sol::permitCall {
    signed_for(token.token, key, nonce, deadline)
}

pub(super) fn signed_for(token: Address, key: &KeyPair, nonce: u64, deadline: u64) -> sol::permitCall {
    let domain = eip712_domain! {
        name: "Gold",
        version: "1",
        chain_id: 1,
        verifying_contract: token,
    };
    let (value, deadline) = (U256::from(42), U256::from(deadline));
    let message = Permit { owner: key.address(), spender: BOB, value, nonce: U256::from(nonce), deadline };
    let signature = key.sign_hash(message.eip712_signing_hash(&domain));
    sol::permitCall {
        owner: key.address(),
        spender: BOB,
        value,
        deadline,
        v: 27 + u8::from(signature.v()),
        r: signature.r().into(),
        s: signature.s().into(),
    }
}

#[test]
fn a_signature_approves_once() {
    let mut token = deploy(&params());
    let key = KeyPair::from_seed(1, "holder");
    let permit = signed(&token, &key, 0, DEADLINE);
    token.ok(CAROL, &permit);
    let approval = sol::Approval { owner: key.address(), spender: BOB, value: U256::from(42) };
    assert_eq!(token.journal.logs()[0].data, approval.encode_log_data());
    assert_eq!(token.read(&sol::allowanceCall { owner: key.address(), spender: BOB }), U256::from(42));
    assert_eq!(token.read(&sol::noncesCall { owner: key.address() }), U256::from(1));
    let again = token.call(CAROL, &permit);
    assert_eq!(again.output[..4], sol::ERC2612InvalidSigner::SELECTOR, "the nonce is used");
    let next = signed(&token, &key, 1, DEADLINE);
    token.ok(CAROL, &next);
}

#[test]
fn permits_are_refused() {
    let mut token = deploy(&params());
    let key = KeyPair::from_seed(1, "holder");
    let late = signed(&token, &key, 0, 999);
    token.fails(CAROL, &late, &sol::ERC2612ExpiredSignature { deadline: U256::from(999) });
    let other_owner = sol::permitCall { owner: OWNER, ..signed(&token, &key, 0, DEADLINE) };
    assert_eq!(token.call(CAROL, &other_owner).output[..4], sol::ERC2612InvalidSigner::SELECTOR);
    let bad_v = sol::permitCall { v: 29, ..signed(&token, &key, 0, DEADLINE) };
    token.fails(CAROL, &bad_v, &sol::ECDSAInvalidSignature {});
    let no_signature = sol::permitCall { r: B256::ZERO, ..signed(&token, &key, 0, DEADLINE) };
    token.fails(CAROL, &no_signature, &sol::ECDSAInvalidSignature {});
    let order = b256!("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    let low = signed(&token, &key, 0, DEADLINE);
    let s: B256 = (U256::from_be_bytes(order.0) - U256::from_be_bytes(low.s.0)).into();
    let high = sol::permitCall { v: 27 + 28 - low.v, s, ..low };
    token.fails(CAROL, &high, &sol::ECDSAInvalidSignatureS { s });
    assert_eq!(token.read(&sol::noncesCall { owner: key.address() }), U256::ZERO, "refusals use no nonce");
    let at_deadline = signed(&token, &key, 0, 1_000);
    token.ok(CAROL, &at_deadline);
}

#[test]
fn the_domain_is_returned_as_separator_and_as_fields() {
    let mut token = deploy(&params());
    let domain = eip712_domain! { name: "Gold", version: "1", chain_id: 1, verifying_contract: token.token, };
    assert_eq!(token.read(&sol::DOMAIN_SEPARATORCall {}), domain.separator());
    let domain = token.read(&sol::eip712DomainCall {});
    assert_eq!((domain.fields.0, domain.name.as_str(), domain.version.as_str()), ([0x0f], "Gold", "1"));
    assert_eq!((domain.chainId, domain.verifyingContract), (U256::from(1), token.token));
    assert_eq!((domain.salt, domain.extensions.len()), (B256::ZERO, 0));
}
