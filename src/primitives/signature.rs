//! Recovery of a signature's signer (secp256k1, SEC 1 section 4.1.6).

use alloy_primitives::{Address, B256, Signature, U256, keccak256, uint};
use k256::ecdsa::{RecoveryId, VerifyingKey};

/// Half the order of secp256k1's group: the largest `s` that EIP-2 accepts.
const HALF_ORDER: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// Error of recovering a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// `s` is in the upper half of the group's order; EIP-2 refuses it, as the same signature has a
    /// lower form.
    #[error("invalid signature: s {s:#x} is above half the group order (EIP-2); send the low-s form")]
    HighS {
        /// The refused `s`.
        s: U256,
    },
    /// `r` or `s` is zero or not below the group's order, or no curve point matches.
    #[error("invalid signature: r {r:#x}, s {s:#x} belong to no public key")]
    NoSigner {
        /// `r` of the signature.
        r: U256,
        /// `s` of the signature.
        s: U256,
    },
}

/// Returns the address whose key made `signature` over `hash`.
///
/// # Errors
/// [`SignatureError::HighS`] for a malleable signature (EIP-2), [`SignatureError::NoSigner`] when
/// no public key matches.
pub fn recover_signer(hash: B256, signature: &Signature) -> Result<Address, SignatureError> {
    let (r, s) = (signature.r(), signature.s());
    if s > HALF_ORDER {
        return Err(SignatureError::HighS { s });
    }
    let no_signer = SignatureError::NoSigner { r, s };
    let parts =
        k256::ecdsa::Signature::from_scalars(r.to_be_bytes::<32>(), s.to_be_bytes::<32>()).map_err(|_| no_signer)?;
    let key = VerifyingKey::recover_from_prehash(hash.as_slice(), &parts, RecoveryId::new(signature.v(), false))
        .map_err(|_| no_signer)?;
    Ok(address_of(&key))
}

/// Returns the last 20 bytes of the keccak of the uncompressed public key (Yellow Paper, appendix F).
pub(super) fn address_of(key: &VerifyingKey) -> Address {
    let point = key.to_sec1_point(false);
    Address::from_slice(&keccak256(&point.as_bytes()[1..])[12..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::KeyPair;

    /// Returns the malleated form of the signature: `n - s` with the parity flipped.
    fn high_s_form(signature: &Signature) -> Signature {
        let order = HALF_ORDER * U256::from(2) + U256::from(1);
        Signature::new(signature.r(), order - signature.s(), !signature.v())
    }

    #[test]
    fn the_signer_is_recovered_and_high_s_refused() {
        let key = KeyPair::from_seed(7, "signer");
        let hash = keccak256("message");
        let signature = key.sign_hash(hash);
        assert_eq!(recover_signer(hash, &signature), Ok(key.address()));
        let high = high_s_form(&signature);
        assert_eq!(recover_signer(hash, &high), Err(SignatureError::HighS { s: high.s() }));
        assert_ne!(recover_signer(keccak256("other"), &signature), Ok(key.address()));
    }

    #[test]
    fn zero_is_no_signature() {
        let zero = Signature::new(U256::ZERO, U256::ZERO, false);
        assert!(matches!(recover_signer(B256::ZERO, &zero), Err(SignatureError::NoSigner { .. })));
    }
}
