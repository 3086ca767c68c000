use std::path::Path;

use anyhow::Result;
use flashlag_runner::{Destination, OutputKind};
use flashlag_store::{Added, Outcome, Selection, Standing, Store, Table, TableFormat, selected};

use super::store_trend;
use crate::args::{PlaceArgs, StoreAction, StoreArgs, TableArgs, TableForm, TableName};
use crate::exit::Exit;
use crate::form::by_ending;
use crate::say;
use crate::terminal::Terminal;

/// The columns of `list`.
const LISTED: &str = "file, device, filesystem, scenario, substr(started, 1, 10) AS began, \
                      standing, verdict";

/// Adds to a store, lists it, or queries it.
pub fn store(args: &StoreArgs, terminal: &Terminal) -> Result<Exit> {
    match &args.action {
        StoreAction::Add { place, runs } => {
            let added = open(place)?.add(runs)?;
            let lines: Vec<String> = added.iter().map(outcome).collect();
            lines.iter().try_for_each(|line| say::line(line))?;
            let refused = added.iter().any(|it| matches!(it.outcome, Outcome::Refused { .. }));
            Ok(if refused { Exit::CouldNotRun } else { Exit::Done })
        }
        StoreAction::List { place, condition, form } => {
            let condition = condition.as_deref().map(|it| format!(" WHERE ({it})"));
            let condition = condition.unwrap_or_default();
            let sql =
                format!("SELECT {LISTED} FROM runs{condition} ORDER BY device, started, file");
            print(&open(place)?.query(&sql)?, form, terminal)
        }
        StoreAction::Query { place, sql, from, columns, condition, form } => {
            let from = match from {
                TableName::Runs => "runs",
                TableName::Phases => "phases",
            };
            let (columns, condition) = (columns.clone(), condition.clone());
            let parts = Selection { from: from.to_owned(), columns, condition };
            let sql = sql.clone().unwrap_or_else(|| selected(&parts));
            print(&open(place)?.query(&sql)?, form, terminal)
        }
        StoreAction::Trend { place, test, condition } => {
            let (test, condition) = (test.as_deref(), condition.as_deref());
            store_trend::trend(&mut open(place)?, &store_trend::Asked { test, condition })
        }
    }
}

fn open(place: &PlaceArgs) -> Result<Store> {
    Ok(Store::open(&place.store)?)
}

/// The result of adding a file, in a line.
fn outcome(added: &Added) -> String {
    let from = added.from.display();
    match &added.outcome {
        Outcome::New { name, standing: Standing::Good, .. } => format!("{from}: added as {name}"),
        Outcome::New { name, standing, reason } => {
            let reason = reason.as_deref().unwrap_or_default();
            format!("{from}: added as {name}, but does not count: {}: {reason}", standing.name())
        }
        Outcome::Known { name } => format!("{from}: is in the store already, as {name}"),
        Outcome::Refused { reason } => format!("{from}: not added: {reason}"),
    }
}

fn print(table: &Table, form: &TableArgs, terminal: &Terminal) -> Result<Exit> {
    let known = |ending: &str| match ending {
        "csv" => Some(TableForm::Csv),
        "json" => Some(TableForm::Json),
        "parquet" => Some(TableForm::Parquet),
        "txt" => Some(TableForm::Text),
        _ => None,
    };
    let endings = ".csv, .json, .parquet or .txt";
    let ended = || by_ending("a table", &form.output, known, TableForm::Text, endings);
    let format = match form.format.map_or_else(ended, Ok)? {
        TableForm::Text => TableFormat::Text,
        TableForm::Csv => TableFormat::Csv,
        TableForm::Json => TableFormat::Json,
        TableForm::Parquet => TableFormat::Parquet,
    };
    let bytes = format.write(table, terminal.stdout.width)?;
    if form.output != Path::new("-") {
        Destination::check(&form.output, OutputKind::Export, form.force)?.write(&bytes)?;
        return Ok(Exit::Done);
    }
    match (format, String::from_utf8(bytes)) {
        (TableFormat::Text, Ok(text)) => say::view(&text)?,
        (TableFormat::Json, Ok(text)) => say::json(&text)?,
        (_, Ok(text)) => say::data(&text)?,
        (_, Err(_)) => {
            anyhow::bail!("a Parquet file is not for a terminal: name one by -o FILE.parquet")
        }
    }
    Ok(Exit::Done)
}
