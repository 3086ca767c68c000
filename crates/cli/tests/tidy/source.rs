//! Reading the workspace's source files.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::OnceLock;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::root;

/// What a file is for: what it may do depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Part of a library or program.
    Product,
    /// Under `examples/`.
    Example,
    /// Under `tests/` or `benches/`, in the crate `testing`, or a fuzz target.
    Test,
}

/// A source file and what its syntax shows.
pub struct Source {
    /// From the root of the workspace, with `/`.
    pub path: String,
    pub kind: Kind,
    pub text: String,
    /// Lines of `#[cfg(test)]` and `#[test]` items.
    pub test_lines: Vec<RangeInclusive<usize>>,
    pub functions: Vec<Function>,
    /// Modules that are compiled for tests only, and have files of their own.
    test_modules: Vec<String>,
    tokens: OnceLock<Vec<Token>>,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Lines of its signature and body, from 1.
    pub lines: RangeInclusive<usize>,
}

/// One token that is no bracket, or a bracket, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

impl Source {
    /// Every Rust file of the workspace and of the fuzzers, in order of their paths. Read once for
    /// all tests: a file's parse is most of what they do.
    pub fn all() -> &'static [Source] {
        static ALL: OnceLock<Vec<Source>> = OnceLock::new();
        ALL.get_or_init(Source::read_all)
    }

    fn read_all() -> Vec<Source> {
        let mut paths = Vec::new();
        for folder in ["crates", "fuzz/src", "fuzz/fuzz_targets"] {
            find(&root().join(folder), &mut paths);
        }
        paths.sort();
        let mut files: Vec<_> = paths.iter().map(|path| Source::read(path)).collect();
        assert!(files.len() > 50, "only {} files were found", files.len());
        let of_tests: Vec<String> = files.iter().flat_map(Source::module_paths_of_tests).collect();
        for file in &mut files {
            let stem = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
            let within = |module: &String| {
                stem.strip_prefix(module.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if of_tests.iter().any(within) {
                file.kind = Kind::Test;
            }
        }
        files
    }

    fn read(path: &Path) -> Source {
        let text = std::fs::read_to_string(path).unwrap();
        Source::of(&path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/"), text)
    }

    /// The file of that path with that text.
    pub fn of(path: &str, text: String) -> Source {
        let parsed = parse(path, &text);
        let mut finder = Finder::default();
        finder.visit_file(&parsed);
        let modules = parsed.items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && for_tests(&module.attrs) => {
                Some(module.ident.to_string())
            }
            _ => None,
        });
        Source {
            kind: kind_of(path),
            path: path.to_owned(),
            test_modules: modules.collect(),
            test_lines: finder.test_lines,
            functions: finder.functions,
            tokens: OnceLock::new(),
            text,
        }
    }

    /// Its syntax, parsed anew: a `syn::File` can't be shared between threads.
    pub fn parse(&self) -> syn::File {
        parse(&self.path, &self.text)
    }

    /// Where modules that are compiled for tests only, and have files of their own, begin: paths
    /// without `.rs`.
    fn module_paths_of_tests(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs");
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let is_root = ["lib", "main", "mod"].contains(&name);
        let below = if is_root { folder } else { stem };
        self.test_modules.iter().map(|module| format!("{below}/{module}")).collect()
    }

    /// Whether a line is test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.kind == Kind::Test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Whether the file is in the crate's folder of that name.
    pub fn is_in(&self, name: &str) -> bool {
        self.path.starts_with(&format!("crates/{name}/"))
    }

    /// All tokens in order, those within macros and brackets too.
    pub fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| {
            let mut tokens = Vec::new();
            let stream: TokenStream = self.text.parse().unwrap_or_default();
            flatten(stream, &mut tokens);
            tokens
        })
    }
}

fn parse(path: &str, text: &str) -> syn::File {
    let parsed = syn::parse_file(text);
    parsed
        .unwrap_or_else(|error| panic!("{path}:{}: is no Rust: {error}", error.span().start().line))
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let (text, span) = match tree {
            TokenTree::Ident(ident) => (ident.to_string(), ident.span()),
            TokenTree::Punct(punct) => (punct.as_char().to_string(), punct.span()),
            TokenTree::Literal(literal) => ("literal".to_owned(), literal.span()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token::new(open, group.span_open()));
                flatten(group.stream(), tokens);
                (close.to_owned(), group.span_close())
            }
        };
        tokens.push(Token::new(&text, span));
    }
}

impl Token {
    fn new(text: &str, span: Span) -> Token {
        Token { text: text.to_owned(), line: span.start().line }
    }
}

fn find(folder: &Path, paths: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        // Build output, unless it is a module of that name.
        let is_built = path.ends_with("target") && !folder.ends_with("src");
        if path.is_dir() && !is_built {
            find(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn kind_of(path: &str) -> Kind {
    let within = |folder: &str| path.split('/').any(|part| part == folder);
    let for_tests = path.starts_with("fuzz/") || path.starts_with("crates/testing/");
    if within("tests") || within("benches") || for_tests {
        Kind::Test
    } else if within("examples") {
        Kind::Example
    } else {
        Kind::Product
    }
}

/// Finds functions, and items that are compiled for tests only.
#[derive(Default)]
struct Finder {
    test_lines: Vec<RangeInclusive<usize>>,
    functions: Vec<Function>,
}

impl Finder {
    fn note(&mut self, attributes: &[syn::Attribute], span: Span) {
        if for_tests(attributes) {
            self.test_lines.push(span.start().line..=span.end().line);
        }
    }

    fn function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let lines = signature.span().start().line..=body.span().end().line;
        self.functions.push(Function { name: signature.ident.to_string(), lines });
    }
}

/// `#[test]` or `#[cfg(test)]`.
fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let nested = || attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test");
        path.is_ident("test") || (path.is_ident("cfg") && nested())
    })
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.note(&item.attrs, item.span());
        syn::visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.attrs, item.span());
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.note(&item.attrs, item.span());
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note(&item.attrs, item.span());
    }
}
