//! Runs one workload and prints what it did: something to hold a profiler to.

use midflight_bench::{bottleneck, grid, handoff, run};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let times: usize = args.get(2).and_then(|t| t.parse().ok()).unwrap_or(1);
    #[allow(clippy::disallowed_methods, reason = "measures")]
    let start = std::time::Instant::now();
    let mut n = 0;
    for _ in 0..times {
        n += match args.get(1).map(String::as_str) {
            Some("bulk") => run(bottleneck(1), 60),
            Some("handoff") => run(handoff(), 30),
            Some("flows10") => run(bottleneck(10), 60),
            Some("flows100") => run(bottleneck(100), 60),
            Some("flows1000") => run(bottleneck(1000), 60),
            Some("grid1") => grid(1, 1) as u64,
            Some("grid2") => grid(2, 1) as u64,
            Some("gridpart") => grid(1, 12) as u64,
            _ => 0,
        };
    }
    let s = start.elapsed().as_secs_f64();
    println!("{n} in {s:.3} s: {:.1} ns each", s * 1e9 / n as f64);
}
