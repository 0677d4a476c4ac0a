//! The files beside the code say what the code says.

use std::time::Duration;

use steadfast_shop::promise::{
    ATTEMPT_TIMEOUT, MAX_BACKOFF, MAX_RETRIES, MOST_RUNNING, OPEN_AT_MOST, OPEN_FOR, TRIP_AFTER,
};
use steadfast_shop::{CONFIGURATION_FILE, Kind, PORTS, Town, WORKFLOW, WORKFLOW_FILE};
use toml::{Table, Value};

fn whole_seconds(time: Duration) -> Value {
    assert_eq!(time.subsec_nanos(), 0);
    Value::String(format!("{}s", time.as_secs()))
}

/// X1
#[test]
fn the_configuration_has_the_numbers_that_the_promises_are_made_of() {
    let file: Table = CONFIGURATION_FILE.parse().unwrap();
    let [patient, quick, default] = [&file["retry"]["patient"], &file["breaker"]["quick"], &file["default"]];
    assert_eq!(patient["max_retries"], Value::from(MAX_RETRIES));
    assert_eq!(patient["max_backoff"], whole_seconds(MAX_BACKOFF));
    assert_eq!(quick["consecutive"], Value::from(TRIP_AFTER));
    assert_eq!(quick["open_for"], whole_seconds(OPEN_FOR));
    assert_eq!(quick["growing_to"], whole_seconds(OPEN_AT_MOST));
    assert_eq!(default["attempt_timeout"], whole_seconds(ATTEMPT_TIMEOUT));
    assert_eq!((&default["retry"], &default["breaker"]), (&Value::from("patient"), &Value::from("quick")));
    for (kind, port) in Kind::ALL.into_iter().zip(PORTS) {
        let service = &file["service"][kind.name()];
        assert_eq!(service["url"], Value::from(format!("http://127.0.0.1:{port}")));
        assert_eq!(service["most_running"], Value::from(MOST_RUNNING));
    }
}

/// X1
#[tokio::test]
async fn the_configuration_can_be_had_with_the_services_where_they_are() {
    let town = Town::start().await.unwrap();
    let file: Table = town.configuration().parse().unwrap();
    for service in town.services() {
        assert_eq!(file["service"][service.kind().name()]["url"], Value::from(service.url()));
    }
}

/// X1
#[test]
fn the_workflow_file_calls_the_services_that_there_are() {
    assert!(WORKFLOW_FILE.contains(&format!("workflow: {WORKFLOW}\n")));
    let named: Vec<_> =
        WORKFLOW_FILE.lines().filter_map(|line| line.trim().strip_prefix("service: ")).collect();
    assert_eq!(named, Kind::ALL.map(Kind::name));
}
