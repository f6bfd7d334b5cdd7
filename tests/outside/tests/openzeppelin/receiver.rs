//! `Receiver.sol` as a template, so that templates too send and lend to contracts that accept, refuse or answer wrongly.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, sol, sol_data::Uint};
use chainbox::{
    alloy::json_abi::JsonAbi,
    vm::{FrameOutcome, Host, Stop, Template, TemplateId, abi},
};

use crate::parties::Answer;

pub const RECEIVER: TemplateId = TemplateId::new(0x8000, 1);

sol! {
    error Refused(address operator);
    event Asked(address token, address operator, address from, uint256 id, uint256 amount, bytes data);

    function onERC721Received(address operator, address from, uint256 id, bytes data) returns (bytes4);
    function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes data) returns (bytes4);
    function onERC1155BatchReceived(address operator, address from, uint256[] ids, uint256[] amounts, bytes data) returns (bytes4);
    function onFlashLoan(address initiator, address token, uint256 amount, uint256 fee, bytes data) returns (bytes32);

    function isValidSignature(bytes32 hash, bytes signature) returns (bytes32);

    function transfer(address to, uint256 value) returns (bool);
    function approve(address spender, uint256 value) returns (bool);
    function transferFrom(address from, address to, uint256 id);
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data);
    function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data);
}

#[derive(Debug)]
pub struct ReceiverTemplate;

impl Template for ReceiverTemplate {
    fn id(&self) -> TemplateId {
        RECEIVER
    }

    fn name(&self) -> &str {
        "receiver"
    }

    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let (answer,) = abi::decode_params::<(Uint<256>,)>(params)?;
        host.store(U256::ZERO, answer)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let stored: usize = host.load(U256::ZERO)?.to();
        let answer = Answer::ALL[stored];
        if input.is_empty() {
            return respond(host, answer, B256::ZERO).map(|_| Bytes::new());
        }
        host.refuse_value()?;
        let right = asked(host, answer, input)?;
        respond(host, answer, right)
    }
}

/// Logs what was asked, does what the answer does beforehand, and returns the right answer.
fn asked(host: &mut Host<'_>, answer: Answer, input: &[u8]) -> Result<B256, Stop> {
    let (this, token, sends_back) = (host.address(), host.caller(), answer == Answer::SendBack);
    let selector: [u8; 4] = input.get(..4).and_then(|bytes| bytes.try_into().ok()).ok_or_else(abi::empty_revert)?;
    match selector {
        onERC721ReceivedCall::SELECTOR => {
            let onERC721ReceivedCall { operator, from, id, data } = decode(input)?;
            host.emit(&Asked { token, operator, from, id, amount: U256::ONE, data })?;
            if sends_back {
                call(host, token, &transferFromCall { from: this, to: operator, id })?;
            }
        }
        onERC1155ReceivedCall::SELECTOR => {
            let onERC1155ReceivedCall { operator, from, id, amount, data } = decode(input)?;
            host.emit(&Asked { token, operator, from, id, amount, data })?;
            if sends_back {
                call(host, token, &safeTransferFromCall { from: this, to: operator, id, amount, data: Bytes::new() })?;
            }
        }
        onERC1155BatchReceivedCall::SELECTOR => {
            let onERC1155BatchReceivedCall { operator, from, ids, amounts, data } = decode(input)?;
            let (id, amount) = (U256::from(ids.len()), U256::from(amounts.len()));
            host.emit(&Asked { token, operator, from, id, amount, data })?;
            if sends_back {
                let back = safeBatchTransferFromCall { from: this, to: operator, ids, amounts, data: Bytes::new() };
                call(host, token, &back)?;
            }
        }
        onFlashLoanCall::SELECTOR => {
            let onFlashLoanCall { initiator, token: lent, amount, fee, data } = decode(input)?;
            host.emit(&Asked { token: lent, operator: initiator, from: token, id: amount, amount: fee, data })?;
            if sends_back {
                call(host, lent, &transferCall { to: initiator, value: amount })?;
            }
            let value = amount.checked_add(fee).ok_or_else(|| abi::panic(0x11))?;
            call(host, lent, &approveCall { spender: token, value })?;
            return Ok(keccak256("ERC3156FlashBorrower.onFlashLoan"));
        }
        isValidSignatureCall::SELECTOR => drop(decode::<isValidSignatureCall>(input)?),
        _ => return Err(abi::empty_revert()),
    }
    Ok(B256::right_padding_from(&selector))
}

fn respond(host: &Host<'_>, answer: Answer, right: B256) -> Result<Bytes, Stop> {
    match answer {
        Answer::RevertWithReason => Err(abi::revert_with("refused")),
        Answer::RevertWithError => Err(abi::revert(&Refused { operator: host.caller() })),
        Answer::RevertEmpty => Err(abi::empty_revert()),
        Answer::Panic => Err(abi::panic(1)),
        Answer::WrongValue => Ok(B256::right_padding_from(&[0xde, 0xad, 0xbe, 0xef]).into()),
        Answer::NoValue => Ok(Bytes::new()),
        Answer::Accept | Answer::SendBack => Ok(right.into()),
    }
}

fn decode<C: SolCall>(input: &[u8]) -> Result<C, Stop> {
    C::abi_decode_validate(input).map_err(|_| abi::empty_revert())
}

/// Calls a contract, and fails as it does or when there is none, as Solidity's calls do.
fn call<C: SolCall>(host: &mut Host<'_>, to: Address, call: &C) -> Result<(), Stop> {
    if !host.has_code(&to)? {
        return Err(abi::empty_revert());
    }
    let result = host.call(to, U256::ZERO, &call.abi_encode())?;
    match result.outcome {
        FrameOutcome::Success => match C::abi_decode_returns_validate(&result.output) {
            Ok(_) => Ok(()),
            Err(_) => Err(abi::empty_revert()),
        },
        FrameOutcome::Revert => Err(Stop::Revert(result.output)),
        FrameOutcome::Halt(_) => Err(abi::empty_revert()),
    }
}
