//! The real binary, as a user runs it: the demo's story and figures, its doors, and what it says about bad flags.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_steadfast");

fn steadfast(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A demo on free ports, with temporary files in a folder of its own. It is killed when it is dropped.
struct Demo {
    process: Child,
    talk: BufReader<ChildStderr>,
    welcome: String,
    temporary: TempDir,
}

impl Demo {
    /// Starts one and waits until it is open.
    fn open(args: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut process = Command::new(BINARY)
            .args(["demo", "--port", "0", "--api-port", "0"])
            .args(args)
            .env("TMPDIR", temporary.path())
            // Of another server's life: the demo does not heed it.
            .env("STEADFAST_LISTEN", "127.0.0.1:1")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut talk = BufReader::new(process.stderr.take().unwrap());
        let mut welcome = String::new();
        while !welcome.contains("The story:") {
            assert!(talk.read_line(&mut welcome).unwrap() > 0, "it ended too soon: {welcome}");
        }
        Self { process, talk, welcome, temporary }
    }

    /// The address that is said behind a name, as `HOST:PORT`.
    fn address(&self, name: &str) -> String {
        let line = self.welcome.lines().find(|line| line.trim_start().starts_with(name));
        let url = line.and_then(|line| line.split_whitespace().nth(1)).unwrap();
        url.trim_start_matches("http://").split('/').next().unwrap().to_owned()
    }

    fn addresses(&self) -> Vec<String> {
        ["storefront", "API", "inventory", "payments", "shipping"].map(|name| self.address(name)).into()
    }

    /// Waits for its end: the exit code, what it printed, what it said.
    fn end(&mut self) -> (Option<i32>, String, String) {
        let (mut printed, mut said) = (String::new(), String::new());
        self.talk.read_to_string(&mut said).unwrap();
        self.process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        (self.process.wait().unwrap().code(), printed, said)
    }

    fn interrupt(&self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// Nobody listens any more, and no temporary file is left.
    fn left_nothing(&self) {
        for address in self.addresses() {
            assert!(TcpStream::connect(&address).is_err(), "somebody still listens on {address}");
        }
        assert_eq!(names(self.temporary.path()), Vec::<String>::new());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// X1: the story over a real server is as promised by the services' books, its doors are open meanwhile, and nothing is left.
#[test]
fn the_story_is_as_promised_and_nothing_is_left_running() {
    let mut demo = Demo::open(&["--for", "10s", "--json"]);
    assert!(page(&demo.address("storefront")).contains("The steadfast shop"));
    let server = format!("http://{}", demo.address("API"));
    let asked = steadfast(&["--server", &server, "workflow", "list", "--json"]);
    assert!(text(&asked.stdout).contains("place-order"), "{asked:?}");
    assert!(demo.welcome.contains(&format!("--server {server} task list --state waiting")));

    let (code, printed, said) = demo.end();
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &report["ok"], &report["failed"]), (Some(0), &true.into(), &Value::Array(vec![])));
    let number = |part: &str, name: &str| report[part][name].as_u64().unwrap();
    assert_eq!((number("effects", "lost"), number("effects", "doubled")), (0, 0), "{report}");
    assert_eq!((number("orders", "undone"), number("orders", "repaired")), (3, 1), "{report}");
    assert_eq!(number("orders", "placed"), number("orders", "completed") + 3, "{report}");
    assert!(number("outage", "waiting") >= 10, "{report}");
    assert!(number("outage", "calls") <= number("outage", "most_calls"), "{report}");
    for words in
        ["inventory is slow", "payments is away", "payments is back", "is with the operator", "another lamp"]
    {
        assert!(said.contains(words), "{words:?} is missing:\n{said}");
    }
    demo.left_nothing();
}

/// X1
#[test]
fn ctrl_c_ends_the_story_in_good_order() {
    let mut demo = Demo::open(&["--for", "60s"]);
    demo.interrupt();
    let (code, printed, said) = demo.end();
    assert_eq!((code, printed.as_str()), (Some(130), ""), "{said}");
    assert!(said.contains("Stopped by Ctrl-C"), "{said}");
    demo.left_nothing();
}

/// X1: what was ordered is there when the shop is opened again.
#[test]
fn a_folder_that_was_named_stays() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("shop");
    for _ in 0..2 {
        let mut demo = Demo::open(&["--data", data.to_str().unwrap()]);
        demo.interrupt();
        assert_eq!(demo.end().0, Some(130));
        demo.left_nothing();
    }
    for name in ["steadfast.toml", "steadfast.db", "workflows"] {
        assert!(data.join(name).exists(), "{name}: {:?}", names(&data));
    }
}

/// X1
#[test]
fn a_port_that_is_taken_is_told_with_the_option_for_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (option, other) in [("--port", "--api-port"), ("--api-port", "--port")] {
        let refused = steadfast(&["demo", option, &port, other, "0"]);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("127.0.0.1:{port}")) && said.contains(&format!("`{option} 0`")),
            "{said}"
        );
    }
}

#[test]
fn bad_values_are_refused_with_what_to_give_instead() {
    for (flag, value, hint) in [
        ("--for", "9s", "give a time from 10s to 10m"),
        ("--for", "11m", "give a time from 10s to 10m"),
        ("--for", "nine", "nine"),
        ("--rate", "0", "give a whole number from 10 to 200"),
        ("--rate", "1.5", "give a whole number from 10 to 200"),
        ("--port", "65536", "65536"),
    ] {
        let output = steadfast(&["demo", &format!("{flag}={value}")]);
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
        assert!(talk.contains(flag) && talk.contains(value) && talk.contains(hint), "{flag} {value}: {talk}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_unknown_command_and_no_command_get_help() {
    for args in [&["dmeo"][..], &[]] {
        let output = steadfast(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("demo"), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let version = steadfast(&["--version"]);
    assert!(version.status.success());
    assert_eq!(text(&version.stdout), format!("steadfast {}\n", env!("CARGO_PKG_VERSION")));
    let help = steadfast(&["demo", "--help"]);
    assert!(help.status.success());
    for flag in ["--for", "--data", "--port", "--api-port", "--json"] {
        assert!(text(&help.stdout).contains(flag), "{}", text(&help.stdout));
    }
}
