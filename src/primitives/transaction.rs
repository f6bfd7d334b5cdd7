//! Signed transactions with a known sender: legacy (EIP-155), EIP-2930 and EIP-1559.

use core::fmt;

use alloy_consensus::{
    EthereumTypedTransaction, SignableTransaction, Transaction as _, TxEip1559, TxEip2930, TxEip4844Variant,
    TxEnvelope, TxLegacy, Typed2718,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip2930::AccessList,
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use alloy_rlp::{BufMut, Encodable};

use super::{Gas, KeyPair, SignatureError, recover_signer};

type Typed = EthereumTypedTransaction<TxEip4844Variant>;

/// Type byte of the record of an impersonated transaction: `0x49`, then the RLP of `[sender, transaction]`.
///
/// No EIP defines this type. The second item is the EIP-2718 form with a zero signature, as bytes.
pub const IMPERSONATED_TYPE: u8 = 0x49;

/// The signature of an impersonated transaction.
const NO_SIGNATURE: Signature = Signature::new(U256::ZERO, U256::ZERO, false);

/// A transaction with its hash and sender: signed, or impersonated on a development chain.
///
/// The sender is recovered once, at decoding.
#[derive(Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The typed form; with a zero signature when impersonated.
    envelope: TxEnvelope,
    hash: B256,
    sender: Address,
    encoded_len: usize,
    is_impersonated: bool,
}

/// A line: hash, sender, recipient, nonce, value, gas and fees, and the length of the call data.
impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("hash", &self.hash)
            .field("type", &self.ty())
            .field("chain_id", &self.chain_id())
            .field("from", &self.sender)
            .field("to", &self.to())
            .field("nonce", &self.nonce())
            .field("value", &self.value())
            .field("gas_limit", &self.gas_limit().get())
            .field("max_fee_per_gas", &self.max_fee_per_gas())
            .field("max_priority_fee_per_gas", &self.max_priority_fee_per_gas())
            .field("input_bytes", &self.input().len())
            .field("is_impersonated", &self.is_impersonated)
            .finish()
    }
}

/// Error of decoding, signing or building a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionError {
    /// The bytes are not the encoding of a transaction.
    #[error("invalid transaction encoding: {reason}")]
    Encoding {
        /// The decoder's message.
        reason: String,
    },
    /// Bytes follow a complete transaction.
    #[error("invalid transaction encoding: {count} bytes after the transaction's end")]
    TrailingBytes {
        /// Number of bytes left over.
        count: usize,
    },
    /// A transaction type that this chain does not support.
    #[error(
        "transaction type {ty:#04x} ({name}) is not supported: send type 0x00 (legacy), 0x01 (EIP-2930) or 0x02 (EIP-1559)"
    )]
    UnsupportedType {
        /// The type byte (EIP-2718).
        ty: u8,
        /// Name of that type.
        name: &'static str,
    },
    /// The record of an impersonated transaction, where a signed one is expected.
    #[error(
        "transaction type 0x49 (impersonated) is a record of a development chain, not a signed transaction: send the \
         transaction unsigned for an account that the node impersonates"
    )]
    ImpersonationRecord,
    /// A stored sender differs from the one that the encoding determines.
    #[error("the transaction's sender is {want}, not {got}")]
    Sender {
        /// The stored sender.
        got: Address,
        /// The sender that the signature or the record determines.
        want: Address,
    },
    /// The signature names no signer.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The fields of a request contradict each other.
    #[error("invalid transaction request: {reason}")]
    Request {
        /// The fields and the contradiction.
        reason: &'static str,
    },
}

