//! Blocks: a standard Ethereum header, its transactions, and what this engine keeps beside them.

use std::sync::Arc;

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, keccak256};
use alloy_rlp::{Decodable, Encodable};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{intervention::Intervention, roots};
use crate::primitives::{Gas, Height, Timestamp, Transaction, TransactionError};

/// Most bytes of `extraData`; standard clients refuse more.
pub const EXTRA_DATA_BYTES_MAX: usize = 32;

/// Bytes that frame a block's parts in its encodings, at most.
const FRAMES_ROOM: usize = 64;

/// A transaction's place in its block, from 0.
pub type TransactionIndex = u32;

/// A block with its hash known. Immutable but for the seal, which signs the hash and so is added after it. Cloning is O(1), and
/// clones with other seals share all the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    unsealed: Arc<Unsealed>,
    seal: Bytes,
}

/// Everything but the seal.
#[derive(Debug, PartialEq, Eq)]
struct Unsealed {
    header: Header,
    /// The header's RLP, which goes into every form of the block.
    header_rlp: Bytes,
    /// Its keccak.
    hash: B256,
    transactions: Vec<Arc<Transaction>>,
    payload: Bytes,
    /// Whether `extraData` is the payload's keccak.
    commits_to_payload: bool,
    interventions: Vec<Intervention>,
}

/// Why bytes are not a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockDecodeError {
    /// The bytes are not the expected RLP.
    #[error("invalid block encoding: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// Bytes are left over after the block.
    #[error("invalid block encoding: {count} bytes after the block's end")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// One of its transactions does not decode.
    #[error("invalid block encoding: transaction {index}")]
    Transaction {
        /// Its place in the block.
        index: usize,
        /// What is wrong with it.
        #[source]
        source: TransactionError,
    },
    /// A stored block names more or fewer senders than it has transactions.
    #[error("invalid block encoding: {senders} senders for {transactions} transactions")]
    Senders {
        /// Senders listed.
        senders: usize,
        /// Transactions listed.
        transactions: usize,
    },
}

impl Block {
    /// A block of these parts, without a seal; computes the hash.
    pub fn new(
        header: Header,
        transactions: Vec<Arc<Transaction>>,
        payload: Bytes,
        interventions: Vec<Intervention>,
    ) -> Self {
        let commits_to_payload = Self::extra_data_of(&payload).is_some_and(|want| want == header.extra_data);
        Self::with_extra_data(header, transactions, payload, interventions, commits_to_payload)
    }

    /// The same, when its maker knows already whether `extraData` is the payload's keccak.
    pub(super) fn with_extra_data(
        header: Header,
        transactions: Vec<Arc<Transaction>>,
        payload: Bytes,
        interventions: Vec<Intervention>,
        commits_to_payload: bool,
    ) -> Self {
        let header_rlp = Bytes::from(alloy_rlp::encode(&header));
        let hash = keccak256(&header_rlp);
        let unsealed = Unsealed { header, header_rlp, hash, transactions, payload, commits_to_payload, interventions };
        Self { unsealed: Arc::new(unsealed), seal: Bytes::new() }
    }

    /// The same block with `seal` beside it; the hash does not cover the seal.
    #[must_use]
    pub fn with_seal(mut self, seal: impl Into<Bytes>) -> Self {
        self.seal = seal.into();
        self
    }

    /// The header that the hash covers.
    pub fn header(&self) -> &Header {
        &self.unsealed.header
    }

    /// Keccak of the header's RLP.
    pub fn hash(&self) -> B256 {
        self.unsealed.hash
    }

    /// How many ancestors it has.
    pub fn height(&self) -> Height {
        Height::new(self.unsealed.header.number)
    }

    /// The block that it extends.
    pub fn parent_hash(&self) -> B256 {
        self.unsealed.header.parent_hash
    }

