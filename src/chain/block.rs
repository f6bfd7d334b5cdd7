//! Blocks: a standard Ethereum header, its transactions, and the consensus payload, seal and interventions beside them.

mod body;
mod parameters;

use core::fmt;
use std::sync::Arc;

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_primitives::{Address, B256, Bytes, keccak256};
use alloy_rlp::{Decodable, Encodable};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use self::body::Memos;
pub(super) use self::parameters::with_parameters;
pub use self::{body::BodyError, parameters::split_parameters};
use super::{intervention::Intervention, roots};
use crate::{
    primitives::{Gas, Height, SenderRecovery, Timestamp, Transaction, TransactionError},
    system::ParameterUpdates,
};

/// Largest length of `extraData`, in bytes (Yellow Paper, 4.3.4).
pub const EXTRA_DATA_BYTES_MAX: usize = 32;

/// Largest total length of the RLP headers of a block's parts, in bytes.
const LIST_HEADERS_BYTES_MAX: usize = 64;

/// Largest length of a standard block's RLP without its transactions, in bytes: header and the headers of lists.
pub(super) const RLP_BYTES_WITHOUT_TRANSACTIONS_MAX: usize = 1_024;

/// Index of a transaction in its block, from 0.
pub type TransactionIndex = u32;

/// A block with its hash. Immutable except for the seal, which signs the hash. Cloning is O(1); clones with other seals share
/// all else.
#[derive(Clone, PartialEq, Eq)]
pub struct Block {
    unsealed: Arc<Unsealed>,
    seal: Bytes,
}

/// Everything but the seal.
#[derive(PartialEq, Eq)]
struct Unsealed {
    header: Header,
    /// RLP of the header.
    header_rlp: Bytes,
    /// Keccak of the header's RLP.
    hash: B256,
    transactions: Vec<Arc<Transaction>>,
    payload: Bytes,
    /// Whether `extraData` is the payload's keccak.
    commits_to_payload: bool,
    /// The parameters in front of the payload.
    parameters: ParameterUpdates,
    /// The payload without them.
    protocol_payload: Bytes,
    memos: Memos,
    interventions: Vec<Intervention>,
}

/// Bytes that do not decode to a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockDecodeError {
    /// The bytes are not the expected RLP.
    #[error("invalid block encoding: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// Bytes are left over after the block.
    #[error("invalid block encoding: {count} bytes after the block's end")]
    TrailingBytes {
        /// Number of bytes left over.
        count: usize,
    },
    /// A transaction does not decode.
    #[error("invalid block encoding: transaction {index}")]
    Transaction {
        /// Index of the transaction in the block.
        index: usize,
        /// The decoding error.
        #[source]
        source: TransactionError,
    },
    /// A stored block has more or fewer senders than transactions.
    #[error("invalid block encoding: {senders} senders for {transactions} transactions")]
    Senders {
        /// Number of senders.
        senders: usize,
        /// Number of transactions.
        transactions: usize,
    },
}

impl Block {
    /// Returns a block of these parts, without a seal; computes the hash.
    pub fn new(
        header: Header,
        transactions: Vec<Arc<Transaction>>,
        payload: Bytes,
        interventions: Vec<Intervention>,
    ) -> Self {
        let commits_to_payload = Self::extra_data_of(&payload).is_some_and(|want| want == header.extra_data);
        Self::with_extra_data(header, transactions, payload, interventions, commits_to_payload)
    }

    /// As [`Block::new`], for a caller that knows whether `extraData` is the payload's keccak.
    pub(super) fn with_extra_data(
        header: Header,
        transactions: Vec<Arc<Transaction>>,
        payload: Bytes,
        interventions: Vec<Intervention>,
        commits_to_payload: bool,
    ) -> Self {
        let header_rlp = Bytes::from(alloy_rlp::encode(&header));
        let hash = keccak256(&header_rlp);
        let memos = Memos::default();
        let (parameters, protocol_payload) = split_parameters(&payload);
        let unsealed = Unsealed {
            header,
            header_rlp,
            hash,
            transactions,
            payload,
            commits_to_payload,
            parameters,
            protocol_payload,
            memos,
            interventions,
        };
        Self { unsealed: Arc::new(unsealed), seal: Bytes::new() }
    }

