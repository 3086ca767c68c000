//! Compares the generated parts of documents, which are between marks, with what the code makes.

use std::path::Path;

/// Whether documents are to be written anew instead of compared.
pub fn documents_are_renewed() -> bool {
    std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some()
}

/// Compares what stands between the marks `<!-- NAME: begin -->` and `<!-- NAME: end -->` of a document, named from
/// the root of the repository, with what is made of the code; `FLASHLAG_UPDATE_DOCS=1` writes it instead.
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
