//! Calls of every view function that a contract's ABI has.

use alloy_primitives::{B256, Bytes, U256, hex};

use crate::{artifacts::Function, layout::Keys};

/// Most calls of one function.
const CALLS_MAX: usize = 48;

/// Identifiers of the interfaces that are asked for (ERC-165): itself, none, ERC-20, ERC-20's metadata, permit, EIP-5267, votes, 721, its
/// metadata, enumeration and changes of metadata (ERC-4906), 1155 and its metadata, royalties, access control, vault, flash lender, governor, that without
/// `getProposalId`, receiver of 1155.
const INTERFACES: [[u8; 4]; 21] = [
    hex!("01ffc9a7"),
    hex!("ffffffff"),
    hex!("36372b07"),
    hex!("a219a025"),
    hex!("9d8ff7da"),
    hex!("84b0196e"),
    hex!("e90fb3f6"),
    hex!("80ac58cd"),
    hex!("5b5e139f"),
    hex!("780e9d63"),
    hex!("49064906"),
    hex!("d9b67a26"),
    hex!("0e89341c"),
    hex!("2a55205a"),
    hex!("7965db0b"),
    hex!("87dfe5a0"),
    hex!("b0202a11"),
    hex!("00000000"),
    hex!("4ff7ed7c"),
    hex!("65455a86"),
    hex!("4e2312e0"),
];

/// Returns inputs that call `function` with combinations of `keys`; none when it takes lists or strings.
pub fn inputs(function: &Function, keys: &Keys) -> Vec<Bytes> {
    let Some(arguments) = function.inputs.iter().map(|name| arguments(name, keys)).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let all: usize = arguments.iter().map(Vec::len).product();
    // A step without a common divisor with the lengths tries all arguments in turn.
    let least = all.div_ceil(CALLS_MAX).max(1);
    let step = (least..).find(|step| greatest_divisor(*step, all) == 1).unwrap_or(1);
    (0..all).step_by(step).map(|index| input(function, &arguments, index)).collect()
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn input(function: &Function, arguments: &[Vec<B256>], mut index: usize) -> Bytes {
    let mut input = function.selector.to_vec();
    for choices in arguments {
        input.extend_from_slice(choices[index % choices.len()].as_slice());
        index /= choices.len();
    }
    input.into()
}

fn arguments(type_name: &str, keys: &Keys) -> Option<Vec<B256>> {
    Some(match type_name {
        "address" => keys.addresses.iter().map(|address| address.into_word()).collect(),
        "bytes32" => keys.words.clone(),
        "bytes4" => INTERFACES.iter().map(|id| B256::right_padding_from(id)).collect(),
        "bool" => vec![B256::ZERO, U256::ONE.into()],
        _ if type_name.starts_with("uint") && !type_name.ends_with(']') => {
            keys.numbers.iter().map(|number| B256::from(*number)).collect()
        }
        _ => return None,
    })
}
