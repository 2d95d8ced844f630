//! Columns for Python: an Arrow record batch behind the PyCapsule protocol.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::errors::refuse_value;
use crate::MidflightError;

/// Columns of equal length. Speaks the Arrow PyCapsule interface.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Table {
    batch: RecordBatch,
    /// Digest of a trace's run. Elsewhere it is empty, and a column has that of each run.
    #[pyo3(get)]
    digest: String,
}

/// Columns to become a [`Table`].
#[derive(Default)]
pub(crate) struct TableBuilder {
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
    digest: String,
}

impl Table {
    pub(crate) fn builder() -> TableBuilder {
        TableBuilder::default()
    }

    fn find(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let known = self.column_names().join(", ");
            let message = format!("there is no column \"{name}\"; there are {known}");
            refuse_value(message, "column", name, &known)
        })
    }
}

impl TableBuilder {
    fn push(&mut self, name: &str, nullable: bool, column: ArrayRef) {
        self.fields
            .push(Field::new(name, column.data_type().clone(), nullable));
        self.columns.push(column);
    }

    pub(crate) fn int(&mut self, name: &str, values: Vec<i64>) {
        self.push(name, false, Arc::new(Int64Array::from(values)));
    }

    pub(crate) fn maybe_int(&mut self, name: &str, values: Vec<Option<i64>>) {
        self.push(name, true, Arc::new(Int64Array::from(values)));
    }

    pub(crate) fn real(&mut self, name: &str, values: Vec<f64>) {
        self.push(name, false, Arc::new(Float64Array::from(values)));
    }

    pub(crate) fn text(&mut self, name: &str, values: Vec<String>) {
        self.push(name, false, Arc::new(StringArray::from(values)));
    }

    pub(crate) fn digest(&mut self, digest: &str) {
        self.digest = digest.into();
    }

    pub(crate) fn build(self) -> PyResult<Table> {
        let batch = RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.columns)
            .map_err(|e| MidflightError::new_err(e.to_string()))?;
        Ok(Table {
            batch,
            digest: self.digest,
        })
    }
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch
            .schema_ref()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<midflight table, {} rows: {}>",
            self.num_rows(),
            self.column_names().join(", ")
        )
    }

    /// A column as a list; None where there is no value.
    ///
    /// Raises `MidflightError` for a name that is not among `column_names`.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.find(name)?;
        match column.data_type() {
            DataType::Int64 => PyList::new(py, column.as_primitive::<Int64Type>().iter()),
            DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>().iter()),
            _ => PyList::new(py, column.as_string::<i32>().iter()),
        }
    }

    /// A column as a NumPy array of one dimension.
    ///
    /// It is of int64, of float64 (nan where there is no value), or of objects for texts.
    fn numpy<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy")?;
        let column = self.find(name)?;
        let (bytes, dtype): (Vec<u8>, &str) = match column.data_type() {
            DataType::Int64 if column.null_count() == 0 && !self.is_nullable(name) => {
                let ints = column.as_primitive::<Int64Type>();
                (
                    ints.values().iter().flat_map(|v| v.to_le_bytes()).collect(),
                    "<i8",
                )
            }
            DataType::Int64 => {
                let ints = column.as_primitive::<Int64Type>().iter();
                let reals = ints.map(|v| v.map_or(f64::NAN, |v| v as f64));
                (reals.flat_map(f64::to_le_bytes).collect(), "<f8")
            }
            DataType::Float64 => {
                let reals = column.as_primitive::<Float64Type>();
                (
                    reals
                        .values()
                        .iter()
                        .flat_map(|v| v.to_le_bytes())
                        .collect(),
                    "<f8",
                )
            }
            _ => return numpy.call_method1("array", (self.column(py, name)?, "O")),
        };
        let array = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), dtype))?;
        array.call_method0("copy")
    }

    /// The table as a pandas `DataFrame`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("midflight.results")?;
        module.call_method1("data_frame", (slf,))
    }

    /// The table as an Arrow stream (Arrow PyCapsule protocol).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows a producer to ignore the requested schema.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn is_nullable(&self, name: &str) -> bool {
        self.batch
            .schema_ref()
            .field_with_name(name)
            .is_ok_and(Field::is_nullable)
    }
}