    /// Sets the seal, which the hash does not cover.
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

    /// Number of ancestors of the block.
    pub fn height(&self) -> Height {
        Height::new(self.unsealed.header.number)
    }

    /// Hash of the parent.
    pub fn parent_hash(&self) -> B256 {
        self.unsealed.header.parent_hash
    }

    /// Time of the block.
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_secs(self.unsealed.header.timestamp)
    }

    /// Gas used by the transactions.
    pub fn gas_used(&self) -> Gas {
        Gas::new(self.unsealed.header.gas_used)
    }

    /// Base fee (EIP-1559), in the smallest unit per unit of gas; `None` when the chain has none.
    pub fn base_fee(&self) -> Option<u64> {
        self.unsealed.header.base_fee_per_gas
    }

    /// The transactions, in order of execution.
    pub fn transactions(&self) -> &[Arc<Transaction>] {
        &self.unsealed.transactions
    }

    /// Returns the transaction at `index`.
    pub fn transaction(&self, index: TransactionIndex) -> Option<&Arc<Transaction>> {
        self.unsealed.transactions.get(index as usize)
    }

    /// Data whose keccak is `extraData`: the [parameters](Self::parameters) that the block puts in force and the protocol's own; empty
    /// when there are none.
    pub fn payload(&self) -> &Bytes {
        &self.unsealed.payload
    }

    /// The protocol's part of the payload.
    pub fn protocol_payload(&self) -> &Bytes {
        &self.unsealed.protocol_payload
    }

    /// The parameters of the chain that change with this block; in force from it on.
    pub fn parameters(&self) -> &ParameterUpdates {
        &self.unsealed.parameters
    }

    /// Returns whether there is a payload and `extraData` is its keccak, without hashing.
    pub fn commits_to_payload(&self) -> bool {
        self.unsealed.commits_to_payload
    }

    /// The proposer's signature over the hash, in the protocol's encoding.
    pub const fn seal(&self) -> &Bytes {
        &self.seal
    }

    /// Interventions applied before the first transaction.
    pub fn interventions(&self) -> &[Intervention] {
        &self.unsealed.interventions
    }

    /// Returns whether `other` has the same transactions, payload and interventions; seals may differ.
    pub fn has_same_body(&self, other: &Self) -> bool {
        self.differing_part(other).is_none()
    }

    /// Returns the first part of the body that differs from `other`'s; seals may differ.
    pub(super) fn differing_part(&self, other: &Self) -> Option<&'static str> {
        let same = |(a, b): (&Arc<Transaction>, &Arc<Transaction>)| Arc::ptr_eq(a, b) || a == b;
        if Arc::ptr_eq(&self.unsealed, &other.unsealed) {
            return None;
        }
        let (own, others) = (self.transactions(), other.transactions());
        if own.len() != others.len() || !own.iter().zip(others).all(same) {
            return Some("transactions");
        }
        if self.payload() != other.payload() {
            return Some("payloads");
        }
        (self.interventions() != other.interventions()).then_some("interventions")
    }

    /// Computes the root of the transactions trie from the body.
    pub fn computed_transactions_root(&self) -> B256 {
        roots::transactions_root(self.transactions())
    }

    /// Returns the `extraData` that `payload` requires; `None` for an empty payload, which requires none.
    pub fn extra_data_of(payload: &[u8]) -> Option<Bytes> {
        (!payload.is_empty()).then(|| Bytes::copy_from_slice(keccak256(payload).as_slice()))
    }

    /// Length of the RLP of header, transactions, ommers and withdrawals, in bytes, as reported by `eth_getBlockByHash`.
    pub fn size(&self) -> usize {
        let transactions: usize = self.transactions().iter().map(|transaction| rlp_bytes(transaction)).sum();
        let list = transactions + alloy_rlp::length_of_length(transactions);
        // The lists of ommers and, from Shanghai on, of withdrawals are empty.
        let empty_lists = 1 + usize::from(self.header().withdrawals_root.is_some());
        let payload = self.unsealed.header_rlp.len() + list + empty_lists;
        payload + alloy_rlp::length_of_length(payload)
    }

    /// Encodes the block for another replica: RLP of `[header, transactions, payload, seal, interventions]`, each transaction
    /// a byte string of its EIP-2718 form.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_parts(false)
    }

    /// Encodes the block for the store: as [`Block::encode`] with the senders appended, so that decoding recovers no
    /// signature.
    pub fn encode_stored(&self) -> Vec<u8> {
        self.encode_parts(true)
    }

    /// Decodes the form of [`Block::encode`], recovering every sender.
    ///
    /// # Errors
    /// [`BlockDecodeError`] for bytes that `encode` does not give.
    pub fn decode(bytes: &[u8]) -> Result<Self, BlockDecodeError> {
        Parts::decode(bytes, false)?.into_block(|index, raw| {
            Transaction::decode(raw).map_err(|source| BlockDecodeError::Transaction { index, source })
        })
    }

    /// Decodes the form of [`Block::encode_stored`], trusting its senders.
    ///
    /// # Errors
    /// [`BlockDecodeError`] for bytes that `encode_stored` does not give.
    pub fn decode_stored(bytes: &[u8]) -> Result<Self, BlockDecodeError> {
        let parts = Parts::decode(bytes, true)?;
        if parts.senders.len() != parts.transactions.len() {
            let (senders, transactions) = (parts.senders.len(), parts.transactions.len());
            return Err(BlockDecodeError::Senders { senders, transactions });
        }
        let senders = parts.senders.clone();
        parts.into_block(|index, raw| {
            Transaction::decode_stored(raw, senders[index])
                .map_err(|source| BlockDecodeError::Transaction { index, source })
        })
    }

    /// Decodes the form of [`Block::encode_stored`] as a dump has it: every signed sender is recovered and compared, and
    /// impersonated transactions are records of their own.
    ///
    /// # Errors
    /// As [`Block::decode_stored`]; [`TransactionError::Sender`] for a sender that did not sign.
    pub(super) fn decode_dumped(bytes: &[u8], recovery: &SenderRecovery) -> Result<Self, BlockDecodeError> {
        let block = Self::decode_stored(bytes)?;
        let signed = block.transactions().iter().enumerate().filter(|(_, transaction)| !transaction.is_impersonated());
        let (indices, signed): (Vec<_>, Vec<_>) = signed.unzip();
        let raws: Vec<Bytes> = signed.iter().map(|transaction| transaction.encoded()).collect();
        for ((index, dumped), recovered) in indices.into_iter().zip(signed).zip(recovery.decode_batch(&raws)) {
            let checked = recovered.and_then(|recovered| match (dumped.sender(), recovered.sender()) {
                (got, want) if got == want => Ok(()),
                (got, want) => Err(TransactionError::Sender { got, want }),
            });
            checked.map_err(|source| BlockDecodeError::Transaction { index, source })?;
        }
        Ok(block)
    }

    /// Appends the form of [`Block::encode_stored`].
    pub(crate) fn append_stored(&self, out: &mut Vec<u8>) {
        self.append_parts(true, out);
    }

    /// Largest length of its encodings without interventions, in bytes.
    pub(crate) fn encoded_bytes_max(&self) -> usize {
        let transactions: usize = self.transactions().iter().map(|transaction| transaction.encoded_len() + 29).sum();
        self.unsealed.header_rlp.len() + transactions + self.payload().len() + self.seal.len() + LIST_HEADERS_BYTES_MAX
    }

    /// Adds what tells the block from others in a few words.
    pub(super) fn add_debug_fields(&self, fields: &mut fmt::DebugStruct<'_, '_>) {
        fields
            .field("height", &self.height().get())
            .field("hash", &self.hash())
            .field("parent_hash", &self.parent_hash())
            .field("timestamp", &self.timestamp().as_secs())
            .field("transactions", &self.transactions().len())
            .field("gas_used", &self.gas_used().get())
            .field("payload_bytes", &self.payload().len())
            .field("seal_bytes", &self.seal().len())
            .field("interventions", &self.interventions().len());
    }

    fn encode_parts(&self, with_senders: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_parts(with_senders, &mut out);
        out
    }

    fn append_parts(&self, with_senders: bool, out: &mut Vec<u8>) {
        out.reserve(self.encoded_bytes_max());
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

/// The bytes of [`Block::encode_stored`], in hexadecimal in human-readable formats.
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

/// A line: hashes and counts, neither transactions nor bytes.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Block");
        self.add_debug_fields(&mut fields);
        fields.finish()
    }
}

