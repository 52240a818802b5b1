//! Files of one package that need each other in a circle.
//!
//! A file needs another where it names something that stands there; names are followed through
//! re-exports to the file that has the thing, and what a file only re-exports it does not need.
//! Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use reprise_tests::Source;

use super::is_word;

/// How far a name is followed through re-exports.
const HOPS_MAX: usize = 8;

/// The path of a module within its package; empty for `lib.rs` and `main.rs`.
type Module = Vec<String>;

#[derive(Default)]
struct File {
    /// What it imports, by the name it has here, and whether it only hands it on.
    imports: BTreeMap<String, (bool, Vec<String>)>,
    globs: Vec<Vec<String>>,
    code: String,
}

/// For every file of the package in `folder` that stands in a circle, the files of the circle that
/// it needs.
pub(super) fn circles(sources: &[Source], folder: &str) -> BTreeMap<String, Vec<String>> {
    let files = files(sources, folder);
    let needs: BTreeMap<&Module, BTreeSet<Module>> = files
        .iter()
        .map(|(module, file)| (module, needs(&files, module, file)))
        .collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = needs
        .keys()
        .map(|module| (*module, reach(&needs, module)))
        .collect();
    let in_circle = |a: &Module, b: &Module| reached[a].contains(b) && reached[b].contains(a);
    let mut circles = BTreeMap::new();
    for (module, needed) in &needs {
        let back = needed.iter().filter(|other| in_circle(module, other));
        let back: Vec<String> = back.map(shown).collect();
        if !back.is_empty() {
            circles.insert(shown(module), back);
        }
    }
    circles
}

fn shown(module: &Module) -> String {
    if module.is_empty() {
        "lib".to_owned()
    } else {
        module.join("::")
    }
}

fn files(sources: &[Source], folder: &str) -> BTreeMap<Module, File> {
    let mut files = BTreeMap::new();
    for source in sources {
        let inside = source.path.strip_prefix(&format!("{folder}/src/"));
        let Some(name) = inside.and_then(|name| name.strip_suffix(".rs")) else {
            continue;
        };
        let module: Module = name.split('/').map(str::to_owned).collect();
        if module
            .iter()
            .any(|part| part == "tests" || part == "testing")
        {
            continue;
        }
        let root = ["lib", "main"].contains(&name);
        let file = read(&without_tests(&without_scopes(&source.masked.code)));
        files.insert(if root { Module::new() } else { module }, file);
    }
    files
}

/// The code with `pub(in path)` as `pub`: who may see a thing is not what its file needs.
fn without_scopes(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, part| {
        code + "pub" + part.split_once(')').map_or("", |(_, rest)| rest)
    })
}

/// The code without the items under `#[cfg(test)]`.
pub(super) fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut left = String::new();
    let mut rest = code;
    while let Some((before, item)) = rest.split_once(MARK) {
        left.push_str(before);
        let mut depth = 0_usize;
        let end = item.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && matches!(c, '}' | ';')
        });
        rest = end.map_or("", |(at, _)| &item[at + 1..]);
        rest = rest.strip_prefix(';').unwrap_or(rest);
    }
    left + rest
}

fn read(code: &str) -> File {
    let mut file = File::default();
    let mut rest = code;
    while let Some(line_end) = rest.find('\n').or((!rest.is_empty()).then_some(rest.len())) {
        let line = rest[..line_end].trim_start();
        let public = line.starts_with("pub");
        let tail = line.strip_prefix("pub").unwrap_or(line).trim_start();
        let tail = match tail.strip_prefix('(').and_then(|tail| tail.split_once(')')) {
            Some((_, tail)) if public => tail.trim_start(),
            _ => tail,
        };
        if tail.starts_with("use ")
            && let Some(at) = rest.find("use ")
            && let Some((tree, after)) = rest[at + 4..].split_once(';')
        {
            for (path, name) in expanded(tree) {
                if name == "*" {
                    file.globs.push(path);
                } else {
                    file.imports.insert(name, (public, path));
                }
            }
            rest = after;
            continue;
        }
        file.code.push_str(&rest[..line_end]);
        file.code.push('\n');
        rest = rest.get(line_end + 1..).unwrap_or_default();
    }
    file
}

