//! The workspace as the rules see it: its packages' manifests and every Rust source in them.
//!
//! Finding and reading files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The checkout's top folder.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Path from the workspace root, with `/`.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    pub fn new(path: &str, text: &str) -> Self {
        let (path, text) = (path.to_owned(), text.to_owned());
        Self { path, text }
    }

    /// Whether the whole file is test code.
    pub fn is_test(&self) -> bool {
        let parts = ["/tests", "/testing", "/benches/", "_tests."];
        self.path.starts_with("tests/") || parts.iter().any(|part| self.path.contains(part))
    }

    /// Returns its lines of product code with their numbers, without test modules and comments.
    pub fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let text = if self.is_test() { "" } else { &self.text };
        let (mut before, mut is_in_test_module) = ("", false);
        let lines = (1..).zip(text.lines());
        lines.filter(move |(_, line)| {
            let opens = line.starts_with("mod ") && line.ends_with('{');
            is_in_test_module |= opens && before == "#[cfg(test)]";
            is_in_test_module &= *line != "}";
            before = *line;
            !is_in_test_module && !line.trim_start().starts_with("//")
        })
    }
}

/// One package's manifest.
#[derive(Debug, Clone)]
pub struct PackageManifest {
    /// The package's name.
    pub package: String,
    /// Its folder from the workspace root, with `/`.
    pub folder: String,
    /// The whole manifest.
    pub toml: toml::Table,
}

impl PackageManifest {
    /// Reads `text`, the manifest of the package in `folder`.
    pub fn parse(folder: &str, text: &str) -> io::Result<Self> {
        let toml: toml::Table = text.parse().map_err(io::Error::other)?;
        let package = toml
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(toml::Value::as_str)
            .ok_or_else(|| io::Error::other(format!("{folder}/Cargo.toml names no package")))?
            .to_owned();
        Ok(Self {
            package,
            folder: folder.to_owned(),
            toml,
        })
    }

    /// Names in the table `section`, target-specific tables included; a rename counts as what it
    /// really is.
    pub fn dependencies(&self, section: &str) -> BTreeSet<String> {
        let for_targets = self.toml.get("target").and_then(toml::Value::as_table);
        let tables = for_targets.into_iter().flat_map(toml::Table::values);
        tables
            .filter_map(|target| target.get(section))
            .chain(self.toml.get(section))
            .filter_map(toml::Value::as_table)
            .flatten()
            .map(|(name, detail)| {
                let renamed = detail.get("package").and_then(toml::Value::as_str);
                renamed.unwrap_or(name).to_owned()
            })
            .collect()
    }
}

/// The workspace, read once.
#[derive(Debug, Clone)]
pub struct WorkspaceTree {
    pub root: PathBuf,
    /// Every package of the workspace, by folder.
    pub manifests: Vec<PackageManifest>,
    /// Every Rust source of every package, by path.
    pub sources: Vec<SourceFile>,
}

impl WorkspaceTree {
    /// Reads the checkout this test was built from.
    pub fn read() -> io::Result<Self> {
        let root = workspace_root();
        let mut folders = vec!["sandbox".to_owned(), "tests".to_owned()];
        for name in list_names(&root.join("crates"))? {
            folders.push(format!("crates/{name}"));
        }
        folders.sort();
        let mut manifests = Vec::new();
        let mut sources = Vec::new();
        for folder in &folders {
            let text = fs::read_to_string(root.join(folder).join("Cargo.toml"))?;
            manifests.push(PackageManifest::parse(folder, &text)?);
            collect_sources(&root, folder, &mut sources)?;
        }
        // Its sources are among those of the tests.
        let lab = "tests/lab";
        let text = fs::read_to_string(root.join(lab).join("Cargo.toml"))?;
        manifests.push(PackageManifest::parse(lab, &text)?);
        Ok(Self {
            root,
            manifests,
            sources,
        })
    }

    /// The text of `path` (from the root).
    pub fn read_text(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.root.join(path))
            .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    }
}

fn list_names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

fn collect_sources(root: &Path, folder: &str, sources: &mut Vec<SourceFile>) -> io::Result<()> {
    for name in list_names(&root.join(folder))? {
        if name.starts_with('.') || name.starts_with("target") {
            continue;
        }
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            collect_sources(root, &path, sources)?;
        } else if Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "rs")
        {
            sources.push(SourceFile::new(
                &path,
                &fs::read_to_string(root.join(&path))?,
            ));
        }
    }
    Ok(())
}
