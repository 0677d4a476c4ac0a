//! The engine's benchmark runs from end to end, in some seconds and small; no reach is judged.

use std::process::Command;

#[test]
fn the_quick_benchmark_runs_and_tells_every_figure() {
    let program = env!("CARGO_BIN_EXE_engine");
    let output = Command::new(program).args(["--quick", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    for figure in [
        "3-step tasks",
        "floor",
        "syncs",
        "store CPU",
        "end to end",
        "memory",
        "idle",
        "supervisor",
        "restart",
    ] {
        assert!(told.contains(figure), "`{figure}` is missing in:\n{told}");
    }
    assert!(!told.contains("\"ok\":false"), "{told}");
}
