//! A server on 127.0.0.1 over an engine in memory, and the binary that asks it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use steadfast::Engine;
use steadfast_client::Client;
use steadfast_client::wire::event::Event;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_server::{Limits, State, router, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::town::Town;

/// Who asks where a test says nothing else.
pub(crate) const BY: &str = "ana@shop";

pub(crate) struct World {
    runtime: Runtime,
    address: SocketAddr,
    engine: Engine,
    stop: watch::Sender<bool>,
}

/// What the binary has printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) said: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), said: text(output.stderr) }
    }
}

impl Ran {
    /// It went well; what it has printed.
    pub(crate) fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// It ended with this code, and said this.
    pub(crate) fn badly(self, code: i32, words: &str) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.said.contains(words), "`{words}` is not in: {}", self.said);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl World {
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (stop, stopping) = watch::channel(false);
        let (address, engine) = runtime.block_on(async {
            let (town, engine) = Town::start().await;
            let state = State::new(engine.clone(), town, Limits::default(), None, stopping.clone());
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut stopped = stopping;
            let shutdown = async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            drop(tokio::spawn(serve(listener, router(state.clone()), state, shutdown)));
            (address, engine)
        });
        Self { runtime, address, engine, stop }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The binary, asked to talk to this server.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = binary();
        command.args(["--server", &self.url(), "--by", BY]).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The binary, with something on its stdin.
    pub(crate) fn run_with(&self, stdin: &str, args: &[&str]) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// A task of this workflow that has come this far.
    pub(crate) fn task(&self, workflow: &str, input: Value, state: TaskState) -> String {
        let client = Client::new(&self.url()).unwrap();
        self.runtime.block_on(async {
            let id = client.submit(&Submit::new(workflow, input)).await.unwrap().id;
            reached(&client, &id, state).await;
            id
        })
    }

    /// Waits until a task has come this far.
    pub(crate) fn reach(&self, id: &str, state: TaskState) {
        let client = Client::new(&self.url()).unwrap();
        self.runtime.block_on(reached(&client, id, state));
    }

    pub(crate) fn state(&self, id: &str) -> String {
        self.run(&["task", "show", id, "--json"]).json()["state"].as_str().unwrap().to_owned()
    }
}

async fn reached(client: &Client, id: &str, state: TaskState) {
    let now = client.task(id, false).await.unwrap();
    if now.summary.state == state {
        return;
    }
    let mut events = client.events(id, Some(now.revision));
    while let Some(event) = events.next().await.unwrap() {
        match event {
            Event::Changed(change) if change.state == Some(state) => return,
            Event::Ended(outcome) => return assert_eq!(outcome.state, state),
            _ => {}
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let _ = self.runtime.block_on(self.engine.clone().shut_down());
    }
}

/// The binary in a world of its own: no variables, no colours, and times of London in winter.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    for variable in ["STEADFAST_SERVER", "STEADFAST_BY", "NO_COLOR"] {
        command.env_remove(variable);
    }
    command.env("TZ", "UTC").stdin(Stdio::null());
    command
}

/// The binary without a server.
pub(crate) fn alone(args: &[&str]) -> Ran {
    binary().args(args).output().unwrap().into()
}