impl Transaction {
    /// Decodes the EIP-2718 form (legacy: plain RLP) and recovers the sender.
    ///
    /// Every form that comes from outside the process goes through here: the result is always signed.
    ///
    /// # Errors
    /// [`TransactionError`]: bytes that are no transaction or more than one, a type that is not
    /// supported (blobs, EIP-7702), a record of an impersonated transaction, a signature without a signer or a malleable one.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransactionError> {
        let envelope = decode_envelope(bytes)?;
        let sender = recover_signer(envelope.signature_hash(), envelope.signature())?;
        Ok(Self::signed(envelope, sender))
    }

    /// Decodes what this process stored itself, with `sender` in place of recovery; also the record of an impersonated
    /// transaction.
    ///
    /// # Errors
    /// [`TransactionError`] for bytes that are no supported transaction; [`TransactionError::Sender`] for a record that names
    /// another sender.
    pub fn decode_stored(bytes: &[u8], sender: Address) -> Result<Self, TransactionError> {
        if bytes.first() != Some(&IMPERSONATED_TYPE) {
            return Self::decode_with_sender(bytes, sender);
        }
        let record = Self::decode_record(bytes)?;
        if record.sender == sender {
            Ok(record)
        } else {
            Err(TransactionError::Sender { got: sender, want: record.sender })
        }
    }

    /// Decodes a signed transaction whose sender was recovered before.
    pub(super) fn decode_with_sender(bytes: &[u8], sender: Address) -> Result<Self, TransactionError> {
        Ok(Self::signed(decode_envelope(bytes)?, sender))
    }

    /// Decodes the record of an impersonated transaction.
    fn decode_record(bytes: &[u8]) -> Result<Self, TransactionError> {
        let invalid = |error: alloy_rlp::Error| TransactionError::Encoding { reason: error.to_string() };
        let mut rest = bytes.get(1..).unwrap_or_default();
        let mut items = alloy_rlp::Header::decode_bytes(&mut rest, true).map_err(invalid)?;
        let sender = <Address as alloy_rlp::Decodable>::decode(&mut items).map_err(invalid)?;
        let inner = alloy_rlp::Header::decode_bytes(&mut items, false).map_err(invalid)?;
        match rest.len() + items.len() {
            0 => {}
            count => return Err(TransactionError::TrailingBytes { count }),
        }
        let envelope = decode_envelope(inner)?;
        if *envelope.signature() != NO_SIGNATURE {
            return Err(TransactionError::Encoding {
                reason: "an impersonated transaction has no signature".to_owned(),
            });
        }
        Ok(Self::impersonated(envelope.into_typed_transaction(), sender))
    }

    fn signed(envelope: TxEnvelope, sender: Address) -> Self {
        let (hash, encoded_len) = (*envelope.tx_hash(), envelope.encode_2718_len());
        Self { envelope, hash, sender, encoded_len, is_impersonated: false }
    }

    fn impersonated(typed: Typed, sender: Address) -> Self {
        let unhashed = TxEnvelope::new_unhashed(typed, NO_SIGNATURE);
        let mut record = Vec::with_capacity(record_len(&unhashed));
        encode_record(&unhashed, sender, &mut record);
        let hash = keccak256(&record);
        let envelope = TxEnvelope::new_unchecked(unhashed.into_typed_transaction(), NO_SIGNATURE, hash);
        Self { envelope, hash, sender, encoded_len: record.len(), is_impersonated: true }
    }

    /// Returns the bytes that the transactions root covers: the EIP-2718 encoding, as `eth_sendRawTransaction` expects it; or
    /// the record of an impersonated transaction, which [`Transaction::decode`] refuses.
    pub fn encoded(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.encoded_len);
        self.encode_2718(&mut out);
        out.into()
    }

    /// Appends [`Transaction::encoded`].
    pub fn encode_2718(&self, out: &mut dyn BufMut) {
        if self.is_impersonated {
            encode_record(&self.envelope, self.sender, out);
        } else {
            self.envelope.encode_2718(out);
        }
    }

    /// Returns the length of [`Transaction::encoded`], in bytes.
    pub const fn encoded_len(&self) -> usize {
        self.encoded_len
    }

    /// Returns the keccak of the encoding.
    pub const fn hash(&self) -> B256 {
        self.hash
    }

    /// Returns the signer, or the impersonated sender.
    pub const fn sender(&self) -> Address {
        self.sender
    }

    /// Returns the typed form of the `alloy` crates; that of an impersonated transaction has a zero signature.
    pub const fn envelope(&self) -> &TxEnvelope {
        &self.envelope
    }

    /// Returns the EIP-2718 type byte: 0, 1 or 2.
    pub fn ty(&self) -> u8 {
        self.envelope.ty()
    }

    /// Returns the chain id it was signed for; `None` for a legacy transaction from before EIP-155.
    pub fn chain_id(&self) -> Option<u64> {
        self.envelope.chain_id()
    }

    /// Returns the nonce: the number of transactions the sender has sent before.
    pub fn nonce(&self) -> u64 {
        self.envelope.nonce()
    }

    /// Returns the gas limit.
    pub fn gas_limit(&self) -> Gas {
        Gas::new(self.envelope.gas_limit())
    }

    /// Returns the amount transferred to the recipient, in wei.
    pub fn value(&self) -> U256 {
        self.envelope.value()
    }

    /// Returns the recipient, or `None` for a creation.
    pub fn to(&self) -> Option<Address> {
        self.envelope.to()
    }

    /// Returns the recipient or the creation marker.
    pub fn kind(&self) -> TxKind {
        self.envelope.kind()
    }

    /// Returns the call data, or the init code of a creation.
    pub fn input(&self) -> &Bytes {
        self.envelope.input()
    }

    /// Returns the access list (EIP-2930); `None` for a legacy transaction.
    pub fn access_list(&self) -> Option<&AccessList> {
        self.envelope.access_list()
    }

    /// Returns the maximum fee per unit of gas, in wei (EIP-1559; the gas price of older types).
    pub fn max_fee_per_gas(&self) -> u128 {
        self.envelope.max_fee_per_gas()
    }

    /// Returns the maximum priority fee per unit of gas, in wei (EIP-1559; the gas price of older types).
    pub fn max_priority_fee_per_gas(&self) -> u128 {
        self.envelope.max_priority_fee_per_gas().unwrap_or_else(|| self.envelope.max_fee_per_gas())
    }

    /// Returns the priority fee per unit of gas at `base_fee`, in wei; `None` below the base fee (EIP-1559).
    pub fn effective_tip_per_gas(&self, base_fee: u64) -> Option<u128> {
        let over = self.max_fee_per_gas().checked_sub(u128::from(base_fee))?;
        Some(over.min(self.max_priority_fee_per_gas()))
    }

    /// Returns the price per unit of gas at `base_fee`, in wei (EIP-1559).
    pub fn effective_gas_price(&self, base_fee: u64) -> u128 {
        self.envelope.effective_gas_price(Some(base_fee))
    }

    /// Returns the maximum cost to the sender, in wei: `gas limit * max fee + value`; `None` above 2^256 - 1.
    pub fn max_cost(&self) -> Option<U256> {
        U256::from(self.envelope.gas_limit()).checked_mul(U256::from(self.max_fee_per_gas()))?.checked_add(self.value())
    }

    /// Returns whether the sender is impersonated ([`TransactionRequest::impersonate`]), not a signer.
    pub const fn is_impersonated(&self) -> bool {
        self.is_impersonated
    }
}

