//! The benchmark of the housekeeping runs from end to end, in some seconds and small; no reach is judged.

use std::process::Command;

#[test]
fn the_quick_benchmark_removes_and_copies() {
    let output = Command::new(env!("CARGO_BIN_EXE_house")).args(["--quick", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    for figure in ["2000 tasks are removed", "tasks removed", "while the file is copied", "slowest task"] {
        assert!(told.contains(figure), "`{figure}` is missing in:\n{told}");
    }
}
