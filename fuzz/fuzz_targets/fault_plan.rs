//! Fault plans as text: reading is total, and a plan survives both of its formats.
#![no_main]

use chainbox::sim::{FaultPlan, Regression};
use libfuzzer_sys::fuzz_target;

const REPLICAS: usize = 4;

fuzz_target!(|text: &str| {
    let _ = Regression::from_toml(text);
    for plan in [FaultPlan::from_toml(text), FaultPlan::from_json(text)].into_iter().flatten() {
        let _ = plan.check(REPLICAS);
        assert_eq!(FaultPlan::from_toml(&plan.to_toml()).expect("written just now"), plan);
        assert_eq!(FaultPlan::from_json(&plan.to_json()).expect("written just now"), plan);
    }
});
