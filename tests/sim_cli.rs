//! The commands `sim`, `replay` and `campaign`, end to end, and the cluster recipes that use them.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

/// Exit statuses: nothing is wrong; something was found; the command can't be done; its flags are wrong.
const DONE: i32 = 0;
const FOUND: i32 = 3;
const FAILED: i32 = 1;
const USAGE: i32 = 2;

fn chainbox(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chainbox"));
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "CHAINBOX_SEED", "CHAINBOX_VALIDATORS"] {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments).output().expect("the program runs")
}

/// Runs it, requires the status, and answers what it printed.
fn run(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = chainbox(folder, arguments);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text")).concat();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    text
}

#[test]
fn the_list_is_as_committed() {
    let folder = tempfile::tempdir().unwrap();
    let list = run(folder.path(), &["sim", "--list"], DONE);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/scenarios.txt");
    if std::env::var_os("CHAINBOX_BLESS").is_some() {
        fs::write(path, &list).unwrap();
    }
    assert_eq!(list, fs::read_to_string(path).unwrap(), "look at it, then CHAINBOX_BLESS=1");
    assert!(run(folder.path(), &["sim", "--list", "--protocol", "raft"], DONE).lines().count() < list.lines().count());
}

#[test]
fn a_scenario_is_run_recorded_drawn_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = ["sim", "pbft-primary-crash", "--json", "--trace", "run.ndjson", "--svg", "run.svg"];
    let result: serde_json::Value = serde_json::from_str(&run(path, &flags, DONE)).unwrap();
    assert_eq!((&result["shown"], &result["seed"]), (&true.into(), &7.into()));
    assert!(result["command"].as_str().unwrap().starts_with("chainbox sim pbft-primary-crash --seed 7"));
    assert!(fs::read_to_string(path.join("run.svg")).unwrap().starts_with("<svg"));
    let text = run(path, &["replay", "run.ndjson", "--step", "--until", "4s"], DONE);
    assert!(text.contains("replica 0 crashes") && text.contains("replayed"), "{text}");
    for words in [
        "  view 0, leads",
        "  view 0, follows replica 0",
        "makes block 1 (0x",
        "hears prepare from replica 3: view 0, height 1, 0x",
    ] {
        assert!(text.contains(words), "{words:?}");
    }

    run(path, &["sim", "pbft-primary-crash", "--quiet", "--trace", "run.bin"], DONE);
    assert!(run(path, &["replay", "run.bin"], DONE).contains("without the seed"));

    // A trace with one output changed is not the run.
    let trace = fs::read_to_string(path.join("run.ndjson")).unwrap();
    fs::write(path.join("other.ndjson"), trace.replacen("\"timer\":2", "\"timer\":9", 1)).unwrap();
    assert!(run(path, &["replay", "other.ndjson"], FAILED).contains("the trace was changed"));
    fs::write(path.join("short.ndjson"), &trace[..trace.len() / 2]).unwrap();
    assert!(run(path, &["replay", "short.ndjson"], FAILED).contains("line "));
    // The last line tells how many there were.
    let lines: Vec<_> = trace.lines().collect();
    fs::write(path.join("half.ndjson"), lines[..200].join("\n")).unwrap();
    assert!(run(path, &["replay", "half.ndjson"], FAILED).contains("the end of the trace is missing"));
    fs::write(path.join("old.ndjson"), trace.replacen("\"version\":2", "\"version\":1", 1)).unwrap();
    let text = run(path, &["replay", "old.ndjson"], FAILED);
    assert!(text.contains("the trace has format 1; this build reads format 2"), "{text}");
}

