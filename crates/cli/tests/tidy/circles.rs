//! Imports within a crate go in one direction.
//!
//! Two rules. Take the modules that lie side by side in one module, each with all of its parts. An
//! import from the parts of one to the parts of another is an arrow between the two, and the arrows
//! form no circle. And a module that uses one of its parts defines nothing that the part uses: that
//! would be a ring. A name that a module only re-exports counts as imported from the module that
//! defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use syn::visit::Visit;

use crate::source::{Kind, Source};
use crate::{crate_names, none};

/// A path of module names below a crate's root; the root is empty.
type Module = Vec<String>;

/// The modules of one crate.
#[derive(Default)]
struct Crate {
    /// The source file of each module.
    files: BTreeMap<Module, String>,
    /// Names that a module takes from elsewhere, and the paths they stand for.
    names: BTreeMap<(Module, String), Module>,
    /// Modules that a module takes all names from.
    globs: BTreeMap<Module, Vec<Module>>,
    /// Items that a module defines.
    items: BTreeSet<(Module, String)>,
    /// From a module to an absolute path that it mentions, and the line of the first mention.
    mentions: BTreeMap<(Module, Module), usize>,
    /// Those mentions that are not only re-exports, or whose name the module's own code has.
    uses: BTreeSet<(Module, Module)>,
}

impl Crate {
    fn of<'a>(sources: impl IntoIterator<Item = &'a Source>) -> Crate {
        let sources: Vec<_> = sources.into_iter().collect();
        let mut found = Crate::default();
        for source in &sources {
            found.files.insert(module_of(&source.path), source.path.clone());
        }
        for source in sources {
            let module = module_of(&source.path);
            let file = source.parse();
            let words = words_of(source, &file);
            let mut mentions = Mentions { source, into: &mut found, module, words };
            mentions.visit_file(&file);
        }
        found
    }

    /// The module that defines what `path` leads to.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Module> {
        let mut module = Module::new();
        for (index, name) in path.iter().enumerate() {
            let mut below = module.clone();
            below.push(name.clone());
            if self.files.contains_key(&below) {
                module = below;
                continue;
            }
            let key = (module.clone(), name.clone());
            // Two modules may take names from each other: then neither defines it.
            if depth == 0 || self.items.contains(&key) {
                return Some(module);
            }
            let rest = &path[index + 1..];
            if let Some(stands_for) = self.names.get(&key) {
                let whole = [stands_for.as_slice(), rest].concat();
                return self.resolve(&whole, depth - 1);
            }
            let globs = self.globs.get(&module).into_iter().flatten();
            let mut candidates = globs.map(|from| [from.as_slice(), &path[index..]].concat());
            let defines = |path: &Module| {
                let found = self.resolve(path, depth - 1)?;
                self.items.contains(&(found.clone(), name.clone())).then_some(found)
            };
            return candidates.find_map(|path| defines(&path)).or(Some(module));
        }
        Some(module)
    }

    /// Arrows between modules side by side, each with the import that it comes from.
    fn arrows(&self) -> BTreeMap<Module, BTreeMap<Module, String>> {
        let mut arrows: BTreeMap<Module, BTreeMap<Module, String>> = BTreeMap::new();
        for ((from, path), line) in &self.mentions {
            let Some(to) = self.resolve(path, 8) else { continue };
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if shared == from.len() || shared == to.len() {
                continue;
            }
            let import = format!("{}:{line} imports {}", self.files[from], path.join("::"));
            let below = |module: &Module| module[..=shared].to_vec();
            arrows.entry(below(from)).or_default().entry(below(&to)).or_insert(import);
        }
        arrows
    }

    /// Parts that use an item of the module that they are a part of, which uses them.
    fn rings(&self) -> BTreeMap<String, String> {
        let mut up: BTreeMap<(Module, Module), String> = BTreeMap::new();
        let mut down: BTreeSet<(Module, Module)> = BTreeSet::new();
        for ((from, path), line) in &self.mentions {
            let Some(to) = self.resolve(path, 8) else { continue };
            let defines = |name: &String| self.items.contains(&(to.clone(), name.clone()));
            let is_below = from.len() > to.len() && from.starts_with(&to);
            if is_below && (*path == to || path.iter().any(defines)) {
                let import = format!("{}:{line} imports {}", self.files[from], path.join("::"));
                up.entry((to.clone(), from[..=to.len()].to_vec())).or_insert(import);
            } else if to.len() > from.len()
                && to.starts_with(from)
                && self.uses.contains(&(from.clone(), path.clone()))
            {
                down.insert((from.clone(), to[..=from.len()].to_vec()));
            }
        }
        up.retain(|pair, _| down.contains(pair));
        up.into_iter().map(|((_, part), import)| (part.join("::"), import)).collect()
    }

    /// One circle for each set of modules that all reach each other, shortest first, written out.
    fn circles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let mut seen: BTreeSet<Module> = BTreeSet::new();
        let mut circles = Vec::new();
        for start in arrows.keys() {
            if seen.contains(start) {
                continue;
            }
            if let Some(way) = shortest_way_back(&arrows, start) {
                let steps = way.windows(2).map(|pair| arrows[&pair[0]][&pair[1]].clone());
                let names: Vec<_> = way.iter().map(|module| module.join("::")).collect();
                let steps: Vec<_> = steps.map(|step| format!("    {step}")).collect();
                circles.push(format!("{}\n{}", names.join(" → "), steps.join("\n")));
                seen.extend(way);
            }
        }
        circles.sort_by_key(String::len);
        circles
    }
}

