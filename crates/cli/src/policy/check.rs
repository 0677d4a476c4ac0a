//! `steadfast policy check`.

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_resilience::policy::{Complaint, Error, Finding, Policies, Severity};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Policy files: .toml, .yaml, .yml or .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Fail for warnings too
    #[arg(long)]
    strict: bool,
    /// One JSON object per finding, for programs
    #[arg(long)]
    json: bool,
}

/// What was found in one file.
struct Checked {
    file: String,
    outcome: Result<Vec<Finding>, Error>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let check = |path: &PathBuf| Checked {
        file: path.display().to_string(),
        outcome: Policies::read(path).map(|policies| policies.check()),
    };
    let checked: Vec<_> = args.files.iter().map(check).collect();
    let mut out = stdout().lock();
    for file in &checked {
        if args.json {
            file.json().iter().try_for_each(|line| writeln!(out, "{line}"))?;
        } else {
            writeln!(out, "{}", file.text())?;
        }
    }
    let fails_from = if args.strict { Severity::Warning } else { Severity::Error };
    let failed = checked.iter().any(|file| file.worst().is_some_and(|worst| worst >= fails_from));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Checked {
    fn worst(&self) -> Option<Severity> {
        match &self.outcome {
            Err(_) => Some(Severity::Error),
            Ok(findings) => findings.iter().map(|finding| finding.severity).max(),
        }
    }

    fn text(&self) -> String {
        let findings = match &self.outcome {
            Err(error) => return format!("{}\n{}: refused", self.complaints(error), self.file),
            Ok(findings) => findings,
        };
        let mut lines: Vec<_> =
            findings.iter().map(|finding| format!("{}:{}: {finding}", self.file, finding.at)).collect();
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let counted = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
            let number = count(severity);
            format!("{number} {severity}{}", if number == 1 { "" } else { "s" })
        });
        lines.push(match findings.is_empty() {
            true => format!("{}: ok", self.file),
            false => format!("{}: {}", self.file, counted.join(", ")),
        });
        lines.join("\n")
    }

    fn complaints(&self, error: &Error) -> String {
        let line = |complaint: &Complaint| match complaint.is_about_a_place() {
            true => format!("{}:{}: error: {complaint}", self.file, complaint.at),
            false => format!("{}: error: {complaint}", self.file),
        };
        error.complaints().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Vec<Value> {
        match &self.outcome {
            Err(error) => error
                .complaints()
                .iter()
                .map(|complaint| {
                    json!({
                        "file": self.file, "line": complaint.at.line, "column": complaint.at.column,
                        "severity": "error", "rule": complaint.code.as_str(), "key": complaint.key,
                        "what": complaint.message,
                    })
                })
                .collect(),
            Ok(findings) => findings
                .iter()
                .map(|finding| {
                    json!({
                        "file": self.file, "line": finding.at.line, "column": finding.at.column,
                        "severity": finding.severity.as_str(), "rule": finding.rule, "key": finding.key,
                        "what": finding.what, "why": finding.why, "do": finding.hint,
                    })
                })
                .collect(),
        }
    }
}
