//! The refusal of a creation on a chain that says who may deploy contracts.

alloy_sol_types::sol! {
    #![sol(extra_derives(Debug, PartialEq, Eq))]
    /// The signer of the transaction may not deploy contracts on this chain.
    #[allow(missing_docs)] // The macro makes a type whose fields are the Solidity parameters.
    error DeployerNotAllowed(address origin);
}