/// Runs that end with status 3, of every sort: a broken invariant, a height that is not reached, a scenario that does not show.
#[test]
fn a_run_that_failed_replays_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let fault = |what: &str| format!("version = 1\n[[faults]]\nat_ms = 0\nwhat = {{ {what} }}\n");
    let regression = include_str!("regressions/pbft-two-twins.toml");
    let twins = regression.split("[plan]\n").nth(1).unwrap().replace("plan.", "");
    fs::write(path.join("twins.toml"), twins).unwrap();
    fs::write(path.join("halves.toml"), fault("partition = { groups = [[0, 1], [2, 3]] }")).unwrap();
    let broken = (0..5).find(|seed| {
        let seed = seed.to_string();
        let flags = ["sim", "--protocol", "pbft", "--plan", "twins.toml", "--for", "60s", "--seed", &seed];
        let output = chainbox(path, &[&flags[..], &["--trace", "twins.ndjson", "--svg", "twins.svg"]].concat());
        output.status.code() == Some(FOUND)
    });
    assert!(broken.is_some(), "two twins of four break something");
    let picture = fs::read_to_string(path.join("twins.svg")).unwrap();
    assert!(picture.contains("failed: invariant") && !picture.contains("every invariant holds"));
    let text = run(path, &["replay", "twins.ndjson"], FOUND);
    assert!(text.contains("invariant `") && text.contains("is broken at"), "{text}");
    // Up to a moment before, it is as good as any.
    let text = run(path, &["replay", "twins.ndjson", "--until", "1ms"], DONE);
    assert!(text.contains("replayed") && text.contains("an invariant is broken later, at "), "{text}");
    run(path, &["replay", "twins.ndjson", "--svg", "part.svg", "--window", "0s..1s"], FOUND);
    let part = fs::read_to_string(path.join("part.svg")).unwrap();
    assert!(!part.contains("invariant violated") && part.len() < picture.len(), "{} bytes", part.len());
    let text = run(path, &["replay", "twins.ndjson", "--svg", "part.svg", "--window", "900s..901s"], USAGE);
    assert!(text.contains("is outside of the run"), "{text}");

    for (name, flags) in [
        ("height", &["--protocol", "pbft", "--plan", "halves.toml", "--height", "5"][..]),
        ("scenario", &["pbft-primary-crash", "--plan", "halves.toml"][..]),
    ] {
        let (trace, svg) = (format!("{name}.ndjson"), format!("{name}.svg"));
        run(path, &[&["sim", "--trace", &trace, "--svg", &svg], flags].concat(), FOUND);
        let text = run(path, &["replay", &trace], FOUND);
        assert!(text.contains("the run failed:"), "{name}: {text}");
        assert!(fs::read_to_string(path.join(&svg)).unwrap().contains("failed: "), "{name}");
    }
}

#[test]
fn the_example_of_a_plan_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = run(path, &["sim", "--plan-example"], DONE);
    assert!(text.contains("# A fault plan") && text.contains("[[faults]]"), "{text}");
    fs::write(path.join("example.toml"), text).unwrap();
    let flags = ["sim", "--protocol", "pbft", "--validators", "7", "--plan", "example.toml", "--for", "9s"];
    assert!(run(path, &flags, DONE).contains("all invariants held"));
}

#[test]
fn windows_and_replicas_that_do_not_exist_are_refused_and_stdout_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let free = ["sim", "--protocol", "raft", "--for", "8s", "--quiet"];
    let with = |more: &[&'static str]| [&free[..], more].concat();
    let text = run(path, &with(&["--svg", "none.svg", "--window", "500s..600s"]), USAGE);
    assert!(text.contains("is outside of the run, which is from 0.000000000 s to 8.0"), "{text}");
    assert!(!path.join("none.svg").exists());
    for flags in [&["--svg", "-", "--trace", "-"][..], &["--svg", "-", "--json"]] {
        assert!(run(path, &with(flags), USAGE).contains("standard output"), "{flags:?}");
    }
    let output = chainbox(path, &with(&["--trace", "-", "--svg", "run.svg"]));
    assert_eq!(output.status.code(), Some(DONE));
    assert!(String::from_utf8(output.stderr).unwrap().contains("all invariants held"), "the report is beside it");
    fs::write(path.join("run.ndjson"), &output.stdout).unwrap();
    assert!(run(path, &["replay", "run.ndjson"], DONE).contains("replayed"));
    let text = run(path, &["replay", "run.ndjson", "--step", "--replica", "9"], USAGE);
    assert!(text.contains("the trace has 4, numbered from 0 to 3"), "{text}");
    let output = chainbox(path, &["replay", "run.ndjson", "--svg", "-"]);
    assert!(output.stdout.starts_with(b"<svg") && output.stdout.ends_with(b"</svg>"));
    let output = chainbox(path, &with(&["--svg", "-"]));
    assert!(output.stdout.starts_with(b"<svg"));
    assert!(!path.join("-").exists());
}

