//! State of accounts: balance, nonce, code, storage, proofs; and signing for unlocked accounts.

use alloy_dyn_abi::TypedData;
use alloy_primitives::{Address, B256, Bytes, U64, U256, eip191_hash_message};
use alloy_rpc_types_eth::{EIP1186AccountProofResponse, EIP1186StorageProof};

use super::{
    Eth, Methods, convert,
    params::{Args, Argument},
};
use crate::server::jsonrpc::errors::{REFUSED, RpcError, error, invalid_params};

/// Storage slots of one proof.
const PROOF_SLOTS_MAX: usize = 1024;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getBalance", 2, balance);
    methods.add("eth_getTransactionCount", 2, transaction_count);
    methods.add("eth_getCode", 2, code);
    methods.add("eth_getStorageAt", 3, storage_at);
    methods.add("eth_getProof", 3, proof);
    methods.add("eth_sign", 2, sign);
    methods.add("personal_sign", 3, personal_sign);
    methods.add("eth_signTypedData_v4", 2, sign_typed_data);
    methods.add("eth_signTypedData", 2, sign_typed_data);
}

fn balance(eth: &Eth, args: &Args<'_>) -> Result<U256, RpcError> {
    let (address, block) = (args.required(0, "address")?, args.block(1)?);
    let view = eth.view();
    view.balance(address, convert::block_ref(&view, block)?).map_err(convert::query_error)
}

fn transaction_count(eth: &Eth, args: &Args<'_>) -> Result<U64, RpcError> {
    let (address, block) = (args.required(0, "address")?, args.block(1)?);
    let view = eth.view();
    view.nonce(address, convert::block_ref(&view, block)?).map(U64::from).map_err(convert::query_error)
}

fn code(eth: &Eth, args: &Args<'_>) -> Result<Bytes, RpcError> {
    let (address, block) = (args.required(0, "address")?, args.block(1)?);
    let view = eth.view();
    view.code(address, convert::block_ref(&view, block)?).map_err(convert::query_error)
}

fn storage_at(eth: &Eth, args: &Args<'_>) -> Result<B256, RpcError> {
    let (address, slot, block) = (args.required(0, "address")?, args.required(1, "slot")?, args.block(2)?);
    let view = eth.view();
    view.storage(address, slot, convert::block_ref(&view, block)?).map(B256::from).map_err(convert::query_error)
}

/// `eth_getProof` (EIP-1186).
fn proof(eth: &Eth, args: &Args<'_>) -> Result<EIP1186AccountProofResponse, RpcError> {
    let address: Address = args.required(0, "address")?;
    let slots: Vec<U256> = args.required(1, "storageKeys")?;
    if slots.len() > PROOF_SLOTS_MAX {
        return Err(invalid_params(format!("too many storage keys: {} of at most {PROOF_SLOTS_MAX}", slots.len())));
    }
    let slots: Vec<B256> = slots.into_iter().map(B256::from).collect();
    let view = eth.view();
    let block = convert::block_ref(&view, args.block(2)?)?;
    let proof = view.proof(address, &slots, block).map_err(convert::query_error)?;
    Ok(EIP1186AccountProofResponse {
        address: proof.address,
        balance: proof.account.balance,
        code_hash: proof.account.code_hash,
        nonce: proof.account.nonce,
        storage_hash: proof.account.storage_root,
        account_proof: proof.nodes,
        storage_proof: proof
            .storage
            .into_iter()
            .map(|slot| EIP1186StorageProof { key: slot.slot.into(), value: slot.value, proof: slot.nodes })
            .collect(),
    })
}

/// `eth_sign`: EIP-191, version 0x45; the address comes first.
fn sign(eth: &Eth, args: &Args<'_>) -> Result<Bytes, RpcError> {
    let (address, message): (Address, Bytes) = (args.required(0, "address")?, args.required(1, "message")?);
    sign_hash(eth, address, eip191_hash_message(message))
}

/// `personal_sign`: as `eth_sign`, but the message comes first. The third parameter, a password, is ignored.
fn personal_sign(eth: &Eth, args: &Args<'_>) -> Result<Bytes, RpcError> {
    let (message, address): (Bytes, Address) = (args.required(0, "message")?, args.required(1, "address")?);
    sign_hash(eth, address, eip191_hash_message(message))
}

/// EIP-712 typed data, as an object or as its JSON text.
struct TypedMessage(TypedData);

impl<'de> serde::Deserialize<'de> for TypedMessage {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = serde_json::Value::deserialize(deserializer)?;
        if let serde_json::Value::String(text) = &value {
            value = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        }
        serde_json::from_value(value).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Argument for TypedMessage {
    const EXPECTED: &'static str = "EIP-712 typed data (types, primaryType, domain, message)";
}

fn sign_typed_data(eth: &Eth, args: &Args<'_>) -> Result<Bytes, RpcError> {
    let address: Address = args.required(0, "address")?;
    let TypedMessage(message) = args.required(1, "typedData")?;
    let hash = message
        .eip712_signing_hash()
        .map_err(|cause| invalid_params(format!("invalid argument 1 (typedData): {cause}")))?;
    sign_hash(eth, address, hash)
}

/// Returns the signature of an unlocked account: 65 bytes, r, s, and v as 27 or 28.
fn sign_hash(eth: &Eth, address: Address, hash: B256) -> Result<Bytes, RpcError> {
    let signature = eth.node.sign(address, hash).ok_or_else(|| unknown_account(address))?;
    Ok(Bytes::copy_from_slice(&signature.as_bytes()))
}

/// Returns geth's error for an account whose key the node does not hold.
pub(super) fn unknown_account(address: Address) -> RpcError {
    error(REFUSED, format!("unknown account {address}: this node holds no key for it"))
}
