//! Random operations: calls of each function, signed ones too, lists of calls, creations.

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt as _};
use alloy_json_abi::{Function, Param, StateMutability};
use alloy_primitives::I256;
use alloy_sol_types::{SolCall, SolValue};

use super::{
    choices::Choices,
    world::{Deployed, GAS_MAX, World, words},
};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::BlockRef,
    primitives::{Address, B256, Bytes, U256, keccak256},
    templates::{
        self, batch::interface::Batch as batch, erc2771_forwarder::interface as relay,
        multicall::interface as multicall, multisig::interface as multisig,
    },
    vm::{Descriptor, Marker},
};

/// Draws of an operation that is to succeed, before the last is taken as it is.
const ATTEMPTS: usize = 60;

/// Returns the functions of a template that may change something.
pub(super) fn changing(contract: &Deployed) -> Vec<Function> {
    let is_view =
        |function: &Function| matches!(function.state_mutability, StateMutability::View | StateMutability::Pure);
    contract.abi.functions().filter(|function| !is_view(function)).cloned().collect()
}

/// Whether a kind of operation is drawn until one succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    Success,
    Anything,
}

impl World {
    /// Returns a random operation of any template.
    pub(super) fn operation(&self, choices: &mut Choices) -> CallRequest {
        let aim = if choices.next(4) == 0 { Aim::Anything } else { Aim::Success };
        let contract = choices.one_of(&self.contracts);
        if choices.next(12) == 0 {
            return self.creation_of(&contract.name, choices, aim);
        }
        let functions: Vec<Function> = match choices.next(4) {
            0 => contract.abi.functions().cloned().collect(),
            _ => changing(&contract),
        };
        let function = choices.one_of(&functions);
        self.call(&contract, &function, choices, aim)
    }

    /// Returns a call of a function with random arguments.
    pub(super) fn call(
        &self,
        contract: &Deployed,
        function: &Function,
        choices: &mut Choices,
        aim: Aim,
    ) -> CallRequest {
        self.make_ready(contract, &function.name);
        self.aimed(choices, aim, |choices| {
            // The first account has all roles: it is chosen half of the time.
            let from = if choices.next(2) == 0 { self.owner() } else { choices.one_of(self.accounts()) };
            let input = self.input(contract, function, from, choices);
            let is_paid = function.state_mutability == StateMutability::Payable || choices.next(16) == 0;
            let value = if is_paid { choices.one_of(&[0_u64, 0, 1, 5, 700]) } else { 0 };
            CallRequest::call(contract.address, input).with_from(from).with_value(U256::from(value))
        })
    }

    /// Makes what a function needs and other operations use up.
    fn make_ready(&self, contract: &Deployed, function: &str) {
        match contract.name.as_str() {
            "liquidity-pool" => self.pay_into_pool(contract.address, function),
            "timelock-controller" => self.prepare_timelock(contract.address, function),
            "governance-dao" => self.advance_proposal(contract.address, function),
            _ => {}
        }
    }

    /// Returns the creation of a contract, sometimes with damaged parameters.
    pub(super) fn creation_of(&self, template: &str, choices: &mut Choices, aim: Aim) -> CallRequest {
        self.aimed(choices, aim, |choices| {
            let value = choices.one_of(&[0_u64, 0, 0, 9]);
            let request = CallRequest::create(self.random_init_code(template, choices));
            request.with_from(choices.one_of(self.accounts())).with_value(U256::from(value))
        })
    }

    fn random_init_code(&self, template: &str, choices: &mut Choices) -> Bytes {
        let descriptor = Descriptor::of(&**templates::builtin().by_name(template).unwrap());
        let mut init_code = self.init_code(&descriptor).to_vec();
        // The pool takes no creation without a template's marker.
        let parameters = init_code.len() - Marker::LEN;
        match choices.next(6) {
            0 => init_code.truncate(Marker::LEN + choices.next(parameters + 1)),
            1 if parameters > 0 => init_code[Marker::LEN + choices.next(parameters)] ^= 0xff,
            _ => {}
        }
        init_code.into()
    }

    /// Draws operations until one succeeds, where that is the aim.
    fn aimed(&self, choices: &mut Choices, aim: Aim, mut draw: impl FnMut(&mut Choices) -> CallRequest) -> CallRequest {
        let view = self.node.view();
        let mut operation = draw(choices);
        for _ in 0..ATTEMPTS {
            operation = operation.with_gas(GAS_MAX).with_fees(3_000_000_000, 1_000);
            let succeeds = || {
                let outcome = view.call(&operation, BlockRef::Pending, &StateOverrides::new(), None);
                outcome.is_ok_and(|outcome| outcome.is_success())
            };
            if aim == Aim::Anything || succeeds() {
                return operation;
            }
            operation = draw(choices);
        }
        operation.with_gas(GAS_MAX).with_fees(3_000_000_000, 1_000)
    }

