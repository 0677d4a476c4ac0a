//! `steadfast serve` as a process: started over settings, killed, told to stop, and asked.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use steadfast_client::Client;
use steadfast_resilience::clock::Clock;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_steadfast");
/// How often a condition is looked at.
const OFTEN: Duration = Duration::from_millis(20);

/// Where a server has its settings, workflows and store; it outlives the processes that serve it.
pub(crate) struct Premises {
    folder: tempfile::TempDir,
    /// Variables that the process is given.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// A process. It is killed when it is dropped.
pub(crate) struct Serving {
    process: Child,
    pub(crate) url: String,
    said: Arc<Mutex<String>>,
    listener: Option<JoinHandle<()>>,
}

impl Premises {
    /// A folder with these settings and workflows. The port is any that is free.
    pub(crate) fn new(settings: &str, workflows: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workflows")).unwrap();
        for (name, text) in workflows {
            std::fs::write(folder.path().join("workflows").join(name), text).unwrap();
        }
        let premises = Self { folder, variables: Vec::new() };
        premises.settle(settings);
        premises
    }

    /// Other settings, for the next process.
    pub(crate) fn settle(&self, settings: &str) {
        let head = "listen = \"127.0.0.1:0\"\nworkflows = \"workflows\"\n";
        std::fs::write(self.path("steadfast.toml"), format!("{head}{settings}")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a process and waits until it listens.
    pub(crate) fn open(&self) -> Serving {
        let mut command = program(BINARY);
        command.args(["serve", "--config"]).arg(self.path("steadfast.toml"));
        Serving::of(command.envs(self.variables.iter().map(|(name, value)| (name, value))))
    }
}

impl Serving {
    /// Runs the command, and waits until it listens.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said = Arc::new(Mutex::new(String::new()));
        let told = lines.by_ref().find(|line| {
            note(&said, line);
            line.contains("listens on")
        });
        let line = told.unwrap_or_else(|| panic!("it did not start, and said: {}", said.lock().unwrap()));
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        let url = url.trim_end_matches(',').to_owned();
        let kept = Arc::clone(&said);
        // Somebody reads what it says, or it would wait for that.
        let listener = std::thread::spawn(move || lines.for_each(|line| note(&kept, &line)));
        Self { process, url, said, listener: Some(listener) }
    }

    /// A client that does not try again by itself.
    pub(crate) fn client(&self) -> Client {
        Client::builder(&self.url).retries(0).build().unwrap()
    }

    /// What the command line says to this.
    pub(crate) fn ask(&self, args: &[&str]) -> Output {
        let mut command = program(BINARY);
        command.args(["--server", &self.url, "--by", "test"]).args(args);
        command.stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The memory that the process uses, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Ends it as a crash would: SIGKILL. It must have lived until then.
    pub(crate) fn kill(self) {
        self.killed();
    }

    /// The same; all that it said.
    pub(crate) fn killed(mut self) -> String {
        assert!(self.process.try_wait().unwrap().is_none(), "it had ended: {}", self.said());
        self.process.kill().unwrap();
        let (status, said) = self.ended();
        assert_eq!(status, None, "a signal ends it");
        said
    }

    /// Asks it to stop: SIGTERM.
    pub(crate) fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.id().to_string()]).status();
        assert!(told.unwrap().success());
    }

    /// Waits for its end, and says how it was and all that it said.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let status = self.process.wait().unwrap();
        self.listener.take().unwrap().join().unwrap();
        (status.code(), self.said())
    }

    /// All that it has said so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program without the variables that are for the test: a server refuses settings that nobody knows.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STEADFAST_")) {
        command.env_remove(name);
    }
    command
}

fn note(said: &Mutex<String>, line: &str) {
    let mut said = said.lock().unwrap();
    said.push_str(line);
    said.push('\n');
}

/// Looks until this is so, for so long at most.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, most: Duration, is_so: impl Fn() -> F) {
    let clock = Clock::system();
    let end = clock.now() + most;
    while !is_so().await {
        assert!(clock.now() < end, "for {most:?} it was not so: {what}");
        clock.sleep(OFTEN).await;
    }
}
