//! Circles between the files of a package: files that use each other's things, by whatever way.
//! Uses between a module and one below it are left out, and so are those by `*`.

use std::collections::{BTreeMap, BTreeSet};

use reprise_tests::SourceFile;

type Uses = BTreeMap<String, Vec<String>>;

/// Returns the modules that are in a circle with another.
pub(super) fn find_circles(sources: &[SourceFile]) -> Vec<String> {
    let mut uses = Uses::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let (folder, file) = source.path.split_once("/src/").unwrap_or_default();
        let module = [folder, "::", &file.replace('/', "::").replace(".rs", "")].concat();
        let module = module.trim_end_matches("::lib").trim_end_matches("::main");
        let paths = uses.entry(module.to_owned()).or_default();
        let lines: Vec<&str> = source.product_lines().map(|(_, line)| line).collect();
        let text = lines.join(" ");
        let trees = text.split(';').filter_map(|text| text.rsplit_once("use "));
        trees.for_each(|(_, tree)| collect_paths(tree, "", paths));
    }
    let mut reached: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
    for (module, paths) in &uses {
        let mut used = BTreeSet::new();
        used.extend(paths.iter().filter_map(|it| find_module(&uses, module, it)));
        used.retain(|used: &String| !is_below(used, module) && !is_below(module, used));
        reached.insert(module, used);
    }
    for middle in uses.keys() {
        let beyond = reached[middle].clone();
        for all in reached.values_mut().filter(|all| all.contains(middle)) {
            all.extend(beyond.iter().cloned());
        }
    }
    reached.retain(|module, all| all.contains(*module));
    reached.into_keys().cloned().collect()
}

fn is_below(one: &str, other: &str) -> bool {
    [one, "::"].concat().starts_with(&[other, "::"].concat())
}

/// Splits the tree of a `use` into its paths.
fn collect_paths(tree: &str, before: &str, paths: &mut Vec<String>) {
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        // After the last comma of a list there is nothing.
        if path.is_empty() {
            return;
        }
        let path = [before, path].concat();
        return paths.push(path.trim_end_matches("::self").to_owned());
    };
    let (before, mut depth, mut start) = ([before, head.trim()].concat(), 0, 0);
    for (at, character) in rest.char_indices() {
        depth += i32::from(character == '{') - i32::from(character == '}');
        if depth < 0 || (depth == 0 && character == ',') {
            collect_paths(&rest[start..at], &before, paths);
            start = at + 1;
        }
    }
}

/// Returns the module that defines what a path names, as seen from another module.
fn find_module(uses: &Uses, from: &str, path: &str) -> Option<String> {
    let (first, rest) = path.split_once("::").unwrap_or((path, ""));
    let module = match first {
        "crate" => from.split("::").next()?.to_owned(),
        "super" => from.rsplit_once("::")?.0.to_owned(),
        "self" => from.to_owned(),
        child => [from, "::", child].concat(),
    };
    let name = rest.split("::").next().filter(|name| *name != "*")?;
    let (paths, ending) = (uses.get(&module)?, ["::", name].concat());
    let exported = paths.iter().find(|path| path.ends_with(&ending));
    let further = if name == "super" || uses.contains_key(&[&module, "::", name].concat()) {
        Some(rest)
    } else {
        exported.map(String::as_str).filter(|other| *other != path)
    };
    let found = further.and_then(|path| find_module(uses, &module, path));
    found.or(Some(module))
}
