//! A model as sentence-transformers writes it: a folder with the encoder's weights and sizes, its
//! tokeniser, how its tokens are pooled, and what is put before questions and texts.
//!
//! Only data is read: `pytorch_model.bin` is a pickle, which can run programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reprise_files::Folder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::architecture::{Architecture, MODEL_FILE, Pooling, Sizes, WIDTHS};
use crate::engine::Reading;
use crate::onnx;
use crate::tokenizer::TextTokenizer;

const WEIGHTS: &str = "model.safetensors";
const SENTENCES: &str = "config_sentence_transformers.json";
const WEIGHTS_BYTES_MAX: u64 = 8 << 30;
const TOKENIZER_BYTES_MAX: u64 = 64 << 20;
const SETTINGS_BYTES_MAX: u64 = 4 << 20;
/// Longest text that is put before another, in bytes.
const PROMPT_BYTES_MAX: usize = 1024;
/// Rows that a table of words may have beyond its tokeniser's, for round numbers.
const SPARE_WORDS: usize = 1024;
/// Tokens that are looked at where nothing is said.
const TOKENS: usize = 512;

/// What is put before a text, by what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
pub struct Prompts {
    pub query: String,
    pub passage: String,
}

/// What the graph of a model is made of.
pub(crate) enum Form {
    /// The weights of a known family, of which a graph is written.
    Weights(Architecture, Vec<u8>),
    /// Those of multilingual-e5-small in its package's file.
    Package(Vec<u8>),
    /// A graph of others, used as it is.
    Graph(Reading, Vec<u8>),
}

/// A model before it has files here: what was read agrees with itself.
pub(crate) struct Original {
    pub(crate) name: String,
    /// Where its bytes come from.
    pub(crate) origin: String,
    pub(crate) form: Form,
    /// Numbers of a vector.
    pub(crate) width: usize,
    pub(crate) tokenizer: Vec<u8>,
    pub(crate) token_limit: usize,
    pub(crate) prompts: Prompts,
    /// As its README says.
    pub(crate) license: Option<String>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// `pooling_mode_NAME` for each manner, and other fields.
type PoolingConfig = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
struct Lengths {
    max_seq_length: Option<usize>,
}

/// `config_sentence_transformers.json`.
#[derive(Default, Deserialize)]
struct Sentences {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    #[serde(flatten)]
    widths: Widths,
}

impl Original {
    /// Reads a folder; an error is why it cannot be used, in one sentence.
    pub(crate) fn read(path: &Path, name: &str, width: Option<usize>) -> Result<Self, String> {
        let folder = Folder::open(path).map_err(|error| error.to_string())?;
        let pooling = pooling(&folder)?;
        let config = needed(&folder, "config.json", SETTINGS_BYTES_MAX)?;
        let weights = read_file(&folder, WEIGHTS, WEIGHTS_BYTES_MAX)?;
        let graph = match weights {
            Some(_) => None,
            None => graph(&folder)?,
        };
        let sizes = match graph {
            Some(_) => Sizes::parse(&config)?,
            None => Architecture::parse(&config, pooling)?.sizes(),
        };
        let sentences: Option<Sentences> = settings(&folder, SENTENCES)?;
        let sentences = sentences.unwrap_or_default();
        let width = width_of(sentences.widths, &config, sizes.width, width)?;
        let tokenizer = needed(&folder, "tokenizer.json", TOKENIZER_BYTES_MAX)?;
        let lengths: Option<Lengths> = settings(&folder, "sentence_bert_config.json")?;
        let token_limit = lengths
            .and_then(|lengths| lengths.max_seq_length)
            .unwrap_or(TOKENS)
            .min(sizes.token_limit);
        if token_limit < 3 {
            return Err(format!(
                "its max_seq_length is {token_limit}, not 3 or more"
            ));
        }
        let read = TextTokenizer::from_bytes(&tokenizer, token_limit);
        let words = read.map_err(|error| error.to_string())?.ids_end();
        let rows = sizes.vocabulary;
        if words > rows || rows - words > SPARE_WORDS {
            return Err(format!(
                "its tokenizer.json knows {words} tokens and its model {rows}: one is of another \
                 model"
            ));
        }
        let prompts = prompts(&sentences.prompts)?;
        let license = read_file(&folder, "README.md", SETTINGS_BYTES_MAX)?;
        let license = license.and_then(|readme| license_of(&String::from_utf8_lossy(&readme)));
        let form = match (weights, graph) {
            (Some(weights), _) => Form::Weights(Architecture::parse(&config, pooling)?, weights),
            (None, Some((_, graph))) => Form::Graph(onnx::reading(&graph, pooling)?, graph),
            (None, None) => return Err(no_weights(&folder)),
        };
        Ok(Self {
            name: name.to_owned(),
            origin: path.display().to_string(),
            form,
            width,
            tokenizer,
            token_limit,
            prompts,
            license,
        })
    }
}

/// The graph of a judge of two texts, as a folder has it, how it is read, and its tokeniser; an
/// error is why it cannot be used, in one sentence.
pub(crate) fn judge(path: &Path) -> Result<(PathBuf, Reading, TextTokenizer), String> {
    let folder = Folder::open(path).map_err(|error| error.to_string())?;
    let config = needed(&folder, "config.json", SETTINGS_BYTES_MAX)?;
    let sizes = Sizes::parse(&config)?;
    let (name, graph) = graph(&folder)?.ok_or_else(|| lacks(MODEL_FILE))?;
    let reading = onnx::judging(&graph)?;
    let json = needed(&folder, "tokenizer.json", TOKENIZER_BYTES_MAX)?;
    let tokenizer = TextTokenizer::from_bytes(&json, sizes.token_limit.min(TOKENS));
    let tokenizer = tokenizer.map_err(|error| error.to_string())?;
    if tokenizer.ids_end() > sizes.vocabulary {
        return Err("its tokenizer.json is of another model".to_owned());
    }
    Ok((path.join(name), reading, tokenizer))
}

/// What the modules behind the encoder do with its tokens.
fn pooling(folder: &Folder) -> Result<Pooling, String> {
    let modules: Option<Vec<Module>> = settings(folder, "modules.json")?;
    let modules = modules.ok_or_else(|| lacks("modules.json"))?;
    let mut found = None;
    for module in modules {
        let kind = module.kind.rsplit('.').next().unwrap_or_default();
        match kind {
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let name = format!("{}/config.json", module.path);
                let config: Option<PoolingConfig> = settings(folder, &name)?;
                found = Some(config.ok_or_else(|| lacks(&name))?);
            }
            _ => return Err(format!("it has a module `{kind}`, which is not known")),
        }
    }
    let found = found.ok_or("its modules.json names no pooling")?;
    let chosen = found.iter().filter(|(_, value)| **value == true);
    let chosen: Vec<&str> = chosen
        .filter_map(|(name, _)| name.strip_prefix("pooling_mode_"))
        .collect();
    match chosen.as_slice() {
        ["mean_tokens"] => Ok(Pooling::Mean),
        ["cls_token"] => Ok(Pooling::Cls),
        _ => Err("its pooling is neither the mean of all tokens nor the first token".to_owned()),
    }
}

