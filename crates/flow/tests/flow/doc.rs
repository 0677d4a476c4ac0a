//! What is written about workflow files is what the code says.

use std::path::{Path, PathBuf};

use steadfast_flow::{Code, FlowFile, Format, json_schema, reference};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Compares what is kept with what is made, and writes it when asked: `STEADFAST_BLESS=1 cargo test -p steadfast-flow doc`.
fn check(name: &str, made: &str) {
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::create_dir_all(docs(name).parent().unwrap()).unwrap();
        std::fs::write(docs(name), made).unwrap();
    }
    let kept = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(kept == made, "docs/{name} is not what the code makes: bless it, see this test");
}

#[test]
fn the_schema_that_is_checked_in_is_made_of_the_code() {
    check("workflow.schema.json", &json_schema());
}

#[test]
fn the_reference_that_is_checked_in_is_made_of_the_code() {
    check("reference/workflow-files.md", &reference());
}

#[test]
fn every_code_has_a_page_that_says_what_to_do() {
    let index = std::fs::read_to_string(docs("errors/README.md")).unwrap();
    for code in Code::ALL {
        let page = std::fs::read_to_string(docs(&format!("errors/{code}.md")));
        let page = page.unwrap_or_else(|_| panic!("docs/errors/{code}.md is missing"));
        for part in
            [format!("# {code} "), "## Example".into(), "## Why it hurts".into(), "## What to do".into()]
        {
            assert!(page.contains(&part), "{code}: no `{part}`");
        }
        assert!(index.contains(&format!("[{code}]({code}.md)")), "{code} is not in the index");
    }
}

/// Stands before the one file of the guide that is wrong.
const WRONG: &str = "<!-- a wrong file -->\n";

/// The blocks of a chapter that are whole files.
fn files_of(chapter: &str) -> Vec<String> {
    let text = std::fs::read_to_string(docs(chapter)).unwrap();
    let blocks: Vec<_> = text.split("```yaml\n").collect();
    let right = blocks.windows(2).filter(|pair| !pair[0].ends_with(WRONG));
    let files = right.map(|pair| pair[1].split("```").next().unwrap().to_owned());
    files.filter(|file| file.starts_with("workflow:") || file.contains("\nworkflow:")).collect()
}

#[test]
fn the_files_of_the_guide_and_the_examples_are_right_and_fit_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut files: Vec<_> =
        files_of("guide/workflow-files.md").into_iter().map(|text| ("the guide".to_owned(), text)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if Format::of(&path).is_some() {
            files.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(files.len() >= 8, "{}", files.len());
    for (name, text) in files {
        let file =
            FlowFile::parse(&text, Format::Yaml, &name).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let json = file.to_json();
        let errors: Vec<_> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}\n{json}");
    }
    for bad in [
        serde_json::json!({"workflow": "w"}),
        serde_json::json!({"workflow": "w", "steps": {"a": {"wait": 5}}}),
        serde_json::json!({"workflow": "w", "steps": {"a": {"service": "s"}}}),
        serde_json::json!({"workflow": "w", "steps": {"a": {"steps": {"b": {"wiat": "1s"}}}}}),
        serde_json::json!({"workflow": "w", "steps": {"a": {"service": "s", "request": {"method": "GET"}}}}),
    ] {
        assert!(!schema.is_valid(&bad), "{bad}");
        assert!(FlowFile::parse(&bad.to_string(), Format::Json, "bad").is_err(), "{bad}");
    }
}

/// What the guide shows as complaints is what is said.
#[test]
fn the_complaints_of_the_guide_are_those_of_the_code() {
    let text = std::fs::read_to_string(docs("guide/workflow-files.md")).unwrap();
    let (_, rest) = text.split_once(&format!("{WRONG}```yaml\n")).unwrap();
    let (wrong, rest) = rest.split_once("```").unwrap();
    let (_, rest) = rest.split_once("```text\n").unwrap();
    let (told, _) = rest.split_once("\n```").unwrap();
    let error = FlowFile::parse(wrong, Format::Yaml, "refund.yaml").unwrap_err();
    assert_eq!(error.to_string(), told);
}
