//! Receipts: status, gas and logs of an executed transaction.

use core::fmt;

use alloy_consensus::{Eip658Value, RlpEncodableReceipt};
use alloy_primitives::{Address, Bloom, Log};
use alloy_rlp::{BufMut, Decodable, Encodable};
use alloy_sol_types::SolEvent;

use crate::primitives::Gas;

/// A transaction's receipt: the fields that the receipts root covers, and derived fields for clients.
#[derive(Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The transaction's EIP-2718 type byte.
    pub ty: u8,
    /// Status (EIP-658), cumulative gas used and logs: the fields that the receipts root covers.
    pub inner: alloy_consensus::Receipt<Log>,
    /// Gas used by this transaction, after refunds.
    pub gas_used: Gas,
    /// Price paid, in the smallest unit per unit of gas.
    pub effective_gas_price: u128,
    /// Address of the created contract, for a creation, also for a failed one.
    pub contract_address: Option<Address>,
    /// Index of its first log among the block's logs, from 0.
    pub first_log_index: u32,
}

impl Receipt {
    /// Returns whether the transaction succeeded; a failed one has no logs and moved no value.
    pub const fn is_success(&self) -> bool {
        matches!(self.inner.status, Eip658Value::Eip658(true))
    }

    /// Gas used in the block up to and including this transaction.
    pub const fn cumulative_gas_used(&self) -> Gas {
        Gas::new(self.inner.cumulative_gas_used)
    }

    /// Logs of the transaction, in order.
    pub fn logs(&self) -> &[Log] {
        &self.inner.logs
    }

    /// Returns its events of kind `E`, in order, of all contracts.
    pub fn events<E: SolEvent>(&self) -> Vec<E> {
        self.logs().iter().filter_map(|log| E::decode_log(log).ok()).map(|log| log.data).collect()
    }

    /// Computes the bloom filter of the logs (Yellow Paper, 4.3.1).
    pub fn bloom(&self) -> Bloom {
        self.inner.logs.iter().collect()
    }

    /// Encodes the EIP-2718 form that the receipts root covers; `bloom` must be [`Receipt::bloom`].
    pub fn encode_2718(&self, bloom: &Bloom, out: &mut dyn BufMut) {
        if self.ty != 0 {
            out.put_u8(self.ty);
        }
        self.inner.rlp_encode_with_bloom(bloom, out);
    }
}

/// A line: status, gas, and the number of logs with the bytes of their data.
impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt")
            .field("type", &self.ty)
            .field("status", &if self.is_success() { "success" } else { "failed" })
            .field("gas_used", &self.gas_used.get())
            .field("cumulative_gas_used", &self.inner.cumulative_gas_used)
            .field("effective_gas_price", &self.effective_gas_price)
            .field("contract_address", &self.contract_address)
            .field("first_log_index", &self.first_log_index)
            .field("logs", &self.logs().len())
            .field("log_bytes", &self.logs().iter().map(|log| log.data.data.len()).sum::<usize>())
            .finish()
    }
}

/// The stored form, in RLP: `[type, gas used, price, contract or empty, first log, consensus part without its bloom]`.
impl Encodable for Receipt {
    fn encode(&self, out: &mut dyn BufMut) {
        alloy_rlp::Header { list: true, payload_length: self.payload_length() }.encode(out);
        self.ty.encode(out);
        self.gas_used.get().encode(out);
        self.effective_gas_price.encode(out);
        contract_bytes(self.contract_address.as_ref()).encode(out);
        self.first_log_index.encode(out);
        self.inner.status.encode(out);
        self.inner.cumulative_gas_used.encode(out);
        self.inner.logs.encode(out);
    }

    fn length(&self) -> usize {
        let payload = self.payload_length();
        payload + alloy_rlp::length_of_length(payload)
    }
}