#[test]
fn a_free_run_takes_a_plan_and_tells_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(
        path.join("plan.toml"),
        "version = 1\n[[faults]]\nat_ms = 3000\nfor_ms = 2000\nwhat = { crash = { replica = 1 } }\n",
    )
    .unwrap();
    let text = run(path, &["sim", "--protocol", "raft", "--plan", "plan.toml", "--for", "20s"], DONE);
    assert!(text.contains("all invariants held"), "{text}");
    // Three of four down for good: nobody leads.
    let crash = |replica: u32| format!("[[faults]]\nat_ms = 1500\nwhat = {{ crash = {{ replica = {replica} }} }}\n");
    fs::write(path.join("dead.toml"), format!("version = 1\n{}{}{}", crash(0), crash(1), crash(2))).unwrap();
    let flags = ["sim", "--protocol", "pbft", "--plan", "dead.toml", "--height", "20"];
    let text = run(path, &flags, FOUND);
    for wanted in ["seed = 0", "replica = 2", "shows it again: chainbox sim --protocol pbft --seed 0 --plan dead.toml"]
    {
        assert!(text.contains(wanted), "{wanted:?}: {text}");
    }
}

#[test]
fn a_finding_is_replayed_up_to_what_broke() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // Two of four lie: more than PBFT bears.
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/pbft-two-twins.toml");
    let short = run(path, &["replay", file], DONE);
    assert!(short.contains("as the file expects: a violation of `pbft-prepared-unique`"), "{short}");
    let broken = short.lines().find(|line| line.contains("invariant `pbft-prepared-unique` is broken at")).unwrap();
    let step = broken.split("step ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();

    let text = run(path, &["replay", file, "--step", "--svg", "run.svg"], DONE);
    let violation = format!("invariant `pbft-prepared-unique` is broken: at step {step}");
    let lines: Vec<_> = text.lines().collect();
    let at = lines.iter().position(|line| line.contains(&violation)).unwrap_or_else(|| panic!("{text}"));
    assert!(lines[..at].iter().any(|line| line.contains("transaction")), "clients' transactions travel");
    assert!(lines[at + 1].contains("wrote run.svg"), "nothing happens after it: {}", lines[at + 1]);
    assert!(text.contains(broken), "the same run");
    assert!(fs::read_to_string(path.join("run.svg")).unwrap().contains("pbft-prepared-unique"));
    // A finding that was mended shows both of its phases and no violation.
    let mended = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regressions/raft-4737-liveness.toml");
    let text = run(path, &["replay", mended, "--step"], DONE);
    assert!(text.contains("everything holds") && !text.contains("is broken"), "{}", text.len());
}

#[test]
fn wrong_input_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("bad.toml"), "version = 1\n[[faults]]\nat_ms = \"x\"\n").unwrap();
    for (arguments, status, wanted) in [
        (&["sim", "pbft-primary-crush"][..], USAGE, "pbft-primary-crash"),
        (&["sim"], USAGE, "--protocol"),
        (&["sim", "raft-leader-crash", "--protocol", "poa"], USAGE, "a scenario of raft"),
        (&["sim", "poa-four-signers", "--validators", "5"], USAGE, "give exactly 4, because each half"),
        (&["sim", "pbft-f-plus-1-byzantine", "--validators", "7"], USAGE, "give exactly 4"),
        (&["sim", "pbft-equivocating-primary", "--validators", "4"], USAGE, "give 7 to 13"),
        (&["sim", "pos-partition", "--validators", "3"], USAGE, "neither half may have two thirds"),
        (&["sim", "dpos-silent-producers", "--validators", "3"], USAGE, "give exactly 4"),
        (&["sim", "--protocol", "pow"], USAGE, "choose one of"),
        (&["sim", "--protocol", "poa", "--for", "3y"], USAGE, "choose one of ns, ms, s, m, h"),
        (&["sim", "--protocol", "poa", "--for", "soon"], USAGE, "without one it is seconds"),
        (&["sim", "--protocol", "pbft", "--validators", "2"], USAGE, "validators"),
        (&["sim", "--protocol", "poa", "--svg", "x", "--trace", "./x"], USAGE, "--trace and --svg both name x"),
        (&["sim", "--protocol", "poa", "--plan", "bad.toml", "--svg", "bad.toml"], USAGE, "--plan and --svg both name"),
        (&["replay", "bad.toml", "--svg", "bad.toml"], USAGE, "both name bad.toml"),
        (&["campaign", "--protocol", "poa", "--seeds", "0..1", "--fault-time", "0s"], USAGE, "no time for faults"),
        (&["campaign", "--protocol", "poa", "--seeds", "0..1", "--recovery-time", "0s"], USAGE, "no time to recover"),
        (&["sim", "--protocol", "poa", "--plan", "bad.toml"], FAILED, "bad.toml"),
        (&["sim", "--protocol", "poa", "--plan", "nowhere.toml"], FAILED, "cannot read nowhere.toml"),
        (&["replay", "bad.toml"], FAILED, "bad.toml"),
        (&["campaign", "--protocol", "poa", "--seeds", "5..5"], USAGE, "has no seed"),
        (&["campaign", "--protocol", "poa", "--seeds", "0..5", "--shard", "4/4"], USAGE, "shard 4 of 4"),
        (&["campaign", "merge", "nowhere.ndjson"], FAILED, "cannot read nowhere.ndjson"),
    ] {
        let text = run(path, arguments, status);
        assert!(text.contains(wanted), "{arguments:?}: {text}");
    }
}

