//! The `watchscope` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("the system lets a process have threads and timers");
    let code = runtime.block_on(watchscope::cli::run());
    // A read of standard input that never ends must not hold the process.
    runtime.shutdown_background();
    code
}
