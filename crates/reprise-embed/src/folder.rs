//! Reads a model as sentence-transformers writes it: a folder with the encoder's weights and sizes,
//! its tokeniser, the pooling of its tokens, and the prompts before questions and texts.
//!
//! Only data is read: `pytorch_model.bin` is a pickle, which can run programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reprise_files::Folder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::architecture::{Architecture, MODEL_FILE, ModelSizes, Pooling, WIDTHS};
use crate::graph_reading::GraphReading;
use crate::onnx;
use crate::tokenizer::TextTokenizer;

const WEIGHTS: &str = "model.safetensors";
const SENTENCES: &str = "config_sentence_transformers.json";
const WEIGHTS_BYTES_MAX: u64 = 8 << 30;
const TOKENIZER_BYTES_MAX: u64 = 64 << 20;
const SETTINGS_BYTES_MAX: u64 = 4 << 20;
/// Most bytes of a prompt.
const PROMPT_BYTES_MAX: usize = 1024;
/// Most rows that a table of words may have beyond the tokeniser's ids, as models round the count
/// up.
const SPARE_WORDS: usize = 1024;
/// Most tokens of a text if a model's files name no limit.
const TOKENS: usize = 512;

/// Texts that are put before a query or a passage.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, Deserialize)]
pub struct Prompts {
    pub query: String,
    pub passage: String,
}

/// The source from which the graph of a model is built.
pub(crate) enum GraphSource {
    /// Weights of a known family, from which a graph is written.
    Weights(Architecture, Vec<u8>),
    /// Weights of multilingual-e5-small, as its package stores them.
    Package(Vec<u8>),
    /// A foreign graph, which is used as it is.
    Graph(GraphReading, Vec<u8>),
}

