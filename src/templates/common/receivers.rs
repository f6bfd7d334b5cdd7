//! Contracts that receive tokens: OpenZeppelin's `ERC721Utils` and `ERC1155Utils`.

use self::interface::{
    ERC721InvalidReceiver, ERC1155InvalidReceiver, onERC721ReceivedCall, onERC1155BatchReceivedCall,
    onERC1155ReceivedCall,
};
use super::erc165;
use crate::vm::contract::*;

/// Functions of receivers, and the errors of tokens that were not accepted.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The contract does not accept the token.
        error ERC721InvalidReceiver(address receiver);
        /// The contract does not accept the tokens.
        error ERC1155InvalidReceiver(address receiver);

        function onERC721Received(address operator, address from, uint256 tokenId, bytes calldata data) external returns (bytes4);
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes calldata data) external returns (bytes4);
        function onERC1155BatchReceived(address operator, address from, uint256[] calldata ids, uint256[] calldata values, bytes calldata data) external returns (bytes4);
    }
}

/// ERC-165 id of `IERC1155Receiver`.
pub const ERC1155_RECEIVER_ID: [u8; 4] =
    erc165::interface_id(&[onERC1155ReceivedCall::SELECTOR, onERC1155BatchReceivedCall::SELECTOR]);

/// What the functions of a contract return that accepts all tokens (`ERC721Holder`, `ERC1155Holder`): their own selectors.
pub const fn accepted<C: SolCall>(_: &C) -> FixedBytes<4> {
    FixedBytes(C::SELECTOR)
}

/// Asks a contract whether it accepts a token of ERC-721 (`checkOnERC721Received`); an account without code accepts all.
///
/// # Errors
/// [`ERC721InvalidReceiver`] when it does not, or has no such function; what it reverted with; [`Stop`].
pub fn check_on_erc721_received(
    host: &mut Host<'_>,
    operator: Address,
    from: Address,
    to: Address,
    token_id: U256,
    data: Bytes,
) -> Result<(), Stop> {
    let call = onERC721ReceivedCall { operator, from, tokenId: token_id, data };
    check(host, to, &call, onERC721ReceivedCall::SELECTOR, &ERC721InvalidReceiver { receiver: to })
}

/// Asks a contract whether it accepts tokens of ERC-1155 (`checkOnERC1155Received`); an account without code accepts all.
///
/// # Errors
/// [`ERC1155InvalidReceiver`] when it does not, or has no such function; what it reverted with; [`Stop`].
pub fn check_on_erc1155_received(
    host: &mut Host<'_>,
    operator: Address,
    from: Address,
    to: Address,
    id: U256,
    value: U256,
    data: Bytes,
) -> Result<(), Stop> {
    let call = onERC1155ReceivedCall { operator, from, id, value, data };
    check(host, to, &call, onERC1155ReceivedCall::SELECTOR, &ERC1155InvalidReceiver { receiver: to })
}

/// Asks a contract whether it accepts tokens of several ids (`checkOnERC1155BatchReceived`).
///
/// # Errors
/// As [`check_on_erc1155_received`].
pub fn check_on_erc1155_batch_received(
    host: &mut Host<'_>,
    operator: Address,
    from: Address,
    to: Address,
    ids: Vec<U256>,
    values: Vec<U256>,
    data: Bytes,
) -> Result<(), Stop> {
    let call = onERC1155BatchReceivedCall { operator, from, ids, values, data };
    check(host, to, &call, onERC1155BatchReceivedCall::SELECTOR, &ERC1155InvalidReceiver { receiver: to })
}

