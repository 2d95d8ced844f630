//! Columns for Python: an Arrow record batch behind the PyCapsule protocol.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use midflight_study::{nearest, Codes, FlowEnd, Texts};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule, PyList, PyString};

use crate::errors::refuse_value;
use crate::MidflightError;

/// The values of a column.
enum Column {
    Array(ArrayRef),
    /// Texts that occur often.
    Texts(Texts),
}

impl Column {
    fn array(&self) -> ArrayRef {
        match self {
            Self::Array(array) => Arc::clone(array),
            Self::Texts(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
        }
    }

    /// The texts of a column of texts.
    fn texts(&self) -> Option<Cow<'_, Texts>> {
        match self {
            Self::Texts(texts) => Some(Cow::Borrowed(texts)),
            Self::Array(array) if *array.data_type() == DataType::Utf8 => {
                let mut texts = Texts::default();
                for text in array.as_string::<i32>() {
                    texts.push(text.unwrap_or_default());
                }
                Some(Cow::Owned(texts))
            }
            Self::Array(_) => None,
        }
    }
}

/// Columns of equal length. Speaks the Arrow PyCapsule interface.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Table {
    schema: Arc<Schema>,
    columns: Vec<Column>,
    rows: usize,
    /// Digest of a trace's run. Elsewhere it is empty, and a column has that of each run.
    #[pyo3(get)]
    digest: String,
    end: FlowEnd,
}

/// Columns to become a [`Table`].
#[derive(Default)]
pub(crate) struct TableBuilder {
    fields: Vec<Field>,
    columns: Vec<Column>,
    digest: String,
    end: FlowEnd,
}

impl Table {
    pub(crate) fn builder() -> TableBuilder {
        TableBuilder::default()
    }

    fn find(&self, name: &str) -> PyResult<&Column> {
        let place = self.schema.index_of(name).map_err(|_| {
            let names = self.column_names();
            let known = names.join(", ");
            // A name without its unit, or a part of one.
            let longer = names
                .iter()
                .find(|one| one.starts_with(&format!("{name}_")));
            let near = nearest(name, names.iter().map(String::as_str));
            let near = longer.cloned().or(near);
            let others = near.map_or_else(
                || format!("; there are {known}"),
                |near| format!(" (did you mean \"{near}\"?); column_names has all"),
            );
            let message = format!("there is no column \"{name}\"{others}");
            refuse_value(message, "column", name, &known)
        })?;
        Ok(&self.columns[place])
    }
}

impl TableBuilder {
    fn push(&mut self, name: &str, nullable: bool, column: ArrayRef) {
        self.fields
            .push(Field::new(name, column.data_type().clone(), nullable));
        self.columns.push(Column::Array(column));
    }

    pub(crate) fn int(&mut self, name: &str, values: Vec<i64>) {
        self.push(name, false, Arc::new(Int64Array::from(values)));
    }

    pub(crate) fn maybe_int(&mut self, name: &str, values: impl IntoIterator<Item = Option<i64>>) {
        self.push(name, true, Arc::new(Int64Array::from_iter(values)));
    }

    pub(crate) fn real(&mut self, name: &str, values: Vec<f64>) {
        self.push(name, false, Arc::new(Float64Array::from(values)));
    }

    pub(crate) fn text(&mut self, name: &str, values: Vec<String>) {
        self.push(name, false, Arc::new(StringArray::from(values)));
    }

    pub(crate) fn texts(&mut self, name: &str, values: Texts) {
        self.fields.push(Field::new(name, DataType::Utf8, false));
        self.columns.push(Column::Texts(values));
    }

    pub(crate) fn digest(&mut self, digest: &str) {
        self.digest = digest.into();
    }

    /// The end of the flow whose events are in the table.
    pub(crate) fn end(&mut self, end: FlowEnd) {
        self.end = end;
    }

