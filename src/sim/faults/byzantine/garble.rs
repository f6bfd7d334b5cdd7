//! Invalid messages: with changed fields, broken signatures, or far in the future.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    chain::Block,
    consensus::{
        AnyProtocol, BlockId, ConsensusMessage, Purpose, Signer, ValidatorSet,
        pbft::{self, Body, PbftMessage},
        pos::{PosMessage, Vote},
    },
    primitives::{Address, B256, Bytes, Timestamp, keccak256},
    sim::engine::rng::SimRng,
};

/// Names of fields that place a message in time.
const TIMES: [&str; 8] = ["height", "view", "term", "slot", "epoch", "round", "index", "number"];

/// Returns the message with one field changed: signed again, with its old signature, or with a broken one.
pub(super) fn garbled(message: &ConsensusMessage, signer: Option<&Signer>, rng: &mut SimRng) -> ConsensusMessage {
    let is_signed_anew = rng.chance(500);
    let changed = match message {
        ConsensusMessage::Block(block) => {
            return ConsensusMessage::Block(Arc::new(garbled_block(block, signer.filter(|_| is_signed_anew), rng)));
        }
        other => change(other, |value| garble_value(value, rng)),
    };
    let changed = changed.unwrap_or_else(|| message.clone());
    if is_signed_anew { signed(&changed, signer) } else { changed }
}

/// Returns the message moved `by` heights, views or slots ahead and correctly signed; `None` when it has no such field.
pub(super) fn from_the_future(
    message: &ConsensusMessage,
    by: u64,
    signer: Option<&Signer>,
) -> Option<ConsensusMessage> {
    match message {
        ConsensusMessage::Block(block) => {
            let mut header = block.header().clone();
            header.number = header.number.saturating_add(by);
            header.timestamp = header.timestamp.saturating_add(by);
            header.parent_hash = B256::repeat_byte(0x5f);
            let far = Block::new(header, block.transactions().to_vec(), block.payload().clone(), Vec::new());
            let seal = signer.map(|signer| signer.sign(Purpose::Block, far.hash()))?;
            Some(ConsensusMessage::Block(Arc::new(far.with_seal(seal))))
        }
        other => change(other, |value| advance(value, by)).map(|changed| signed(&changed, signer)),
    }
}

/// Returns a vote that contradicts this one, signed; `None` for other messages. One of proof of stake is for the target as head, which every
/// receiver of the vote knows; where it is the head, for a slot later.
pub(super) fn contradicting(message: &ConsensusMessage, signer: Option<&Signer>) -> Option<ConsensusMessage> {
    let other = |block: &BlockId| BlockId { hash: keccak256(block.hash), ..*block };
    match message {
        ConsensusMessage::Pbft(message) => {
            let body = match &message.body {
                Body::Prepare { view, block } => Body::Prepare { view: *view, block: other(block) },
                Body::Commit { view, block } => Body::Commit { view: *view, block: other(block) },
                _ => return None,
            };
            Some(ConsensusMessage::Pbft(Arc::new(PbftMessage::signed(body, signer?))))
        }
        ConsensusMessage::Pos(message) => {
            let PosMessage::Vote(vote) = message.as_ref() else { return None };
            let mut data = vote.data;
            match data.head == data.target.block {
                true => data.slot += 1,
                false => data.head = data.target.block,
            }
            Some(Vote::signed(data, signer?).into())
        }
        _ => None,
    }
}

/// Signs the message again, if it is of a kind that carries a signature.
fn signed(message: &ConsensusMessage, signer: Option<&Signer>) -> ConsensusMessage {
    match (message, signer) {
        (ConsensusMessage::Pbft(message), Some(signer)) => {
            ConsensusMessage::Pbft(Arc::new(PbftMessage::signed(message.body.clone(), signer)))
        }
        (ConsensusMessage::Pos(message), Some(signer)) => match message.as_ref() {
            PosMessage::Vote(vote) => Vote::signed(vote.data, signer).into(),
            _ => ConsensusMessage::Pos(message.clone()),
        },
        _ => message.clone(),
    }
}

