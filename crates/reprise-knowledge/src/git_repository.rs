//! A git repository as memory reads it: its folders by plain files, all else through the program
//! `git`.
//!
//! A repository may be hostile: nothing of its configuration starts a program or a connection, and
//! what is read of it is limited.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use crate::prelude::*;

/// Longest file of a repository's own folder that is read.
const OWN_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Longest field of a commit that is read.
const FIELD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Longest folder that is read.
const TREE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most bytes of folders that are kept once they are read: neighbouring commits share nearly all,
/// and a few objects can name each other over and over.
const KEPT_BYTES_MAX: usize = 2 * TREE_BYTES_MAX;
/// Most entries of folders that are compared, because a few objects can name more files than any
/// disk has.
const ENTRIES_MAX: usize = 100_000;
const PATH_BYTES_MAX: usize = 1_024;
/// Environment variables that would lead git to another repository, as within a hook of git.
const PLACES: [&str; 9] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NAMESPACE",
];
/// What is asked of each commit; a NUL byte ends each of them.
const COMMIT_FORMAT: &str = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ct%x00%B";

/// Where a repository is.
#[derive(Debug, Clone)]
pub(crate) struct GitRepository {
    work_tree: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
}

impl GitRepository {
    /// Finds the repository that a folder belongs to.
    pub(crate) fn discover(folder: &Path) -> Option<Self> {
        let folder = fs_err::canonicalize(folder).ok()?;
        folder.ancestors().find_map(Self::open)
    }

    /// Opens the repository whose checkout this folder is, or which it is itself.
    pub(crate) fn open(folder: &Path) -> Option<Self> {
        let inner = folder.join(".git");
        let (git_dir, work_tree) = if inner.is_dir() {
            (inner, Some(folder))
        } else if let Some(text) = read_own_file(&inner) {
            let named = text.strip_prefix("gitdir:")?.trim();
            (folder.join(named), Some(folder))
        } else {
            let is_inner = folder.ends_with(".git");
            (folder.to_owned(), folder.parent().filter(|_| is_inner))
        };
        let common = read_own_file(&git_dir.join("commondir"));
        let common = common.map_or_else(|| git_dir.clone(), |common| git_dir.join(common.trim()));
        let common_dir = fs_err::canonicalize(common).ok()?;
        let is_repository = git_dir.join("HEAD").is_file() && common_dir.join("objects").is_dir();
        is_repository.then(|| Self {
            work_tree: work_tree.map(Path::to_owned),
            git_dir,
            common_dir,
        })
    }

    /// Returns the root of the checkout; `None` for a bare repository.
    pub(crate) fn work_tree(&self) -> Option<&Path> {
        self.work_tree.as_deref()
    }

    /// Returns the root of the checkout, or the folder of a bare repository.
    pub(crate) fn root(&self) -> &Path {
        self.work_tree.as_deref().unwrap_or(&self.git_dir)
    }

    /// Returns the folder that all checkouts of a repository share.
    pub(crate) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns whether the history was cut when it was cloned.
    pub(crate) fn is_shallow(&self) -> bool {
        self.common_dir.join("shallow").is_file()
    }

    /// Returns the address of `origin`, else that of the first remote by name.
    /// A hook asks for it at each prompt: git is started only for an address that may be an
    /// abbreviation, or if the repository's own configuration has none.
    pub(crate) fn remote_url(&self) -> Option<String> {
        let config = read_own_file(&self.common_dir.join("config"));
        let own = config.and_then(|config| choose_remote(parse_remotes(&config)));
        if own.as_deref().is_some_and(names_server) {
            return own;
        }
        // Git knows what a person's own configuration abbreviates.
        let listed = self.run(&["remote", "-v"]);
        let listed = listed.and_then(|listed| choose_remote(parse_listed_remotes(&listed)));
        listed.or(own)
    }

