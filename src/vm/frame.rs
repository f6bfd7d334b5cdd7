//! One frame: value transferred, code recognised and run, everything undone on failure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use alloy_primitives::Bytes;

use super::{
    BlockContext, DeployerNotAllowed, FrameOutcome, FrameResult, GasSchedule, HaltReason, Host, Inspector, Message,
    MessageKind, Stop, TemplateRegistry, abi,
    env::{Env, FrameRunner},
    runner::{CodeRunner, TemplateRunner, recognise},
};
use crate::{
    primitives::Gas,
    state::{Journal, StateError},
};

/// Runs the outermost message of a transaction.
pub(super) fn run_outermost(
    journal: &mut Journal,
    block: &BlockContext,
    registry: &TemplateRegistry,
    message: &Message<'_>,
    inspector: Option<&mut dyn Inspector>,
) -> Result<FrameResult, StateError> {
    let checkpoint = journal.checkpoint();
    let mut unreadable = None;
    let coinbase = block.hardfork.rules().has_warm_coinbase.then_some(&block.beneficiary);
    for address in [&message.caller, &message.to].into_iter().chain(coinbase) {
        if let Err(error) = journal.access_account(address) {
            journal.revert_to(checkpoint);
            return Err(error);
        }
    }
    let inspector = inspector.map(|inspector| inspector as _);
    let frames = Frames { registry };
    let mut env = Env { journal, block, frames: &frames, inspector, unreadable: &mut unreadable };
    let is_static = message.kind == MessageKind::StaticCall;
    let result = frames.run(&mut env, message, 0, is_static);
    match unreadable {
        None => Ok(result),
        Some(error) => {
            journal.revert_to(checkpoint);
            Err(error)
        }
    }
}

/// Runs frames with the templates of a registry.
struct Frames<'r> {
    registry: &'r TemplateRegistry,
}

impl FrameRunner for Frames<'_> {
    fn run(&self, env: &mut Env<'_>, message: &Message<'_>, depth: u32, is_static: bool) -> FrameResult {
        if let Some(inspector) = &mut env.inspector {
            inspector.enter(message);
        }
        let checkpoint = env.journal.checkpoint();
        let mut gas_left = message.gas;
        let ended = self.run_to_end(env, message, depth, is_static, &mut gas_left);
        let result = match ended {
            Ok(output) => FrameResult { outcome: FrameOutcome::Success, gas_left, output },
            Err(Stop::Revert(output)) => FrameResult { outcome: FrameOutcome::Revert, gas_left, output },
            Err(Stop::Halt(reason)) => {
                let gas_left = if reason.keeps_gas() { message.gas } else { Gas::ZERO };
                FrameResult { outcome: FrameOutcome::Halt(reason), gas_left, output: Bytes::new() }
            }
            // `run_outermost` returns the error instead of this result.
            Err(Stop::StateUnreadable) => {
                FrameResult { outcome: FrameOutcome::Revert, gas_left: Gas::ZERO, output: Bytes::new() }
            }
        };
        if result.is_success() {
            env.journal.commit(checkpoint);
        } else {
            env.journal.revert_to(checkpoint);
        }
        if let Some(inspector) = &mut env.inspector {
            inspector.exit(&result);
        }
        result
    }
}

impl Frames<'_> {
    fn run_to_end(
        &self,
        env: &mut Env<'_>,
        message: &Message<'_>,
        depth: u32,
        is_static: bool,
        gas_left: &mut Gas,
    ) -> Result<Bytes, Stop> {
        if depth >= GasSchedule::STANDARD.call_depth_max {
            return Err(Stop::Halt(HaltReason::CallDepth));
        }
        match message.kind {
            MessageKind::Call | MessageKind::StaticCall => self.call(env, message, depth, is_static, gas_left),
            MessageKind::Create => self.create(env, message, depth, gas_left),
        }
    }

    fn call(
        &self,
        env: &mut Env<'_>,
        message: &Message<'_>,
        depth: u32,
        is_static: bool,
        gas_left: &mut Gas,
    ) -> Result<Bytes, Stop> {
        move_value(env, message)?;
        let account = env.read(|journal| journal.load(&message.to))?;
        let runner = {
            let code =
                env.read(|journal| journal.code_of(account).map(|code| recognise_deployed(code, self.registry)))?;
            match code {
                None => return Ok(Bytes::new()),
                Some(runner) => runner.map_err(Stop::Halt)?,
            }
        };
        let host = Host::new(env.reborrow(), message, account, depth, is_static);
        let mut host = host.acting_for_signer(runner.acts_for_signer());
        let ended = catch_unwind(AssertUnwindSafe(|| runner.call(&mut host, message.input)));
        *gas_left = host.gas_left();
        host.finish(ended.unwrap_or(Err(Stop::Halt(HaltReason::TemplatePanic))))
    }

    fn create(&self, env: &mut Env<'_>, message: &Message<'_>, depth: u32, gas_left: &mut Gas) -> Result<Bytes, Stop> {
        if !message.may_deploy() {
            return Err(abi::revert(&DeployerNotAllowed { origin: message.origin }));
        }
        let bytes_max = env.block.hardfork.rules().init_code_bytes_max.filter(|_| !message.is_of_genesis());
        if bytes_max.is_some_and(|max| message.input.len() > max) {
            return Err(Stop::Halt(HaltReason::InitCodeSize));
        }
        if !env.read(|journal| journal.create_account(&message.to))? {
            return Err(Stop::Halt(HaltReason::Collision));
        }
        move_value(env, message)?;
        if message.input.is_empty() {
            return Ok(Bytes::new());
        }
        let (runner, params) = recognise(message.input, self.registry).map_err(Stop::Halt)?;
        let account = env.read(|journal| journal.load(&message.to))?;
        let mut host = Host::new(env.reborrow(), message, account, depth, false);
        let ended = catch_unwind(AssertUnwindSafe(|| runner.construct(&mut host, params)));
        *gas_left = host.gas_left();
        let code = host.finish(ended.unwrap_or(Err(Stop::Halt(HaltReason::TemplatePanic))))?;
        *gas_left = gas_left.pay(Gas::new(GasSchedule::STANDARD.code_deposit_byte * code.len() as u64))?;
        env.read(|journal| journal.set_code(&message.to, code.clone()))?;
        Ok(code)
    }
}

/// Returns the runner of an account's code, or `None` where there is no code.
fn recognise_deployed<'r>(
    code: &Bytes,
    registry: &'r TemplateRegistry,
) -> Option<Result<TemplateRunner<'r>, HaltReason>> {
    (!code.is_empty()).then(|| recognise(code, registry).map(|(runner, _)| runner))
}

fn move_value(env: &mut Env<'_>, message: &Message<'_>) -> Result<(), Stop> {
    if message.value.is_zero() || env.read(|journal| journal.transfer(&message.caller, &message.to, message.value))? {
        return Ok(());
    }
    Err(Stop::Halt(HaltReason::InsufficientBalance))
}
