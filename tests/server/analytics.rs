//! `/v1/analytics/timeseries` at each of its resolutions, in both spellings, by a clock of the test's own.

use std::{sync::Arc, time::Duration};

use chainbox::{node::ManualClock, primitives::Timestamp};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

/// 2027-01-16, at midnight.
const START: Timestamp = Timestamp::from_secs(1_800_057_600);
/// The first two hours.
const BEGIN: &str = "from=2027-01-16T00:00:00Z&to=2027-01-16T02:00:00Z";
const DAY: Duration = Duration::from_secs(86_400);

struct World {
    clock: Arc<ManualClock>,
    service: Service,
}

impl World {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let service = Service::timed(clock.clone()).await;
        Self { clock, service }
    }

    /// Pays so many times, lets time pass, and samples.
    async fn pay_and_pass(&self, payments: usize, time: Duration) {
        let accounts = self.service.rpc("eth_accounts", json!([])).await;
        for _ in 0..payments {
            let payment = json!({ "from": accounts["result"][0], "to": accounts["result"][1], "value": "0x1" });
            let sent = self.service.rpc("eth_sendTransaction", json!([payment])).await;
            assert!(sent["result"].is_string(), "{sent}");
        }
        self.clock.advance(time);
        self.service.platform.analytics().sample().unwrap();
    }

    async fn ask(&self, query: &str) -> Reply {
        let path = format!("/v1/analytics/timeseries?blockchainId=bc_default&{query}");
        self.service.rest("GET", &path, Value::Null).await
    }

    /// The points of an answer: time of day, value, least, greatest, last, number of samples.
    async fn points(&self, query: &str) -> Vec<(String, [f64; 5])> {
        let reply = self.ask(query).await;
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        let points = reply.json()["data"]["points"].take();
        let point = |point: &Value| {
            let figures = ["value", "min", "max", "last", "samples"].map(|name| point[name].as_f64().unwrap());
            (point["timestamp"].as_str().unwrap()[11..19].to_owned(), figures)
        };
        points.as_array().unwrap().iter().map(point).collect()
    }

    async fn refused(&self, query: &str) -> String {
        let reply = self.ask(query).await;
        assert_eq!(reply.status, 400, "{query}: {}", reply.body);
        reply.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

fn at(time: &str, figures: [f64; 5]) -> (String, [f64; 5]) {
    (time.to_owned(), figures)
}

#[tokio::test]
async fn a_time_series_is_asked_for_at_each_resolution_by_both_names_until_its_points_are_gone() {
    let world = World::new().await;
    world.pay_and_pass(0, Duration::ZERO).await;
    world.pay_and_pass(3, Duration::from_secs(15)).await;
    world.pay_and_pass(1, Duration::from_secs(285)).await;
    // Nobody samples for most of an hour: no point, and no transaction is lost.
    world.pay_and_pass(2, Duration::from_secs(3_300)).await;

    let one = |value: f64| [value, value, value, value, 1.0];
    let hour = [4.0, 0.0, 3.0, 1.0, 3.0];
    let expected = [
        (
            "15s",
            vec![
                at("00:00:00", one(0.0)),
                at("00:00:15", one(3.0)),
                at("00:05:00", one(1.0)),
                at("01:00:00", one(2.0)),
            ],
        ),
        ("5m", vec![at("00:00:00", [3.0, 0.0, 3.0, 3.0, 2.0]), at("00:05:00", one(1.0)), at("01:00:00", one(2.0))]),
        ("1h", vec![at("00:00:00", hour), at("01:00:00", one(2.0))]),
        ("1d", vec![at("00:00:00", [6.0, 0.0, 3.0, 2.0, 4.0])]),
    ];
    for name in ["granularity", "interval"] {
        for (size, points) in &expected {
            let query = format!("metric=transactions&{BEGIN}&{name}={size}");
            assert_eq!(world.points(&query).await, *points, "{query}");
            let validators = world.points(&format!("metric=activeValidators&{BEGIN}&{name}={size}")).await;
            let means =
                validators.iter().all(|(_, [value, least, most, last, _])| [value, least, most, last] == [&1.0; 4]);
            assert!(means && validators.len() == points.len(), "{validators:?}");
        }
    }
    let gas = world.points(&format!("metric=gasUsed&{BEGIN}&granularity=1d&interval=1d")).await;
    assert_eq!(gas[0].1[0], 6.0 * 21_000.0);
    // Within an hour its whole point is told, under bounds that say so.
    for (from, to) in [("00:00:00", "00:30:00"), ("00:30:00", "01:00:00"), ("00:10:00", "00:20:00")] {
        let query = format!("metric=transactions&from=2027-01-16T{from}Z&to=2027-01-16T{to}Z&granularity=1h");
        let answer = world.ask(&query).await.json()["data"].take();
        let bounds = (answer["from"].as_str().unwrap(), answer["to"].as_str().unwrap());
        assert_eq!(bounds, ("2027-01-16T00:00:00.000Z", "2027-01-16T01:00:00.000Z"), "{query}");
        assert_eq!(world.points(&query).await, [at("00:00:00", hour)], "{query}");
    }
    let both = world.refused(&format!("metric=gasUsed&{BEGIN}&granularity=1d&interval=1h")).await;
    assert!(both.contains("one parameter"), "{both}");

    // Each resolution is there for its time, and tells afterwards which one still is.
    let of = |size: &str| format!("metric=transactions&{BEGIN}&interval={size}");
    world.pay_and_pass(0, 2 * DAY).await;
    let gone = world.refused(&of("15s")).await;
    assert!(gone.contains("multiples of 300s"), "{gone}");
    assert_eq!(world.points(&of("5m")).await, expected[1].1);
    world.pay_and_pass(0, 6 * DAY).await;
    let gone = world.refused(&of("5m")).await;
    assert!(gone.contains("multiples of 3600s"), "{gone}");
    world.pay_and_pass(0, 81 * DAY).await;
    assert_eq!(world.points(&of("1h")).await, expected[2].1);
    world.pay_and_pass(0, 2 * DAY).await;
    assert!(world.points(&of("1h")).await.is_empty(), "past day 91 they are gone");
    assert_eq!(world.points("metric=transactions&granularity=1h").await.len(), 2, "the newest are there");
}