/// An unsigned transaction, whose type follows from the fields that are set.
///
/// With [`gas_price`](Self::gas_price) it is legacy (or EIP-2930 with an access list), without it EIP-1559.
///
/// ```
/// use chainbox::primitives::{Address, Gas, KeyPair, TransactionRequest, U256};
/// let key = KeyPair::from_seed(1, "alice");
/// let transaction = TransactionRequest {
///     chain_id: Some(31337),
///     to: Some(Address::repeat_byte(9)),
///     value: U256::from(5),
///     gas_limit: Gas::new(21_000),
///     max_fee_per_gas: 2_000_000_000,
///     ..Default::default()
/// }
/// .sign(&key)?;
/// assert_eq!(transaction.sender(), key.address());
/// # Ok::<(), chainbox::primitives::TransactionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionRequest {
    /// Chain id; `None` only for a legacy transaction from before EIP-155.
    pub chain_id: Option<u64>,
    /// Number of transactions the sender has sent before.
    pub nonce: u64,
    /// Recipient, or `None` to create a contract.
    pub to: Option<Address>,
    /// Amount to transfer, in wei.
    pub value: U256,
    /// Call data or init code.
    pub input: Bytes,
    /// Gas limit, in gas units.
    pub gas_limit: Gas,
    /// Price per unit of gas of the older types, in wei; `None` for EIP-1559.
    pub gas_price: Option<u128>,
    /// Maximum fee per unit of gas (EIP-1559), in wei.
    pub max_fee_per_gas: u128,
    /// Maximum priority fee per unit of gas (EIP-1559), in wei; the block's beneficiary receives it.
    pub max_priority_fee_per_gas: u128,
    /// Addresses and slots that are warm from the start (EIP-2930); with a gas price, `Some` makes the type EIP-2930, also of an
    /// empty list.
    pub access_list: Option<AccessList>,
}

