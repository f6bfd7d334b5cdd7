//! OpenZeppelin's `SignatureChecker`: signatures of accounts with keys, and of contracts that tell which are theirs (ERC-1271).

use self::interface::isValidSignatureCall;
use super::ecdsa;
use crate::vm::contract::*;

/// The function of a contract that signs.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// Returns its own selector for a signature that is the contract's.
        function isValidSignature(bytes32 hash, bytes memory signature) external view returns (bytes4 magicValue);
    }
}

/// Returns whether `signer` signed a hash (`isValidSignatureNow`): by its key, or where it has code as that says.
///
/// # Errors
/// [`Stop`]: out of gas.
pub fn is_valid_signature_now(
    host: &mut Host<'_>,
    signer: Address,
    hash: B256,
    signature: &Bytes,
) -> Result<bool, Stop> {
    if !host.has_code(&signer)? {
        return Ok(ecdsa::try_recover_bytes(host, hash, signature)? == Some(signer));
    }
    let call = isValidSignatureCall { hash, signature: signature.clone() };
    let answer = host.static_call(signer, &call.abi_encode())?;
    // The word as a whole, and what follows does not matter.
    let magic = FixedBytes(isValidSignatureCall::SELECTOR).abi_encode();
    Ok(answer.is_success() && answer.output.starts_with(&magic))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::{
        primitives::KeyPair,
        vm::{Marker, Template, TemplateId, sandbox::Sandbox},
    };

    /// Answers as the first byte of a signature says.
    #[derive(Debug)]
    struct Wallet;

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const WALLET: Address = Address::repeat_byte(0x77);

    impl Template for Wallet {
        fn id(&self) -> TemplateId {
            ID
        }

        fn name(&self) -> &str {
            "wallet"
        }

        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, _: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
            let call = isValidSignatureCall::abi_decode(input).unwrap();
            let magic = FixedBytes(isValidSignatureCall::SELECTOR).abi_encode();
            match call.signature[0] {
                0 => Ok(magic.into()),
                1 => Ok([magic, vec![1; 5]].concat().into()),
                2 => Ok(Bytes::from_static(&[0xff; 32])),
                3 => Ok(magic[..31].to_vec().into()),
                4 => Ok([&magic[..31], &[1]].concat().into()),
                _ => Err(Stop::Revert(magic.into())),
            }
        }
    }

    #[test]
    fn a_contract_signs_by_the_word_that_it_returns() {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Wallet)).unwrap();
        sandbox.journal.create_account(&WALLET).unwrap();
        sandbox.journal.set_code(&WALLET, Marker(ID).to_bytes().into()).unwrap();
        for (byte, want) in [(0, true), (1, true), (2, false), (3, false), (4, false), (5, false)] {
            let signature = Bytes::from(vec![byte; 3]);
            let got = sandbox.run(move |host| is_valid_signature_now(host, WALLET, B256::repeat_byte(9), &signature));
            assert_eq!(got, Ok(want), "{byte}");
        }
    }

    #[test]
    fn an_account_signs_by_its_key() {
        let mut sandbox = Sandbox::new();
        let key = KeyPair::from_bytes(&B256::repeat_byte(7)).unwrap();
        let hash = B256::repeat_byte(9);
        let signature = key.sign_hash(hash).as_bytes();
        let signer = key.address();
        let cases = [
            (signer, hash, signature.to_vec(), true),
            (Address::repeat_byte(1), hash, signature.to_vec(), false),
            (signer, B256::ZERO, signature.to_vec(), false),
            (signer, hash, signature[..64].to_vec(), false),
            (signer, hash, Vec::new(), false),
            (Address::ZERO, hash, vec![0; 65], false),
        ];
        for (signer, hash, signature, want) in cases {
            let signature = Bytes::from(signature);
            let told = format!("{signer} {signature}");
            let got = sandbox.run(move |host| is_valid_signature_now(host, signer, hash, &signature));
            assert_eq!(got, Ok(want), "{told}");
        }
        assert_eq!(isValidSignatureCall::SELECTOR, [0x16, 0x26, 0xba, 0x7e]);
    }
}
