//! Faults in words, from their parameters in JSON.

use serde_json::Value;

use super::style::short_hashes;

/// Most letters of a fault's words.
const LETTERS_MAX: usize = 100;

/// Returns a fault of a network of `replicas` replicas in words; text that is no JSON is unchanged.
pub(super) fn in_words(text: &str, replicas: u32) -> String {
    let words = match serde_json::from_str::<Value>(text) {
        // Its key signs messages that its protocol would not send.
        Ok(value) if value.pointer("/byzantine/when").is_some_and(|when| when == "never") => "held".to_owned(),
        Ok(value) => match value.as_object().and_then(|fields| fields.iter().next()) {
            Some((kind, fault)) => fault_of(kind, fault, replicas).unwrap_or_else(|| generic(&value)),
            None => generic(&value),
        },
        Err(_) => text.to_owned(),
    };
    short_hashes(&words).chars().take(LETTERS_MAX).collect()
}

/// Returns a fault of a kind with words of its own.
fn fault_of(kind: &str, fault: &Value, replicas: u32) -> Option<String> {
    match kind {
        "partition" => Some(format!("partition {}", partition(fault.get("groups")?, replicas)?)),
        "one_way" => {
            Some(format!("nothing from {} reaches {}", numbers(fault.get("from")?)?, numbers(fault.get("to")?)?))
        }
        "link" => link(fault),
        "byzantine" => {
            let behaviour = behaviour(fault.get("behaviour")?);
            Some(match fault.get("when").filter(|when| *when != "always") {
                Some(when) => format!("byzantine: {behaviour}, when {}", generic(when)),
                None => format!("byzantine: {behaviour}"),
            })
        }
        "disk" => Some(format!("writes to disk take {}", delay(fault.get("delay")?)?)),
        "slow_execution" => Some(format!("executing a block takes {}", delay(fault.get("delay")?)?)),
        _ => None,
    }
}

/// Returns a misbehaviour.
fn behaviour(value: &Value) -> String {
    match value.as_str() {
        Some("lying_answers") => "answers requests for blocks with lies".to_owned(),
        Some("altered_relays") => "passes messages of others on altered".to_owned(),
        _ => match value.pointer("/double_vote/to").and_then(numbers) {
            Some(to) => format!("votes twice, as {to} alone sees"),
            None => generic(value),
        },
    }
}

/// Returns the groups of a partition, with the one of the replicas that are not listed.
fn partition(groups: &Value, replicas: u32) -> Option<String> {
    let groups = groups.as_array()?;
    let listed: Vec<u64> = groups.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_u64).collect();
    let others: Vec<String> =
        (0..u64::from(replicas)).filter(|number| !listed.contains(number)).map(|number| number.to_string()).collect();
    let mut sides = groups.iter().map(numbers).collect::<Option<Vec<_>>>()?;
    sides.extend((!others.is_empty()).then(|| others.join(", ")));
    Some(sides.join(" | "))
}

/// Returns a fault of links: the messages, from where to where, and what happens to them.
fn link(fault: &Value) -> Option<String> {
    let named = |field: &str| fault.get(field).filter(|value| value.as_array().is_some_and(|items| !items.is_empty()));
    let what = match named("labels") {
        Some(labels) => format!("{} messages", list(labels)?),
        None => "messages".to_owned(),
    };
    let from = match named("from") {
        Some(from) => format!(" from {}", numbers(from)?),
        None => String::new(),
    };
    let to = match named("to") {
        Some(to) => format!(" to {}", numbers(to)?),
        None => String::new(),
    };
    let (kind, of) = match fault.get("effect")? {
        Value::String(kind) => (kind.as_str(), &Value::Null),
        Value::Object(fields) => fields.iter().next().map(|(kind, of)| (kind.as_str(), of))?,
        _ => return None,
    };
    let number = |field: &str| of.get(field).and_then(Value::as_u64);
    let which = format!("{what}{from}{to}");
    let share = || {
        number("per_mille")
            .map(|part| if part == 1_000 { format!("all {which}") } else { format!("{} of {which}", percent(part)) })
    };
    Some(match kind {
        "loss" => format!("{} are lost", share()?),
        "duplicate" => format!("{} arrive twice", share()?),
        "reorder" => format!("{} are up to {} ms late", share()?, number("up_to_ms")?),
        "replay" => format!("{} arrive again within {} ms", share()?, number("up_to_ms")?),
        "latency" => format!("{which} take {}", delay(of)?),
        "bandwidth" => format!("{which} share {} bytes a second", number("bytes_per_second")?),
        "capacity" => format!("a link holds {} {which}", number("messages")?),
        "clog" => format!("{which} are held"),
        _ => return None,
    })
}

