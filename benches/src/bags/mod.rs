//! Segments, bags of embeddings, and embeddings, forwards and backwards.

mod measurement;
mod prepared;
mod set;
mod verify;
mod workload;

pub use measurement::Measurement;
pub use prepared::Prepared;
pub use workload::{Draw, Op, Plan, Workload, plans};

#[cfg(test)]
mod tests {
    use super::prepared::SETS;
    use super::*;
    use crate::error::Error;
    use girih_testkit::Rt;
    use std::collections::HashSet;

    #[test]
    fn every_result_is_right_and_what_was_not_launched_is_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.verify().unwrap();
            }
        }
    }

    #[test]
    fn rows_of_another_seed_are_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client).into_iter().take(6) {
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                (0..SETS).for_each(|turn| prepared.launch(turn).unwrap());
                prepared.sets[0].seed += 7;
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }

    #[test]
    fn every_workload_has_a_name_of_its_own() {
        for rt in Rt::present() {
            let plans = plans(&rt.client);
            let names: HashSet<_> = plans.iter().map(|plan| plan.workload.name()).collect();
            assert_eq!(names.len(), plans.len());
        }
    }

    #[test]
    fn the_frequent_rows_of_zipf_are_few() {
        let indices = Draw::Zipf.indices(1000, 10_000, 3);
        let mut counts = vec![0; 1000];
        indices
            .iter()
            .for_each(|&index| counts[index as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(
            counts[0] > 1000 && counts[..10].iter().sum::<i32>() > 3500,
            "{counts:?}"
        );
    }
}
