//! `cargo xtask layering`: what each crate may know, checked against what its manifest asks for.
//! The rules are data in `rules.rs`; this file compares and complains, and decides nothing itself.

mod rules;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::metadata::{Metadata, Package};
use crate::step::Note;
use rules::{RULES, Rule};

pub(crate) fn run() -> Result<Note> {
    let metadata = Metadata::read()?;
    let mut problems = check(&metadata, RULES);
    problems.extend(root_lints(&read("Cargo.toml")?)?);
    for package in &metadata.packages {
        problems.extend(lints(package)?);
    }
    problems.iter().for_each(|problem| eprintln!("    {problem}"));
    match problems.len() {
        0 => Ok(format!("{} packages", metadata.packages.len())),
        count => bail!("layering has {count} problems"),
    }
}

fn check(metadata: &Metadata, rules: &[Rule]) -> Vec<String> {
    let ours: Vec<_> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let each = |package: &Package| match rules.iter().find(|rule| rule.package == package.name) {
        Some(rule) => broken(package, rule, &ours),
        None => {
            vec![format!("{}: no rule; say in xtask/src/layering/rules.rs what it may know", package.name)]
        }
    };
    metadata.packages.iter().flat_map(each).collect()
}

fn broken(package: &Package, rule: &Rule, ours: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if ours.contains(&name) && !rule.may_use.contains(&name) {
            let allowed = if rule.may_use.is_empty() { "none".to_owned() } else { rule.may_use.join(", ") };
            problems.push(format!("{} depends on {name}; of our crates it may use: {allowed}", package.name));
        }
        let ban =
            rule.never.iter().find(|ban| ban.name == name && !(ban.unless_optional && dependency.optional));
        if let Some(ban) = ban {
            let hint = if ban.unless_optional { " (or make it optional)" } else { "" };
            problems.push(format!("{} depends on {name}: {}{hint}", package.name, ban.why));
        }
    }
    problems
}

/// Every member takes the workspace's lints, or forbids unsafe code itself, or has a reason in its rule.
fn lints(package: &Package) -> Result<Option<String>> {
    if inherits(&read(&package.manifest)?)? {
        return Ok(None);
    }
    let excused = RULES.iter().any(|rule| rule.package == package.name && rule.own_lints.is_some());
    let forbids = match &package.lib {
        Some(lib) => forbids_unsafe(&read(lib)?),
        None => false,
    };
    let problem = || format!("{}: its Cargo.toml lacks `[lints] workspace = true`", package.name);
    Ok((!excused && !forbids).then(problem))
}

fn inherits(manifest: &str) -> Result<bool> {
    let manifest: toml::Table = manifest.parse()?;
    Ok(manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool)
        == Some(true))
}

fn forbids_unsafe(source: &str) -> bool {
    source.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]")
}

/// Inheriting means something only while the workspace forbids unsafe code.
fn root_lints(manifest: &str) -> Result<Option<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let rust = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("lints")?.get("rust")?.get("unsafe_code"));
    let forbidden = rust.and_then(toml::Value::as_str) == Some("forbid");
    Ok((!forbidden)
        .then(|| "Cargo.toml: `[workspace.lints.rust]` must say unsafe_code = \"forbid\"".to_owned()))
}

fn read(path: impl AsRef<std::path::Path>) -> Result<String> {
    let path = path.as_ref();
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::rules::Ban;
    use super::*;
    use crate::metadata::Dependency;

    const TOY_RULES: [Rule; 2] = [
        Rule {
            package: "core",
            may_use: &[],
            never: &[
                Ban { name: "axum", why: "it knows no server", unless_optional: false },
                Ban { name: "json", why: "its users choose", unless_optional: true },
            ],
            own_lints: None,
        },
        Rule { package: "cli", may_use: &["core"], never: &[], own_lints: None },
    ];

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |&(name, optional): &(&str, bool)| Dependency { name: name.to_owned(), optional };
        let dependencies = dependencies.iter().map(dependency).collect();
        Package { name: name.to_owned(), dependencies, ..Package::default() }
    }

    fn problems(packages: Vec<Package>) -> Vec<String> {
        check(&Metadata { packages }, &TOY_RULES)
    }

    #[test]
    fn allowed_dependencies_pass() {
        let core = package("core", &[("json", true), ("serde", false)]);
        assert_eq!(problems(vec![core, package("cli", &[("core", false), ("axum", false)])]), [""; 0]);
    }

    #[test]
    fn a_dependency_against_the_layers_is_named() {
        let found = problems(vec![package("core", &[("cli", true)]), package("cli", &[])]);
        assert_eq!(found, ["core depends on cli; of our crates it may use: none"]);
    }

    #[test]
    fn a_banned_crate_is_named_with_the_reason() {
        let found = problems(vec![package("core", &[("axum", true), ("json", false)])]);
        assert_eq!(
            found,
            [
                "core depends on axum: it knows no server",
                "core depends on json: its users choose (or make it optional)"
            ]
        );
    }

    #[test]
    fn a_package_without_a_rule_is_told_where_to_get_one() {
        let found = problems(vec![package("new", &[])]);
        assert_eq!(found, ["new: no rule; say in xtask/src/layering/rules.rs what it may know"]);
    }

    #[test]
    fn lints_are_inherited_or_unsafe_code_is_forbidden() {
        assert!(inherits("[lints]\nworkspace = true").unwrap());
        assert!(!inherits("[lints.rust]\nunsafe_code = \"allow\"").unwrap());
        assert!(forbids_unsafe("//! Doc.\n#![forbid(unsafe_code)]\n"));
        assert!(!forbids_unsafe("// #![forbid(unsafe_code)]\n"));
        assert_eq!(root_lints("[workspace.lints.rust]\nunsafe_code = \"forbid\"").unwrap(), None);
        assert!(root_lints("[workspace]").unwrap().is_some());
    }
}
