use super::column::COLUMNS;

#[test]
fn the_document_names_every_column_with_its_meaning_in_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweeps.md");
    let document = std::fs::read_to_string(path).unwrap();
    let rows = COLUMNS.iter().map(|column| format!("| `{}` | {} |\n", column.name, column.about));
    let table: String = rows.collect();
    let (begin, end) = ("<!-- columns: begin -->", "<!-- columns: end -->");
    let (before, rest) = document.split_once(begin).unwrap();
    let (shown, after) = rest.split_once(end).unwrap();
    let made = format!("\n\n| column | meaning |\n|---|---|\n{table}\n");
    if std::env::var_os("FLASHLAG_UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{begin}{made}{end}{after}")).unwrap();
    } else {
        assert_eq!(shown, made, "FLASHLAG_UPDATE_DOCS=1 renews docs/sweeps.md");
    }
}
