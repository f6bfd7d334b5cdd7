//! The registry against a list.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Names, the last of which are none.
const NAMES: [&str; 6] = ["defi", "nft", "dao", "oracle-2", "", "De fi"];
const RIGHT_NAMES: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Enable { name: usize, version: u32, config: u8 },
    Disable { name: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    prop_oneof![
        3 => (name(), 0_u32..3, 0_u8..3).prop_map(|(name, version, config)| Step::Enable { name, version, config }),
        2 => name().prop_map(|name| Step::Disable { name }),
    ]
}

/// Modules in the order in which they were enabled first.
#[derive(Debug, Default)]
struct Model(Vec<sol::ModuleInfo>);

impl Model {
    fn find(&mut self, name: &str) -> Option<&mut sol::ModuleInfo> {
        self.0.iter_mut().find(|module| module.name == name)
    }

    /// Applies a step at a height; returns whether it succeeds, and whether it changes anything.
    fn apply(&mut self, step: &Step, height: u64) -> (bool, bool) {
        match *step {
            Step::Enable { name, .. } | Step::Disable { name } if name >= RIGHT_NAMES => (false, false),
            Step::Enable { name, version, config } => {
                let new = info(NAMES[name], version, config, true, height);
                match self.find(NAMES[name]) {
                    None => self.0.push(new),
                    Some(old) if *old == (sol::ModuleInfo { since: old.since, ..new.clone() }) => return (true, false),
                    Some(old) => *old = new,
                }
                (true, true)
            }
            Step::Disable { name } => match self.find(NAMES[name]) {
                None => (false, false),
                Some(module) if !module.enabled => (true, false),
                Some(module) => {
                    (module.enabled, module.since) = (false, height);
                    (true, true)
                }
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn modules_are_what_a_model_has(steps in vec((0_u8..5, step()), 1..40)) {
        let (mut lab, mut model) = (Lab::new(&ModulesConfig::new(AUTHORITY)), Model::default());
        for (height, (by, step)) in (1..).zip(&steps) {
            let caller = if *by == 0 { BOB } else { AUTHORITY };
            lab.at_height(height);
            let result = match *step {
                Step::Enable { name, version, config } => lab.call(caller, &enabling(NAMES[name], version, config)),
                Step::Disable { name } => lab.call(caller, &sol::disableCall { name: NAMES[name].to_owned() }),
            };
            let (success, changes) = if caller == BOB { (false, false) } else { model.apply(step, height) };
            prop_assert_eq!(result.is_success(), success, "{:?}", step);
            prop_assert_eq!(lab.journal.logs().len(), usize::from(changes));
        }
        let page = lab.ok(BOB, &sol::modulesCall { from: U256::ZERO, count: U256::MAX });
        prop_assert_eq!(&page, &model.0);
        for module in &model.0 {
            prop_assert_eq!(&lab.module(&module.name), module);
        }
        prop_assert_eq!(lab.ok(BOB, &sol::moduleCountCall {}), U256::from(model.0.len()));
    }
}