/// The graph of others, where the folder has one: as transformers.js and Optimum place it.
fn graph(folder: &Folder) -> Result<Option<(&'static str, Vec<u8>)>, String> {
    for name in [MODEL_FILE, "onnx/model.onnx"] {
        if let Some(graph) = read_file(folder, name, WEIGHTS_BYTES_MAX)? {
            return Ok(Some((name, graph)));
        }
    }
    Ok(None)
}

#[derive(Default, Deserialize)]
struct Widths {
    /// The first so many numbers are a vector by themselves (Matryoshka).
    #[serde(default)]
    matryoshka_dimensions: Vec<usize>,
    /// What the model is meant to be cut to.
    truncate_dim: Option<usize>,
}

/// How wide its vectors are to be: as wide as the model, or what its own files permit.
fn width_of(
    of_sentences: Widths,
    config: &[u8],
    whole: usize,
    wanted: Option<usize>,
) -> Result<usize, String> {
    let of_model: Widths = serde_json::from_slice(config).unwrap_or_default();
    let meant = of_sentences.truncate_dim.or(of_model.truncate_dim);
    let mut known = vec![whole];
    known.extend(meant);
    known.extend(of_model.matryoshka_dimensions);
    known.extend(of_sentences.matryoshka_dimensions);
    let width = wanted.or(meant).unwrap_or(whole);
    if !known.contains(&width) || width > whole || !WIDTHS.contains(&width) {
        known.retain(|width| *width <= whole && WIDTHS.contains(width));
        let known: Vec<String> = known.iter().map(usize::to_string).collect();
        return Err(format!(
            "its vectors cannot be cut to {width} numbers; its files name {}",
            known.join(", ")
        ));
    }
    Ok(width)
}

/// By the names that models give them.
fn prompts(known: &BTreeMap<String, String>) -> Result<Prompts, String> {
    let prompt = |names: &[&str]| {
        let found = names.iter().find_map(|name| known.get(*name));
        found.cloned().unwrap_or_default()
    };
    let prompts = Prompts {
        query: prompt(&["query", "search_query"]),
        passage: prompt(&["passage", "document", "search_document"]),
    };
    if prompts.query.len().max(prompts.passage.len()) > PROMPT_BYTES_MAX {
        return Err(format!(
            "a prompt of its {SENTENCES} is beyond {PROMPT_BYTES_MAX} bytes"
        ));
    }
    Ok(prompts)
}

/// `license:` of the head of a model card.
fn license_of(readme: &str) -> Option<String> {
    let (head, _) = readme.strip_prefix("---")?.split_once("\n---")?;
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("license:"))?;
    Some(line.trim().to_owned()).filter(|license| !license.is_empty() && license.len() < 64)
}

fn no_weights(folder: &Folder) -> String {
    let has = |name: &str| folder.look(name).is_ok_and(|found| found.is_some());
    let why = if has("model.safetensors.index.json") {
        "its weights are in several files"
    } else if has("pytorch_model.bin") {
        "its pytorch_model.bin is a pickle, which is never read"
    } else {
        return lacks(WEIGHTS);
    };
    format!("{why}; save the model with sentence-transformers, which writes one {WEIGHTS}")
}

fn lacks(name: &str) -> String {
    format!("it has no {name}")
}

fn needed(folder: &Folder, name: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    read_file(folder, name, bytes_max)?.ok_or_else(|| lacks(name))
}

fn settings<T: DeserializeOwned>(folder: &Folder, name: &str) -> Result<Option<T>, String> {
    let Some(bytes) = read_file(folder, name, SETTINGS_BYTES_MAX)? else {
        return Ok(None);
    };
    let read = serde_json::from_slice(&bytes);
    read.map(Some)
        .map_err(|error| format!("its {name} is not readable ({error})"))
}

fn read_file(folder: &Folder, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, String> {
    let read = folder.read(name, bytes_max);
    read.map_err(|error| error.to_string())
}
