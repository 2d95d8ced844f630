//! Benchmarks for the times in midflight's performance documentation. `make bench` reads them from
//! here.

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, SamplingMode, Throughput};
use midflight_bench::{
    bottleneck, bulk_linux, bulk_rfc, cells, cells_with, changing, grid, handoff, loss_burst, run,
    run_plan, scheduled, ten_hours,
};
use midflight_sim::{Digest, Observer, World};
use midflight_study::StudyError;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Simulates this many seconds, measured per packet. Building the world is not included.
fn packets<O: Observer>(
    group: &mut Group<'_>,
    name: &str,
    seconds: u64,
    world: impl Fn() -> Result<World<O>, StudyError>,
) -> Result<(), StudyError> {
    group.throughput(Throughput::Elements(run(world()?, seconds)?));
    group.bench_function(name, |b| {
        b.iter_batched(&world, |w| run(w?, seconds), BatchSize::PerIteration);
    });
    Ok(())
}

fn main() -> Result<(), StudyError> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();

    let mut group = criterion.benchmark_group("packet");
    group.sample_size(30);
    packets(&mut group, "bulk", 60, || bottleneck::<Digest>(1))?;
    packets(&mut group, "bulk-undigested", 60, || bottleneck::<()>(1))?;
    packets(&mut group, "bulk-rfc", 60, bulk_rfc::<Digest>)?;
    packets(&mut group, "bulk-linux", 60, bulk_linux::<Digest>)?;
    let schedule = ten_hours().unwrap_or_else(|e| unreachable!("{e}"));
    packets(&mut group, "bulk-scheduled", 60, || {
        scheduled::<Digest>(&schedule)
    })?;
    packets(&mut group, "loss-burst", 10, || {
        loss_burst::<Digest>(1000, 8333)
    })?;
    for (name, profile) in [("handoff", "ns2"), ("handoff-linux", "linux")] {
        packets(&mut group, name, 30, || handoff::<Digest>(profile, "sack"))?;
    }
    for flows in [10, 100, 1000] {
        let name = format!("flows-{flows}");
        packets(&mut group, &name, 60, || bottleneck::<Digest>(flows))?;
    }
    group.finish();

    let mut group = criterion.benchmark_group("run");
    group.throughput(Throughput::Elements(1));
    group.bench_function("set-up", |b| {
        b.iter(|| handoff::<Digest>("ns2", "enhanced").map(|world| world.next_event()));
    });
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .measurement_time(Duration::from_secs(10))
        .throughput(Throughput::Elements(grid(1, 1)?));
    group.bench_function("grid", |b| b.iter(|| grid(1, 1)));
    group.bench_function("grid-two-threads", |b| b.iter(|| grid(2, 1)));
    group.throughput(Throughput::Elements(cells(1)?));
    group.bench_function("cell", |b| b.iter(|| cells(1)));
    group.bench_function("cell-linux", |b| b.iter(|| cells_with("linux")));
    group.throughput(Throughput::Elements(8000));
    group.bench_function("changes", |b| b.iter(|| run_plan(&changing(8000)?)));
    group.finish();

    criterion.final_summary();
    Ok(())
}