    /// Returns `git` with arguments that keep a repository's configuration from starting anything.
    pub(crate) fn git(&self) -> Command {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.root());
        git.args(["--no-pager", "--no-replace-objects"]);
        for setting in [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "log.showSignature=false",
        ] {
            git.args(["-c", setting]);
        }
        for name in PLACES {
            git.env_remove(name);
        }
        // What a partial clone lacks is not fetched.
        git.env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none");
        git.env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0");
        git.stdin(Stdio::null()).stderr(Stdio::null());
        git
    }

    /// Runs git to its end, and returns its output if it succeeds.
    pub(crate) fn run(&self, arguments: &[&str]) -> Option<String> {
        let done = self.git().args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        done.status.success().then_some(text)
    }

    /// Lists commits as `git log` does with these arguments; the error is that git does not start.
    pub(crate) fn log(&self, arguments: &[&str]) -> std::io::Result<GitLog> {
        let mut git = self.git();
        git.args(["log", "-z", "--encoding=UTF-8", COMMIT_FORMAT]);
        git.args(arguments).arg("--");
        Ok(GitLog(Running::start(&mut git)?))
    }
}

/// Reads a small file of the repository's own folder.
fn read_own_file(path: &Path) -> Option<String> {
    let bytes = read_if_exists(path, OWN_FILE_BYTES_MAX).ok()??;
    String::from_utf8(bytes).ok()
}

/// Returns the address of `origin`, else that of the first remote by name.
fn choose_remote(mut urls: BTreeMap<String, String>) -> Option<String> {
    let origin = urls.remove("origin");
    origin.or_else(|| urls.into_values().next())
}

/// Whether an address names a server in full: `https://host/path` or `git@host.example:path`.
/// `gh:path` may be an abbreviation, and a path may be a clone on this machine.
pub(crate) fn names_server(url: &str) -> bool {
    match (url.split_once("://"), url.split_once(':')) {
        (Some((scheme, _)), _) => scheme != "file",
        (None, Some((host, _))) => host.contains('.') && !host.contains(['/', '\\']),
        (None, None) => false,
    }
}

/// Parses what `git remote -v` lists: `NAME<tab>ADDRESS (fetch)`.
fn parse_listed_remotes(listed: &str) -> BTreeMap<String, String> {
    let lines = listed.lines().filter_map(|line| {
        let (name, rest) = line.split_once('\t')?;
        let (url, _) = rest.split_once(" (fetch)")?;
        Some((name.to_owned(), url.to_owned()))
    });
    lines.collect()
}

/// Reads the addresses of remotes, by name, from a configuration of git, where git is missing.
pub(crate) fn parse_remotes(config: &str) -> BTreeMap<String, String> {
    let mut urls = BTreeMap::new();
    let mut remote = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            let (kind, name) = section.split_once(' ').unwrap_or((section, ""));
            let is_remote = kind.eq_ignore_ascii_case("remote");
            remote = is_remote.then(|| name.trim().trim_matches('"').to_owned());
        } else if let (Some(remote), Some((key, value))) = (&remote, line.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
        {
            let value = value.trim().trim_matches('"');
            urls.entry(remote.clone()).or_insert(value.to_owned());
        }
    }
    urls
}

/// A running git whose output is read; it is ended when it is no longer wanted.
#[derive(Debug)]
struct Running {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(git: &mut Command) -> std::io::Result<Self> {
        let mut process = git.stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take();
        let output = output.ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            process,
            output: BufReader::new(output),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The commits that a running `git log` lists.
#[derive(Debug)]
pub(crate) struct GitLog(Running);

/// A commit; its times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitCommit {
    pub(crate) id: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: String,
    pub(crate) email: String,
    pub(crate) authored_at: i64,
    pub(crate) committer: String,
    pub(crate) committed_at: i64,
    pub(crate) message: String,
}

impl GitLog {
    /// Returns whether git has listed all commits, once none follows.
    pub(crate) fn is_whole(&mut self) -> bool {
        let Running { process, output } = &mut self.0;
        let is_at_end = output.fill_buf().is_ok_and(<[u8]>::is_empty);
        is_at_end && process.wait().is_ok_and(|status| status.success())
    }

