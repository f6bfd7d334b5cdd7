//! OpenZeppelin's `ECDSA`: signers of hashes, one signature for each.

use alloy_primitives::uint;

use self::interface::{ECDSAInvalidSignature, ECDSAInvalidSignatureLength, ECDSAInvalidSignatureS};
use crate::vm::contract::*;

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The signature has no signer.
        error ECDSAInvalidSignature();
        /// The signature is not 65 bytes long.
        error ECDSAInvalidSignatureLength(uint256 length);
        /// `s` is in the upper half of its range.
        error ECDSAInvalidSignatureS(bytes32 s);
    }
}

/// Half the order of secp256k1's group: a larger `s` would be a second signature of the same hash.
const S_MAX: U256 = uint!(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0_U256);

/// Returns the signer of a hash (`recover`). `v` is 27 or 28.
///
/// # Errors
/// [`ECDSAInvalidSignatureS`] for a high `s`, [`ECDSAInvalidSignature`] for a signature without signer; [`Stop`]: out of gas.
pub fn recover(host: &mut Host<'_>, hash: B256, v: u8, r: B256, s: B256) -> Result<Address, Stop> {
    let (r, low) = (r.into(), s.into());
    require(low <= S_MAX, ECDSAInvalidSignatureS { s })?;
    host.recover(hash, v, r, low)?.ok_or_else(|| revert(&ECDSAInvalidSignature {}))
}

/// Returns the signer of a hash (`recover`) by a signature of 65 bytes: `r`, `s`, `v`.
///
/// # Errors
/// [`ECDSAInvalidSignatureLength`] for another length; else as [`recover`].
pub fn recover_bytes(host: &mut Host<'_>, hash: B256, signature: &[u8]) -> Result<Address, Stop> {
    let Ok([rs @ .., v]) = <&[u8; 65]>::try_from(signature) else {
        return Err(revert(&ECDSAInvalidSignatureLength { length: U256::from(signature.len()) }));
    };
    let (r, s) = rs.split_at(32);
    recover(host, hash, *v, B256::from_slice(r), B256::from_slice(s))
}

/// As [`recover_bytes`], and `None` for a signature that has no signer or is none (`tryRecover`).
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn try_recover_bytes(host: &mut Host<'_>, hash: B256, signature: &[u8]) -> Result<Option<Address>, Stop> {
    let Ok([rs @ .., v]) = <&[u8; 65]>::try_from(signature) else { return Ok(None) };
    let (r, s) = rs.split_at(32);
    // A high `s` has no signer to the host either.
    host.recover(hash, *v, U256::from_be_slice(r), U256::from_be_slice(s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{primitives::KeyPair, vm::sandbox::Sandbox};

    #[test]
    fn a_signer_is_recovered_from_the_one_signature_that_counts() {
        let mut sandbox = Sandbox::new();
        let key = KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap();
        let hash = B256::repeat_byte(9);
        let signature = key.sign_hash(hash);
        let bytes = signature.as_bytes();
        assert_eq!(sandbox.run(move |host| recover_bytes(host, hash, &bytes)), Ok(key.address()));
        assert_eq!(sandbox.run(move |host| try_recover_bytes(host, hash, &bytes)), Ok(Some(key.address())));
        assert_eq!(sandbox.run(move |host| try_recover_bytes(host, hash, &bytes[..64])), Ok(None));
        let mut high = bytes;
        high[32] |= 0x80;
        assert_eq!(sandbox.run(move |host| try_recover_bytes(host, hash, &high)), Ok(None));
        let length = ECDSAInvalidSignatureLength { length: U256::from(64) };
        assert_eq!(sandbox.run(move |host| recover_bytes(host, hash, &bytes[..64])), Err(revert(&length)));
        let (r, s) = (B256::from(signature.r()), B256::from(S_MAX + U256::ONE));
        let high = ECDSAInvalidSignatureS { s };
        assert_eq!(sandbox.run(move |host| recover(host, hash, 27, r, s)), Err(revert(&high)));
        let s = B256::from(signature.s());
        let none = revert(&ECDSAInvalidSignature {});
        assert_eq!(sandbox.run(move |host| recover(host, hash, 29, r, s)), Err(none));
        assert_eq!(ECDSAInvalidSignature::SELECTOR, [0xf6, 0x45, 0xee, 0xdf]);
        assert_eq!(ECDSAInvalidSignatureLength::SELECTOR, [0xfc, 0xe6, 0x98, 0xf7]);
        assert_eq!(ECDSAInvalidSignatureS::SELECTOR, [0xd7, 0x8b, 0xce, 0x0c]);
    }
}
