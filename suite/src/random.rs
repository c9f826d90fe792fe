//! Random data sets: the same ones in every run, as many as the command line asks for.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
};

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

/// Data sets of a random test unless the command line says otherwise.
pub const DEFAULT_DATA_SETS: u32 = 32;

static DATA_SETS: AtomicU32 = AtomicU32::new(DEFAULT_DATA_SETS);

/// Sets how many data sets each random test tries from now on.
pub fn set_data_sets(count: u32) {
    DATA_SETS.store(count, Ordering::Relaxed);
}

/// Tries `test` on random values of `strategy`, and shrinks the first that fails.
///
/// Every configuration of a kernel costs a compilation: vary the data here, and keep shapes that are part of a kernel's
/// type few and fixed.
///
/// # Errors
/// The smallest failing value found, and what `test` said of it.
pub fn for_all<S>(strategy: S, test: impl Fn(S::Value) -> Result<(), String>) -> Result<(), String>
where
    S: Strategy,
    S::Value: fmt::Debug,
{
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(DATA_SETS.load(Ordering::Relaxed))
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner
        .run(&strategy, |value| test(value).map_err(TestCaseError::fail))
        .map_err(|error| match error {
            TestError::Fail(reason, value) => format!("{reason}\nwith {value:?}"),
            TestError::Abort(reason) => format!("no data set could be made: {reason}"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shrunk() {
        let failure = for_all(0u32..1000, |n| {
            if n < 10 {
                Ok(())
            } else {
                Err(format!("{n} is large"))
            }
        });
        assert_eq!(failure.unwrap_err(), "10 is large\nwith 10");
    }
}
