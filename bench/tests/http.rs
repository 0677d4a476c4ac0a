//! The benchmark over HTTP runs from end to end, in some seconds and without Restate; no reach is judged.

use std::process::Command;

#[test]
fn the_quick_benchmark_asks_every_side_and_tells_every_figure() {
    let program = env!("CARGO_BIN_EXE_http");
    let output = Command::new(program).args(["--quick", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    for figure in
        ["3-step tasks over HTTP", "hop", "CPU of a task", "end to end", "refused, with a time to come again"]
    {
        assert!(told.contains(figure), "`{figure}` is missing in:\n{told}");
    }
    for nothing in
        ["refused without one", "neither accepted nor refused", "not completed", "too many or too few"]
    {
        let line = told.lines().find(|line| line.contains(nothing)).unwrap_or_default();
        assert!(line.contains("\"value\":0.0"), "{line}");
    }
}