#[test]
fn json_is_printed_for_lists_and_failures_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let json = |arguments: &[&str], status| {
        serde_json::from_str::<serde_json::Value>(&run(path, arguments, status)).expect("JSON and nothing else")
    };
    let list = json(&["sim", "--list", "--json"], DONE);
    let names: Vec<_> = list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.len() >= 38 && names.contains(&"raft-figure-8"), "{names:?}");
    let halves = list.as_array().unwrap().iter().find(|one| one["name"] == "poa-four-signers").unwrap();
    assert_eq!((&halves["validators"]["min"], &halves["validators"]["max"]), (&4.into(), &4.into()));
    let raft = json(&["sim", "--list", "--json", "--protocol", "raft"], DONE);
    assert!(raft.as_array().unwrap().iter().all(|one| one["protocol"] == "raft"));
    for (arguments, status) in [
        (&["sim", "nothing", "--json"][..], USAGE),
        (&["sim", "poa-four-signers", "--validators", "5", "--json"], USAGE),
        (&["sim", "--protocol", "poa", "--plan", "nowhere.toml", "--json"], FAILED),
    ] {
        assert!(json(arguments, status)["error"].is_string(), "{arguments:?}");
    }
}

#[test]
fn shards_resume_and_merge_to_what_one_process_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let campaign = |more: &[&str]| {
        let fixed = ["campaign", "--protocol", "raft", "--seeds", "0..6", "--json", "--quiet"];
        let output = chainbox(path, &[&fixed[..], more].concat());
        assert!(matches!(output.status.code(), Some(DONE | FOUND)), "{output:?}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let alone = campaign(&["--out", "alone.ndjson"]);
    assert_eq!(alone["seeds"], 6);
    campaign(&["--shard", "0/2", "--out", "0.ndjson"]);
    campaign(&["--shard", "1/2", "--out", "1.ndjson", "--jobs", "2"]);
    // A killed process leaves half a line.
    let results = fs::read_to_string(path.join("1.ndjson")).unwrap();
    let torn = results.len() - 40;
    fs::write(path.join("1.ndjson"), &results[..torn]).unwrap();
    let text = run(path, &["campaign", "merge", "0.ndjson", "1.ndjson", "--expect", "0..6"], FAILED);
    assert!(text.contains("1 seeds are missing") && text.contains("1.ndjson: the last line is cut"), "{text}");
    let again = ["campaign", "--protocol", "raft", "--seeds", "0..6", "--shard", "1/2", "--out", "1.ndjson"];
    assert!(run(path, &again, FAILED).contains("--resume"));
    // Results of something else are neither gone on with nor added up.
    let other = ["campaign", "--protocol", "poa", "--seeds", "0..6", "--resume", "--out", "1.ndjson"];
    let text = run(path, &other, FAILED);
    assert!(text.contains("results are of raft") && text.contains("expected poa"), "{text}");
    let text = run(
        path,
        &["campaign", "--protocol", "raft", "--seeds", "0..6", "--shard", "0/2", "--resume", "--out", "1.ndjson"],
        FAILED,
    );
    assert!(text.contains("is not of seeds 0..6, shard 0/2"), "{text}");
    let text = run(path, &["campaign", "--protocol", "poa", "--seeds", "6..8", "--out", "poa.ndjson", "--quiet"], DONE);
    assert!(text.contains("no transaction was acknowledged") && text.contains("by design"), "{text}");
    let text = run(path, &["campaign", "merge", "0.ndjson", "poa.ndjson"], FAILED);
    assert!(text.contains("poa.ndjson: results are of poa") && text.contains("expected raft"), "{text}");
    campaign(&["--shard", "1/2", "--out", "1.ndjson", "--resume"]);
    let output = chainbox(path, &["campaign", "merge", "0.ndjson", "1.ndjson", "--expect", "0..6", "--json"]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), alone);
}

