//! Compiled Solidity in revm.

use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_sol_types::SolValue;
use revm::{
    Context, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext,
    context::{TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
    state::AccountInfo,
};

use crate::{
    engine::{CHAIN_ID, Call, Engine, FIRST_BLOCK, FIRST_TIMESTAMP, GAS_LIMIT, Outcome},
    parties::Answer,
    suite::Creation,
};

type Evm = revm::MainnetEvm<revm::handler::MainnetContext<CacheDB<EmptyDB>>>;

/// A chain of EVM contracts. Anybody may send, contracts too; gas costs nothing.
pub struct Reference {
    evm: Evm,
}

impl Reference {
    pub fn new() -> Self {
        let evm = Context::mainnet()
            .with_db(CacheDB::new(EmptyDB::default()))
            .modify_cfg_chained(|cfg| {
                cfg.chain_id = CHAIN_ID;
                cfg.disable_nonce_check = true;
                cfg.disable_eip3607 = true;
                cfg.tx_gas_limit_cap = Some(u64::MAX);
            })
            .modify_block_chained(|block| {
                block.number = U256::from(FIRST_BLOCK);
                block.timestamp = U256::from(FIRST_TIMESTAMP);
                block.gas_limit = u64::MAX;
            })
            .build_mainnet();
        Self { evm }
    }
}

impl Engine for Reference {
    fn create(&mut self, creator: Address, value: U256, init_code: &[u8]) -> Outcome {
        let data = init_code.to_vec().into();
        let transaction = TxEnv { kind: TxKind::Create, data, value, ..sent_by(creator) };
        let result = self.evm.transact_commit(transaction).expect("a valid transaction");
        match outcome(result) {
            Outcome::Success { logs, .. } => Outcome::Success { output: Default::default(), logs },
            other => other,
        }
    }

    fn call(&mut self, call: &Call) -> Outcome {
        outcome(self.evm.transact_commit(transaction(call)).expect("a valid transaction"))
    }

    fn view(&mut self, call: &Call) -> Outcome {
        outcome(self.evm.transact(transaction(call)).expect("a valid transaction").result)
    }

    fn storage(&mut self, contract: Address, slot: U256) -> U256 {
        let accounts = &self.evm.ctx.journaled_state.database.cache.accounts;
        accounts.get(&contract).and_then(|account| account.storage.get(&slot)).copied().unwrap_or_default()
    }

    fn touched(&self, contract: Address) -> Vec<U256> {
        let accounts = &self.evm.ctx.journaled_state.database.cache.accounts;
        accounts.get(&contract).map(|account| account.storage.keys().copied().collect()).unwrap_or_default()
    }

    fn balance(&mut self, account: Address) -> U256 {
        let accounts = &self.evm.ctx.journaled_state.database.cache.accounts;
        accounts.get(&account).map(|account| account.info.balance).unwrap_or_default()
    }

    fn set_balance(&mut self, account: Address, balance: U256) {
        let database = &mut self.evm.ctx.journaled_state.database;
        let info = database.load_account(account).expect("memory is readable").info.clone();
        database.insert_account_info(account, AccountInfo { balance, ..info });
    }

    fn advance(&mut self, blocks: u64, seconds: u64) {
        let block = &mut self.evm.ctx.block;
        block.number += U256::from(blocks);
        block.timestamp += U256::from(seconds);
    }

    fn receiver(&self, answer: Answer) -> Bytes {
        Creation::reference("Receiver", &U256::from(answer as u8).abi_encode()).init_code
    }
}

fn transaction(call: &Call) -> TxEnv {
    TxEnv { kind: TxKind::Call(call.to), data: call.input.clone(), value: call.value, ..sent_by(call.from) }
}

fn sent_by(caller: Address) -> TxEnv {
    TxEnv { caller, gas_limit: GAS_LIMIT, gas_price: 0, chain_id: Some(CHAIN_ID), ..TxEnv::default() }
}

fn outcome(result: ExecutionResult) -> Outcome {
    match result {
        ExecutionResult::Success { output, logs, .. } => Outcome::Success { output: output.into_data(), logs },
        ExecutionResult::Revert { output, .. } => Outcome::Revert { output },
        ExecutionResult::Halt { .. } => Outcome::Halt,
    }
}