/// The paths of a `use` tree, each with the name it has here.
fn expanded(tree: &str) -> Vec<(Vec<String>, String)> {
    let split = |path: &str| -> Vec<String> {
        let parts = path.split("::").map(str::trim);
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let Some((head, body)) = tree.split_once('{') else {
        let (path, alias) = match tree.split_once(" as ") {
            Some((path, alias)) => (split(path), Some(alias.trim().to_owned())),
            None => (split(tree), None),
        };
        let Some(last) = path.last().cloned() else {
            return Vec::new();
        };
        let cut = usize::from(last == "self" || last == "*");
        let kept = path[..path.len() - cut].to_vec();
        let own = match last.as_str() {
            "self" => kept.last().cloned().unwrap_or_default(),
            _ => last,
        };
        return vec![(kept, alias.unwrap_or(own))];
    };
    let head = split(head);
    let body = body.rsplit_once('}').map_or(body, |(body, _)| body);
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for c in body.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let mut paths = Vec::new();
    for part in parts.iter().filter(|part| !part.trim().is_empty()) {
        for (path, name) in expanded(part) {
            let name = if name.is_empty() {
                head.last().cloned().unwrap_or_default()
            } else {
                name
            };
            paths.push(([head.clone(), path].concat(), name));
        }
    }
    paths
}

/// Where a path begins, as a module and the rest; `None` where it leads out of the package.
fn absolute(
    files: &BTreeMap<Module, File>,
    from: &Module,
    path: &[String],
) -> Option<(Module, Vec<String>)> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some((Module::new(), rest.to_vec())),
        "self" => Some((from.clone(), rest.to_vec())),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let base = from.get(..from.len().checked_sub(ups)?)?;
            Some((base.to_vec(), path[ups..].to_vec()))
        }
        child => {
            let child = [from.clone(), vec![child.to_owned()]].concat();
            files.contains_key(&child).then_some((child, rest.to_vec()))
        }
    }
}

/// The file in which what a path names stands.
fn home(
    files: &BTreeMap<Module, File>,
    (mut module, mut path): (Module, Vec<String>),
    hops: usize,
) -> Module {
    while let Some(next) = path.first() {
        let child = [module.clone(), vec![next.clone()]].concat();
        if !files.contains_key(&child) {
            break;
        }
        module = child;
        path.remove(0);
    }
    let Some((name, rest)) = path.split_first().filter(|_| hops < HOPS_MAX) else {
        return module;
    };
    let import = files.get(&module).and_then(|file| file.imports.get(name));
    match import.and_then(|(_, path)| absolute(files, &module, path)) {
        Some((base, path)) => home(files, (base, [path, rest.to_vec()].concat()), hops + 1),
        None => module,
    }
}

/// The files that a file needs.
fn needs(files: &BTreeMap<Module, File>, module: &Module, file: &File) -> BTreeSet<Module> {
    let imported = file.imports.values().filter(|(public, _)| !public);
    let imported = imported.map(|(_, path)| path.clone());
    let named = paths(&file.code).into_iter().map(|path| {
        // A module may stand here under a name of its own.
        match file.imports.get(&path[0]) {
            Some((_, own)) => [own.clone(), path[1..].to_vec()].concat(),
            None => path,
        }
    });
    let all = imported.chain(file.globs.iter().cloned()).chain(named);
    let begun = all.filter_map(|path| absolute(files, module, &path));
    begun
        .map(|path| home(files, path, 0))
        .filter(|home| home != module && files.contains_key(home))
        .collect()
}

/// Paths of two parts and more.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = "";
    while let Some(start) = rest.find(is_word) {
        let lead = rest[..start].trim_end();
        let continued = if lead.is_empty() { before } else { lead };
        let foreign = continued.ends_with("::") || continued.ends_with('.');
        let mut path = Vec::new();
        rest = &rest[start..];
        loop {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            path.push(rest[..end].to_owned());
            rest = &rest[end..];
            let next = rest.trim_start().strip_prefix("::").map(str::trim_start);
            match next.filter(|next| next.starts_with(is_word)) {
                Some(next) => rest = next,
                None => break,
            }
        }
        before = "";
        if path.len() > 1 && !foreign {
            found.push(path);
        }
    }
    found
}

fn reach<'a>(
    needs: &'a BTreeMap<&'a Module, BTreeSet<Module>>,
    from: &Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = needs[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&needs[module]);
        }
    }
    reached
}