    pub(crate) fn build(self) -> PyResult<Table> {
        let lengths = self.columns.iter().map(|column| match column {
            Column::Array(array) => array.len(),
            Column::Texts(texts) => texts.len(),
        });
        let lengths: Vec<usize> = lengths.collect();
        let rows = lengths.first().copied().unwrap_or_default();
        if lengths.iter().any(|&length| length != rows) {
            let text = format!("columns of a table have different lengths: {lengths:?}");
            return Err(MidflightError::new_err(text));
        }
        Ok(Table {
            schema: Arc::new(Schema::new(self.fields)),
            columns: self.columns,
            rows,
            digest: self.digest,
            end: self.end,
        })
    }
}

/// An array of NumPy of `count` numbers, which are in `N` bytes each.
fn array_of<'py, const N: usize>(
    py: Python<'py>,
    dtype: &str,
    numbers: impl ExactSizeIterator<Item = [u8; N]>,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, numbers.len() * N, |bytes| {
        for (place, number) in bytes.chunks_exact_mut(N).zip(numbers) {
            place.copy_from_slice(&number);
        }
        Ok(())
    })?;
    py.import("numpy")?
        .call_method1("frombuffer", (bytes, dtype))
}

#[pymethods]
impl Table {
    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows
    }

    /// Of a trace, the instant of the flow's last event, also of one that is not listed.
    #[getter]
    fn last_ns(&self) -> u64 {
        self.end.last.as_nanos()
    }

    /// Of a trace, whether the flow is not done: packets are underway, or a video has played.
    #[getter]
    fn is_waiting(&self) -> bool {
        self.end.waits()
    }

    fn __len__(&self) -> usize {
        self.rows
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
        let column = match self.find(name)? {
            Column::Array(column) => column,
            Column::Texts(texts) => {
                let words = texts.words().iter().map(|word| PyString::new(py, word));
                let words: Vec<_> = words.collect();
                return match texts.codes() {
                    Codes::Narrow(codes) => {
                        PyList::new(py, codes.iter().map(|&code| &words[usize::from(code)]))
                    }
                    Codes::Wide(codes) => {
                        PyList::new(py, codes.iter().map(|&code| &words[code as usize]))
                    }
                };
            }
        };
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
        let column = match self.find(name)? {
            Column::Array(column) => column,
            Column::Texts(_) => {
                let (words, codes) = self.codes(py, name)?;
                let numpy = py.import("numpy")?;
                let words = numpy.call_method1("array", (words, "O"))?;
                return words.call_method1("take", (codes,));
            }
        };
        match column.data_type() {
            DataType::Int64 if column.null_count() == 0 && !self.is_nullable(name) => {
                let ints = column.as_primitive::<Int64Type>().values();
                array_of(py, "<i8", ints.iter().map(|v| v.to_le_bytes()))
            }
            DataType::Int64 => {
                let ints = column.as_primitive::<Int64Type>().iter();
                let reals = ints.map(|v| v.map_or(f64::NAN, |v| v as f64));
                array_of(py, "<f8", reals.map(f64::to_le_bytes))
            }
            DataType::Float64 => {
                let reals = column.as_primitive::<Float64Type>().values();
                array_of(py, "<f8", reals.iter().map(|v| v.to_le_bytes()))
            }
            _ => {
                let texts = (self.column(py, name)?, "O");
                py.import("numpy")?.call_method1("array", texts)
            }
        }
    }

    /// A column of texts as its different texts, and a NumPy array with the place of each row's
    /// text among them (uint8, or uint32 for more than 256 texts).
    ///
    /// It takes less memory than `numpy`. Raises `MidflightError` for another column.
    fn codes<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
        let Some(texts) = self.find(name)?.texts() else {
            let message = format!("column \"{name}\" has no texts");
            return Err(refuse_value(message, "column", name, "a column of texts"));
        };
        let codes = match texts.codes() {
            Codes::Narrow(codes) => array_of(py, "u1", codes.iter().map(|&code| [code]))?,
            Codes::Wide(codes) => array_of(py, "<u4", codes.iter().map(|v| v.to_le_bytes()))?,
        };
        Ok((texts.words().to_vec(), codes))
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
        let arrays = self.columns.iter().map(Column::array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|e| MidflightError::new_err(e.to_string()))?;
        let batches = RecordBatchIterator::new([Ok(batch)], Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn is_nullable(&self, name: &str) -> bool {
        self.schema
            .field_with_name(name)
            .is_ok_and(Field::is_nullable)
    }
}