impl TransactionRequest {
    /// Signs with `key`.
    ///
    /// # Errors
    /// [`TransactionError::Request`] when a typed transaction has no chain id, or the fields do not fit one type.
    pub fn sign(self, key: &KeyPair) -> Result<Transaction, TransactionError> {
        let typed = self.into_typed()?;
        let signature = key.sign_hash(typed.signature_hash());
        Ok(Transaction::signed(typed.into_signed(signature).into(), key.address()))
    }

    /// Returns a transaction of `sender` without a signature, for development chains that allow it.
    ///
    /// It exists in this process, its store and its dumps; its encoding is a record of its own type ([`IMPERSONATED_TYPE`]) that
    /// names the sender, so that two senders never share a hash, and that [`Transaction::decode`] refuses.
    ///
    /// # Errors
    /// [`TransactionError::Request`] as for [`TransactionRequest::sign`].
    pub fn impersonate(self, sender: Address) -> Result<Transaction, TransactionError> {
        Ok(Transaction::impersonated(self.into_typed()?, sender))
    }

    fn into_typed(self) -> Result<Typed, TransactionError> {
        let to = self.to.map_or(TxKind::Create, TxKind::Call);
        let Self { chain_id, nonce, value, input, access_list, .. } = self;
        let gas_limit = self.gas_limit.get();
        let named_chain = chain_id.ok_or(TransactionError::Request { reason: "a typed transaction needs a chain id" });
        match (self.gas_price, access_list) {
            (Some(gas_price), None) => Ok(TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input }.into()),
            (Some(gas_price), Some(access_list)) => {
                Ok(TxEip2930 { chain_id: named_chain?, nonce, gas_price, gas_limit, to, value, access_list, input }
                    .into())
            }
            (None, _) if self.max_priority_fee_per_gas > self.max_fee_per_gas => {
                Err(TransactionError::Request { reason: "maxPriorityFeePerGas is above maxFeePerGas" })
            }
            (None, access_list) => Ok(TxEip1559 {
                chain_id: named_chain?,
                nonce,
                gas_limit,
                max_fee_per_gas: self.max_fee_per_gas,
                max_priority_fee_per_gas: self.max_priority_fee_per_gas,
                to,
                value,
                access_list: access_list.unwrap_or_default(),
                input,
            }
            .into()),
        }
    }
}

fn decode_envelope(bytes: &[u8]) -> Result<TxEnvelope, TransactionError> {
    refuse_unsupported_type(bytes)?;
    let mut rest = bytes;
    let envelope =
        TxEnvelope::decode_2718(&mut rest).map_err(|error| TransactionError::Encoding { reason: error.to_string() })?;
    match rest.len() {
        0 => Ok(envelope),
        count => Err(TransactionError::TrailingBytes { count }),
    }
}