/// Returns a probability in thousandths as a percentage.
fn percent(per_mille: u64) -> String {
    match (per_mille / 10, per_mille % 10) {
        (whole, 0) => format!("{whole} %"),
        (whole, tenth) => format!("{whole}.{tenth} %"),
    }
}

/// Returns a delay: one duration, the shortest and the longest, or the shortest and what comes on top on average.
fn delay(delay: &Value) -> Option<String> {
    let (_, of) = delay.as_object()?.iter().next()?;
    let number = |field: &str| of.get(field).and_then(Value::as_u64);
    if let Some(constant) = number("ms") {
        return Some(format!("{constant} ms"));
    }
    if let (Some(min), Some(max)) = (number("min_ms"), number("max_ms")) {
        return Some(format!("{min} to {max} ms"));
    }
    Some(format!("{} ms and {} ms more on average", number("floor_ms")?, number("mean_ms")?))
}

/// Returns replicas by their numbers in ascending order.
fn numbers(value: &Value) -> Option<String> {
    let mut numbers = value.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>()?;
    numbers.sort_unstable();
    Some(numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

fn list(value: &Value) -> Option<String> {
    let names = value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    Some(names.join(" and "))
}

/// Returns the parameters without JSON's punctuation.
fn generic(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            // Names of enum variants, which mean nothing to readers.
            let is_shape = |key: &str| matches!(key, "groups" | "effect" | "constant" | "replica" | "behaviour");
            let parts = fields.iter().map(|(key, value)| match (is_shape(key), generic(value)) {
                (true, words) => words,
                (false, words) if words.is_empty() => key.replace('_', " "),
                (false, words) => format!("{} {words}", key.replace('_', " ")),
            });
            parts.collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => {
            let is_nested = items.iter().any(Value::is_array);
            items.iter().map(generic).collect::<Vec<_>>().join(if is_nested { " | " } else { ", " })
        }
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::FaultPlan;

    #[test]
    fn faults_are_told_in_words() {
        for (json, words) in [
            (r#"{"partition":{"groups":[[3,0]]}}"#, "partition 0, 3 | 1, 2"),
            (r#"{"partition":{"groups":[[0,1],[2,3]]}}"#, "partition 0, 1 | 2, 3"),
            (r#"{"one_way":{"from":[0],"to":[2,1]}}"#, "nothing from 0 reaches 1, 2"),
            (
                r#"{"link":{"effect":{"latency":{"constant":{"ms":2600}}},"from":[0],"labels":["block"]}}"#,
                "block messages from 0 take 2600 ms",
            ),
            (r#"{"link":{"effect":{"loss":{"per_mille":125}}}}"#, "12.5 % of messages are lost"),
            (
                r#"{"link":{"effect":{"loss":{"per_mille":1000}},"labels":["prepare","commit"]}}"#,
                "all prepare and commit messages are lost",
            ),
            (r#"{"byzantine":{"replica":0,"behaviour":"equivocate","when":"always"}}"#, "byzantine: equivocate"),
            (
                r#"{"byzantine":{"replica":0,"behaviour":"lying_answers","when":"always"}}"#,
                "byzantine: answers requests for blocks with lies",
            ),
            (
                r#"{"byzantine":{"replica":0,"behaviour":"altered_relays","when":"always"}}"#,
                "byzantine: passes messages of others on altered",
            ),
            (
                r#"{"byzantine":{"replica":0,"behaviour":{"double_vote":{"to":[2]}},"when":"always"}}"#,
                "byzantine: votes twice, as 2 alone sees",
            ),
            (
                r#"{"slow_execution":{"replica":1,"delay":{"uniform":{"min_ms":20,"max_ms":900}}}}"#,
                "executing a block takes 20 to 900 ms",
            ),
            (r#"{"link":{"effect":"clog","to":[1]}}"#, "messages to 1 are held"),
            (r#"{"isolate":{"replica":2}}"#, "isolate 2"),
            ("by hand", "by hand"),
        ] {
            assert_eq!(in_words(json, 4), words, "{json}");
        }
    }

    #[test]
    fn no_fault_of_the_example_shows_a_field_of_its_format() {
        let plan = FaultPlan::from_toml(FaultPlan::EXAMPLE).unwrap();
        for fault in &plan.faults {
            let words = in_words(&serde_json::to_string(&fault.kind).unwrap(), 7);
            let is_field = ["per mille", "labels", "effect", "link "].iter().any(|field| words.starts_with(field));
            assert!(!words.is_empty() && !is_field && !words.contains(['{', '"']), "{words}");
        }
    }
}
