//! What joins components after their creation: a timelock that owns a token, rewards that are paid in.

use serde_json::{Map, Value};

use super::{
    component::{Component, ComponentKind, error, path_of},
    parts::{FUND, OWNS_TOKEN},
    plan::{Plan, Step},
};
use crate::{
    primitives::{Address, B256, parse_amount},
    templates::{
        batch::Operation, common::DEFAULT_ADMIN_ROLE, erc20, erc20::interface as token,
        staking_pool::interface as staking,
    },
    vm::ParameterError,
};

/// Returns the operations that follow the creations.
pub(super) fn steps(
    components: &[Component],
    plan: &Plan,
    deployer: Address,
) -> Result<Vec<Step>, Vec<ParameterError>> {
    let (mut steps, mut errors) = (Vec::new(), Vec::new());
    for (index, component) in components.iter().enumerate() {
        let joined = Joined { components, plan, deployer, index };
        let made = match component.kind {
            ComponentKind::Governance => joined.governance(&component.config),
            ComponentKind::Staking => joined.staking(&component.config),
            _ => Ok(Vec::new()),
        };
        match made {
            Ok(made) => steps.extend(made),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(steps) } else { Err(errors) }
}

/// A component among the others.
struct Joined<'a> {
    components: &'a [Component],
    plan: &'a Plan,
    deployer: Address,
    index: usize,
}

impl Joined<'_> {
    /// A governor counts the votes of its token; its timelock owns the token if that is asked for.
    fn governance(&self, config: &Map<String, Value>) -> Result<Vec<Step>, ParameterError> {
        let Some(token) = self.token_component(config.get("token")) else {
            return match config.get(OWNS_TOKEN) {
                None | Some(Value::Bool(false)) => Ok(Vec::new()),
                Some(_) => Err(self.error(OWNS_TOKEN, "false, as the token is no component of the dApp", "true")),
            };
        };
        let settings = &self.components[token].config;
        if !has_feature(settings, "votes") {
            let name = settings.get("symbol").map(Value::to_string).unwrap_or_default();
            return Err(self.error("token", "a token with the feature votes", name));
        }
        let owns = config.get(OWNS_TOKEN).unwrap_or(&Value::Bool(false));
        match owns.as_bool() {
            Some(false) => Ok(Vec::new()),
            Some(true) if settings.contains_key("owner") => {
                Err(self.error(OWNS_TOKEN, "false, as the token's owner is named and not the deployer", "true"))
            }
            Some(true) => Ok(self.hand_over(token, settings)),
            None => Err(self.error(OWNS_TOKEN, "true or false", owns)),
        }
    }

    /// Gives the roles of a token to the timelock, and takes them from the deployer. The governor creates its timelock first of all.
    fn hand_over(&self, component: usize, settings: &Map<String, Value>) -> Vec<Step> {
        let (address, timelock) = (self.plan.components[component], self.plan.components[self.index].create(1));
        let optional = [("mintable", erc20::MINTER_ROLE), ("pausable", erc20::PAUSER_ROLE)];
        let roles: Vec<B256> =
            optional.into_iter().filter(|(name, _)| has_feature(settings, name)).map(|it| it.1).collect();
        let all = roles.into_iter().chain([DEFAULT_ADMIN_ROLE]);
        let operations = all.flat_map(|role| {
            [
                Operation::call(address, &token::grantRoleCall { role, account: timelock }),
                Operation::call(address, &token::renounceRoleCall { role, callerConfirmation: self.deployer }),
            ]
        });
        operations.map(|operation| self.step(operation, "roles of the token to the timelock")).collect()
    }

    /// Pays rewards in, if that is asked for.
    fn staking(&self, config: &Map<String, Value>) -> Result<Vec<Step>, ParameterError> {
        let Some(fund) = config.get(FUND) else { return Ok(Vec::new()) };
        let amount = fund.as_str().and_then(parse_amount).filter(|amount| !amount.is_zero());
        let Some(amount) = amount else {
            return Err(self.error(
                FUND,
                "a decimal integer string above 0, in the reward token's smallest unit",
                fund,
            ));
        };
        let pool = self.plan.components[self.index];
        let reward = self.reward_token(config);
        let pay = [
            Operation::call(reward, &token::approveCall { spender: pool, value: amount }),
            Operation::call(pool, &staking::fundRewardCall { token: reward, amount }),
        ];
        Ok(pay.into_iter().map(|operation| self.step(operation, "rewards paid in")).collect())
    }

    /// Returns the first reward token, which is the staking token where none is named.
    fn reward_token(&self, config: &Map<String, Value>) -> Address {
        let listed = config.get("rewards").and_then(|rewards| rewards.get(0)?.get("token"));
        let named = listed.or_else(|| config.get("rewardToken")).and_then(|token| self.address(token));
        let staked = || config.get("stakingToken").and_then(|token| self.address(token));
        named.filter(|token| !token.is_zero()).or_else(staked).unwrap_or_default()
    }

    fn address(&self, value: &Value) -> Option<Address> {
        let text = value.as_str()?;
        self.plan.addresses.get(text).copied().or_else(|| text.parse().ok())
    }

    /// Returns the index of the token component that a name means, or of the only one without a name.
    fn token_component(&self, named: Option<&Value>) -> Option<usize> {
        let is_token = |index: &usize| self.components[*index].kind == ComponentKind::Token;
        let mut tokens = (0..self.components.len()).filter(is_token);
        match named {
            Some(name) => {
                let address = self.address(name)?;
                tokens.find(|index| self.plan.components[*index] == address)
            }
            None => tokens.next(),
        }
    }

    fn step(&self, operation: Operation, what: &str) -> Step {
        Step { operation, purpose: format!("{}: {what}", path_of(self.index)) }
    }

    fn error(&self, field: &str, expected: &str, got: impl ToString) -> ParameterError {
        error(&format!("{}.config.{field}", path_of(self.index)), expected, got)
    }
}

/// Returns whether a token's configuration asks for a feature: by its name in a list, or as true.
fn has_feature(config: &Map<String, Value>, feature: &str) -> bool {
    match config.get("features") {
        Some(Value::Array(names)) => names.iter().any(|name| name == feature),
        Some(features) => features.get(feature) == Some(&Value::Bool(true)),
        None => false,
    }
}