    fn read_field(&mut self) -> Option<String> {
        let mut field = Vec::new();
        let mut bounded = (&mut self.0.output).take(FIELD_BYTES_MAX);
        bounded.read_until(0, &mut field).ok()?;
        // Without its end it is too long, or git ended within it.
        (field.pop() == Some(0)).then(|| String::from_utf8_lossy(&field).into_owned())
    }
}

impl Iterator for GitLog {
    type Item = GitCommit;

    fn next(&mut self) -> Option<GitCommit> {
        // In the order of `COMMIT_FORMAT`.
        Some(GitCommit {
            id: self.read_field()?,
            tree: self.read_field()?,
            parents: self
                .read_field()?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
            author: self.read_field()?,
            email: self.read_field()?,
            authored_at: self.read_field()?.parse().unwrap_or_default(),
            committer: self.read_field()?,
            committed_at: self.read_field()?.parse().unwrap_or_default(),
            message: self.read_field()?,
        })
    }
}

/// The objects of a repository, as two processes of `git cat-file` give them; each is started when
/// it is first asked.
#[derive(Debug)]
pub(crate) struct GitObjects {
    pub(crate) repository: GitRepository,
    heads: Option<CatFile>,
    contents: Option<CatFile>,
    /// Folders that were read, by id, and how long they are together.
    trees: HashMap<String, Arc<[TreeEntry]>>,
    trees_bytes: usize,
}

/// What an object is, and its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectHead {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) bytes: usize,
}

impl GitObjects {
    pub(crate) fn new(repository: GitRepository) -> Self {
        Self {
            repository,
            heads: None,
            contents: None,
            trees: HashMap::new(),
            trees_bytes: 0,
        }
    }

    /// Finds what an object is by any name that git knows it by; the error is git's word for why
    /// there is none.
    pub(crate) fn find(&mut self, name: &str) -> Option<Result<ObjectHead, String>> {
        if self.heads.is_none() {
            self.heads = CatFile::start(&self.repository, "--batch-check");
        }
        self.heads.as_mut()?.ask(name)
    }

    /// Reads an object of this kind, unless it is longer than any such is.
    pub(crate) fn read(&mut self, name: &str, kind: &str, bytes_max: usize) -> Option<Vec<u8>> {
        let head = self.find(name)?.ok()?;
        if head.kind != kind || head.bytes > bytes_max {
            return None;
        }
        if self.contents.is_none() {
            self.contents = CatFile::start(&self.repository, "--batch");
        }
        let contents = self.contents.as_mut()?;
        contents.ask(&head.id)?.ok()?;
        contents.read_content(head.bytes)
    }

    /// Reads the entries of a folder.
    pub(crate) fn read_tree(&mut self, id: &str) -> Option<Arc<[TreeEntry]>> {
        if let Some(known) = self.trees.get(id) {
            return Some(Arc::clone(known));
        }
        let bytes = self.read(id, "tree", TREE_BYTES_MAX)?;
        let entries: Arc<[TreeEntry]> = parse_tree(&bytes, id.len() / 2)?.into();
        if self.trees_bytes + bytes.len() > KEPT_BYTES_MAX {
            self.trees.clear();
            self.trees_bytes = 0;
        }
        self.trees_bytes += bytes.len();
        self.trees.insert(id.to_owned(), Arc::clone(&entries));
        Some(entries)
    }