/// Refuses unsupported types before decoding, so that the error names the type.
fn refuse_unsupported_type(bytes: &[u8]) -> Result<(), TransactionError> {
    let name = match bytes.first() {
        None => return Err(TransactionError::Encoding { reason: "no bytes".to_owned() }),
        Some(1 | 2 | 0xc0..) => return Ok(()),
        Some(&IMPERSONATED_TYPE) => return Err(TransactionError::ImpersonationRecord),
        Some(0) => "legacy transactions carry no type byte",
        Some(3) => "EIP-4844 blob transaction",
        Some(4) => "EIP-7702 set-code transaction",
        Some(5..=0x7f) => "unknown",
        Some(_) => {
            return Err(TransactionError::Encoding { reason: "expected an RLP list or a type byte".to_owned() });
        }
    };
    Err(TransactionError::UnsupportedType { ty: bytes[0], name })
}

/// Length of an impersonated transaction's record, in bytes.
fn record_len(envelope: &TxEnvelope) -> usize {
    let items = record_items_len(envelope);
    1 + alloy_rlp::length_of_length(items) + items
}

fn record_items_len(envelope: &TxEnvelope) -> usize {
    let inner = envelope.encode_2718_len();
    Address::ZERO.length() + alloy_rlp::length_of_length(inner) + inner
}

fn encode_record(envelope: &TxEnvelope, sender: Address, out: &mut dyn BufMut) {
    out.put_u8(IMPERSONATED_TYPE);
    alloy_rlp::Header { list: true, payload_length: record_items_len(envelope) }.encode(out);
    sender.encode(out);
    alloy_rlp::Header { list: false, payload_length: envelope.encode_2718_len() }.encode(out);
    envelope.encode_2718(out);
}

#[cfg(test)]
mod tests {
    use alloy_eips::eip2930::AccessListItem;
    use alloy_primitives::{address, b256, hex, uint};
    use proptest::prelude::*;

    use super::*;

    fn request() -> TransactionRequest {
        TransactionRequest {
            chain_id: Some(1),
            to: Some(Address::repeat_byte(0x35)),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 7,
            ..Default::default()
        }
    }

    /// EIP-155, "Example": every intermediate value is in the EIP.
    #[test]
    fn eip_155_example() {
        let key = KeyPair::from_bytes(&B256::repeat_byte(0x46)).unwrap();
        let transaction = TransactionRequest {
            chain_id: Some(1),
            nonce: 9,
            gas_price: Some(20_000_000_000),
            gas_limit: Gas::new(21_000),
            to: Some(address!("3535353535353535353535353535353535353535")),
            value: U256::from(1_000_000_000_000_000_000_u64),
            ..Default::default()
        }
        .sign(&key)
        .unwrap();
        let expected = hex!(
            "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
        );
        assert_eq!(transaction.encoded().as_ref(), expected);
        assert_eq!(Transaction::decode(&expected).unwrap(), transaction);
    }

    /// A signed EIP-2930 transaction of go-ethereum's tests, and its signing hash.
    #[test]
    fn eip_2930_vector() {
        let raw = hex!(
            "01f8630103018261a894b94f5374fce5edbc8e2a8697c15331677e6ebf0b0a825544c001a0c9519f4f2b30335884581971573fadf60c6204f59a911df35ee8a540456b2660a032f1e8e2c5dd761f9e4f88f41c8310aeaba26a8bfcdacfedfa12ec3862d37521"
        );
        let transaction = Transaction::decode(&raw).unwrap();
        assert_eq!((transaction.ty(), transaction.nonce(), transaction.gas_limit().get()), (1, 3, 25_000));
        assert_eq!(transaction.encoded().as_ref(), raw);
        let signed = b256!("49b486f0ec0a60dfbbca2d30cb07c9e8ffb2a2ff41f29a1ab6737475f6ff69f3");
        assert_eq!(transaction.envelope().signature_hash(), signed);
    }