    pub(super) fn input(
        &self,
        contract: &Deployed,
        function: &Function,
        from: Address,
        choices: &mut Choices,
    ) -> Bytes {
        if choices.next(10) > 0
            && let Some(input) = self.special_input(contract, function, from, choices)
        {
            return input;
        }
        let len = choices.next(3);
        let arguments: Vec<_> = function
            .inputs
            .iter()
            .map(|input| self.argument(input, &input.selector_type().parse().unwrap(), len, from, choices))
            .collect();
        function.abi_encode_input(&arguments).unwrap().into()
    }

    /// Returns the input of a function whose arguments are signatures or operations.
    fn special_input(
        &self,
        contract: &Deployed,
        function: &Function,
        from: Address,
        choices: &mut Choices,
    ) -> Option<Bytes> {
        let (address, name) = (contract.address, function.name.as_str());
        let input = match (contract.name.as_str(), name) {
            ("erc20-token" | "liquidity-pool", "permit") => self.random_permit(address, choices).abi_encode(),
            ("erc20-token" | "erc721-nft", "delegateBySig") => self.delegation(address, choices).abi_encode(),
            ("erc2771-forwarder", "execute") => {
                relay::executeCall { request: self.request(address, choices) }.abi_encode()
            }
            ("erc2771-forwarder", "verify") => {
                relay::verifyCall { request: self.request(address, choices) }.abi_encode()
            }
            ("erc2771-forwarder", "executeBatch") => {
                let requests = vec![self.request(address, choices)];
                relay::executeBatchCall { requests, refundReceiver: choices.one_of(&[Address::ZERO, from]) }
                    .abi_encode()
            }
            ("multicall", name) => self.multicall(name, choices)?,
            ("auction", name) => self.auction_input(address, name, from, choices)?,
            ("marketplace", name) => self.market_input(address, name, from, choices)?,
            ("timelock-controller", name) => self.timelock_input(address, name, from, choices)?,
            ("governance-dao", _) => self.governor_input(address, function, choices)?,
            ("liquidity-pool", name) => self.pool_input(name, from, choices)?,
            ("liquidity-router", name) => self.router_input(address, name, from, choices)?,
            ("multisig", "confirmTransaction" | "revokeConfirmation" | "executeTransaction") => {
                // Of those that there are, and the functions' arguments are alike.
                let count: U256 = self.read(address, &multisig::transactionCountCall {}).unwrap();
                let transaction = U256::from(choices.next(count.to()));
                [function.selector().as_slice(), &transaction.abi_encode()].concat()
            }
            ("vesting-wallet", "release" | "revoke") if function.inputs.len() == 2 => {
                let (token, id) = (self.contract("erc1155-multi").address, U256::from(choices.next(4)));
                [function.selector().as_slice(), &(token, id).abi_encode()].concat()
            }
            ("batch", "execute") => {
                let operations = (0..choices.next(4)).map(|_| self.batched(from, choices)).collect();
                batch::executeCall { operations }.abi_encode()
            }
            _ => return None,
        };
        Some(input.into())
    }

    fn multicall(&self, name: &str, choices: &mut Choices) -> Option<Vec<u8>> {
        if !name.to_lowercase().contains("aggregate") {
            return None;
        }
        // What a contract may call that has nothing.
        let calls: Vec<_> = (0..choices.next(4))
            .map(|_| {
                let contract = choices.one_of(&self.contracts);
                let functions: Vec<_> = contract.abi.functions().cloned().collect();
                let function = choices.one_of(&functions);
                // Lists in lists end soon.
                let function = if contract.name == "multicall" {
                    contract.abi.functions["getChainId"][0].clone()
                } else {
                    function
                };
                (contract.address, self.input(&contract, &function, self.contract("multicall").address, choices))
            })
            .collect();
        let plain = || calls.iter().map(|(target, data)| multicall::Call { target: *target, callData: data.clone() });
        let failing = choices.next(4) > 0;
        let three = calls.iter().map(|(target, data)| multicall::Call3 {
            target: *target,
            allowFailure: failing,
            callData: data.clone(),
        });
        let valued = self.accounts().iter().map(|target| multicall::Call3Value {
            target: *target,
            allowFailure: true,
            value: U256::ZERO,
            callData: Bytes::new(),
        });
        Some(match name {
            "aggregate" => multicall::aggregateCall { calls: plain().collect() }.abi_encode(),
            "tryAggregate" => {
                multicall::tryAggregateCall { requireSuccess: !failing, calls: plain().collect() }.abi_encode()
            }
            "tryBlockAndAggregate" => {
                multicall::tryBlockAndAggregateCall { requireSuccess: !failing, calls: plain().collect() }.abi_encode()
            }
            "blockAndAggregate" => multicall::blockAndAggregateCall { calls: plain().collect() }.abi_encode(),
            "aggregate3" => multicall::aggregate3Call { calls: three.collect() }.abi_encode(),
            "aggregate3Value" => multicall::aggregate3ValueCall { calls: valued.collect() }.abi_encode(),
            _ => return None,
        })
    }