    /// Its time, in seconds since the Unix epoch.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_secs(self.unsealed.header.timestamp)
    }

    /// Gas that its transactions used.
    pub fn gas_used(&self) -> Gas {
        Gas::new(self.unsealed.header.gas_used)
    }

    /// Price of a unit of gas that is burned (EIP-1559); `None` when the chain has no base fee.
    pub fn base_fee(&self) -> Option<u64> {
        self.unsealed.header.base_fee_per_gas
    }

    /// Its transactions, in order of execution.
    pub fn transactions(&self) -> &[Arc<Transaction>] {
        &self.unsealed.transactions
    }

    /// The transaction at `index`.
    pub fn transaction(&self, index: TransactionIndex) -> Option<&Arc<Transaction>> {
        self.unsealed.transactions.get(index as usize)
    }

    /// Consensus data that `extraData` is the keccak of; empty when the protocol has none.
    pub fn payload(&self) -> &Bytes {
        &self.unsealed.payload
    }

    /// Whether there is a payload and `extraData` is its keccak; known without hashing it again.
    pub fn commits_to_payload(&self) -> bool {
        self.unsealed.commits_to_payload
    }

    /// The proposer's signature over the hash, in the protocol's own encoding.
    pub const fn seal(&self) -> &Bytes {
        &self.seal
    }

    /// What a developer changed by hand before the first transaction.
    pub fn interventions(&self) -> &[Intervention] {
        &self.unsealed.interventions
    }

    /// Whether `other` has the same transactions, payload and interventions; seals may differ.
    pub fn has_same_body(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Transaction>, &Arc<Transaction>)| Arc::ptr_eq(a, b) || a == b;
        if Arc::ptr_eq(&self.unsealed, &other.unsealed) {
            return true;
        }
        self.transactions().len() == other.transactions().len()
            && self.payload() == other.payload()
            && self.interventions() == other.interventions()
            && self.transactions().iter().zip(other.transactions()).all(same)
    }

    /// Root of the transactions trie, computed from the body.
    pub fn computed_transactions_root(&self) -> B256 {
        roots::transactions_root(self.transactions())
    }

    /// What `extraData` must be for `payload`; `None` when the payload is empty and the field is free.
    pub fn extra_data_of(payload: &[u8]) -> Option<Bytes> {
        (!payload.is_empty()).then(|| Bytes::copy_from_slice(keccak256(payload).as_slice()))
    }

    /// Length of the RLP of header, transactions and ommers, as `eth_getBlockByHash` reports it.
    pub fn size(&self) -> usize {
        let transactions: usize = self
            .transactions()
            .iter()
            .map(|transaction| {
                let length = transaction.encoded_len();
                if transaction.ty() == 0 { length } else { length + alloy_rlp::length_of_length(length) }
            })
            .sum();
        let list = transactions + alloy_rlp::length_of_length(transactions);
        let payload = self.unsealed.header_rlp.len() + list + 1;
        payload + alloy_rlp::length_of_length(payload)
    }

    /// The whole block for another replica: RLP of `[header, transactions, payload, seal, interventions]`,
    /// each transaction a byte string of its EIP-2718 form.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_parts(false)
    }

    /// The whole block for this process's own store: as [`Block::encode`] with the senders appended,
    /// so that reading it back recovers no signature.
    pub fn encode_stored(&self) -> Vec<u8> {
        self.encode_parts(true)
    }

    /// Reads [`Block::encode`]'s form, recovering every sender.
    ///
    /// # Errors
    /// [`BlockDecodeError`] for any bytes that `encode` does not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, BlockDecodeError> {
        Parts::decode(bytes, false)?.into_block(|index, raw| {
            Transaction::decode(raw).map_err(|source| BlockDecodeError::Transaction { index, source })
        })
    }

    /// Reads [`Block::encode_stored`]'s form, trusting the senders in it.
    ///
    /// # Errors
    /// [`BlockDecodeError`] for any bytes that `encode_stored` does not write.
    pub fn decode_stored(bytes: &[u8]) -> Result<Self, BlockDecodeError> {
        let parts = Parts::decode(bytes, true)?;
        if parts.senders.len() != parts.transactions.len() {
            let (senders, transactions) = (parts.senders.len(), parts.transactions.len());
            return Err(BlockDecodeError::Senders { senders, transactions });
        }
        let senders = parts.senders.clone();
        parts.into_block(|index, raw| {
            Transaction::decode_with_sender(raw, senders[index])
                .map_err(|source| BlockDecodeError::Transaction { index, source })
        })
    }

    /// Appends [`Block::encode_stored`]'s form.
    pub(crate) fn append_stored(&self, out: &mut Vec<u8>) {
        self.append_parts(true, out);
    }

    /// Bytes that its encodings need at most, but for interventions.
    pub(crate) fn room(&self) -> usize {
        let transactions: usize = self.transactions().iter().map(|transaction| transaction.encoded_len() + 29).sum();
        self.unsealed.header_rlp.len() + transactions + self.payload().len() + self.seal.len() + FRAMES_ROOM
    }

    fn encode_parts(&self, with_senders: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_parts(with_senders, &mut out);
        out
    }

    fn append_parts(&self, with_senders: bool, out: &mut Vec<u8>) {
        out.reserve(self.room());
        let start = out.len();
        out.extend_from_slice(&self.unsealed.header_rlp);
        encode_transactions(self.transactions(), out);
        self.payload().encode(out);
        self.seal.encode(out);
        self.unsealed.interventions.encode(out);
        if with_senders {
            let senders: Vec<Address> = self.transactions().iter().map(|transaction| transaction.sender()).collect();
            senders.encode(out);
        }
        wrap_list(out, start);
    }
}