/// The shortest circle through `start`, which is its first and its last module.
fn shortest_way_back(
    arrows: &BTreeMap<Module, BTreeMap<Module, String>>,
    start: &Module,
) -> Option<Vec<Module>> {
    let mut ways = std::collections::VecDeque::from([vec![start.clone()]]);
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in arrows.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [way.as_slice(), std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if reached.insert(next.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// `crates/engine/src/fill/run.rs` is `fill::run`.
fn module_of(path: &str) -> Module {
    let below = path.split_once("/src/").map_or("", |(_, below)| below);
    let below = below.trim_end_matches(".rs");
    let below = below.strip_suffix("/mod").unwrap_or(below);
    if ["lib", "main", "mod"].contains(&below) {
        return Module::new();
    }
    below.split('/').map(str::to_owned).collect()
}

/// The words of a file outside of its tests, imports and declarations of parts.
fn words_of(source: &Source, file: &syn::File) -> BTreeSet<String> {
    let mut imports = Imports::default();
    imports.visit_file(file);
    let counts =
        |line: usize| !source.is_test(line) && !imports.0.iter().any(|lines| lines.contains(&line));
    let tokens = source.tokens().iter().filter(|token| counts(token.line));
    tokens.map(|token| token.text.clone()).collect()
}

/// Lines of imports, and of declarations of parts.
#[derive(Default)]
struct Imports(Vec<std::ops::RangeInclusive<usize>>);

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.content.is_none() {
            let span = syn::spanned::Spanned::span(item);
            self.0.push(span.start().line..=span.end().line);
        }
        syn::visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let span = syn::spanned::Spanned::span(item);
        self.0.push(span.start().line..=span.end().line);
    }
}

/// Collects what a source file imports from its own crate.
struct Mentions<'a> {
    source: &'a Source,
    into: &'a mut Crate,
    module: Module,
    words: BTreeSet<String>,
}