/// As a scheduler ends a job whose time is over.
#[test]
fn a_shard_killed_in_the_middle_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let fixed = ["campaign", "--protocol", "raft", "--seeds", "0..12", "--jobs", "1", "--quiet"];
    run(path, &[&fixed[..], &["--out", "alone.ndjson"]].concat(), DONE);
    let mut command = Command::new(env!("CARGO_BIN_EXE_chainbox"));
    command.current_dir(path).args(fixed).args(["--out", "killed.ndjson"]).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = || fs::read_to_string(path.join("killed.ndjson")).map_or(0, |text| text.lines().count());
    for _ in 0..30_000 {
        if lines() >= 3 {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = lines();
    assert!((3..13).contains(&before), "{before} lines when it was killed");
    run(path, &[&fixed[..], &["--out", "killed.ndjson", "--resume"]].concat(), DONE);
    assert_eq!(fs::read(path.join("killed.ndjson")).unwrap(), fs::read(path.join("alone.ndjson")).unwrap());
}

#[test]
fn a_campaign_is_steered_by_a_file_and_flags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let printed = run(path, &["campaign", "--protocol", "raft", "--validators", "3", "--print-setup"], DONE);
    fs::write(path.join("setup.toml"), &printed).unwrap();
    let flags = ["campaign", "--setup", "setup.toml", "--transactions", "2", "--history", "--print-setup"];
    let changed = run(path, &flags, DONE);
    assert!(changed.contains("transactions = 2") && changed.contains("validators = [3]"), "{changed}");
    assert!(changed.contains("checks_history = true") && !printed.contains("checks_history"), "{changed}");
    let flags = ["campaign", "--setup", "setup.toml", "--seeds", "0..3", "--history", "--out", "raft.ndjson"];
    let text = run(path, &flags, DONE);
    assert!(text.starts_with("nothing found in 3 seeds: raft, seeds 0..3, shard 0/1"), "{text}");
    assert!(text.contains("never reached in this campaign: ") && text.contains("seeds/s"), "{text}");
    // Another setup is another campaign.
    let text = run(
        path,
        &["campaign", "--setup", "setup.toml", "--seeds", "0..3", "--resume", "--out", "raft.ndjson"],
        FAILED,
    );
    assert!(text.contains("results are of raft"), "{text}");
    let merged = run(path, &["campaign", "merge", "raft.ndjson"], DONE);
    assert!(merged.starts_with("nothing found in 3 seeds: 1 files merged"), "{merged}");

    let printed_json =
        run(path, &["campaign", "--protocol", "raft", "--validators", "3", "--print-setup", "--json"], DONE);
    fs::write(path.join("setup.json"), &printed_json).unwrap();
    assert_eq!(run(path, &["campaign", "--setup", "setup.json", "--print-setup"], DONE), printed);
    fs::write(path.join("zero.toml"), printed.replace("heal_ms = ", "heal_ms = 0 # ")).unwrap();
    let text = run(path, &["campaign", "--setup", "zero.toml", "--seeds", "0..1"], FAILED);
    assert!(text.contains("heal_ms = 0: a run needs time"), "{text}");

    let liars = ["campaign", "--protocol", "pbft", "--validators", "4", "--liars", "2", "--seeds", "0..1"];
    let output = chainbox(path, &liars);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("up to 2 of 4 replicas lie, and pbft tolerates 1"), "{text}");
    fs::write(path.join("wrong.toml"), printed.replace("blocks_after", "block_after")).unwrap();
    for (flags, status, wanted) in [
        (&["--setup", "wrong.toml", "--seeds", "0..1"][..], FAILED, "block_after"),
        (&["--setup", "setup.toml", "--protocol", "poa", "--seeds", "0..1"], FAILED, "is a setup of raft"),
        (&["--protocol", "pbft", "--validators", "2..3", "--seeds", "0..1"], USAGE, "2 validators: "),
        (&["--protocol", "pbft", "--validators", "7..4", "--seeds", "0..1"], USAGE, "no number"),
        (&["--seeds", "0..1"], USAGE, "--protocol"),
        (&["--protocol", "pbft"], USAGE, "--seeds"),
        (&["--demo-bug", "no-such-bug"], USAGE, "choose one of pbft-forgets-promises"),
    ] {
        let text = run(path, &[&["campaign"][..], flags].concat(), status);
        assert!(text.contains(wanted), "{flags:?}: {text}");
    }
}

