//! Every public function, type and trait says what it is for. Fields and variants needn't: a name
//! that is good says it, and a comment that repeats the name is one more line to read.

use syn::visit::Visit;

use crate::none;
use crate::source::{Kind, Source};

#[test]
fn public_functions_types_and_traits_are_documented() {
    let sources = Source::all().iter().filter(|source| source.kind == Kind::Product);
    none("documentation", sources.flat_map(undocumented).collect());
}

fn undocumented(source: &Source) -> Vec<String> {
    let mut finder = Finder::default();
    let file = source.parse();
    finder.inner = file.items.iter().filter_map(inner).collect();
    finder.visit_file(&file);
    let found = finder.found.into_iter().filter(|(line, _)| !source.is_test(*line));
    let path = &source.path;
    found.map(|(line, name)| format!("{path}:{line}: say what `{name}` is for, in `///`")).collect()
}

/// Collects public items without documentation: their lines and names.
#[derive(Default)]
struct Finder {
    found: Vec<(usize, String)>,
    /// Types of the file that are not public: nor are their methods then.
    inner: Vec<String>,
}

/// The name of a type that is not public.
fn inner(item: &syn::Item) -> Option<String> {
    let (name, visibility) = match item {
        syn::Item::Struct(item) => (&item.ident, &item.vis),
        syn::Item::Enum(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    (!matches!(visibility, syn::Visibility::Public(_))).then(|| name.to_string())
}

/// Whether the methods are those of one of these types.
fn is_of(item: &syn::ItemImpl, types: &[String]) -> bool {
    let syn::Type::Path(of) = item.self_ty.as_ref() else { return false };
    of.path.segments.last().is_some_and(|name| types.contains(&name.ident.to_string()))
}

impl Finder {
    fn note(&mut self, name: &syn::Ident, visibility: &syn::Visibility, attrs: &[syn::Attribute]) {
        if matches!(visibility, syn::Visibility::Public(_)) && !documented(attrs) {
            self.found.push((name.span().start().line, name.to_string()));
        }
    }
}

/// `#[doc(hidden)]` counts: nobody is meant to read about it.
fn documented(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.sig.ident, &item.vis, &item.attrs);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.note(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.note(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.note(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.note(&item.ident, &item.vis, &item.attrs);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.note(&item.ident, &item.vis, &item.attrs);
        for part in &item.items {
            if let syn::TraitItem::Fn(function) = part {
                self.note(&function.sig.ident, &item.vis, &function.attrs);
            }
        }
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if is_of(item, &self.inner) {
            return;
        }
        for part in &item.items {
            if let syn::ImplItem::Fn(function) = part {
                self.note(&function.sig.ident, &function.vis, &function.attrs);
            }
        }
        syn::visit::visit_item_impl(self, item);
    }
}

#[test]
fn what_lacks_documentation_is_found_with_its_line() {
    let found = |text: &str| undocumented(&Source::of("crates/x/src/lib.rs", text.to_owned()));
    let lines = |text: &str| -> Vec<String> {
        found(text).iter().map(|line| line.split(':').nth(1).unwrap_or("").to_owned()).collect()
    };
    assert_eq!(lines("/// Does it.\npub fn f() {}\npub fn g() {}"), ["3"]);
    assert_eq!(
        lines("pub struct S;\npub enum E {}\npub trait T {}\npub type A = u8;"),
        ["1", "2", "3", "4"]
    );
    assert_eq!(lines("impl S {\n    pub fn f() {}\n    fn g() {}\n}"), ["2"]);
    assert_eq!(lines("/// A trait.\npub trait T {\n    fn f();\n}"), ["3"]);
    assert!(found("fn f() {}\npub(crate) fn g() {}\nstruct S;\ntrait T { fn f(); }").is_empty());
    assert!(found("/// A struct.\npub struct S { pub field: u8 }").is_empty());
    assert!(found("/// An enum.\npub enum E { Variant }").is_empty());
    assert!(found("struct S;\nimpl S { pub fn f() {} }").is_empty());
    assert!(found("impl T for S { fn f() {} }").is_empty());
    assert!(found("#[cfg(test)]\nmod tests { pub fn f() {} }").is_empty());
}
