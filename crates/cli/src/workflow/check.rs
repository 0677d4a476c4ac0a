//! `steadfast workflow check`: on this machine, without a server.

use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use serde_json::json;
use steadfast_flow::{Complaint, Error, FlowFile};

use crate::serve;
use crate::show::plain;

/// A file, or all that is wrong with it.
type Checked = Result<FlowFile, Error>;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workflow files: .yaml, .yml or .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Settings: whether they have the services and retry policies that are named, and their folder the workflows
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let checked = args.files.iter().map(FlowFile::read).collect();
    let checked: Vec<_> = match &args.config {
        Some(config) => around(config, checked)?,
        None => checked,
    };
    let mut out = stdout().lock();
    for (path, checked) in args.files.iter().zip(&checked) {
        let told = match (checked, json) {
            (Ok(flow), false) => {
                format!("{}: ok, workflow `{}`{}\n", path.display(), flow.name(), unchecked(flow, args))
            }
            (Ok(_), true) => String::new(),
            (Err(error), false) => words(error),
            (Err(error), true) => lines(error),
        };
        out.write_all(told.as_bytes())?;
    }
    let refused = checked.iter().any(Result::is_err);
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The same files, with what is wrong with those that make sense alone and not with these settings.
fn around(config: &Path, checked: Vec<Checked>) -> Result<Vec<Checked>> {
    let config = serve::read(Some(config), Vec::new())?;
    let files: Vec<_> = checked.iter().filter_map(|file| file.as_ref().ok().cloned()).collect();
    let found = steadfast_server::check_files(config, &files).map_err(|words| anyhow!("{words}"))?;
    let mut found = found.into_iter();
    Ok(checked
        .into_iter()
        .map(|file| file.and_then(|file| found.next().flatten().map_or(Ok(file), Err)))
        .collect())
}

/// What a file alone cannot say.
fn unchecked(flow: &FlowFile, args: &Args) -> String {
    match (&args.config, &*flow.services()) {
        (None, services @ [_, ..]) => {
            let services = services.iter().map(|name| format!("`{}`", plain(name))).collect::<Vec<_>>();
            format!("; whether there are its services ({}) is checked with --config", services.join(", "))
        }
        _ => String::new(),
    }
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