#[test]
fn a_planted_bug_is_found_shrunk_kept_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert!(run(path, &["campaign", "--demo-bug"], DONE).contains("pbft-never-suspects: no replica suspects"));
    let list: serde_json::Value =
        serde_json::from_str(&run(path, &["campaign", "--demo-bug", "--json"], DONE)).expect("JSON");
    assert!(list.as_array().unwrap().iter().any(|bug| bug["name"] == "pbft-never-suspects"), "{list}");
    let text = run(path, &["campaign", "--demo-bug", "pbft-never-suspects"], FOUND);
    assert!(!text.contains("negative control") && !text.contains("note:"), "{text}");
    assert!(text.contains("1 finding in ") && text.contains("shrunk from "), "{text}");
    let file = text.lines().find_map(|line| line.strip_prefix("shows it again: chainbox replay ")).expect("a file");
    let text = run(path, &["replay", file], FOUND);
    assert!(text.contains("the file expects that everything holds"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_sums_up_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = ["campaign", "--protocol", "raft", "--seeds", "0..100000", "--out", "raft.ndjson", "--jobs", "1"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_chainbox"));
    command.current_dir(path).args(flags).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let lines = || fs::read_to_string(path.join("raft.ndjson")).map_or(0, |text| text.lines().count());
    for _ in 0..30_000 {
        if lines() >= 3 {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("nothing found in "));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("go on with: chainbox campaign --protocol raft --seeds 0..100000"), "{text}");
    assert!(text.contains("--jobs 1 --resume"), "{text}");
}

#[test]
fn a_free_run_tells_what_it_checks_who_leads_and_which_faults_hit_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let byzantine = |replica: u32| {
        format!(
            "[[faults]]\nat_ms = 500\nwhat = {{ byzantine = {{ replica = {replica}, behaviour = \"silent\", when = \"never\" }} }}\n"
        )
    };
    let late = "[[faults]]\nat_ms = 90000\nfor_ms = 5\nwhat = { isolate = { replica = 1 } }\n";
    let label =
        "[[faults]]\nat_ms = 50\nfor_ms = 5\nwhat = { link = { labels = [\"raft-vote\"], effect = \"clog\" } }\n";
    let plan = format!("version = 1\n{}{}{late}{label}", byzantine(0), byzantine(1));
    fs::write(path.join("plan.toml"), plan).unwrap();
    let text = run(path, &["sim", "--protocol", "pbft", "--plan", "plan.toml", "--for", "5s"], DONE);
    for words in [
        "checked after every step: agreement, ",
        "pbft-prepared-unique",
        "at the start replica ",
        "block 1 is by replica ",
        "the plan lets 2 of 4 replicas misbehave or lose their disk (0, 1), and pbft tolerates 1",
        "fault 0 (silent) hits nobody: its trigger is `never`",
        "fault 2 (isolate) hits nobody: it begins at 90.",
        "fault 3 (clog) hits nobody: no message is called so",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
}

#[test]
fn clients_histories_are_written_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = run(path, &["sim", "--protocol", "raft", "--for", "30s", "--history", "history.ndjson"], DONE);
    assert!(text.contains("history: 24 of 24 transfers were acknowledged") && text.contains("linearizable"), "{text}");
    let history = fs::read_to_string(path.join("history.ndjson")).unwrap();
    let first: serde_json::Value = serde_json::from_str(history.lines().next().unwrap()).unwrap();
    assert!(first["called"].is_number() && first["client"].is_object(), "{first}");
}

#[test]
fn steps_are_in_words_and_filtered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    run(path, &["sim", "pbft-primary-crash", "--quiet", "--trace", "run.ndjson"], DONE);
    let steps = |more: &[&str]| run(path, &[&["replay", "run.ndjson", "--step"], more].concat(), DONE);
    let all = steps(&[]);
    for form in ["Some(", "None", "Follower", "Seeking", "{ ", "validator "] {
        let line = all.lines().skip(1).find(|line| line.contains(form));
        assert_eq!(line, None, "{form:?} is no words");
    }
    assert!(all.contains("timer 2 (suspect) fires") && all.contains("hears commit from replica "), "{all}");
    let some = steps(&["--kind", "view-change,status", "--from", "2s", "--replica", "1"]);
    let told: Vec<_> = some.lines().filter(|line| line.contains("replica 1 ") && line.contains(" s  ")).collect();
    assert!(!told.is_empty() && told.len() < 60, "{some}");
    assert!(told.iter().all(|line| line.contains("view-change") || line.contains("  view ")), "{some}");
    let text = run(path, &["replay", "run.ndjson", "--step", "--kind", "vote"], USAGE);
    assert!(text.contains("--kind vote: choose of this run's messages (") && text.contains("pre-prepare"), "{text}");
}