/// Returns a payload that would make `own` the only validator, where the protocol's payloads name validators in so many words.
pub(super) fn payload_for(protocol: &AnyProtocol, own: Address) -> Option<Bytes> {
    let successor = ValidatorSet::equal([own]).ok();
    matches!(protocol, AnyProtocol::Pbft(_)).then(|| pbft::Payload { successor, ..Default::default() }.encoded())
}

/// Returns the bytes with one bit flipped; one byte where there were none.
pub(super) fn flipped(bytes: &Bytes, rng: &mut SimRng) -> Bytes {
    let mut bytes = bytes.to_vec();
    let place = rng.below(bytes.len() as u64) as usize;
    match bytes.get_mut(place) {
        Some(byte) => *byte ^= 1 << rng.below(8),
        None => bytes.push(0xc0),
    }
    bytes.into()
}

pub(super) fn garbled_block(block: &Block, signer: Option<&Signer>, rng: &mut SimRng) -> Block {
    let mut header = block.header().clone();
    match rng.below(5) {
        0 => header.state_root = B256::new(core::array::from_fn(|_| rng.next_u64() as u8)),
        1 => header.number = header.number.saturating_add(1),
        2 => header.gas_used = header.gas_used.wrapping_add(1),
        3 => header.timestamp = Timestamp::from_secs(header.timestamp).as_secs().saturating_sub(rng.below(30)),
        _ => {
            let mut seal = block.seal().to_vec();
            let place = rng.below(seal.len() as u64) as usize;
            if let Some(byte) = seal.get_mut(place) {
                *byte ^= 1 << rng.below(8);
            }
            return block.clone().with_seal(seal);
        }
    }
    let changed = Block::new(header, block.transactions().to_vec(), block.payload().clone(), Vec::new());
    let seal = signer.map_or_else(|| block.seal().clone(), |signer| signer.sign(Purpose::Block, changed.hash()));
    changed.with_seal(seal)
}

/// Changes the JSON form of the message; `None` when the result does not decode.
fn change(message: &ConsensusMessage, how: impl FnOnce(&mut Value) -> bool) -> Option<ConsensusMessage> {
    let mut value = serde_json::to_value(message).ok()?;
    if how(&mut value) { serde_json::from_value(value).ok() } else { None }
}

/// Changes one random number or hexadecimal digit.
fn garble_value(value: &mut Value, rng: &mut SimRng) -> bool {
    let mut leaves = Vec::new();
    collect(value, &mut leaves);
    let place = rng.below(leaves.len() as u64) as usize;
    let Some(leaf) = leaves.into_iter().nth(place) else { return false };
    match leaf {
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or_default();
            *leaf = Value::from(if rng.chance(500) { old.saturating_add(1 + rng.below(3)) } else { old / 2 });
        }
        Value::Bool(yes) => *yes = !*yes,
        Value::String(text) => {
            let digit = char::from_digit(rng.below(16) as u32, 16).unwrap_or('0');
            // The last digit: of a hash, a signature, an address.
            if text.starts_with("0x") && text.len() > 2 {
                text.pop();
                text.push(digit);
            }
        }
        _ => return false,
    }
    true
}

fn collect<'a>(value: &'a mut Value, leaves: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, leaves)),
        Value::Object(fields) => fields.values_mut().for_each(|field| collect(field, leaves)),
        Value::Null => {}
        leaf => leaves.push(leaf),
    }
}

/// Adds `by` to every field of [`TIMES`].
fn advance(value: &mut Value, by: u64) -> bool {
    let mut is_changed = false;
    match value {
        Value::Array(items) => {
            for item in items {
                is_changed |= advance(item, by);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if let (true, Some(number)) = (TIMES.contains(&name.as_str()), field.as_u64()) {
                    *field = Value::from(number.saturating_add(by));
                    is_changed = true;
                } else {
                    is_changed |= advance(field, by);
                }
            }
        }
        _ => {}
    }
    is_changed
}
