use super::column::{COLUMNS, Kind, schema};

#[test]
fn the_document_names_every_column_with_its_meaning_in_order() {
    let rows = COLUMNS.iter().map(|column| format!("| `{}` | {} |\n", column.name, column.about));
    let table: String = rows.collect();
    let made = format!("\n\n| column | meaning |\n|---|---|\n{table}\n");
    flashlag_testing::between_marks("docs/sweeps.md", "columns", &made);
}

#[test]
fn the_schema_is_what_its_text_says() {
    let lines = COLUMNS.iter().map(|column| {
        let (name, need) = (column.name, if column.optional { "optional" } else { "required" });
        match column.kind {
            Kind::Text => format!("{need} binary {name} (UTF8);"),
            Kind::Whole => format!("{need} int64 {name} (INTEGER(64,false));"),
            Kind::Number => format!("{need} double {name};"),
            Kind::List => format!(
                "{need} group {name} (LIST) {{ repeated group list {{ \
                 required int64 element (INTEGER(64,false)); }} }}"
            ),
        }
    });
    let text = format!("message sweep {{ {} }}", lines.collect::<String>());
    let read = parquet::schema::parser::parse_message_type(&text).expect("a schema");
    assert_eq!(schema().expect("a schema"), read);
}
