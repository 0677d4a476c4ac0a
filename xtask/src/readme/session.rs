//! A page whose commands belong together: all of them are typed into one shell, one after another, as a reader would; those that end in
//! `&` go on beside. Whatever they have started is ended with the session.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::command::Cmd;

/// How long a command may take: a release build of everything, on a small machine.
const WITHIN: Duration = Duration::from_secs(1_800);

pub(super) struct Session {
    shell: Child,
    typed: ChildStdin,
    /// The exit code of each command, a line for each.
    codes: Receiver<String>,
    folder: PathBuf,
}

impl Session {
    /// A shell in the root of the checkout. What goes on beside writes into a file.
    pub(super) fn open() -> Result<Self> {
        let target = crate::metadata::target_folder()?;
        let folder = target.join(format!("quick-start-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let log = fs::File::create(folder.join("log.txt"))?;
        let mut shell = Command::new("bash")
            .args(["--noprofile", "--norc"])
            // A store of its own: that of a reader who has tried the page is left alone.
            .env("STEADFAST_DATA", folder.join("store"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.try_clone()?)
            .process_group(0)
            .spawn()
            .context("cannot start bash")?;
        let mut typed = shell.stdin.take().context("no pipe to the shell")?;
        let told = BufReader::new(shell.stdout.take().context("no pipe from the shell")?);
        let (tell, codes) = mpsc::channel();
        // It ends with the last that has the pipe open.
        thread::spawn(move || told.lines().map_while(Result::ok).try_for_each(|line| tell.send(line).ok()));
        // What is said of how commands ended goes where nothing else does.
        writeln!(typed, "exec 3>&1 >>'{}'", folder.join("log.txt").display())?;
        Ok(Self { shell, typed, codes, folder })
    }

    /// Types a command and waits for its end: what it has printed. One that goes on beside prints nothing here.
    pub(super) fn run(&mut self, line: &str) -> Result<String> {
        eprintln!("    $ {line}");
        if line.ends_with('&') {
            writeln!(self.typed, "{line}")?;
            return Ok(String::new());
        }
        let printed = self.folder.join("printed.txt");
        writeln!(self.typed, "{{ {line}\n}} >'{}' 3>&-; echo $? >&3", printed.display())?;
        let Ok(code) = self.codes.recv_timeout(WITHIN) else {
            bail!("`{line}` has not ended in {WITHIN:?}, or ended the shell: {}", self.log());
        };
        ensure!(code == "0", "exit code {code} from: {line}\n{}", self.log());
        fs::read_to_string(printed).with_context(|| format!("what `{line}` has printed"))
    }

    /// The last that was said beside.
    fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.join("log.txt")).unwrap_or_default();
        let last: Vec<_> = text.lines().rev().take(20).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The shell and all that it has started, which are a group of their own.
        Cmd::program("kill").args(&["-KILL", "--", &format!("-{}", self.shell.id())]).works();
        let _ = self.shell.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether what is shown is what was printed, but for what differs each time: ids, times and how wide a column is. A `…` stands for
/// whatever is there, within a line, or in a line of its own for any number of lines.
pub(super) fn is_alike(shown: &str, printed: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let line = |line: &str| line.split_whitespace().map(masked).collect::<Vec<_>>().join(" ");
        text.trim_end().lines().map(line).collect()
    };
    are_alike(&lines(shown), &lines(printed))
}

fn are_alike(shown: &[String], printed: &[String]) -> bool {
    match (shown, printed) {
        ([], rest) => rest.is_empty(),
        ([gap, after @ ..], _) if gap == "…" => {
            (0..=printed.len()).any(|skipped| are_alike(after, &printed[skipped..]))
        }
        ([first, after @ ..], [line, rest @ ..]) => is_alike_line(first, line) && are_alike(after, rest),
        (_, []) => false,
    }
}

fn is_alike_line(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…').map(str::trim);
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// A word, or what it stands for if it is another one each time.
fn masked(word: &str) -> String {
    let (core, end) = word.split_at(word.trim_end_matches([',', ';', '.', ':', ')']).len());
    let start = core.len() - core.trim_start_matches(['(', '"', '`']).len();
    let (start, core) = core.split_at(start);
    let has_digit = core.contains(|letter: char| letter.is_ascii_digit());
    let number = core.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == 'µ');
    let unit = &core[number.len()..];
    let is_number =
        !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let is_time = ["ms", "s", "m", "h", "d", "µs"].contains(&unit) && is_number;
    let is_clock = core.len() >= 8
        && core.chars().all(|letter| letter.is_ascii_digit() || ":-.+TZ".contains(letter))
        && core.contains(':');
    let is_date = core.len() == 10 && core.matches('-').count() == 2 && has_digit;
    let is_id = core.len() >= 8
        && has_digit
        && core.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    match () {
        () if is_time => format!("{start}TIME{end}"),
        () if is_clock || is_date => format!("{start}WHEN{end}"),
        () if is_id => format!("{start}ID{end}"),
        () => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_times_may_differ_and_nothing_else() {
        let shown =
            "task 019a3c5e-0000-7000-8000-0123456789ab is waiting since 12:03:04, 2.0s ago\npayments  open\n";
        assert!(is_alike(
            shown,
            &shown.replace("2.0s", "13ms").replace("12:03:04", "23:59:59").replace("9ab", "9ac")
        ));
        assert!(is_alike(shown, &shown.replace("payments  open", "payments       open\n")));
        for (old, new) in
            [("open", "closed"), ("waiting", "running"), ("payments", "inventory"), ("task", "")]
        {
            assert!(!is_alike(shown, &shown.replace(old, new)), "{new}");
        }
        assert!(!is_alike("5 calls failed", "6 calls failed"), "a count is no time");
    }

    #[test]
    fn an_ellipsis_stands_for_whatever_is_there() {
        let printed = "state  waiting\nsince now\nwhy    it waits for payments\n";
        for shown in
            [printed, "state waiting\n…\nwhy … payments", "…", "…\nwhy it …", "state waiting\nsince …\nwhy …"]
        {
            assert!(is_alike(shown, printed), "{shown}");
        }
        for shown in [
            "state waiting\n…\nwhy … inventory",
            "state running\n…",
            "state waiting",
            "why …\n…",
            "…\nsince now",
        ] {
            assert!(!is_alike(shown, printed), "{shown}");
        }
    }

    #[test]
    fn a_session_keeps_variables_and_jobs_and_tells_failures() {
        let mut session = Session::open().unwrap();
        assert_eq!(session.run("word=hello").unwrap(), "");
        session.run("sleep 600 &").unwrap();
        assert_eq!(session.run("echo $word").unwrap(), "hello\n");
        session.run("kill %1").unwrap();
        assert!(session.run("false").unwrap_err().to_string().starts_with("exit code 1 from: false"));
    }
}
