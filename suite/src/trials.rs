//! One trial for each case on each device, and the choice of those to run.

use girih_testkit::{DeviceKind, Rt, case::trial};
use libtest_mimic::{Arguments, Trial};

use crate::cases;

/// Every trial of these devices, named `device::module::case`.
pub fn device_trials(devices: &[&'static Rt]) -> Vec<Trial> {
    let cases = cases::device_cases();
    let on_devices = devices.iter().flat_map(|&rt| {
        cases.iter().cloned().map(move |case| {
            trial(format!("{}::{}", rt.name(), case.name), move || {
                case.verdict(rt)
            })
        })
    });
    on_devices.collect()
}

/// Every trial that needs no device, named `offline::case`: kernels compiled for an NVIDIA GPU. Without NVIDIA's compilers
/// they fail, and say what installs them.
pub fn offline_trials() -> Vec<Trial> {
    #[cfg(feature = "offline")]
    {
        use girih_testkit::{case::Verdict, offline::Toolkit};
        let trials = cases::offline_cases().into_iter().map(|case| {
            trial(case.name.clone(), move || match Toolkit::find() {
                Ok(toolkit) => case.verdict_on(toolkit),
                Err(error) => Verdict::Failed(error.to_string()),
            })
        });
        trials.collect()
    }
    #[cfg(not(feature = "offline"))]
    Vec::new()
}

/// The devices of this build: those the machine has, and the reasons for those it has not.
pub fn devices(
    kinds: impl IntoIterator<Item = DeviceKind>,
) -> (Vec<&'static Rt>, Vec<girih_testkit::Error>) {
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for kind in kinds {
        match Rt::open(kind) {
            Ok(rt) => present.push(rt),
            Err(error) => absent.push(error),
        }
    }
    (present, absent)
}

/// Leaves out of a run every trial whose name matches none of `filters`; without filters none is left out.
///
/// libtest takes a single filter, so the others are named to it as trials to skip.
pub fn select(arguments: &mut Arguments, trials: &[Trial], filters: &[String], exact: bool) {
    if filters.is_empty() {
        return;
    }
    let chosen = |name: &str| {
        filters.iter().any(|filter| {
            if exact {
                name == filter
            } else {
                name.contains(filter.as_str())
            }
        })
    };
    arguments.exact = true;
    arguments.skip = trials
        .iter()
        .map(Trial::name)
        .filter(|name| !chosen(name))
        .map(str::to_owned)
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Trial> {
        names
            .iter()
            .map(|&name| Trial::test(name, || Ok(())))
            .collect()
    }

    fn chosen(filters: &[&str], exact: bool) -> Vec<String> {
        let trials = named(&["cpu::views::a", "cpu::views::ab", "vulkan::views::a"]);
        let filters: Vec<String> = filters.iter().map(|&f| f.to_owned()).collect();
        let mut arguments = Arguments::default();
        select(&mut arguments, &trials, &filters, exact);
        let chosen = trials
            .iter()
            .filter(|trial| !arguments.is_filtered_out(trial));
        chosen.map(|trial| trial.name().to_owned()).collect()
    }

    #[test]
    fn filters_are_alternatives() {
        assert_eq!(chosen(&[], false).len(), 3);
        assert_eq!(
            chosen(&["cpu::"], false),
            ["cpu::views::a", "cpu::views::ab"]
        );
        assert_eq!(
            chosen(&["::ab", "vulkan"], false),
            ["cpu::views::ab", "vulkan::views::a"]
        );
        assert_eq!(chosen(&["cpu::views::a"], true), ["cpu::views::a"]);
        assert_eq!(chosen(&["nowhere"], false), Vec::<String>::new());
    }
}
