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

/// Steps of the search for the smallest failing value, at most.
const MOST_STEPS: u32 = 4096;

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
    run(
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
        strategy,
        test,
    )
}

/// As [`for_all`], from a seed of the caller's, which a failure names: tests that are alike then try different values.
///
/// # Errors
/// The smallest failing value found, the seed, and what `test` said of it.
pub fn for_all_from<S>(
    seed: u64,
    strategy: S,
    test: impl Fn(S::Value) -> Result<(), String>,
) -> Result<(), String>
where
    S: Strategy,
    S::Value: fmt::Debug,
{
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    run(rng, strategy, test).map_err(|reason| format!("{reason}, from seed {seed}"))
}

fn run<S>(
    rng: TestRng,
    strategy: S,
    test: impl Fn(S::Value) -> Result<(), String>,
) -> Result<(), String>
where
    S: Strategy,
    S::Value: fmt::Debug,
{
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: MOST_STEPS,
        ..Config::with_cases(DATA_SETS.load(Ordering::Relaxed))
    };
    TestRunner::new_with_rng(config, rng)
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

    #[test]
    fn a_seed_is_named_and_gives_its_own_values() {
        let first = |seed| {
            let failure = for_all_from(seed, 0u32..1000, |n| Err(format!("first {n}")));
            failure.unwrap_err()
        };
        assert!(first(3).ends_with(", from seed 3"), "{}", first(3));
        let values = |seed| {
            let seen = std::cell::RefCell::new(vec![]);
            let _ = for_all_from(seed, 0u32..1000, |n| {
                seen.borrow_mut().push(n);
                Ok(())
            });
            seen.into_inner()
        };
        assert_eq!(values(3), values(3));
        assert_ne!(values(3), values(4));
    }
}