/// The bytes of [`Block::encode_stored`], in hexadecimal where the format is for people.
impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Bytes::from(self.encode_stored()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::decode_stored(&Bytes::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The hash stands for all but the seal.
impl core::hash::Hash for Block {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.hash().hash(state);
        self.seal.hash(state);
    }
}

/// A block's parts before its transactions are decoded.
struct Parts {
    header: Header,
    transactions: Vec<Bytes>,
    payload: Bytes,
    seal: Bytes,
    interventions: Vec<Intervention>,
    senders: Vec<Address>,
}

impl Parts {
    fn decode(mut bytes: &[u8], with_senders: bool) -> Result<Self, BlockDecodeError> {
        let mut list = alloy_rlp::Header::decode_bytes(&mut bytes, true)?;
        if !bytes.is_empty() {
            return Err(BlockDecodeError::TrailingBytes { count: bytes.len() });
        }
        let parts = Self {
            header: Header::decode(&mut list)?,
            transactions: Vec::decode(&mut list)?,
            payload: Bytes::decode(&mut list)?,
            seal: Bytes::decode(&mut list)?,
            interventions: Vec::decode(&mut list)?,
            senders: if with_senders { Vec::decode(&mut list)? } else { Vec::new() },
        };
        match list.len() {
            0 => Ok(parts),
            count => Err(BlockDecodeError::TrailingBytes { count }),
        }
    }

    fn into_block(
        self,
        mut decode: impl FnMut(usize, &[u8]) -> Result<Transaction, BlockDecodeError>,
    ) -> Result<Block, BlockDecodeError> {
        let decoded = self.transactions.iter().enumerate().map(|(index, raw)| decode(index, raw).map(Arc::new));
        let transactions = decoded.collect::<Result<_, _>>()?;
        Ok(Block::new(self.header, transactions, self.payload, self.interventions).with_seal(self.seal))
    }
}

fn encode_transactions(transactions: &[Arc<Transaction>], out: &mut Vec<u8>) {
    let string_length = |length: usize| length + alloy_rlp::length_of_length(length);
    let payload_length = transactions.iter().map(|transaction| string_length(transaction.encoded_len())).sum();
    alloy_rlp::Header { list: true, payload_length }.encode(out);
    for transaction in transactions {
        alloy_rlp::Header { list: false, payload_length: transaction.encoded_len() }.encode(out);
        transaction.envelope().encode_2718(out);
    }
}

/// Makes a list of what was written from `start` on: its header, known only now, is moved before it.
fn wrap_list(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    alloy_rlp::Header { list: true, payload_length: end - start }.encode(out);
    let header = out.len() - end;
    out[start..].rotate_right(header);
}

/// A header with every field that this chain does not use at its standard empty value.
pub(super) fn empty_header() -> Header {
    Header { ommers_hash: EMPTY_OMMER_ROOT_HASH, ..Header::default() }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;
    use proptest::prelude::*;

    use super::*;
    use crate::primitives::{KeyPair, TransactionRequest};

    fn sample(transactions: u64) -> Block {
        let key = KeyPair::from_seed(1, "block");
        let transactions = (0..transactions)
            .map(|nonce| {
                let gas_price = (nonce % 2 == 0).then_some(1);
                let request = TransactionRequest {
                    chain_id: Some(1),
                    nonce,
                    gas_price,
                    gas_limit: 21_000,
                    input: vec![7; 40 * nonce as usize].into(),
                    ..Default::default()
                };
                Arc::new(request.sign(&key).unwrap())
            })
            .collect();
        let header = Header { number: 5, base_fee_per_gas: Some(7), ..empty_header() };
        let interventions = vec![
            Intervention::Balance { address: Address::repeat_byte(1), balance: U256::MAX },
            Intervention::Code { address: Address::ZERO, code: vec![1, 2].into() },
        ];
        Block::new(header, transactions, vec![1; 70].into(), interventions).with_seal(vec![9; 65])
    }

    #[test]
    fn a_block_comes_back_whole_in_both_forms() {
        for transactions in [0, 1, 3] {
            let block = sample(transactions);
            assert_eq!(Block::decode(&block.encode()).unwrap(), block);
            assert_eq!(Block::decode_stored(&block.encode_stored()).unwrap(), block);
        }
    }

    #[test]
    fn the_size_is_that_of_the_standard_encoding() {
        for transactions in [0, 1, 7] {
            let block = sample(transactions);
            let envelopes = block.transactions().iter().map(|transaction| transaction.envelope().clone()).collect();
            let body = alloy_consensus::BlockBody { transactions: envelopes, ommers: Vec::new(), withdrawals: None };
            assert_eq!(block.size(), block.header().clone().into_block(body).length());
        }
    }

    #[test]
    fn leftovers_are_refused() {
        let mut bytes = sample(1).encode();
        bytes.push(0);
        assert_eq!(Block::decode(&bytes), Err(BlockDecodeError::TrailingBytes { count: 1 }));
        assert!(matches!(Block::decode(&sample(1).encode_stored()), Err(BlockDecodeError::TrailingBytes { .. })));
    }

    #[test]
    fn the_seal_is_outside_the_hash() {
        let block = sample(2);
        let other = block.clone().with_seal(vec![1]);
        assert_eq!(block.hash(), other.hash());
        assert!(block.has_same_body(&other) && !block.has_same_body(&sample(1)));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Block::decode(&bytes);
            let _ = Block::decode_stored(&bytes);
        }

        #[test]
        fn damaged_blocks_never_panic(at in 0usize..600, byte: u8) {
            for mut bytes in [sample(2).encode(), sample(2).encode_stored()] {
                let at = at % bytes.len();
                bytes[at] = byte;
                let _ = Block::decode(&bytes);
                let _ = Block::decode_stored(&bytes);
            }
        }
    }
}