    /// An EIP-1559 transaction of the main network: its hash and its signer are public.
    #[test]
    fn eip_1559_vector() {
        let input = hex!(
            "a22cb4650000000000000000000000005eee75727d804a2b13038928d36f8b188945a57a0000000000000000000000000000000000000000000000000000000000000000"
        );
        let typed: Typed = TxEip1559 {
            chain_id: 1,
            nonce: 0x42,
            gas_limit: 44_386,
            to: TxKind::Call(address!("6069a6c32cf691f5982febae4faf8a6f3ab2f0f6")),
            input: input.into(),
            max_fee_per_gas: 0x0004_a817_c800,
            max_priority_fee_per_gas: 0x3b9a_ca00,
            ..Default::default()
        }
        .into();
        let signature = Signature::new(
            uint!(0x840cfc572845f5786e702984c2a582528cad4b49b2a10b9db1be7fca90058565_U256),
            uint!(0x25e7109ceb98168d95b09b18bbf6b685130e0562f233877d492b94eee0c5b6d1_U256),
            false,
        );
        let envelope: TxEnvelope = typed.into_signed(signature).into();
        let transaction = Transaction::decode(&envelope.encoded_2718()).unwrap();
        assert_eq!(transaction.hash(), b256!("0ec0b6a2df4d87424e5f6ad2a654e27aaeb7dac20ae9e8385cc09087ad532ee0"));
        assert_eq!(transaction.sender(), address!("DD6b8b3dC6B7AD97db52F08a275FF4483e024CEa"));
    }

    #[test]
    fn each_supported_type_comes_back_whole() {
        let key = KeyPair::from_seed(3, "sender");
        let list = AccessList(vec![AccessListItem { address: Address::ZERO, storage_keys: vec![B256::ZERO] }]);
        let cases = [
            (0, TransactionRequest { gas_price: Some(7), ..request() }),
            (0, TransactionRequest { gas_price: Some(7), chain_id: None, ..request() }),
            (1, TransactionRequest { gas_price: Some(7), access_list: Some(list.clone()), ..request() }),
            (
                2,
                TransactionRequest {
                    access_list: Some(list),
                    to: None,
                    input: Bytes::from_static(b"init"),
                    ..request()
                },
            ),
        ];
        for (ty, request) in cases {
            let transaction = request.sign(&key).unwrap();
            assert_eq!(transaction.ty(), ty);
            let decoded = Transaction::decode(&transaction.encoded()).unwrap();
            assert_eq!(decoded, transaction);
            assert_eq!(decoded.sender(), key.address());
            assert_eq!(decoded.encoded_len(), decoded.encoded().len());
        }
    }

    #[test]
    fn refused_bytes_name_the_reason() {
        let key = KeyPair::from_seed(3, "sender");
        let whole = request().sign(&key).unwrap().encoded();
        let with_tail = [whole.as_ref(), &[0, 0]].concat();
        let cases: [(&[u8], &str); 7] = [
            (&[], "no bytes"),
            (&[0x00, 0xc0], "0x00"),
            (&[0x03, 0xc0], "blob"),
            (&[0x04, 0xc0], "7702"),
            (&[0x80], "RLP list"),
            (&with_tail, "2 bytes after"),
            (&whole[..whole.len() - 1], "encoding"),
        ];
        for (bytes, expected) in cases {
            let error = Transaction::decode(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} does not contain {expected}");
        }
    }

    #[test]
    fn impersonation_names_the_sender_in_the_hash() {
        let (a, b) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let of_a = request().impersonate(a).unwrap();
        let of_b = request().impersonate(b).unwrap();
        assert_ne!(of_a.hash(), of_b.hash());
        assert!(of_a.is_impersonated());
        assert_eq!(keccak256(of_a.encoded()), of_a.hash());
        assert_eq!(of_a.encoded().len(), of_a.encoded_len());
    }

