//! What the environment says. It cannot be changed in a process with threads, so these tests run themselves again in another.

use std::process::Command;

use steadfast_http::{Agent as _, EnvSecrets, HttpAgent, Target};
use steadfast_testkit::Script;
use steadfast_testkit::http::Server;

use crate::support::call;

/// Set in the process that has the environment of a test.
const INSIDE: &str = "STEADFAST_HTTP_TEST_INSIDE";

/// Runs one test of this program again with these variables. True in the process that has them.
fn is_inside(test: &str, variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args([test, "--exact", "--nocapture"]).env(INSIDE, "1").envs(variables.iter().copied());
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

#[tokio::test]
async fn secrets_come_from_the_environment() {
    let variables = [("STEADFAST_SECRET_PAYMENTS_TOKEN", "from-the-environment")];
    if !is_inside("environment::secrets_come_from_the_environment", &variables) {
        return;
    }
    let service = Server::start(Script::succeed()).unwrap();
    let target = Target::new(service.url()).header("X-Key", "secret://payments-token");
    let agent = HttpAgent::builder().secrets(EnvSecrets).target("pay", target).build().unwrap();
    agent.call(call("GET", "/")).await.unwrap();
    assert_eq!(service.ledger().entries()[0].request().header("x-key"), Some("from-the-environment"));
}

#[tokio::test]
async fn a_proxy_in_the_environment_is_not_asked() {
    // Nobody listens there: a call through it would fail.
    let nobody = "http://127.0.0.1:1";
    let variables = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].map(|name| (name, nobody));
    if !is_inside("environment::a_proxy_in_the_environment_is_not_asked", &variables) {
        return;
    }
    let service = Server::start(Script::succeed()).unwrap();
    let agent = HttpAgent::builder().target("pay", Target::new(service.url())).build().unwrap();
    agent.call(call("GET", "/")).await.unwrap();
    service.ledger().assert_attempts(1);
}