/// The block's hash covers all but the seal.
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

/// Returns the length of a transaction in the RLP of a standard block, in bytes.
pub(super) fn rlp_bytes(transaction: &Transaction) -> usize {
    let length = transaction.encoded_len();
    if transaction.ty() == 0 { length } else { length + alloy_rlp::length_of_length(length) }
}

fn encode_transactions(transactions: &[Arc<Transaction>], out: &mut Vec<u8>) {
    let string_length = |length: usize| length + alloy_rlp::length_of_length(length);
    let payload_length = transactions.iter().map(|transaction| string_length(transaction.encoded_len())).sum();
    alloy_rlp::Header { list: true, payload_length }.encode(out);
    for transaction in transactions {
        alloy_rlp::Header { list: false, payload_length: transaction.encoded_len() }.encode(out);
        transaction.encode_2718(out);
    }
}

/// Makes an RLP list of the bytes from `start` on: appends its header, then moves it before them.
fn wrap_list(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    alloy_rlp::Header { list: true, payload_length: end - start }.encode(out);
    let header = out.len() - end;
    out[start..].rotate_right(header);
}

/// Returns a header whose fields have the values of an empty block.
pub(super) fn empty_header() -> Header {
    Header { ommers_hash: EMPTY_OMMER_ROOT_HASH, ..Header::default() }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        chain::fork_fields::with_fork_fields,
        primitives::{KeyPair, TransactionRequest},
        vm::Hardfork,
    };

    /// A header of London, or one with the fields of every fork.
    fn sample_header(is_osaka: bool) -> Header {
        let header = Header { number: 5, base_fee_per_gas: Some(7), ..empty_header() };
        if is_osaka { with_fork_fields(header, &Hardfork::Osaka.rules()) } else { header }
    }

    fn sample(transactions: u64) -> Block {
        let key = KeyPair::from_seed(1, "block");
        let transactions: Vec<_> = (0..transactions)
            .map(|nonce| {
                let gas_price = (nonce % 2 == 0).then_some(1);
                let request = TransactionRequest {
                    chain_id: Some(1),
                    nonce,
                    gas_price,
                    gas_limit: Gas::new(21_000),
                    input: vec![7; 40 * nonce as usize].into(),
                    ..Default::default()
                };
                Arc::new(request.sign(&key).unwrap())
            })
            .collect();
        let header = sample_header(transactions.len().is_multiple_of(2));
        let interventions = vec![
            Intervention::Balance { address: Address::repeat_byte(1), balance: U256::MAX },
            Intervention::Code { address: Address::ZERO, code: vec![1, 2].into() },
        ];
        Block::new(header, transactions, vec![1; 70].into(), interventions).with_seal(vec![9; 65])
    }

    #[test]
    fn blocks_round_trip_in_both_forms() {
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
            let withdrawals = block.header().withdrawals_root.map(|_| Default::default());
            let body = alloy_consensus::BlockBody { transactions: envelopes, ommers: Vec::new(), withdrawals };
            assert_eq!(block.size(), block.header().clone().into_block(body).length());
        }
    }

    #[test]
    fn a_block_without_transactions_is_within_its_bound() {
        let full = B256::repeat_byte(0xff);
        let header = Header {
            difficulty: U256::MAX,
            number: u64::MAX,
            gas_limit: u64::MAX,
            gas_used: u64::MAX,
            timestamp: u64::MAX,
            base_fee_per_gas: Some(u64::MAX),
            extra_data: vec![0xff; EXTRA_DATA_BYTES_MAX].into(),
            mix_hash: full,
            ..sample_header(true)
        };
        let size = Block::new(header, Vec::new(), Bytes::new(), Vec::new()).size();
        let list_headers = 8;
        assert!(size + list_headers <= RLP_BYTES_WITHOUT_TRANSACTIONS_MAX, "{size}");
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
