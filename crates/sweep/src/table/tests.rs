use super::column::COLUMNS;

#[test]
fn the_document_names_every_column_with_its_meaning_in_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweeps.md");
    let document = std::fs::read_to_string(path).unwrap();
    let rows = COLUMNS.iter().map(|column| format!("| `{}` | {} |\n", column.name, column.about));
    let table: String = rows.collect();
    assert!(document.contains(&table), "docs/sweeps.md should have:\n{table}");
}