    /// An operation of a batch.
    fn batched(&self, from: Address, choices: &mut Choices) -> batch::Operation {
        match choices.next(4) {
            0 => {
                let template = choices.one_of(&self.contracts).name;
                batch::Operation::create(self.random_init_code(&template, choices))
            }
            1 => batch::Operation::transfer(choices.one_of(self.accounts()), U256::from(choices.next(100))),
            _ => {
                let contract = self.contract(choices.one_of(&["erc20-token", "erc721-nft", "erc1155-multi"])).clone();
                let function = choices.one_of(&changing(&contract));
                let data = self.input(&contract, &function, from, choices);
                batch::Operation { target: contract.address, value: U256::ZERO, data }
            }
        }
    }

    fn argument(
        &self,
        parameter: &Param,
        ty: &DynSolType,
        len: usize,
        from: Address,
        choices: &mut Choices,
    ) -> DynSolValue {
        match ty {
            DynSolType::Bool => DynSolValue::Bool(choices.next(2) == 0),
            DynSolType::Address => DynSolValue::Address(self.address(&parameter.name, from, choices)),
            // A rate of a market: the variable one.
            DynSolType::Uint(bits) if parameter.name == "interestRateMode" && choices.next(8) > 0 => {
                DynSolValue::Uint(U256::from(2), *bits)
            }
            // A reward that leaves the pool a rate.
            DynSolType::Uint(bits) if ["reward", "_rewardsDuration"].contains(&&*parameter.name) => {
                DynSolValue::Uint(U256::from(choices.one_of(&[10, 10, 100, 1_000])), *bits)
            }
            DynSolType::Uint(bits) => {
                let numbers = [0, 0, 1, 2, 3, 4, 10, 11, 12, 20, 21, 22, 30, 31, 32, 100, 1_000, u64::from(u32::MAX)];
                let number = U256::from(choices.one_of(&numbers));
                DynSolValue::Uint(number & (U256::MAX >> (256 - *bits)), *bits)
            }
            DynSolType::Int(bits) => {
                let number = choices.one_of(&[-1, 0, 1, 1_000, 1 << 60, 1 << 61, 1 << 62, i64::MAX]);
                DynSolValue::Int(I256::unchecked_from(number), *bits)
            }
            DynSolType::FixedBytes(len) => {
                let roles = ["MINTER_ROLE", "PAUSER_ROLE", "URI_SETTER_ROLE", "WRITER_ROLE"].map(keccak256);
                let is_role = ["role", "interfaceId"].contains(&parameter.name.as_str());
                let word = if is_role { choices.one_of(&roles) } else { choices.one_of(&words()) };
                DynSolValue::FixedBytes(if choices.next(12) == 0 { B256::ZERO } else { word }, *len)
            }
            DynSolType::Bytes => DynSolValue::Bytes(vec![7; choices.one_of(&[0, 4, 33])]),
            DynSolType::String => DynSolValue::String("word ".repeat(choices.one_of(&[0, 1, 9]))),
            DynSolType::Array(element) => {
                // Lists of one function are of one length, mostly.
                let len = if choices.next(12) == 0 { choices.next(3) } else { len };
                DynSolValue::Array((0..len).map(|_| self.argument(parameter, element, 1, from, choices)).collect())
            }
            DynSolType::Tuple(members) => {
                let parts = parameter.components.iter().zip(members);
                // Enums are numbers below 5.
                let value = |(part, ty): (&Param, &DynSolType)| match ty {
                    DynSolType::Uint(8) => DynSolValue::Uint(U256::from(choices.next(5)), 8),
                    _ => self.argument(part, ty, len, from, choices),
                };
                DynSolValue::Tuple(parts.map(value).collect())
            }
            other => panic!("no values of type {other} yet"),
        }
    }

    fn address(&self, name: &str, from: Address, choices: &mut Choices) -> Address {
        let contracts: Vec<_> = self.contracts.iter().map(|contract| contract.address).collect();
        let known = [self.accounts(), &contracts].concat();
        match name {
            "token" | "asset" | "assets" | "debtAsset" if choices.next(4) > 0 => self.contract("erc20-token").address,
            // Who decides on rewards goes on to pay them in.
            "_rewardsDistribution" if choices.next(8) > 0 => self.owner(),
            "tokenAddress" if choices.next(4) > 0 => self.contract("erc4626-vault").address,
            // A caller's own, more often than not.
            "from" | "account" | "owner" | "onBehalfOf" | "callerConfirmation" if choices.next(2) == 0 => from,
            "collateralAsset" if choices.next(4) > 0 => self.contract("erc4626-vault").address,
            // A contract's owner goes on to call it.
            "newOwner" | "_owner" | "feeToSetter" => choices.one_of(self.accounts()),
            _ if choices.next(2) == 0 => choices.one_of(self.accounts()),
            _ => choices.one_of(&known),
        }
    }
}