#[test]
fn times_are_read_as_they_are_printed_and_an_empty_selection_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    run(path, &["sim", "--protocol", "raft", "--for", "8s", "--quiet", "--trace", "run.ndjson"], DONE);
    let replay = |more: &[&str], status| run(path, &[&["replay", "run.ndjson", "--step"], more].concat(), status);
    let text = replay(&["--from", "2s"], DONE);
    let printed = text.lines().find_map(|line| line.trim_start().split_once(" s  ")).expect("a time").0;
    let nanos = printed.replace('.', "").trim_start_matches('0').to_owned() + "ns";
    let one = |time: &str| replay(&["--from", time, "--until", time], DONE);
    let moment = one(&format!("{printed}s"));
    assert!(moment.contains(&format!("{printed} s  ")), "{moment}");
    assert_eq!((one(&nanos), one(&format!("{printed} s"))), (moment.clone(), moment));
    let text = replay(&["--from", "5s", "--until", "3s"], USAGE);
    assert!(text.contains("--from 5.000000000 s is after --until 3.000000000 s"), "{text}");
    let text = replay(&["--from", "500s"], USAGE);
    assert!(text.contains("is after the run, which is from 0.000000000 s to "), "{text}");
    let text = replay(&["--from", "1ns", "--until", "2ns"], DONE);
    assert!(text.contains("no entry of the run is selected"), "{text}");
    replay(&["--kind", "bogus"], USAGE);
}

#[test]
fn a_picture_of_a_part_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let free = ["sim", "--protocol", "pbft", "--svg", "run.svg", "--for"];
    let picture = || fs::read_to_string(path.join("run.svg")).unwrap();
    let text = run(path, &[&free[..], &["60s"]].concat(), DONE);
    let note = text.lines().find(|line| line.contains("note: the picture shows 0 to ")).expect("a note");
    assert!(note.ends_with(" s: --window shows others"), "{note}");
    assert!(picture().contains("--window shows others"), "in the subtitle");
    for whole in [&["2s"][..], &["60s", "--window", "1s..2s"]] {
        let text = run(path, &[&free[..], whole].concat(), DONE);
        assert!(!text.contains("--window shows others") && !picture().contains("--window shows others"), "{text}");
    }
}

#[test]
fn a_scenario_with_a_plan_has_the_notes_of_a_free_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let late = "version = 1\n[[faults]]\nat_ms = 90000000\nfor_ms = 5\nwhat = { isolate = { replica = 1 } }\n";
    fs::write(path.join("late.toml"), late).unwrap();
    let text = run(path, &["sim", "pbft-primary-crash", "--plan", "late.toml"], DONE);
    assert!(text.contains("note: fault 0 (isolate) hits nobody: it begins at 90000."), "{text}");
}

/// One replica that loses what it wrote breaks Raft, which tolerates none.
#[test]
fn a_finding_beyond_what_is_tolerated_is_a_negative_control() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = ["campaign", "--protocol", "raft", "--validators", "4", "--liars", "2", "-q", "--seeds", "0..40"];
    let output = chainbox(path, &flags);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("note: up to 2 of 4 replicas lie, and raft tolerates 0"), "{text}");
    assert_eq!(output.status.code(), Some(FOUND), "{text}");
    let files: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("shows it again: chainbox replay ")).collect();
    let abouts = files.iter().map(|file| fs::read_to_string(path.join(file)).unwrap());
    let controls = abouts.filter(|text| text.starts_with("about = \"negative control ("));
    assert!(controls.count() > 0, "{text}");
}

