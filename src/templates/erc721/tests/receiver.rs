//! Contracts that are sent tokens: they are asked by safe transfers and mints alone, and may act meanwhile.

use std::sync::Arc;

use super::*;
use crate::vm::abi;

/// Answers as its one slot says: 0 accepts, 1 answers another value, 2 reverts with a reason, 3 reverts with nothing, 4 answers nothing,
/// 5 sends the token back.
#[derive(Debug)]
struct Receiver;

const ID: TemplateId = TemplateId::new(0x9000, 1);
const RECEIVER: Address = Address::repeat_byte(0x77);
const ON_RECEIVED: [u8; 4] = [0x15, 0x0b, 0x7a, 0x02];

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

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let accepted = Ok(FixedBytes(ON_RECEIVED).abi_encode().into());
        match host.load(U256::ZERO)?.to::<u64>() {
            0 => accepted,
            1 => Ok(FixedBytes([0xde, 0xad, 0xbe, 0xef]).abi_encode().into()),
            2 => Err(abi::revert_with("full")),
            3 => Err(empty_revert()),
            4 => Ok(Bytes::new()),
            _ => {
                let (operator, _, token_id, _) =
                    <(Address, Address, U256, Bytes)>::abi_decode_params(&input[4..]).map_err(|_| empty_revert())?;
                let back = sol::transferFromCall { from: RECEIVER, to: operator, tokenId: token_id };
                let token = host.caller();
                host.call(token, U256::ZERO, &back.abi_encode())?.or_revert()?;
                accepted
            }
        }
    }
}

fn deploy_with_receiver(answer: u64) -> Deployed {
    let mut token = deploy_with_tokens(&params());
    token.registry.register(Arc::new(Receiver)).unwrap();
    token.journal.create_account(&RECEIVER).unwrap();
    token.journal.set_code(&RECEIVER, Marker(ID).to_bytes().into()).unwrap();
    token.journal.set_storage(&RECEIVER, &U256::ZERO, U256::from(answer)).unwrap();
    token
}

#[test]
fn a_receiver_is_asked_and_may_refuse() {
    let refusal = sol::ERC721InvalidReceiver { receiver: RECEIVER }.abi_encode();
    let reason = alloy_sol_types::Revert::from("full").abi_encode();
    for (answer, want) in
        [(0, None), (1, Some(refusal.clone())), (2, Some(reason)), (3, Some(refusal)), (4, Some(Vec::new()))]
    {
        let (from, to, token_id) = (OWNER, RECEIVER, U256::ONE);
        let inputs = [
            mint(RECEIVER, 9, "nine").abi_encode(),
            sol::safeMint_0Call { to, tokenId: U256::from(9) }.abi_encode(),
            sol::safeTransferFrom_0Call { from, to, tokenId: token_id }.abi_encode(),
            sol::safeTransferFrom_1Call { from, to, tokenId: token_id, data: Bytes::from_static(&[1; 40]) }
                .abi_encode(),
        ];
        for input in inputs {
            let mut token = deploy_with_receiver(answer);
            let result = token.call_raw(OWNER, 0, &input, 1_000_000);
            match &want {
                None => assert!(result.is_success(), "{answer}: {result:?}"),
                Some(data) => {
                    assert_eq!(
                        (result.outcome, result.output.as_ref()),
                        (FrameOutcome::Revert, data.as_slice()),
                        "{answer}"
                    );
                    assert!(token.journal.logs().is_empty());
                    assert_eq!(token.owner_of(1), OWNER);
                    assert_eq!(token.read(&sol::totalSupplyCall {}), U256::from(3));
                }
            }
        }
        // A transfer that is not safe asks nobody.
        deploy_with_receiver(answer).ok(OWNER, &transfer(OWNER, RECEIVER, 1));
    }
}

#[test]
fn a_receiver_may_send_the_token_on_while_it_is_asked() {
    let mut token = deploy_with_receiver(5);
    token.ok(OWNER, &mint(RECEIVER, 9, "nine"));
    assert_eq!((token.owner_of(9), token.uri(9).as_str()), (OWNER, "ipfs://art/nine"));
    let (all, by_owner) = token.enumerated(&[OWNER, BOB, RECEIVER]);
    assert_eq!((all, by_owner), (ids(&[1, 2, 3, 9]), vec![ids(&[1, 9]), ids(&[2, 3]), ids(&[])]));
}
