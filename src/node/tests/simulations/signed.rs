//! Signed operations: permits, delegations and requests that a forwarder relays.

use alloy_dyn_abi::Eip712Domain;
use alloy_primitives::aliases::U48;
use alloy_sol_types::SolStruct;

use super::{choices::Choices, operations::changing, world::World};
use crate::{
    primitives::{Address, B256, U256},
    templates::{erc20::interface as erc20, erc721::interface as erc721, erc2771_forwarder::interface as relay},
};

/// Gas of a relayed request.
const REQUEST_GAS: u64 = 2_000_000;

/// A far moment, in seconds since the Unix epoch.
pub(super) const DEADLINE: u64 = 1 << 40;

/// Messages that are signed, hashed by alloy and not by the templates.
pub(super) mod message {
    alloy_sol_types::sol! {
        struct Permit {
            address owner;
            address spender;
            uint256 value;
            uint256 nonce;
            uint256 deadline;
        }

        struct Delegation {
            address delegatee;
            uint256 nonce;
            uint256 expiry;
        }

        struct Ballot {
            uint256 proposalId;
            uint8 support;
            address voter;
            uint256 nonce;
        }

        struct ExtendedBallot {
            uint256 proposalId;
            uint8 support;
            address voter;
            uint256 nonce;
            string reason;
            bytes params;
        }

        struct ForwardRequest {
            address from;
            address to;
            uint256 value;
            uint256 gas;
            uint256 nonce;
            uint48 deadline;
            bytes data;
        }
    }
}

impl World {
    pub(super) fn random_permit(&self, token: Address, choices: &mut Choices) -> erc20::permitCall {
        let (owner, spender) = (choices.one_of(self.accounts()), choices.one_of(self.accounts()));
        self.permit(token, owner, spender, U256::from(choices.next(1_000)))
    }

    /// Returns a permit of a token, or of a pool's LP token.
    pub(super) fn permit(&self, token: Address, owner: Address, spender: Address, value: U256) -> erc20::permitCall {
        let (nonce, deadline) = (self.nonce(token, owner), U256::from(DEADLINE));
        let name = self.read(token, &erc20::nameCall {}).unwrap();
        let signed = self.sign(&name, token, owner, &message::Permit { owner, spender, value, nonce, deadline });
        let (v, r, s) = parts(&signed);
        erc20::permitCall { owner, spender, value, deadline, v, r, s }
    }

    pub(super) fn delegation(&self, token: Address, choices: &mut Choices) -> erc721::delegateBySigCall {
        let (owner, delegatee) = (choices.one_of(self.accounts()), choices.one_of(self.accounts()));
        let (nonce, expiry) = (self.nonce(token, owner), U256::from(DEADLINE));
        let signed = self.sign("Gold", token, owner, &message::Delegation { delegatee, nonce, expiry });
        let (v, r, s) = parts(&signed);
        erc721::delegateBySigCall { delegatee, nonce, expiry, v, r, s }
    }

    /// A request to the vault, which trusts the forwarder.
    pub(super) fn request(&self, forwarder: Address, choices: &mut Choices) -> relay::ForwardRequestData {
        let (from, vault) = (choices.one_of(self.accounts()), self.contract("erc4626-vault").clone());
        let function = choices.one_of(&changing(&vault));
        let data = self.input(&vault, &function, from, choices);
        let (to, value, gas) = (vault.address, U256::ZERO, U256::from(REQUEST_GAS));
        let (nonce, deadline) = (self.nonce(forwarder, from), U48::from(DEADLINE));
        let message = message::ForwardRequest { from, to, value, gas, nonce, deadline, data: data.clone() };
        let signature = self.sign("ERC2771Forwarder", forwarder, from, &message).to_vec().into();
        relay::ForwardRequestData { from, to, value, gas, deadline, data, signature }
    }

    pub(super) fn nonce(&self, contract: Address, owner: Address) -> U256 {
        self.read(contract, &erc20::noncesCall { owner }).unwrap()
    }

    /// Returns a signature as `r`, `s` and `v`.
    pub(super) fn sign(&self, name: &str, contract: Address, signer: Address, message: &impl SolStruct) -> [u8; 65] {
        let (name, version) = (Some(name.to_owned().into()), Some("1".into()));
        let chain_id = U256::from(self.node.view().chain_id());
        let domain = Eip712Domain::new(name, version, Some(chain_id), Some(contract), None);
        self.node.sign(signer, message.eip712_signing_hash(&domain)).unwrap().as_bytes()
    }
}

fn parts(signature: &[u8; 65]) -> (u8, B256, B256) {
    let word = |from| B256::from_slice(&signature[from..from + 32]);
    let v = signature[64];
    (if v < 27 { 27 + v } else { v }, word(0), word(32))
}
