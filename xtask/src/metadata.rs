//! What cargo knows of the workspace: its root, its packages, their features, targets and dependencies.
//! Read from `cargo metadata`, so that nothing here has to be kept in step with the manifests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use crate::command::Cmd;

/// Goes to the root of the checkout, where every path and command of xtask starts.
pub(crate) fn go_to_root() -> Result<()> {
    let manifest = Cmd::cargo("locate-project --workspace --message-format plain").stdout()?;
    let root = Path::new(manifest.trim()).parent().context("the workspace's Cargo.toml has no folder")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot go to {}", root.display()))
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let text = Cmd::cargo("metadata --format-version 1 --no-deps --locked").stdout()?;
    let value: Value = serde_json::from_str(&text)?;
    self::text(&value, "target_directory").map(PathBuf::from)
}

/// The workspace's own packages.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    pub(crate) features: Vec<String>,
    /// Names of binaries.
    pub(crate) bins: Vec<String>,
    /// The library's first file.
    pub(crate) lib: Option<PathBuf>,
    /// Normal and build dependencies: what ends up with users, or runs on their machines.
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) optional: bool,
}

impl Metadata {
    pub(crate) fn read() -> Result<Self> {
        let text = Cmd::cargo("metadata --format-version 1 --no-deps --locked").stdout()?;
        Self::parse(&text).context("cargo metadata has changed its form")
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let packages = list(&value, "packages")?.iter().map(package).collect::<Result<_>>()?;
        Ok(Self { packages })
    }

    /// The features that tests are built with: all but the client's TLS. With that, every client of `reqwest` in the tree would want a
    /// provider of cryptography, also those of crates that know nothing of it.
    pub(crate) fn tested_features(&self) -> String {
        let all = self.packages.iter().flat_map(|package| {
            let left_out = |feature: &str| package.name == "steadfast-client" && feature == "tls";
            let own = package.features.iter().filter(move |feature| !left_out(feature));
            own.map(|feature| format!("{}/{feature}", package.name))
        });
        all.collect::<Vec<_>>().join(",")
    }

    pub(crate) fn package(&self, name: &str) -> Result<&Package> {
        let found = self.packages.iter().find(|package| package.name == name);
        found.with_context(|| format!("the workspace has no package {name}"))
    }

    pub(crate) fn features(&self, name: &str) -> Result<Vec<String>> {
        Ok(self.package(name)?.features.clone())
    }
}

fn package(value: &Value) -> Result<Package> {
    let features = value["features"].as_object().context("no features")?;
    let targets = list(value, "targets")?;
    let of_kind = |kind: &'static str| targets.iter().filter(move |target| has_kind(target, kind));
    let shipped = list(value, "dependencies")?.iter().filter(|dependency| dependency["kind"] != "dev");
    Ok(Package {
        name: text(value, "name")?,
        manifest: text(value, "manifest_path")?.into(),
        features: features.keys().cloned().collect(),
        bins: of_kind("bin").map(|target| text(target, "name")).collect::<Result<_>>()?,
        lib: of_kind("lib").map(|target| text(target, "src_path")).next().transpose()?.map(PathBuf::from),
        dependencies: shipped.map(dependency).collect::<Result<_>>()?,
    })
}

fn dependency(value: &Value) -> Result<Dependency> {
    Ok(Dependency { name: text(value, "name")?, optional: value["optional"] == true })
}

fn has_kind(target: &Value, kind: &str) -> bool {
    target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind))
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>> {
    value[key].as_array().ok_or_else(|| anyhow!("no list `{key}`"))
}

fn text(value: &Value, key: &str) -> Result<String> {
    value[key].as_str().map(str::to_owned).ok_or_else(|| anyhow!("no text `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOY: &str = r#"{"packages": [{
        "name": "toy", "manifest_path": "toy/Cargo.toml", "features": {"default": ["a"], "a": []},
        "targets": [{"kind": ["lib"], "name": "toy", "src_path": "toy/src/lib.rs"},
                    {"kind": ["bin"], "name": "run", "src_path": "toy/src/main.rs"}],
        "dependencies": [{"name": "x", "kind": null, "optional": true},
                         {"name": "y", "kind": "dev", "optional": false},
                         {"name": "z", "kind": "build", "optional": false}]}]}"#;

    #[test]
    fn packages_are_read_without_dev_dependencies() {
        let metadata = Metadata::parse(TOY).unwrap();
        let toy = metadata.package("toy").unwrap();
        assert_eq!(toy.features, ["a", "default"]);
        assert_eq!(toy.bins, ["run"]);
        assert_eq!(toy.lib.as_deref(), Some(Path::new("toy/src/lib.rs")));
        let names: Vec<_> = toy.dependencies.iter().map(|d| (d.name.as_str(), d.optional)).collect();
        assert_eq!(names, [("x", true), ("z", false)]);
    }

    #[test]
    fn a_missing_package_is_named() {
        let error = Metadata::parse(TOY).unwrap().package("other").unwrap_err();
        assert_eq!(error.to_string(), "the workspace has no package other");
    }
}