impl Mentions<'_> {
    /// The path from the crate's root, if `names` leads into this crate.
    fn absolute(&self, names: &[String]) -> Option<Module> {
        let (mut base, mut rest) = (self.module.clone(), names);
        match names.first()?.as_str() {
            "crate" => (base, rest) = (Module::new(), &names[1..]),
            "self" => rest = &names[1..],
            "super" => {}
            first => {
                base.push(first.to_owned());
                return self.into.files.contains_key(&base).then(|| {
                    base.extend(names[1..].iter().cloned());
                    base
                });
            }
        }
        while let Some("super") = rest.first().map(String::as_str) {
            base.pop()?;
            rest = &rest[1..];
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn mention(&mut self, path: Module, line: usize, is_used: bool) {
        let key = (self.module.clone(), path);
        if is_used {
            self.into.uses.insert(key.clone());
        }
        self.into.mentions.entry(key).or_insert(line);
    }

    /// One leaf of a `use`: `path as name`.
    fn import(&mut self, path: &[String], name: &str, line: usize) {
        let Some(path) = self.absolute(path) else { return };
        self.into.names.insert((self.module.clone(), name.to_owned()), path.clone());
        let is_used = self.words.contains(name);
        self.mention(path, line, is_used);
    }

    fn tree(&mut self, above: &[String], tree: &syn::UseTree, line: usize) {
        let with = |name: &syn::Ident| [above, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree, line),
            syn::UseTree::Name(leaf) if leaf.ident == "self" => {
                let name = above.last().cloned().unwrap_or_default();
                self.import(above, &name, line);
            }
            syn::UseTree::Name(leaf) => {
                self.import(&with(&leaf.ident), &leaf.ident.to_string(), line);
            }
            syn::UseTree::Rename(leaf) => {
                self.import(&with(&leaf.ident), &leaf.rename.to_string(), line);
            }
            syn::UseTree::Glob(_) => {
                if let Some(path) = self.absolute(above) {
                    self.into.globs.entry(self.module.clone()).or_default().push(path.clone());
                    self.mention(path, line, true);
                }
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(above, tree, line));
            }
        }
    }

    fn define(&mut self, ident: &syn::Ident) {
        self.into.items.insert((self.module.clone(), ident.to_string()));
    }
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            _ => {}
        }
        let line = syn::spanned::Spanned::span(item).start().line;
        if !self.source.is_test(line) {
            syn::visit::visit_item(self, item);
        }
    }

    /// A module within the file: `super` is the file's own, and what it has counts as the file's.
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        let file = self.module.clone();
        if item.content.is_some() {
            let path = self.source.path.clone();
            self.into.files.entry(file).or_insert(path);
        }
        syn::visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let line = syn::spanned::Spanned::span(item).start().line;
        if item.leading_colon.is_none() {
            self.tree(&[], &item.tree, line);
        }
    }

    /// `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        let line = syn::spanned::Spanned::span(path).start().line;
        let begins = names.first().map_or("", String::as_str);
        if ["crate", "super", "self"].contains(&begins)
            && names.len() > 1
            && let Some(absolute) = self.absolute(&names)
        {
            self.mention(absolute, line, true);
        }
        syn::visit::visit_path(self, path);
    }
}

/// The product's crates by name, read once for both rules.
fn crates() -> &'static BTreeMap<String, Crate> {
    static CRATES: OnceLock<BTreeMap<String, Crate>> = OnceLock::new();
    CRATES.get_or_init(|| {
        let of = |name: String| {
            let below = format!("crates/{name}/src/");
            let sources = Source::all().iter();
            let sources = sources.filter(|source| source.kind == Kind::Product);
            let found = Crate::of(sources.filter(|source| source.path.starts_with(&below)));
            (name, found)
        };
        crate_names().into_iter().map(of).collect()
    })
}

#[test]
fn modules_side_by_side_import_in_one_direction() {
    let violation = |(name, found): (&String, &Crate)| {
        let circles = found.circles().into_iter();
        let violations = circles.map(|circle| {
            format!("{name}: {circle}\n    move what both need into a module of its own")
        });
        violations.collect::<Vec<_>>()
    };
    none("circles", crates().iter().flat_map(violation).collect());
}

#[test]
fn a_module_and_its_parts_import_one_another_nowhere() {
    let violation = |(name, found): (&String, &Crate)| {
        let rings = found.rings().into_iter();
        let violations = rings.map(|(part, import)| {
            format!(
                "{name}: {part} is used by the module that it is a part of, and {import}: move what both \
                 need into a module of its own"
            )
        });
        violations.collect::<Vec<_>>()
    };
    none("rings", crates().iter().flat_map(violation).collect());
}

fn crate_with(files: &[(&str, &str)]) -> Crate {
    let of = |(path, text): &(&str, &str)| {
        Source::of(&format!("crates/x/src/{path}"), (*text).to_owned())
    };
    let sources: Vec<Source> = files.iter().map(of).collect();
    Crate::of(&sources)
}

/// The circles of a crate of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    crate_with(files).circles()
}

