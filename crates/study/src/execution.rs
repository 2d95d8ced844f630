//! Many runs in parallel, with progress reports to the caller, who may stop them.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};

use midflight_sim::{Observer, World};
use midflight_units::Instant;

use crate::error::StudyError;

/// Maximum number of threads.
const MOST_THREADS: usize = 256;

/// Events between two checks whether to stop.
const EVENTS_AT_A_TIME: usize = 100_000;

/// The interval of the progress reports.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);

/// How runs are executed. Results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// Share the common prefixes of runs; if off, each run starts from its beginning.
    pub fork: bool,
    /// Threads; 0 for one per processor.
    pub threads: usize,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            fork: true,
            threads: 0,
        }
    }
}

/// Executes `work`, which makes `total` runs, on a pool of this many threads (0 for one per
/// processor). `go_on` is called ten times a second and at the end, on the calling thread, with the
/// number of finished runs and of all runs; if it returns false the work stops, and it is not
/// called again.
///
/// # Errors
/// The error of `work`; [`StudyError::Interrupted`] when stopped.
pub(crate) fn in_parallel<T: Send>(
    total: usize,
    threads: usize,
    mut go_on: impl FnMut(usize, usize) -> bool,
    work: impl FnOnce(&Progress) -> Result<T, StudyError> + Send,
) -> Result<T, StudyError> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    // More threads than runs would be idle.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(MOST_THREADS).min(total))
        .build()?;
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    // Runs are counted: a message for each would wake the caller every time.
    let (at_work, over) = channel::<()>();
    std::thread::scope(|scope| {
        let progress = Progress {
            stop: &stop,
            done: &done,
        };
        let work = scope.spawn(move || {
            let _ends_with_the_work = at_work;
            pool.install(|| work(&progress))
        });
        loop {
            let is_over = over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Disconnected);
            let finished = done.load(Ordering::Relaxed);
            if !go_on(finished, total) {
                stop.store(finished < total, Ordering::Relaxed);
                break;
            }
            if is_over {
                break;
            }
        }
        work.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Shared by the running threads and the caller.
pub(crate) struct Progress<'a> {
    stop: &'a AtomicBool,
    done: &'a AtomicUsize,
}

impl Progress<'_> {
    /// Whether to continue.
    ///
    /// # Errors
    /// [`StudyError::Interrupted`] if not.
    pub(crate) fn go_on(&self) -> Result<(), StudyError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(StudyError::Interrupted);
        }
        Ok(())
    }

    /// Processes all events in a world before `until`. `enough` is called when no event before that
    /// instant is left; it ends the work if the observer has seen enough.
    ///
    /// # Errors
    /// The error of the world; [`StudyError::Interrupted`] when stopped.
    pub(crate) fn advance<O: Observer>(
        &self,
        world: &mut World<O>,
        until: Instant,
        enough: impl Fn(&O, Instant) -> bool,
    ) -> Result<(), StudyError> {
        loop {
            for _ in 0..EVENTS_AT_A_TIME {
                let next = world.next_event();
                if next.at() >= until || enough(world.observer(), next.at()) {
                    return Ok(());
                }
                world.process(next)?;
            }
            self.go_on()?;
        }
    }

    /// Counts finished runs.
    pub(crate) fn done(&self, runs: usize) {
        self.done.fetch_add(runs, Ordering::Relaxed);
    }
}
