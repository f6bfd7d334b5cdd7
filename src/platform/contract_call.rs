//! Calls of contracts by a function's name, encoded and decoded by the ABI of the contract's template.

mod arguments;

use alloy_dyn_abi::{FunctionExt as _, JsonAbiExt as _};
use alloy_json_abi::{Function, JsonAbi};
use alloy_primitives::{Address, Bytes};
use serde_json::Value;

use super::{FieldError, PlatformError};
use crate::{
    node::{BlockRef, Node},
    primitives::Transaction,
    vm::{Marker, abi_json},
};

/// What is called: a function by its name or signature with arguments, or call data.
#[derive(Clone, Debug, PartialEq)]
pub enum ContractCall {
    /// A function's name, as `transfer`, or signature, as `transfer(address,uint256)`, and its arguments as JSON: integers are numbers or
    /// decimal texts, structs objects or arrays.
    Function(String, Vec<Value>),
    /// Encoded call data.
    Data(Bytes),
}

/// Call data, with the function that it was encoded for when it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedCall {
    function: Option<Function>,
    /// The call data.
    pub input: Bytes,
}

impl ContractCall {
    /// Encodes the call of a contract.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for a function by name where no template's contract is, [`PlatformError::Validation`] of `method` or
    /// `args`.
    pub fn encode(self, node: &Node, contract: Address) -> Result<EncodedCall, PlatformError> {
        let (name, args) = match self {
            Self::Data(input) => return Ok(EncodedCall { function: None, input }),
            Self::Function(name, args) => (name, args),
        };
        let abi = abi_of(node, contract)?;
        let function = find(&abi, &name, args.len())?;
        let values = arguments::read(&function, &args)?;
        let input = function.abi_encode_input(&values).map_err(PlatformError::internal)?.into();
        Ok(EncodedCall { function: Some(function), input })
    }
}

impl EncodedCall {
    /// Decodes what the call returned: a function's one value, or an array of several; `None` for call data.
    pub fn decode(&self, output: &[u8]) -> Option<Value> {
        let values = self.function.as_ref()?.abi_decode_output(output).ok()?;
        let mut values: Vec<Value> = values.iter().map(abi_json).collect();
        Some(if values.len() == 1 { values.remove(0) } else { Value::Array(values) })
    }
}

/// Returns the ABI of the template that a contract was deployed from.
///
/// # Errors
/// [`PlatformError::NotFound`] where no template's contract is.
pub fn abi_of(node: &Node, contract: Address) -> Result<JsonAbi, PlatformError> {
    let code = node.view().code(contract, BlockRef::Latest).map_err(PlatformError::from_query)?;
    let template = Marker::split(&code).and_then(|(Marker(id), _)| node.templates().get(id));
    template.map(|template| template.abi()).ok_or_else(|| PlatformError::not_found("contract", &contract.to_string()))
}

/// Reads a transaction that somebody else signed and that calls a contract.
///
/// # Errors
/// [`PlatformError::Validation`] of `signedTransaction` for what is no transaction, and for one that does something else.
pub fn signed_call(raw: &[u8], contract: Address) -> Result<Transaction, PlatformError> {
    let expected = format!("a signed transaction that calls {contract} (EIP-2718)");
    let wrong = |got: String| PlatformError::field("signedTransaction", expected.clone(), got);
    let transaction = Transaction::decode(raw).map_err(|cause| wrong(cause.to_string()))?;
    match transaction.to() {
        Some(to) if to == contract => Ok(transaction),
        Some(to) => Err(wrong(format!("a call of {to}"))),
        None => Err(wrong("a creation of a contract".to_owned())),
    }
}

/// Refuses the fields that a signed transaction says itself: their names, and whether they are there.
pub fn beside_signed(fields: &[(&str, bool)]) -> Vec<FieldError> {
    let refused = |path: &str| FieldError {
        path: path.to_owned(),
        expected: "no value beside a signedTransaction, which says it all".to_owned(),
        got: "a value".to_owned(),
    };
    fields.iter().filter(|(_, is_there)| *is_there).map(|(path, _)| refused(path)).collect()
}

fn find(abi: &JsonAbi, name: &str, count: usize) -> Result<Function, PlatformError> {
    let bare = name.split('(').next().unwrap_or(name);
    let fits = |function: &&Function| {
        if name.contains('(') { function.signature() == name } else { function.inputs.len() == count }
    };
    let named: Vec<&Function> = abi.function(bare).into_iter().flatten().collect();
    match named.iter().copied().find(fits) {
        Some(function) => Ok(function.clone()),
        None if named.is_empty() => {
            let names: Vec<String> = abi.functions().map(Function::signature).collect();
            Err(PlatformError::field("method", format!("one of {}", names.join(", ")), name))
        }
        None => {
            let signatures: Vec<String> = named.iter().map(|function| function.signature()).collect();
            Err(PlatformError::field(
                "args",
                format!("the arguments of {}", signatures.join(" or ")),
                format!("{count} of them"),
            ))
        }
    }
}