    /// Lists the files that differ between two folders; `None` where one cannot be read.
    pub(crate) fn list_changes(
        &mut self,
        before: Option<String>,
        after: Option<String>,
    ) -> Option<Vec<ChangedFile>> {
        let (mut found, mut looked_at) = (Vec::new(), 0);
        let mut folders = vec![(Vec::new(), [before, after])];
        while let Some((folder, sides)) = folders.pop() {
            let mut entries: BTreeMap<Vec<u8>, [Option<TreeEntry>; 2]> = BTreeMap::new();
            for (side, tree) in sides.iter().enumerate() {
                let Some(tree) = tree else { continue };
                for entry in self.read_tree(tree)?.iter() {
                    let found = entries.entry(entry.name.clone()).or_default();
                    found[side] = Some(entry.clone());
                }
            }
            for (name, sides) in entries {
                looked_at += 1;
                if looked_at > ENTRIES_MAX {
                    return Some(found);
                }
                if sides[0] == sides[1] {
                    continue;
                }
                let ids = |is_kind: fn(&TreeEntry) -> bool| {
                    let of_kind = |entry: &Option<TreeEntry>| {
                        let entry = entry.as_ref().filter(|entry| is_kind(entry));
                        entry.map(|entry| entry.id.clone())
                    };
                    [of_kind(&sides[0]), of_kind(&sides[1])]
                };
                let path = [folder.as_slice(), &name].concat();
                let inner = ids(TreeEntry::is_folder);
                if inner != [None, None] && path.len() < PATH_BYTES_MAX {
                    folders.push(([path.as_slice(), b"/"].concat(), inner));
                }
                let [before, after] = ids(TreeEntry::is_file);
                if before.is_some() || after.is_some() {
                    found.push(ChangedFile {
                        path,
                        before,
                        after,
                    });
                }
            }
        }
        Some(found)
    }
}

/// A running `git cat-file`.
#[derive(Debug)]
struct CatFile {
    running: Running,
    input: ChildStdin,
}

impl CatFile {
    fn start(repository: &GitRepository, mode: &str) -> Option<Self> {
        let mut git = repository.git();
        git.args(["cat-file", mode]).stdin(Stdio::piped());
        let mut running = Running::start(&mut git).ok()?;
        let input = running.process.stdin.take()?;
        Some(Self { running, input })
    }

    fn ask(&mut self, name: &str) -> Option<Result<ObjectHead, String>> {
        if name.contains(['\n', '\0']) {
            return None;
        }
        self.input.write_all(format!("{name}\n").as_bytes()).ok()?;
        self.input.flush().ok()?;
        let mut line = String::new();
        self.running.output.read_line(&mut line).ok()?;
        let line = line.trim_end();
        let mut words = line.rsplitn(3, ' ');
        let (bytes, kind, id) = (words.next(), words.next(), words.next());
        let parsed = bytes.and_then(|bytes| bytes.parse().ok());
        let (Some(bytes), Some(kind), Some(id)) = (parsed, kind, id) else {
            let why = line.rsplit(' ').next().filter(|why| !why.is_empty())?;
            return Some(Err(why.to_owned()));
        };
        Some(Ok(ObjectHead {
            id: id.to_owned(),
            kind: kind.to_owned(),
            bytes,
        }))
    }

    /// Reads the content that follows a head, with the line end behind it.
    fn read_content(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let mut content = vec![0; bytes + 1];
        self.running.output.read_exact(&mut content).ok()?;
        content.truncate(bytes);
        Some(content)
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) mode: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) id: String,
}

impl TreeEntry {
    pub(crate) fn is_folder(&self) -> bool {
        self.mode == 0o40_000
    }

    /// Returns whether it is a file or a link; a submodule is neither.
    pub(crate) fn is_file(&self) -> bool {
        !self.is_folder() && self.mode != 0o160_000
    }
}

/// Parses `MODE NAME\0ID`, with ids of so many bytes.
fn parse_tree(mut bytes: &[u8], id_bytes: usize) -> Option<Vec<TreeEntry>> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|byte| *byte == 0)?;
        let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
        let blank = head.iter().position(|byte| *byte == b' ')?;
        let mode = std::str::from_utf8(&head[..blank]).ok()?;
        let id = rest.get(..id_bytes)?;
        entries.push(TreeEntry {
            mode: u32::from_str_radix(mode, 8).ok()?,
            name: head[blank + 1..].to_owned(),
            id: data_encoding::HEXLOWER.encode(id),
        });
        bytes = &rest[id_bytes..];
    }
    Some(entries)
}

/// A file that differs between two states, with its ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedFile {
    pub(crate) path: Vec<u8>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}