/// A model that was read and checked for consistency but is not installed yet.
pub(crate) struct OriginalModel {
    pub(crate) name: String,
    /// Path or address of its source.
    pub(crate) origin: String,
    pub(crate) graph_source: GraphSource,
    /// Length of a vector.
    pub(crate) width: usize,
    pub(crate) tokenizer: Vec<u8>,
    pub(crate) token_limit: usize,
    pub(crate) prompts: Prompts,
    /// Licence, as its README names it.
    pub(crate) license: Option<String>,
    /// Files with the texts of its licence, by their names.
    pub(crate) notices: Vec<(String, Vec<u8>)>,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// The keys `pooling_mode_NAME` of each mode, and other fields.
type PoolingConfig = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
struct Lengths {
    max_seq_length: Option<usize>,
}

/// Content of `config_sentence_transformers.json`.
#[derive(Default, Deserialize)]
struct Sentences {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    #[serde(flatten)]
    widths: Widths,
}

impl OriginalModel {
    /// Reads a folder; an error tells in one sentence why it cannot be used.
    pub(crate) fn read(path: &Path, name: &str, width: Option<usize>) -> Result<Self, String> {
        let folder = Folder::open(path).map_err(|error| error.to_string())?;
        let pooling = read_pooling(&folder)?;
        let config = read_required_file(&folder, "config.json", SETTINGS_BYTES_MAX)?;
        let weights = read_file(&folder, WEIGHTS, WEIGHTS_BYTES_MAX)?;
        let graph = match weights {
            Some(_) => None,
            None => read_graph(&folder)?,
        };
        let sizes = match graph {
            Some(_) => ModelSizes::parse(&config)?,
            None => Architecture::parse(&config, pooling)?.sizes(),
        };
        let sentences: Option<Sentences> = read_settings(&folder, SENTENCES)?;
        let sentences = sentences.unwrap_or_default();
        let width = choose_width(sentences.widths, &config, sizes.width, width)?;
        let tokenizer = read_required_file(&folder, "tokenizer.json", TOKENIZER_BYTES_MAX)?;
        let lengths: Option<Lengths> = read_settings(&folder, "sentence_bert_config.json")?;
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
        let prompts = choose_prompts(&sentences.prompts)?;
        let license = read_file(&folder, "README.md", SETTINGS_BYTES_MAX)?;
        let license = license.and_then(|readme| parse_license(&String::from_utf8_lossy(&readme)));
        let form = match (weights, graph) {
            (Some(weights), _) => {
                GraphSource::Weights(Architecture::parse(&config, pooling)?, weights)
            }
            (None, Some((_, graph))) => {
                GraphSource::Graph(onnx::detect_reading(&graph, pooling)?, graph)
            }
            (None, None) => return Err(explain_missing_weights(&folder)),
        };
        Ok(Self {
            name: name.to_owned(),
            origin: path.display().to_string(),
            graph_source: form,
            width,
            tokenizer,
            token_limit,
            prompts,
            license,
            notices: Vec::new(),
        })
    }
}

/// Reads the folder of a cross-encoder: the path of its graph, how the graph is read, and the
/// tokeniser. An error tells in one sentence why it cannot be used.
pub(crate) fn read_judge_folder(
    path: &Path,
) -> Result<(PathBuf, GraphReading, TextTokenizer), String> {
    let folder = Folder::open(path).map_err(|error| error.to_string())?;
    let config = read_required_file(&folder, "config.json", SETTINGS_BYTES_MAX)?;
    let sizes = ModelSizes::parse(&config)?;
    let (name, graph) = read_graph(&folder)?.ok_or_else(|| missing_file_message(MODEL_FILE))?;
    let reading = onnx::detect_judge_reading(&graph)?;
    let json = read_required_file(&folder, "tokenizer.json", TOKENIZER_BYTES_MAX)?;
    let tokenizer = TextTokenizer::from_bytes(&json, sizes.token_limit.min(TOKENS));
    let tokenizer = tokenizer.map_err(|error| error.to_string())?;
    if tokenizer.ids_end() > sizes.vocabulary {
        return Err("its tokenizer.json is of another model".to_owned());
    }
    Ok((path.join(name), reading, tokenizer))
}

/// Reads how the modules after the encoder pool its tokens. A folder that names no modules is
/// pooled by the mean, as sentence-transformers does.
fn read_pooling(folder: &Folder) -> Result<Pooling, String> {
    let modules: Option<Vec<Module>> = read_settings(folder, "modules.json")?;
    let Some(modules) = modules else {
        return Ok(Pooling::Mean);
    };
    let mut found = None;
    for module in modules {
        let kind = module.kind.rsplit('.').next().unwrap_or_default();
        match kind {
            "Transformer" | "Normalize" => {}
            "Pooling" => {
                let name = format!("{}/config.json", module.path);
                let config: Option<PoolingConfig> = read_settings(folder, &name)?;
                found = Some(config.ok_or_else(|| missing_file_message(&name))?);
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

/// Reads the foreign graph of a folder, if it has one, from the paths of transformers.js and
/// Optimum.
fn read_graph(folder: &Folder) -> Result<Option<(&'static str, Vec<u8>)>, String> {
    for name in [MODEL_FILE, "onnx/model.onnx"] {
        if let Some(graph) = read_file(folder, name, WEIGHTS_BYTES_MAX)? {
            return Ok(Some((name, graph)));
        }
    }
    Ok(None)
}

#[derive(Default, Deserialize)]
struct Widths {
    /// Lengths to which a vector can be cut (Matryoshka).
    #[serde(default)]
    matryoshka_dimensions: Vec<usize>,
    /// Length to which the model's vectors are meant to be cut.
    truncate_dim: Option<usize>,
}

/// Chooses the length of the vectors: that of the model, or one that its own files permit.
fn choose_width(
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

/// Chooses the prompts by the names that models give them.
fn choose_prompts(known: &BTreeMap<String, String>) -> Result<Prompts, String> {
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

/// Parses the `license:` line in the head of a model card.
fn parse_license(readme: &str) -> Option<String> {
    let (head, _) = readme.strip_prefix("---")?.split_once("\n---")?;
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("license:"))?;
    Some(line.trim().to_owned()).filter(|license| !license.is_empty() && license.len() < 64)
}

fn explain_missing_weights(folder: &Folder) -> String {
    let has = |name: &str| folder.find_status(name).is_ok_and(|found| found.is_some());
    let why = if has("model.safetensors.index.json") {
        "its weights are in several files"
    } else if has("pytorch_model.bin") {
        "its pytorch_model.bin is a pickle, which is never read"
    } else {
        return missing_file_message(WEIGHTS);
    };
    format!("{why}; save the model with sentence-transformers, which writes one {WEIGHTS}")
}

fn missing_file_message(name: &str) -> String {
    format!("it has no {name}")
}

fn read_required_file(folder: &Folder, name: &str, bytes_max: u64) -> Result<Vec<u8>, String> {
    read_file(folder, name, bytes_max)?.ok_or_else(|| missing_file_message(name))
}

fn read_settings<T: DeserializeOwned>(folder: &Folder, name: &str) -> Result<Option<T>, String> {
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