impl Receipt {
    fn payload_length(&self) -> usize {
        self.ty.length()
            + self.gas_used.get().length()
            + self.effective_gas_price.length()
            + contract_bytes(self.contract_address.as_ref()).length()
            + self.first_log_index.length()
            + self.inner.status.length()
            + self.inner.cumulative_gas_used.length()
            + self.inner.logs.length()
    }
}

impl Decodable for Receipt {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let mut list = alloy_rlp::Header::decode_bytes(buf, true)?;
        let ty = u8::decode(&mut list)?;
        let gas_used = Gas::new(u64::decode(&mut list)?);
        let effective_gas_price = u128::decode(&mut list)?;
        let contract_address = match alloy_rlp::Header::decode_bytes(&mut list, false)? {
            [] => None,
            bytes => Some(Address::try_from(bytes).map_err(|_| alloy_rlp::Error::UnexpectedLength)?),
        };
        let first_log_index = u32::decode(&mut list)?;
        let inner = alloy_consensus::Receipt {
            status: Eip658Value::decode(&mut list)?,
            cumulative_gas_used: u64::decode(&mut list)?,
            logs: Vec::decode(&mut list)?,
        };
        if !list.is_empty() {
            return Err(alloy_rlp::Error::UnexpectedLength);
        }
        Ok(Self { ty, inner, gas_used, effective_gas_price, contract_address, first_log_index })
    }
}

fn contract_bytes(address: Option<&Address>) -> &[u8] {
    address.map_or(&[], |address| address.as_slice())
}

/// Decodes the bytes of [`encode_receipts`]; never panics.
pub(super) fn decode_receipts(mut bytes: &[u8]) -> alloy_rlp::Result<Vec<Receipt>> {
    let receipts = Vec::decode(&mut bytes)?;
    if bytes.is_empty() { Ok(receipts) } else { Err(alloy_rlp::Error::UnexpectedLength) }
}

/// Encodes the stored form of a block's receipts.
pub(super) fn encode_receipts(receipts: &[Receipt]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 * receipts.len());
    alloy_rlp::encode_list::<_, Receipt>(receipts, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use alloy_consensus::RlpDecodableReceipt;
    use alloy_primitives::{B256, Bytes};
    use proptest::prelude::*;

    use super::*;

    /// Decodes the EIP-2718 form.
    fn decode_2718(bytes: &[u8]) -> alloy_consensus::ReceiptWithBloom<alloy_consensus::Receipt<Log>> {
        let mut rest = if bytes[0] < 0x80 { &bytes[1..] } else { bytes };
        alloy_consensus::Receipt::rlp_decode_with_bloom(&mut rest).unwrap()
    }

    fn receipt(ty: u8, success: bool, logs: usize, contract: bool) -> Receipt {
        let log = Log::new(Address::repeat_byte(2), vec![B256::repeat_byte(1)], Bytes::from_static(b"data")).unwrap();
        Receipt {
            ty,
            inner: alloy_consensus::Receipt {
                status: success.into(),
                cumulative_gas_used: 50_000,
                logs: vec![log; logs],
            },
            gas_used: Gas::new(29_000),
            effective_gas_price: u128::MAX,
            contract_address: contract.then(|| Address::repeat_byte(9)),
            first_log_index: 3,
        }
    }

    #[test]
    fn receipts_round_trip_in_both_forms() {
        for (ty, success, logs, contract) in [(0, true, 0, false), (1, false, 0, true), (2, true, 2, false)] {
            let receipt = receipt(ty, success, logs, contract);
            let stored = encode_receipts(std::slice::from_ref(&receipt));
            assert_eq!(decode_receipts(&stored).unwrap(), vec![receipt.clone()]);
            let mut standard = Vec::new();
            receipt.encode_2718(&receipt.bloom(), &mut standard);
            let decoded = decode_2718(&standard);
            assert_eq!((decoded.receipt, decoded.logs_bloom), (receipt.inner.clone(), receipt.bloom()));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode_receipts(&bytes);
        }
    }
}
