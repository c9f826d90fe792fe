//! Test cases: a function of a device, a name, and what the device must have for it.

use std::{
    error::Error as StdError,
    panic::{AssertUnwindSafe, catch_unwind},
};

use libtest_mimic::{Completion, Failed, Trial};

use crate::{Rt, device::panic_message};

/// What a case returns: an error fails it as a panic does.
pub type CaseResult = Result<(), Box<dyn StdError + Send + Sync>>;

/// What a function must return to be a case.
pub trait IntoCaseResult {
    /// The result of the case.
    fn into_case_result(self) -> CaseResult;
}

impl IntoCaseResult for () {
    fn into_case_result(self) -> CaseResult {
        Ok(())
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> IntoCaseResult for Result<(), E> {
    fn into_case_result(self) -> CaseResult {
        self.map_err(Into::into)
    }
}

/// Something a device may lack.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// What it is, as a noun.
    pub what: &'static str,
    /// Whether the device has it.
    pub met: fn(&Rt) -> bool,
}

/// One test, to be run on a `Context`: a device ([`Rt`]), or the CUDA tools for compile checks.
#[derive(Clone, Debug)]
pub struct Case<Context = Rt> {
    /// Module and function, such as `views::gather_rows`.
    pub name: String,
    /// What a device must have for the case to be asked of it.
    pub needs: &'static [Need],
    /// The test itself.
    pub run: fn(&Context) -> CaseResult,
}

/// The end of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ran and found nothing wrong.
    Passed,
    /// It returned an error or panicked, with this message.
    Failed(String),
    /// It was not run: what the device lacks.
    Skipped(String),
}

impl Case<Rt> {
    /// Runs the case on a device; a panic is a failure.
    pub fn verdict(&self, rt: &Rt) -> Verdict {
        match self.needs.iter().find(|need| !(need.met)(rt)) {
            Some(need) => Verdict::Skipped(format!("{} has no {}", rt.name(), need.what)),
            None => self.verdict_on(rt),
        }
    }
}

impl<Context> Case<Context> {
    /// Runs the case whatever it needs; a panic is a failure.
    pub fn verdict_on(&self, context: &Context) -> Verdict {
        match catch_unwind(AssertUnwindSafe(|| (self.run)(context))) {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(error)) => Verdict::Failed(error.to_string()),
            Err(panic) => Verdict::Failed(panic_message(&*panic)),
        }
    }
}

/// A libtest trial with the verdict that `run` gives.
pub fn trial(name: String, run: impl FnOnce() -> Verdict + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || match run() {
        Verdict::Passed => Ok(Completion::Completed),
        Verdict::Failed(message) => Err(Failed::from(message)),
        Verdict::Skipped(reason) => Ok(Completion::ignored_with(reason)),
    })
}

