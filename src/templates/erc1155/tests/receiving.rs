//! Contracts that receive tokens: what they are asked, and what their answers do.

use std::sync::Arc;

use super::*;
use crate::{
    templates::common::receivers::interface::{
        ERC1155InvalidReceiver, onERC1155BatchReceivedCall, onERC1155ReceivedCall,
    },
    vm::abi,
};

const ID: TemplateId = TemplateId::new(0x9155, 1);
const INBOX: Address = Address::repeat_byte(0x77);

/// Keeps the hash of what it was asked last in slot 0, and answers as the first byte of the data says.
#[derive(Debug)]
struct Inbox;

impl Template for Inbox {
    fn id(&self) -> TemplateId {
        ID
    }

    fn name(&self) -> &str {
        "inbox"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let asked = host.keccak(input)?;
        host.store(U256::ZERO, asked.into())?;
        let data = match onERC1155ReceivedCall::abi_decode(input) {
            Ok(call) => call.data,
            Err(_) => onERC1155BatchReceivedCall::abi_decode(input).map_err(|_| empty_revert())?.data,
        };
        match data.first() {
            None => Ok(FixedBytes::<4>::from_slice(&input[..4]).abi_encode().into()),
            Some(0) => Ok(FixedBytes::<4>::ZERO.abi_encode().into()),
            Some(1) => Err(empty_revert()),
            Some(2) => Err(abi::revert_with("full")),
            // Sends one of the tokens on before it answers.
            _ => {
                let token = host.caller();
                host.call(token, U256::ZERO, &transfer(INBOX, CAROL, 1, 1).abi_encode())?.or_revert()?;
                Ok(FixedBytes::<4>::from_slice(&input[..4]).abi_encode().into())
            }
        }
    }
}

fn with_inbox() -> Deployed {
    let mut token = stocked();
    token.registry.register(Arc::new(Inbox)).unwrap();
    token.journal.begin_transaction();
    token.journal.create_account(&INBOX).unwrap();
    token.journal.set_code(&INBOX, Marker(ID).to_bytes().into()).unwrap();
    token
}

fn asked(token: &mut Deployed) -> B256 {
    token.journal.storage(&INBOX, &U256::ZERO).unwrap().into()
}

#[test]
fn a_receiver_is_asked_about_what_it_has_got() {
    let mut token = with_inbox();
    let (operator, data) = (OWNER, Bytes::new());
    token.ok(OWNER, &transfer(OWNER, INBOX, 1, 5));
    let (id, value) = (U256::from(1), U256::from(5));
    let want = onERC1155ReceivedCall { operator, from: OWNER, id, value, data: data.clone() };
    assert_eq!(asked(&mut token), keccak256(want.abi_encode()));
    token.ok(OWNER, &mint(INBOX, 1, 5));
    let want = onERC1155ReceivedCall { from: Address::ZERO, ..want };
    assert_eq!(asked(&mut token), keccak256(want.abi_encode()));
    // A batch of one is asked about as a batch.
    for pairs in [[(1, 5)].as_slice(), &[(1, 1), (2, 2)], &[]] {
        let (ids, values) = lists(pairs);
        token.ok(OWNER, &transfer_batch(OWNER, INBOX, pairs));
        let want = onERC1155BatchReceivedCall { operator, from: OWNER, ids, values, data: data.clone() };
        assert_eq!(asked(&mut token), keccak256(want.abi_encode()));
        token.ok(OWNER, &mint_batch(INBOX, pairs));
        let want = onERC1155BatchReceivedCall { from: Address::ZERO, ..want };
        assert_eq!(asked(&mut token), keccak256(want.abi_encode()));
    }
    let before = asked(&mut token);
    token.ok(INBOX, &burn(INBOX, 1, 1));
    assert_eq!(asked(&mut token), before, "burning asks nobody");
}

#[test]
fn tokens_that_are_not_accepted_stay_where_they_are() {
    let mut token = with_inbox();
    let invalid = ERC1155InvalidReceiver { receiver: INBOX }.abi_encode();
    let full = alloy_sol_types::Revert::from("full").abi_encode();
    for (byte, want) in [(0_u8, &invalid), (1, &invalid), (2, &full)] {
        let data = Bytes::copy_from_slice(&[byte]);
        let calls = [
            sol::safeTransferFromCall { data: data.clone(), ..transfer(OWNER, INBOX, 1, 5) }.abi_encode(),
            sol::safeBatchTransferFromCall { data: data.clone(), ..transfer_batch(OWNER, INBOX, &[(1, 5)]) }
                .abi_encode(),
            sol::mintCall { data: data.clone(), ..mint(INBOX, 1, 5) }.abi_encode(),
            sol::mintBatchCall { data, ..mint_batch(INBOX, &[(1, 5)]) }.abi_encode(),
        ];
        for input in calls {
            let result = token.call_raw(OWNER, 0, &input, 1_000_000);
            assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{byte}");
            assert!(token.journal.logs().is_empty());
        }
    }
    assert_eq!((token.balance(OWNER, 1), token.balance(INBOX, 1), token.supply(1)), (100, 0, 100));
}

#[test]
fn a_receiver_may_send_on_what_it_was_sent() {
    let mut token = with_inbox();
    let data = Bytes::from_static(&[3]);
    token.ok(OWNER, &sol::safeTransferFromCall { data, ..transfer(OWNER, INBOX, 1, 5) });
    assert_eq!(token.logs().len(), 2);
    assert_eq!((token.balance(OWNER, 1), token.balance(INBOX, 1), token.balance(CAROL, 1)), (95, 4, 1));
}
