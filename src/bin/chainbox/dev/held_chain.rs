//! A chain that exists already, by a genesis file, a database or a dump: the flags that it decides, and that contradict it.

use chainbox::{
    chain::{BaseFee, GenesisSpec},
    consensus::{ConsensusConfig, ConsensusKind},
    node::{BlockRef, Node},
    primitives::{Address, Height, U256, Wallet},
};

use crate::dev::{
    amounts,
    args::{DEFAULT_ACCOUNTS, DevOptions},
};

type Failure = Box<dyn std::error::Error>;

/// A chain whose genesis is not made from flags.
#[derive(Debug)]
pub(crate) struct HeldChain {
    /// Where it comes from, such as `the database at ./chain`.
    source: String,
    /// Its genesis; that of a database has no accounts.
    genesis: GenesisSpec,
}

impl HeldChain {
    /// A chain from `source`.
    pub(crate) const fn new(source: String, genesis: GenesisSpec) -> Self {
        Self { source, genesis }
    }

    /// Checks the flags that the specification decides.
    ///
    /// # Errors
    /// Every flag that contradicts it, with both values.
    pub(crate) fn check(&self, options: &DevOptions) -> Result<(), Failure> {
        let genesis = &self.genesis;
        let mut found = Contradictions::default();
        found.compare("--chain-id", options.chain_id, genesis.chain_id);
        found.compare("--timestamp", options.timestamp, genesis.timestamp.as_secs());
        found.compare("--gas-limit", options.gas_limit, genesis.gas_limit.get());
        let base_fee = match genesis.base_fee {
            BaseFee::Off => 0,
            BaseFee::Dynamic(params) => params.initial,
        };
        found.compare("--base-fee", options.base_fee, base_fee);
        if let Some(asked) = options.hardfork.filter(|asked| genesis.forks != (*asked).into()) {
            found.add("--hardfork", asked, &genesis.forks.at(Height::GENESIS));
        }
        if options.tx_gas_cap && !genesis.transaction_gas_cap {
            found.add("--tx-gas-cap", "on", &"off");
        }
        let held = ConsensusConfig::deserialize_section(&genesis.consensus).ok().and_then(|config| config.kind());
        if let (Some(asked), Some(held)) = (options.consensus.map(ConsensusKind::name), held.map(ConsensusKind::name)) {
            found.compare("--consensus", Some(asked), held);
        }
        if !genesis.validators.is_empty() {
            let asked = options.validators.map(|count| count as usize);
            found.compare("--validators", asked, genesis.validators.len());
        }
        found.into_result(&self.source)
    }

    /// Checks `--balance` and `--accounts` against the accounts of the specification.
    ///
    /// # Errors
    /// As [`HeldChain::check`]; an invalid mnemonic.
    pub(crate) fn check_accounts(&self, options: &DevOptions) -> Result<(), Failure> {
        let balance = |address: Address| {
            Some(self.genesis.accounts.get(&address).map(|account| account.balance).unwrap_or_default())
        };
        check_accounts(options, balance)?.into_result(&self.source)
    }

    /// As [`HeldChain::check_accounts`], by the state of a node's genesis block.
    ///
    /// # Errors
    /// As [`HeldChain::check_accounts`].
    pub(crate) fn check_accounts_of(&self, options: &DevOptions, node: &Node) -> Result<(), Failure> {
        let view = node.view();
        check_accounts(options, |address| view.balance(address, BlockRef::Earliest).ok())?.into_result(&self.source)
    }
}

/// Compares the accounts that the flags would fund with those of a genesis; an unknown balance contradicts nothing.
fn check_accounts(
    options: &DevOptions,
    balance_of: impl Fn(Address) -> Option<U256>,
) -> Result<Contradictions, Failure> {
    let mut found = Contradictions::default();
    if options.accounts.is_none() && options.balance.is_none() {
        return Ok(found);
    }
    let keys = Wallet::from_phrase(&options.mnemonic)?.keys(0, options.accounts.unwrap_or(DEFAULT_ACCOUNTS))?;
    let balances = || {
        keys.iter().map(|key| key.address()).zip(0_u32..).map(|(address, index)| (address, index, balance_of(address)))
    };
    let unfunded = balances().filter(|(_, _, balance)| *balance == Some(U256::ZERO)).count();
    if let Some(asked) = options.accounts.filter(|_| unfunded > 0) {
        found.add("--accounts", asked, &format!("{} of these accounts have a balance", keys.len() - unfunded));
    }
    let differs = |balance: &Option<U256>| balance.is_some_and(|balance| Some(balance) != options.balance);
    if let Some(asked) = options.balance
        && let Some((address, index, Some(balance))) = balances().find(|(_, _, balance)| differs(balance))
    {
        let held = format!("({index}) {address} has {}", amounts::ether(balance));
        found.add("--balance", amounts::ether(asked), &held);
    }
    Ok(found)
}

/// Flags that contradict a chain, with what was asked for and what the chain has.
#[derive(Debug, Default)]
struct Contradictions(Vec<String>);

impl Contradictions {
    fn compare<T: PartialEq + core::fmt::Display>(&mut self, flag: &str, asked: Option<T>, held: T) {
        if let Some(asked) = asked.filter(|asked| *asked != held) {
            self.add(flag, asked, &held);
        }
    }

    fn add(&mut self, flag: &str, asked: impl core::fmt::Display, held: &dyn core::fmt::Display) {
        self.0.push(format!("{flag} {asked}: there it is {held}"));
    }

    fn into_result(self, source: &str) -> Result<(), Failure> {
        match self.0.as_slice() {
            [] => Ok(()),
            found => Err(format!(
                "{source} decides what these flags ask for; leave them out, or choose another:\n  {}",
                found.join("\n  ")
            )
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn options(flags: &[&str]) -> DevOptions {
        let Command::Dev(options) = Cli::parse_from(["chainbox", "dev"].iter().chain(flags)).command else {
            panic!("dev was asked for")
        };
        *options
    }

    fn check(flags: &[&str]) -> Result<(), String> {
        let (held, options) = (
            HeldChain::new("example.json".to_owned(), GenesisSpec::from_json(GenesisSpec::EXAMPLE).unwrap()),
            options(flags),
        );
        held.check(&options).and_then(|()| held.check_accounts(&options)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_flag_that_a_genesis_decides_is_named_with_both_values() {
        for (flag, asked, held) in [
            ("--chain-id", "7", "1337"),
            ("--timestamp", "5", "1767225600"),
            ("--gas-limit", "30000000", "60000000"),
            ("--base-fee", "0", "1000000000"),
            ("--hardfork", "london", "osaka"),
            ("--consensus", "raft", "proof-of-authority"),
            ("--accounts", "3", "2 of these accounts"),
            ("--balance", "3", "10000 ETH"),
        ] {
            let error = check(&[flag, asked]).unwrap_err();
            assert!(error.contains(flag) && error.contains(held) && error.contains("example.json"), "{error}");
        }
        let all = check(&["--chain-id", "7", "--tx-gas-cap", "--gas-limit", "30000000"]).unwrap_err();
        assert_eq!(all.lines().count(), 4, "{all}");
    }

    #[test]
    fn what_agrees_is_no_contradiction() {
        let agreeing =
            ["--chain-id", "1337", "--gas-limit", "60000000", "--consensus", "poa", "--accounts", "2", "--seed", "4"];
        assert_eq!(check(&agreeing), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }
}