    #[test]
    fn records_of_impersonation_are_read_from_the_own_store_alone() {
        let (a, b) = (Address::repeat_byte(1), Address::repeat_byte(2));
        for request in [request(), TransactionRequest { gas_price: Some(7), ..request() }] {
            let of_a = request.clone().impersonate(a).unwrap();
            assert_eq!(Transaction::decode(&of_a.encoded()), Err(TransactionError::ImpersonationRecord));
            assert_eq!(Transaction::decode_stored(&of_a.encoded(), a).unwrap(), of_a);
            let mixed = Transaction::decode_stored(&of_a.encoded(), b);
            assert_eq!(mixed, Err(TransactionError::Sender { got: b, want: a }));
            let signed = request.sign(&KeyPair::from_seed(3, "sender")).unwrap();
            let mut record = Vec::new();
            encode_record(signed.envelope(), a, &mut record);
            assert!(matches!(Transaction::decode_stored(&record, a), Err(TransactionError::Encoding { .. })));
        }
    }

    /// Signatures that are no signature: zero, an address in `s` or in `r`, small numbers.
    #[test]
    fn a_signature_without_a_signer_is_refused() {
        let address = U256::from_be_slice(Address::repeat_byte(0xab).as_slice());
        for (r, s) in [(U256::ZERO, U256::ZERO), (U256::ZERO, address), (address, U256::ZERO), (U256::ZERO, U256::ONE)]
        {
            let typed = request().into_typed().unwrap();
            let forged: TxEnvelope = typed.into_signed(Signature::new(r, s, false)).into();
            let decoded = Transaction::decode(&forged.encoded_2718());
            assert!(matches!(decoded, Err(TransactionError::Signature(_))), "r {r}, s {s}: {decoded:?}");
        }
    }

    #[test]
    fn contradicting_fields_are_refused() {
        let key = KeyPair::from_seed(3, "sender");
        let tip_over_fee = TransactionRequest { max_priority_fee_per_gas: 8, ..request() };
        assert!(matches!(tip_over_fee.sign(&key), Err(TransactionError::Request { .. })));
        let no_chain = TransactionRequest { chain_id: None, ..request() };
        assert!(matches!(no_chain.sign(&key), Err(TransactionError::Request { .. })));
    }

    #[test]
    fn fees_follow_eip_1559() {
        let key = KeyPair::from_seed(3, "sender");
        let transaction =
            TransactionRequest { max_fee_per_gas: 100, max_priority_fee_per_gas: 10, ..request() }.sign(&key).unwrap();
        for (base, tip, price) in [(80, Some(10), 90), (95, Some(5), 100), (100, Some(0), 100), (101, None, 100)] {
            assert_eq!(transaction.effective_tip_per_gas(base), tip, "base fee {base}");
            assert_eq!(transaction.effective_gas_price(base), price, "base fee {base}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(transaction) = Transaction::decode(&bytes) {
                prop_assert_eq!(transaction.encoded().to_vec(), bytes.clone());
            }
            let record = [vec![IMPERSONATED_TYPE], bytes].concat();
            if let Ok(transaction) = Transaction::decode_record(&record) {
                prop_assert_eq!(transaction.encoded().to_vec(), record);
            }
        }

        #[test]
        fn decoding_undoes_encoding(
            nonce: u64, value: [u8; 32], gas_limit: u64, max_fee_per_gas: u128, tip: u128,
            input in proptest::collection::vec(any::<u8>(), 0..100), create: bool, legacy: bool,
        ) {
            let key = KeyPair::from_seed(4, "sender");
            let request = TransactionRequest {
                chain_id: Some(1), nonce, gas_limit: Gas::new(gas_limit), max_fee_per_gas,
                value: U256::from_be_bytes(value),
                max_priority_fee_per_gas: tip.min(max_fee_per_gas),
                to: (!create).then(|| key.address()),
                input: input.into(),
                gas_price: legacy.then_some(max_fee_per_gas),
                ..Default::default()
            };
            let transaction = request.sign(&key).unwrap();
            prop_assert_eq!(Transaction::decode(&transaction.encoded()), Ok(transaction));
        }
    }
}
