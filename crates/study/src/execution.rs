//! Many runs in parallel, with progress reports to the caller, who may stop them.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};

use midflight_sim::{Observer, World};
use midflight_units::Instant;

use crate::error::StudyError;

/// Most threads that are started.
const MOST_THREADS: usize = 256;

/// Events between two looks at whether to stop.
const EVENTS_AT_A_TIME: usize = 100_000;

/// The interval of the progress reports.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);

/// How runs are made. Results do not depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// Share common beginnings of runs; if off, each is run from its start.
    pub fork: bool,
    /// Threads; 0 for one on each processor.
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

/// Does `work`, which makes `total` runs, on a pool of this many threads (0 for
/// one on each processor). `go_on` is called ten times a second and at the end, on the calling
/// thread, with the number of finished runs and of all runs; if it returns false the work stops,
/// and it is not called again.
///
/// # Errors
/// What `work` says; [`StudyError::Interrupted`] when told to stop.
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
    // More threads than runs would only wait.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(MOST_THREADS).min(total))
        .build()?;
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    // Runs are counted: a message for each would wake the caller at every one.
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

    /// Everything that happens in a world before `until`, or before `enough` is
    /// seen by who watches; it is asked when no event before the instant is left.
    ///
    /// # Errors
    /// The world's; [`StudyError::Interrupted`] when told to stop.
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

    /// This many runs are done.
    pub(crate) fn done(&self, runs: usize) {
        self.done.fetch_add(runs, Ordering::Relaxed);
    }
}