/// `try receiver.hook(...) returns (bytes4 answer) { require(answer == magic) } catch (bytes memory reason) { ... }`
fn check(
    host: &mut Host<'_>,
    to: Address,
    hook: &impl SolCall,
    magic: [u8; 4],
    refusal: &impl SolError,
) -> Result<(), Stop> {
    if !host.has_code(&to)? {
        return Ok(());
    }
    let answer = host.call(to, U256::ZERO, &hook.abi_encode())?;
    if !answer.is_success() {
        // A callee that has no such function reverts without data, and so tells nothing.
        return Err(if answer.output.is_empty() { revert(refusal) } else { Stop::Revert(answer.output) });
    }
    // An answer that is no bytes4 is not caught: solc decodes it in the caller.
    let answer = FixedBytes::<4>::abi_decode_validate(&answer.output).map_err(|_| empty_revert())?;
    if answer == magic { Ok(()) } else { Err(revert(refusal)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_json_abi::JsonAbi;

    use super::*;
    use crate::vm::{Marker, Template, TemplateId, abi, sandbox::Sandbox};

    /// Answers as its first two bytes of token data say.
    #[derive(Debug)]
    struct Receiver;

    const ID: TemplateId = TemplateId::new(0x9000, 1);
    const RECEIVER: Address = Address::repeat_byte(0x77);

    impl Template for Receiver {
        fn id(&self) -> TemplateId {
            ID
        }

        fn name(&self) -> &str {
            "receiver"
        }

        fn abi(&self) -> JsonAbi {
            JsonAbi::new()
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, _: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
            let magic = FixedBytes::<4>::from_slice(&input[..4]);
            // The only byte of the data, which ends the call data.
            match input[input.len() - 32] {
                0 => Ok(magic.abi_encode().into()),
                1 => Ok(FixedBytes::<4>::ZERO.abi_encode().into()),
                2 => Err(empty_revert()),
                3 => Err(abi::revert_with("full")),
                _ => Ok(Bytes::from_static(&[1; 31])),
            }
        }
    }

    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.registry.register(Arc::new(Receiver)).unwrap();
        sandbox.journal.create_account(&RECEIVER).unwrap();
        sandbox.journal.set_code(&RECEIVER, Marker(ID).to_bytes().into()).unwrap();
        sandbox
    }

    #[test]
    fn a_receiver_accepts_by_its_answer_alone() {
        let mut sandbox = sandbox();
        let (zero, one) = (Address::ZERO, U256::ONE);
        let (refused_721, refused_1155) =
            (ERC721InvalidReceiver { receiver: RECEIVER }, ERC1155InvalidReceiver { receiver: RECEIVER });
        for byte in 0..5_u8 {
            let data = move || Bytes::copy_from_slice(&[byte]);
            let single = sandbox.run(move |host| check_on_erc721_received(host, zero, zero, RECEIVER, one, data()));
            let multi =
                sandbox.run(move |host| check_on_erc1155_received(host, zero, zero, RECEIVER, one, one, data()));
            let batch = sandbox.run(move |host| {
                check_on_erc1155_batch_received(host, zero, zero, RECEIVER, vec![one], vec![one, one], data())
            });
            assert_eq!(multi, batch, "{byte}");
            let want = |refusal: Stop| match byte {
                0 => Ok(()),
                1 | 2 => Err(refusal),
                3 => Err(abi::revert_with("full")),
                _ => Err(empty_revert()),
            };
            assert_eq!((single, multi), (want(revert(&refused_721)), want(revert(&refused_1155))), "{byte}");
        }
        let plain = Address::repeat_byte(0x78);
        let to_nobody = move |host: &mut Host<'_>| check_on_erc721_received(host, zero, zero, plain, one, Bytes::new());
        assert_eq!(sandbox.run(to_nobody), Ok(()));
    }

    #[test]
    fn selectors_are_the_published_ones() {
        assert_eq!(onERC721ReceivedCall::SELECTOR, [0x15, 0x0b, 0x7a, 0x02]);
        assert_eq!(onERC1155ReceivedCall::SELECTOR, [0xf2, 0x3a, 0x6e, 0x61]);
        assert_eq!(onERC1155BatchReceivedCall::SELECTOR, [0xbc, 0x19, 0x7c, 0x81]);
        assert_eq!(ERC1155_RECEIVER_ID, [0x4e, 0x23, 0x12, 0xe0]);
        assert_eq!(ERC721InvalidReceiver::SELECTOR, [0x64, 0xa0, 0xae, 0x92]);
        assert_eq!(ERC1155InvalidReceiver::SELECTOR, [0x57, 0xf4, 0x47, 0xce]);
    }
}
