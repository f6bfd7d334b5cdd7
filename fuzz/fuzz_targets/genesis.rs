//! `GenesisSpec::from_json` on any text: an error or a specification that survives its own JSON and gives a state and a header.
#![no_main]

use chainbox::{
    chain::GenesisSpec,
    state::{CommitId, MemoryState, StateStore},
    store::Batch,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(spec) = GenesisSpec::from_json(text) else { return };
    let json = spec.to_json();
    let again = GenesisSpec::from_json(&json).expect("written by the specification itself");
    assert_eq!(again.to_json(), json);
    let made = |spec: &GenesisSpec| {
        let commit = MemoryState::new().commit(CommitId::EMPTY, &spec.state_changes(), &mut Batch::default());
        spec.header(commit.expect("memory holds it").root)
    };
    assert_eq!(made(&again), made(&spec));
});
