use super::column::COLUMNS;

#[test]
fn the_document_names_every_column_with_its_meaning_in_order() {
    let rows = COLUMNS.iter().map(|column| format!("| `{}` | {} |\n", column.name, column.about));
    let table: String = rows.collect();
    let made = format!("\n\n| column | meaning |\n|---|---|\n{table}\n");
    flashlag_testing::between_marks("docs/sweeps.md", "columns", &made);
}
