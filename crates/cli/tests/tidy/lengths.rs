//! Files and functions stay short.

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::none;
use crate::source::Source;

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 70;

#[test]
fn no_file_is_over_500_lines() {
    let long = Source::all().into_iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > LONGEST_FILE).then(|| {
            format!("{}:{lines}: {lines} lines: split it by what its parts do", source.path)
        })
    });
    none("length of files", long.collect());
}

#[test]
fn no_function_is_over_70_lines() {
    let mut violations = Vec::new();
    for source in Source::all() {
        let mut lengths = Lengths { path: &source.path, violations: &mut violations };
        lengths.visit_file(&source.parsed);
    }
    none("length of functions", violations);
}

struct Lengths<'a> {
    path: &'a str,
    violations: &'a mut Vec<String>,
}

impl Lengths<'_> {
    fn check(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let lines = body.span().end().line + 1 - first;
        if lines > LONGEST_FUNCTION {
            self.violations.push(format!(
                "{}:{first}: `{}` has {lines} lines: take steps out of it that have a name",
                self.path, signature.ident
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Lengths<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.check(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.check(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.check(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}
