//! Runs one workload, once or several times, and prints its time; for use under a profiler.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::LazyLock;

use midflight_bench::{
    bottleneck, bulk_linux, bulk_rfc, bulk_scenario, cells, cells_with, changing, grid, handoff,
    loss_burst, run, run_plan, scheduled, ten_hours,
};
use midflight_sim::{Digest, LinkSchedule};
use midflight_study::StudyError;

/// Its name, the unit of its count, and a function that runs it once.
type Workload = (&'static str, &'static str, fn() -> Result<u64, StudyError>);

/// Built once, regardless of the number of runs.
static TEN_HOURS: LazyLock<LinkSchedule> =
    LazyLock::new(|| ten_hours().unwrap_or_else(|e| unreachable!("{e}")));

const WORKLOADS: [Workload; 23] = [
    ("bulk", "packets", || run(bottleneck::<Digest>(1)?, 60)),
    ("bulk-undigested", "packets", || {
        run(bottleneck::<()>(1)?, 60)
    }),
    ("bulk-rfc", "packets", || run(bulk_rfc::<Digest>()?, 60)),
    ("bulk-linux", "packets", || run(bulk_linux::<Digest>()?, 60)),
    ("run", "packets", || run_plan(&bulk_scenario("ns2")?)),
    ("run-linux", "packets", || {
        run_plan(&bulk_scenario("linux")?)
    }),
    ("bulk-scheduled", "packets", || {
        run(scheduled::<Digest>(&TEN_HOURS)?, 60)
    }),
    // Queues of one bandwidth-delay product, and of a tenth of it.
    ("loss-burst", "packets", || {
        run(loss_burst::<Digest>(1000, 8333)?, 10)
    }),
    ("loss-burst-10g", "packets", || {
        run(loss_burst::<Digest>(10_000, 83_333)?, 10)
    }),
    ("loss-burst-10g-short-queue", "packets", || {
        run(loss_burst::<Digest>(10_000, 8333)?, 10)
    }),
    ("changes", "changes", || {
        run_plan(&changing(8000)?)?;
        Ok(8000)
    }),
    ("cell", "runs", || cells(1)),
    ("cell-rfc", "runs", || cells_with("rfc")),
    ("cell-linux", "runs", || cells_with("linux")),
    ("handoff", "packets", || {
        run(handoff::<Digest>("ns2", "sack")?, 30)
    }),
    ("handoff-linux", "packets", || {
        run(handoff::<Digest>("linux", "sack")?, 30)
    }),
    ("flows-10", "packets", || run(bottleneck::<Digest>(10)?, 60)),
    ("flows-100", "packets", || {
        run(bottleneck::<Digest>(100)?, 60)
    }),
    ("flows-1000", "packets", || {
        run(bottleneck::<Digest>(1000)?, 60)
    }),
    ("set-up", "runs", || {
        let world = handoff::<Digest>("ns2", "enhanced")?;
        std::hint::black_box(world.next_event());
        Ok(1)
    }),
    ("grid", "runs", || grid(1, 1)),
    ("grid-two-threads", "runs", || grid(2, 1)),
    ("grid-part", "runs", || grid(1, 12)),
];

/// The workload and the number of runs, from the command line.
fn read(args: &[String]) -> Result<(Workload, NonZeroU32), String> {
    let (name, times) = match args {
        [name] => (name, Ok(NonZeroU32::MIN)),
        [name, times] => (name, times.parse()),
        _ => return Err("usage: workload NAME [TIMES]".into()),
    };
    let times = times.map_err(|_| format!("\"{}\" is not a number of times", args[1]))?;
    let workload = WORKLOADS.into_iter().find(|w| w.0 == name);
    let known = || WORKLOADS.map(|w| w.0).join(", ");
    workload
        .map(|workload| (workload, times))
        .ok_or_else(|| format!("there is no workload \"{name}\"; there are {}", known()))
}

/// The peak memory of the process in kB, if the system reports it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(format!(", peak memory {}", peak.trim()))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ((_, unit, run), times) = match read(&args) {
        Ok(asked) => asked,
        Err(message) => {
            eprintln!("workload: {message}");
            return ExitCode::from(2);
        }
    };
    #[allow(clippy::disallowed_methods, reason = "measures")]
    let start = std::time::Instant::now();
    let done: u64 = match (0..times.get()).map(|_| run()).sum() {
        Ok(done) => done,
        Err(error) => {
            eprintln!("workload: {error}");
            return ExitCode::FAILURE;
        }
    };
    let each = start.elapsed().as_nanos() as f64 / done as f64;
    let memory = peak_memory().unwrap_or_default();
    println!("{done} {unit}, {each:.1} ns each{memory}");
    ExitCode::SUCCESS
}
