//! Creations in an order in which each contract knows the addresses that it needs.

use std::collections::BTreeMap;

use super::{
    component::{Component, error, path_of},
    parts::{Part, names, parts_of},
    plan::{Deployer, Plan, Step},
};
use crate::{
    primitives::{Address, Bytes},
    templates::{
        BATCH_ADDRESS,
        batch::{Operation, created_address},
    },
    vm::{DeploymentContext, Descriptor, ParameterError, TemplateRegistry},
};

/// Plans the creations of a dApp's contracts. Nothing is done yet.
///
/// # Errors
/// Everything that is wrong, by its path.
pub(super) fn creations(
    components: &[Component],
    templates: &TemplateRegistry,
    deployer: Deployer,
) -> Result<Plan, Vec<ParameterError>> {
    let parts = parts_of(components);
    let names = names(components, &parts)?;
    let descriptors = descriptors(&parts, templates)?;
    let mut creations = Creations { parts: &parts, names: &names, descriptors, deployer, made: Vec::new() };
    creations.order()?;
    Ok(creations.plan(components))
}

fn descriptors(parts: &[Part], templates: &TemplateRegistry) -> Result<Vec<Descriptor>, Vec<ParameterError>> {
    let described = parts.iter().map(|part| {
        let template = templates.by_name(part.template);
        template.map(|template| Descriptor::of(&**template)).ok_or_else(|| {
            let path = format!("{}.type", path_of(part.component));
            error(&path, "a kind whose template the chain has", part.template)
        })
    });
    let (found, missing): (Vec<_>, Vec<_>) = described.partition(Result::is_ok);
    let missing: Vec<_> = missing.into_iter().filter_map(Result::err).collect();
    if missing.is_empty() { Ok(found.into_iter().flatten().collect()) } else { Err(missing) }
}

/// Creations in the making.
struct Creations<'a> {
    parts: &'a [Part],
    names: &'a BTreeMap<String, usize>,
    descriptors: Vec<Descriptor>,
    deployer: Deployer,
    /// Those whose place is known, in their order: index of the part, init code, address.
    made: Vec<(usize, Bytes, Address)>,
}

impl Creations<'_> {
    /// Puts each part behind those that it names.
    fn order(&mut self) -> Result<(), Vec<ParameterError>> {
        let mut waiting: Vec<usize> = (0..self.parts.len()).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|part| !self.make(*part));
            if waiting.is_empty() {
                return Ok(());
            }
            if waiting.len() == before {
                return Err(self.why_not(&waiting));
            }
        }
    }

    /// Makes a part if it names only parts that are made.
    fn make(&mut self, part: usize) -> bool {
        let Ok(init_code) = self.encode(part, &self.known(part)) else { return false };
        let Deployer { address, nonce, .. } = self.deployer;
        let created = created_address(BATCH_ADDRESS, address, nonce, self.made.len(), &init_code);
        self.made.push((part, init_code, created));
        true
    }

    /// Returns the addresses of what is made, but not of `part` itself.
    fn known(&self, part: usize) -> BTreeMap<String, Address> {
        let made = |index: usize| self.made.iter().find(|made| made.0 == index).map(|made| made.2);
        let others = self.names.iter().filter(|(_, index)| **index != part);
        others.filter_map(|(name, index)| Some((name.clone(), made(*index)?))).collect()
    }

    fn encode(&self, part: usize, names: &BTreeMap<String, Address>) -> Result<Bytes, Vec<ParameterError>> {
        let context = DeploymentContext::new(self.deployer.address).with_names(names);
        let context = match self.deployer.block_time_secs {
            Some(secs) => context.with_block_time(secs),
            None => context,
        };
        let (path, params) = (&self.parts[part].path, &self.parts[part].params);
        self.descriptors[part].encode(params, context).map_err(|errors| {
            let below = |error: ParameterError| ParameterError { path: format!("{path}.{}", error.path), ..error };
            errors.into_iter().map(below).collect()
        })
    }

    /// Returns what is wrong with parts that can't be made: what would be wrong if all addresses were known, or that they need each other.
    fn why_not(&self, waiting: &[usize]) -> Vec<ParameterError> {
        let any: BTreeMap<_, _> = self.names.keys().map(|name| (name.clone(), Address::repeat_byte(1))).collect();
        let others = |part: usize| any.iter().filter(move |(name, _)| self.names[*name] != part);
        let named = |part: usize| others(part).map(|(name, address)| (name.clone(), *address)).collect();
        let wrong: Vec<_> =
            waiting.iter().filter_map(|part| self.encode(*part, &named(*part)).err()).flatten().collect();
        if !wrong.is_empty() {
            return wrong;
        }
        let needs = waiting.iter().filter_map(|part| self.encode(*part, &self.known(*part)).err()).flatten();
        let expected = "a component that does not need this one in its turn";
        needs.map(|error| ParameterError { expected: expected.to_owned(), ..error }).collect()
    }

    fn plan(self, components: &[Component]) -> Plan {
        let address_of = |index: usize| self.made.iter().find(|made| made.0 == index).map(|made| made.2);
        let addresses =
            self.names.iter().filter_map(|(name, index)| Some((name.clone(), address_of(*index)?))).collect();
        let of_component = |component: usize| self.parts.iter().rposition(|part| part.component == component);
        let components = (0..components.len()).filter_map(|index| address_of(of_component(index)?)).collect();
        let step = |(part, init_code, _): (usize, Bytes, Address)| {
            let Part { component, template, .. } = &self.parts[part];
            let purpose = format!("{}: creation of {template}", path_of(*component));
            Step { operation: Operation::create(init_code), purpose }
        };
        let steps = self.made.clone().into_iter().map(step).collect();
        Plan { steps, addresses, components }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Address of a governor whose times are these, on a chain with a block every seven seconds or with one at each transaction.
    fn governor(delay: &str, period: &str, block_time_secs: Option<u64>) -> Result<Address, String> {
        let deployer = Deployer { address: Address::repeat_byte(1), nonce: 3, block_time_secs };
        let components = json!([
            { "type": "governance", "config": { "name": "Council", "votingDelay": delay, "votingPeriod": period } },
            { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9", "features": ["votes"] } },
        ]);
        let components = Component::read_list(&components).unwrap();
        let plan = creations(&components, crate::templates::builtin(), deployer);
        plan.map(|plan| plan.components[0]).map_err(|errors| errors[0].to_string())
    }

    #[test]
    fn votes_in_days_are_counted_in_blocks_where_their_time_is_known() {
        // 3600 / 7 and 3 * 86400 / 7, rounded up.
        assert_eq!(governor("1h", "3d", Some(7)), governor("515", "37029", Some(7)));
        assert_eq!(governor("515", "37029", Some(7)), governor("515", "37029", None));
        let refused = governor("1h", "3d", None).unwrap_err();
        assert!(refused.contains("votingDelay: \"1h\", expected a number of blocks, such as 7200"), "{refused}");
    }

    #[test]
    fn addresses_follow_from_the_nonce() {
        let at = |nonce| {
            let deployer = Deployer { address: Address::repeat_byte(1), nonce, block_time_secs: None };
            let token = json!([{ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } }]);
            let components = Component::read_list(&token).unwrap();
            creations(&components, crate::templates::builtin(), deployer).unwrap().addresses
        };
        assert_ne!(at(0), at(1));
    }
}
