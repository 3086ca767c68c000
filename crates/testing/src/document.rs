//! Compares the generated parts of documents, which stand between markers, with the output of the
//! code.

use std::path::Path;

/// Whether documents are to be rewritten instead of compared.
pub fn documents_are_renewed() -> bool {
    std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some()
}

/// Compares the text between the markers `<!-- NAME: begin -->` and `<!-- NAME: end -->` of a
/// document (a path from the root of the repository) with generated text; `FLASHLAG_UPDATE_DOCS=1`
/// writes it instead.
pub fn between_marks(document: &str, name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (shown, after) = rest.split_once(&end).unwrap();
    if documents_are_renewed() {
        std::fs::write(path, format!("{before}{begin}{made}{end}{after}")).unwrap();
    } else {
        assert_eq!(shown, made, "{document}: FLASHLAG_UPDATE_DOCS=1 renews it");
    }
}