#[test]
fn a_ring_is_found_by_imports_paths_and_names_that_are_also_re_exported() {
    let part = ("a/part.rs", "use super::A; pub struct P;");
    let rings: [&[(&str, &str)]; 5] = [
        &[("a/mod.rs", "mod part;\nuse part::P;\npub struct A(P);"), part],
        &[("a/mod.rs", "mod part;\npub use part::P;\npub struct A(P);"), part],
        &[("a/mod.rs", "mod part;\npub struct A(self::part::P);"), part],
        &[
            ("lib.rs", "mod part;\nuse part::f;\nfn g() { f() }"),
            ("part.rs", "fn f() { crate::g() }"),
        ],
        &[
            ("a/mod.rs", "mod part;\nuse part::P;\npub struct A(P);"),
            ("a/part/mod.rs", "mod low;\npub use low::P;"),
            ("a/part/low.rs", "use crate::a::A;\npub struct P;"),
        ],
    ];
    for files in rings {
        let rings = crate_with(files).rings();
        assert_eq!(rings.len(), 1, "{files:?}: {rings:?}");
    }
    let import = &crate_with(rings[0]).rings()["a::part"];
    assert_eq!(import, "crates/x/src/a/part.rs:1 imports a::A");
}

#[test]
fn a_re_export_a_type_at_the_bottom_and_a_test_are_no_ring() {
    let files: [&[(&str, &str)]; 5] = [
        &[
            ("a/mod.rs", "mod part;\npub use part::P;\npub struct A;"),
            ("a/part.rs", "use super::A;"),
        ],
        &[
            ("a/mod.rs", "mod model;\nmod part;\npub use model::A;\nuse part::p;\nfn f() { p() }"),
            ("a/model.rs", "pub struct A;"),
            ("a/part.rs", "use super::A;\npub fn p() {}"),
        ],
        &[
            ("a/mod.rs", "mod part;\nuse part::p;\npub fn f() { p() }"),
            ("a/part.rs", "pub fn p() {}\n#[cfg(test)]\nmod tests { use super::super::f; }"),
        ],
        &[
            ("a/mod.rs", "mod part;\nfn f() { self::part::p() }"),
            ("a/part.rs", "use super::other;"),
        ],
        &[
            ("a/mod.rs", "mod part;\npub use part::part;\npub struct A;"),
            ("a/part.rs", "use super::A;\npub fn part() {}"),
        ],
    ];
    for files in files {
        assert_eq!(crate_with(files).rings(), BTreeMap::new(), "{files:?}");
    }
}

#[test]
fn a_circle_is_found_through_parts_braces_paths_and_re_exports() {
    let found = [
        circles_of(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::{a::A, c};")]),
        circles_of(&[("a.rs", "use super::b::B;"), ("b.rs", "fn f() { crate::a::g() }")]),
        circles_of(&[
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", "use crate::B;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ]),
        circles_of(&[
            ("a/mod.rs", "mod part; use crate::b::B;"),
            ("a/part.rs", "pub struct Part;"),
            ("b.rs", "use crate::a::part::Part;"),
        ]),
        circles_of(&[
            ("a/one.rs", "use super::two::Two;"),
            ("a/two.rs", "use crate::a::one::One;"),
            ("a/mod.rs", ""),
        ]),
    ];
    for circles in found {
        assert_eq!(circles.len(), 1, "{circles:?}");
    }
    let circle = &circles_of(&[("a.rs", "use crate::b::B;"), ("b.rs", "\nuse crate::a::A;")])[0];
    assert_eq!(
        circle,
        "a → b → a\n    crates/x/src/a.rs:1 imports b::B\n    crates/x/src/b.rs:2 imports a::A"
    );
}

#[test]
fn a_module_and_its_parts_tests_and_one_direction_are_no_circle() {
    let files: [&[(&str, &str)]; 4] = [
        &[("a/mod.rs", "mod part; use part::P; pub struct A;"), ("a/part.rs", "use super::A;")],
        &[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use std::a;")],
        &[("a.rs", "use crate::b::B;"), ("b.rs", "#[cfg(test)]\nmod tests { use crate::a::A; }")],
        &[
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::A; fn f() { self::g() }"),
        ],
    ];
    for files in files {
        assert_eq!(circles_of(files), Vec::<String>::new(), "{files:?}");
    }
}
