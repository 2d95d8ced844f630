//! Long work that ends when Python has a signal, such as an interrupt, or when Python code that it calls has failed.

use midflight_study::{GoOn, StudyError};
use pyo3::prelude::*;

use crate::foreign;
use crate::policy::Failures;
use crate::refuse;

/// Does long work without holding the interpreter, telling `progress` of it.
pub(crate) fn with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    failures: &[Failures],
    work: impl FnOnce(&mut (dyn FnMut(usize, usize) -> bool + Send)) -> Result<T, StudyError> + Send,
) -> PyResult<T> {
    // What Python has to say meanwhile: an interrupt, or an error in `progress`.
    let mut raised = None;
    let outcome = py.detach(|| {
        work(&mut |done, total| {
            Python::attach(|py| {
                let called = progress.map_or(Ok(()), |p| p.call1(py, (done, total)).map(drop));
                raised = called.and_then(|()| py.check_signals()).err();
                if let Some(error) = &raised {
                    // No policy is asked any more, however long it would take.
                    for of_one in failures {
                        of_one.note(error.clone_ref(py));
                    }
                }
                raised.is_none() && !failures.iter().any(Failures::any)
            })
        })
    });
    let failures = failures.iter().chain([foreign::interrupts()]);
    let failed = failures.filter_map(|f| f.raise().err());
    let failed: Vec<PyErr> = failed.collect();
    match raised.or_else(|| failed.into_iter().next()) {
        Some(error) => Err(error),
        None => outcome.map_err(refuse),
    }
}

/// Does on this thread what may take long. It ends when Python has a signal, such as an interrupt,
/// or when a policy has failed.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    failures: &[Failures],
    work: impl FnOnce(GoOn<'_>) -> Result<T, StudyError> + Send,
) -> PyResult<T> {
    with_progress(py, None, failures, |go_on| work(&mut || go_on(0, 0)))
}
