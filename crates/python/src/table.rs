//! Tables that other libraries import by the Arrow PyCapsule interface.

use std::ffi::CStr;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::failed;

/// Names by which importers recognise the capsules.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table: polars, pandas, pyarrow and DuckDB import it without a copy.
#[pyclass(frozen, module = "flashlag")]
pub struct Table(RecordBatch);

impl Table {
    /// The table of a batch.
    pub fn of(batch: Result<RecordBatch, ArrowError>) -> PyResult<Table> {
        batch.map(Table).map_err(|error| failed(&error.to_string()))
    }
}

#[pymethods]
impl Table {
    /// The table as an Arrow stream in a PyCapsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may return its own schema, whatever was requested.
        let _ = requested_schema;
        let batch = self.0.clone();
        let schema = batch.schema();
        let batches = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// The table's columns and their types in a PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref());
        let schema = schema.map_err(|error| failed(&error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The description of each column, by its name.
    #[getter]
    fn about(&self) -> Vec<(String, String)> {
        let schema = self.0.schema();
        let about = |field: &arrow_schema::FieldRef| {
            (field.name().clone(), field.metadata().get("about").cloned().unwrap_or_default())
        };
        schema.fields().iter().map(about).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.0.num_rows(), self.0.num_columns());
        format!("<flashlag.Table of {rows} rows and {columns} columns>")
    }
}