#[test]
fn the_kubernetes_job_is_whole() {
    let job = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/cluster/kubernetes/job.yaml")).unwrap();
    let value = |key: &str| {
        let line = job.lines().map(str::trim).find(|line| line.starts_with(&format!("{key}:")));
        line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.trim_matches('"').to_owned())
    };
    for (key, wanted) in
        [("apiVersion", "batch/v1"), ("kind", "Job"), ("completionMode", "Indexed"), ("restartPolicy", "Never")]
    {
        assert_eq!(value(key).as_deref(), Some(wanted), "{key}");
    }
    let shards = job.split("name: CHAINBOX_SHARDS").nth(1).and_then(|rest| rest.split('"').nth(1)).unwrap().to_owned();
    for key in ["completions", "parallelism", "maxFailedIndexes"] {
        assert_eq!(value(key).as_ref(), Some(&shards), "{key}");
    }
    assert!(!job.contains('\t') && job.lines().all(|line| (line.len() - line.trim_start().len()) % 2 == 0));
}

#[test]
fn a_campaign_ends_at_its_time_limit_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags =
        ["campaign", "--protocol", "raft", "--seeds", "0..1000000", "--out", "raft.ndjson", "--time-limit", "1s"];
    let text = run(path, &flags, DONE);
    assert!(text.contains("time is up") && text.contains("--resume"), "{text}");
    let lines = || fs::read_to_string(path.join("raft.ndjson")).unwrap().lines().count();
    let before = lines();
    run(path, &[&flags[..], &["--resume"]].concat(), DONE);
    assert!(before > 1 && lines() > before, "{before}, {}", lines());
}

/// Takes some seconds: a run of five minutes of virtual time.
#[test]
fn a_long_profile_runs_for_hundreds_of_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["campaign", "--protocol", "poa", "--profile", "long", "--seeds", "7..8", "--json", "-q"];
    let summary: serde_json::Value = serde_json::from_str(&run(folder.path(), &flags, DONE)).unwrap();
    assert!(summary["virtual_ms"].as_u64().is_some_and(|ms| ms > 300_000), "{summary}");
    assert_eq!(summary["passed"], 1, "{summary}");
}

/// `scripts/campaign-million` with shards of two seeds: its list survives a cut line, and other code runs them anew on demand.
#[cfg(unix)]
#[test]
fn a_campaign_in_shards_runs_each_once_and_sums_them_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("start.txt"), "1000\n").unwrap();
    let script = |version: &str, flags: &[&str]| {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/campaign-million"));
        command.args(["--protocol", "raft", "--profile", "short"]).args(flags);
        let variables = [("CHAINBOX", env!("CARGO_BIN_EXE_chainbox")), ("CHAINBOX_VERSION", version), ("SHORT", "6/2")];
        let output = command.envs(variables).env("CHAINBOX_CAMPAIGNS", path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shards = |text: &str| text.lines().filter(|line| line.starts_with("raft short ")).count();
    let list = || fs::read_to_string(path.join("shards.txt")).unwrap();
    assert_eq!(script("a1", &["--time-limit", "0"]), "time is up\n");
    assert_eq!(shards(&script("a1", &[])), 3);
    // The second of the pairs' ranges, and 1000 before all.
    let first: Vec<_> = list().lines().nth(1).unwrap().split(' ').map(str::to_owned).collect();
    assert_eq!((&first[2..5], first[6].as_str()), (&["10001000", "10001002", "0"].map(str::to_owned)[..], "a1"));
    assert_eq!(shards(&script("b2", &[])), 0, "all are listed");
    let cut = list().trim_end().rsplit_once(' ').unwrap().0.to_owned();
    fs::write(path.join("shards.txt"), cut).unwrap();
    assert_eq!(shards(&script("b2", &[])), 1, "that of the cut line");
    assert_eq!(shards(&script("b2", &["--anew"])), 2, "those of the other version");
    let summary = fs::read_to_string(path.join("summary.md")).unwrap();
    let row: Vec<_> = summary.lines().last().unwrap().split(" | ").collect();
    assert_eq!((&row[..4], row[5]), (&["| raft", "short", "6", "0"][..], "2 |"), "{summary}");
}
