//! `steadfast workflow check`: on this machine, without a server.

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use steadfast_flow::{Complaint, Error, FlowFile};

use crate::show::plain;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workflow files: .yaml, .yml or .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let mut out = stdout().lock();
    let mut refused = false;
    for path in &args.files {
        let checked = FlowFile::read(path);
        refused |= checked.is_err();
        let told = match (&checked, json) {
            (Ok(flow), false) => format!("{}: ok, workflow `{}`\n", path.display(), flow.name()),
            (Ok(_), true) => String::new(),
            (Err(error), false) => words(error),
            (Err(error), true) => lines(error),
        };
        out.write_all(told.as_bytes())?;
    }
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn words(error: &Error) -> String {
    let all: String = error.to_string().lines().map(|line| format!("{}\n", plain(line))).collect();
    format!("{all}{}: refused\n", error.file())
}

/// An object for each thing that is wrong, as `policy check` has them.
fn lines(error: &Error) -> String {
    let line = |complaint: &Complaint| {
        json!({
            "file": error.file(), "line": complaint.at.line, "column": complaint.at.column,
            "severity": "error", "rule": complaint.code.to_string(), "key": complaint.key,
            "what": complaint.message,
        })
    };
    error.complaints().iter().map(|complaint| format!("{}\n", line(complaint))).collect()
}