/// The name of a case in the module `module_path`: what follows `cases::` there, else what follows the crate's name.
///
/// ```
/// use girih_testkit::case::module_of;
/// assert_eq!(module_of("girih_suite::cases::views::ranks"), "views::ranks");
/// assert_eq!(module_of("my_crate::tests"), "tests");
/// ```
pub fn module_of(module_path: &'static str) -> &'static str {
    const CASES: &str = "::cases::";
    match module_path.find(CASES) {
        Some(at) => &module_path[at + CASES.len()..],
        None => module_path
            .split_once("::")
            .map_or(module_path, |(_, rest)| rest),
    }
}

/// Makes `pub fn cases() -> Vec<Case>` of the functions listed, each named by its module and its own name.
///
/// A case is a `fn(&Rt)` or a `fn(&Rt) -> Result<(), E>`. It may state what it [needs](Need); a device that lacks one of
/// them reports the case as ignored, by name. `cases!(in Toolkit; ..)` makes cases of the CUDA compile checks instead.
///
/// ```
/// # fn main() {}
/// mod copies {
///     use girih_testkit::{Rt, cases, needs};
///     cases! {
///         copies_floats,
///         copies_halves needs [needs::F16],
///     }
///     fn copies_floats(rt: &Rt) {
///         girih_testkit::check::assert_same(&rt.read(&rt.put(&[1.0f32])).unwrap(), &[1.0]);
///     }
///     fn copies_halves(_: &Rt) -> Result<(), girih_testkit::Error> { Ok(()) }
/// }
/// ```
#[macro_export]
macro_rules! cases {
    (in $context:ty; $($name:ident $(needs [$($need:expr),* $(,)?])?),* $(,)?) => {
        /// The cases of this module.
        pub fn cases() -> ::std::vec::Vec<$crate::case::Case<$context>> {
            ::std::vec![$($crate::case::Case {
                name: ::std::format!(
                    "{}::{}",
                    $crate::case::module_of(::std::module_path!()),
                    ::std::stringify!($name),
                ),
                needs: &[$($($need),*)?],
                run: |context| $crate::case::IntoCaseResult::into_case_result($name(context)),
            }),*]
        }
    };
    ($($rest:tt)*) => { $crate::cases!(in $crate::Rt; $($rest)*); };
}

/// What a case may need of a device.
pub mod needs {
    use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
    use cubecl::prelude::CubeElement;
    use girih::device::Device;

    use super::Need;

    macro_rules! stores {
        ($($(#[$doc:meta])* $name:ident: $element:ty, $what:literal;)*) => {$(
            $(#[$doc])*
            pub const $name: Need = Need {
                what: $what,
                met: |rt| Device::of(&rt.client).stores(<$element>::cube_type()),
            };
        )*};
    }
    stores! {
        /// f16 in buffers.
        F16: half::f16, "f16 in buffers";
        /// bf16 in buffers.
        BF16: half::bf16, "bf16 in buffers";
        /// f64 in buffers.
        F64: f64, "f64 in buffers";
        /// i64 in buffers.
        I64: i64, "i64 in buffers";
        /// u64 in buffers.
        U64: u64, "u64 in buffers";
        /// u8 in buffers.
        U8: u8, "u8 in buffers";
        /// i8 in buffers.
        I8: i8, "i8 in buffers";
        /// u16 in buffers.
        U16: u16, "u16 in buffers";
        /// i16 in buffers.
        I16: i16, "i16 in buffers";
    }

    macro_rules! fragments {
        ($($(#[$doc:meta])* $name:ident: $factor:expr => $sum:expr, $what:literal;)*) => {$(
            $(#[$doc])*
            pub const $name: Need = Need {
                what: $what,
                met: |rt| {
                    let forms = &rt.client.properties().features.matmul.cmma;
                    forms.iter().any(|form| {
                        [form.a_type, form.b_type, form.cd_type] == [$factor, $factor, $sum]
                            && [form.m, form.n] == [16; 2]
                    })
                },
            };
        )*};
    }
    fragments! {
        /// Matrix instructions for f16.
        MMA_F16: ElemType::Float(FloatKind::F16) => ElemType::Float(FloatKind::F32),
            "fragments of 16 x 16 f16, summed in f32";
        /// Matrix instructions for bf16.
        MMA_BF16: ElemType::Float(FloatKind::BF16) => ElemType::Float(FloatKind::F32),
            "fragments of 16 x 16 bf16, summed in f32";
        /// Matrix instructions for tf32.
        MMA_TF32: ElemType::Float(FloatKind::TF32) => ElemType::Float(FloatKind::F32),
            "fragments of 16 x 16 tf32, summed in f32";
        /// Matrix instructions for i8.
        MMA_I8: ElemType::Int(IntKind::I8) => ElemType::Int(IntKind::I32),
            "fragments of 16 x 16 i8, summed in i32";
        /// Matrix instructions for u8.
        MMA_U8: ElemType::UInt(UIntKind::U8) => ElemType::Int(IntKind::I32),
            "fragments of 16 x 16 u8, summed in i32";
    }

    /// An atomic addition of f32.
    pub const ADD_F32: Need = Need {
        what: "atomic addition of f32",
        met: |rt| Device::of(&rt.client).adds_atomically(f32::cube_type(), 1),
    };

    /// An atomic minimum of u64, by which the first index out of range along every axis is reported.
    pub const REPORTS_AXES: Need = Need {
        what: "atomic minimum of u64",
        met: |rt| Device::of(&rt.client).reports_axes(),
    };

    /// Tensor cores that warpgroups feed from shared memory: NVIDIA's Hopper.
    pub const WARPGROUP_MMA: Need = Need {
        what: "tensor cores that warpgroups feed from shared memory",
        met: |rt| Device::of(&rt.client).has_warpgroup_mma(),
    };

    /// Planes of more than one unit.
    pub const PLANES: Need = Need {
        what: "planes of more than one unit",
        met: |rt| rt.client.properties().hardware.plane_size_max > 1,
    };
}

#[cfg(test)]
mod tests {
    use cubecl::prelude::*;
    use libtest_mimic::{Arguments, Conclusion};

    use super::*;
    use crate::{DeviceKind, Error, check::assert_same};

    #[cube(launch_unchecked)]
    fn write(out: &mut [u32], value: u32, #[comptime] compiles: bool) {
        comptime!(assert!(compiles, "planted: this kernel does not compile"));
        if value > 0u32 {
            out[UNIT_POS as usize] = value;
        }
    }

    /// One unit's `write` of `value`, and what is in its buffer then.
    fn written(rt: &Rt, value: u32, compiles: bool) -> Result<Vec<u32>, Error> {
        let out = rt.poisoned::<u32>(1);
        // SAFETY: the cube's only unit writes the buffer's only element.
        unsafe {
            write::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_single(),
                out.arg(),
                value,
                compiles,
            );
        }
        rt.read(&out)
    }

    mod planted {
        use super::*;

        const NOTHING_HAS_IT: Need = Need {
            what: "planted feature",
            met: |_| false,
        };

        cases! {
            right,
            wrong_expectation,
            error_of_a_kernel_that_does_not_compile,
            panic_of_a_kernel_that_does_not_compile,
            kernel_that_writes_nothing,
            needs_what_no_device_has needs [NOTHING_HAS_IT],
        }

        fn right(rt: &Rt) -> Result<(), Error> {
            assert_same(&written(rt, 7, true)?, &[7]);
            Ok(())
        }
        fn wrong_expectation(rt: &Rt) -> Result<(), Error> {
            assert_same(&written(rt, 7, true)?, &[8]);
            Ok(())
        }
        fn error_of_a_kernel_that_does_not_compile(rt: &Rt) -> Result<(), Error> {
            written(rt, 7, false).map(drop)
        }
        fn panic_of_a_kernel_that_does_not_compile(rt: &Rt) {
            written(rt, 7, false).unwrap();
        }
        fn kernel_that_writes_nothing(rt: &Rt) -> Result<(), Error> {
            assert_same(&written(rt, 0, true)?, &[0]);
            Ok(())
        }
        fn needs_what_no_device_has(_: &Rt) {
            panic!("it was run");
        }
    }

    fn verdict(rt: &Rt, name: &str) -> Verdict {
        let cases = planted::cases();
        let case = cases.iter().find(|case| case.name.ends_with(name));
        case.expect("a planted case").verdict(rt)
    }

    #[test]
    fn a_planted_failure_is_reported_with_its_cause() {
        for rt in Rt::present() {
            assert_eq!(verdict(rt, "right"), Verdict::Passed);
            let failures = [
                ("wrong_expectation", "element 0 is 7, not 8"),
                (
                    "kernel_that_writes_nothing",
                    "element 0 is 2139062143, not 0",
                ),
                (
                    "error_of_a_kernel_that_does_not_compile",
                    "planted: this kernel does not compile",
                ),
                (
                    "panic_of_a_kernel_that_does_not_compile",
                    "planted: this kernel does not compile",
                ),
            ];
            for (name, cause) in failures {
                match verdict(rt, name) {
                    Verdict::Failed(message) => {
                        assert!(message.contains(cause), "{name}: {message}")
                    }
                    other => panic!("{name} on {}: {other:?}", rt.name()),
                }
            }
            let lacking = format!("{} has no planted feature", rt.name());
            assert_eq!(
                verdict(rt, "needs_what_no_device_has"),
                Verdict::Skipped(lacking)
            );
        }
    }

    #[test]
    fn a_planted_failure_turns_the_run_red() {
        for rt in Rt::present() {
            let trials = planted::cases()
                .into_iter()
                .map(|case| trial(case.name.clone(), move || case.verdict(rt)))
                .collect();
            let arguments = Arguments {
                // The run's own output would read as failures of this test.
                logfile: Some("/dev/null".to_owned()),
                ..Arguments::default()
            };
            let conclusion = libtest_mimic::run(&arguments, trials);
            let expected = Conclusion {
                num_filtered_out: 0,
                num_passed: 1,
                num_failed: 4,
                num_ignored: 1,
                num_measured: 0,
            };
            assert_eq!(conclusion, expected, "{}", rt.name());
            assert!(conclusion.has_failed());
        }
    }

    #[test]
    fn needs_are_what_girih_knows_of_a_device() {
        for rt in Rt::present() {
            let host = rt.kind == DeviceKind::Cpu;
            assert_eq!((needs::PLANES.met)(rt), !host, "{}", rt.name());
            // CubeCL claims it on the host, where it gives garbage.
            assert!(!(host && (needs::BF16.met)(rt)));
            assert!((needs::ADD_F32.met)(rt), "{}", rt.name());
        }
    }

    #[test]
    fn a_case_is_named_by_its_module_and_function() {
        assert_eq!(planted::cases()[0].name, "case::tests::planted::right");
        assert_eq!(
            module_of("girih_suite::cases::burn::gather"),
            "burn::gather"
        );
    }
}
