//! Scan: what every element has together with those before it.

mod heads;
mod kernels;
mod launch;
mod look_back;
mod operator;
mod path;
mod pipelined;
mod place;
mod rows;
mod runs;
mod states;
mod store;
mod tile;
mod two_passes;

/// What tests compile and put under load without the launcher.
pub(crate) mod raw {
    pub use super::kernels::{
        look_back_kernel, reduce_runs_kernel, reduce_tiles_kernel, scan_runs_kernel,
        scan_tiles_kernel,
    };
    pub use super::launch::look_back_states;
    pub use super::operator::{Max, Min, Product, Sum};
    pub use super::path::{require_look_back, require_pipelined};
    pub use super::pipelined::{Form, Pipeline, pipelined_kernel, pipelined_states};
    pub use super::place::Cuts;
    pub use super::runs::{RunPlan, Runs, RunsCompilationArg};
    pub use super::tile::TilePlan;
}

pub(crate) use launch::{cubes, exact_cubes};
pub(crate) use look_back::prefix_of;
pub use operator::ScanOperator;
pub(crate) use operator::{Sum, extreme};
pub(crate) use path::{lanes, require_look_back};
pub(crate) use place::{Cuts, Row};
pub(crate) use states::{States, zeroed};
pub(crate) use tile::{TilePlan, load, position};
pub(crate) use two_passes::scan_list;

use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};
use operator::{Max, Min, Product};
use path::Exactness;

/// What a scan combines by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOperation {
    /// Sums; integers wrap. An exclusive scan begins with 0.
    Sum,
    /// Products; integers wrap. An exclusive scan begins with 1.
    Product,
    /// The smallest so far, of equal ones the first; a NaN stays. An exclusive scan begins with the type's largest value,
    /// of floats infinity.
    Min,
    /// The largest so far, of equal ones the first; a NaN stays. An exclusive scan begins with the type's smallest value,
    /// of floats minus infinity.
    Max,
}

/// How the parts of a row learn what is before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanPath {
    /// Each row is scanned at once: nothing is handed on.
    Direct,
    /// One pass over the data: a cube looks back at what the cubes before it have published.
    ///
    /// It needs atomics of 64 bits at device scope, and cubes that begin in the order of their numbers and go on while others
    /// wait: CUDA has both, and the CPU, whose cubes run one after another. Which totals a cube finds depends on the run, and so does the rounding of floats.
    LookBack,
    /// One pass over the data by cubes that stay: tiles are fetched ahead, combined as soon as they have come, and scanned once
    /// all tiles before them are.
    ///
    /// It scans one list without segments, of elements of 4 bytes that lie next to each other from a multiple of 16 bytes on, in the
    /// input and the output, on NVIDIA GPUs from sm_90 on. It always combines in the same way. The launcher chooses it for such lists
    /// of 2^22 elements or more.
    Pipelined,
    /// Parts are combined, their totals scanned, and the parts read again and scanned. It runs anywhere, and always
    /// combines in the same way.
    ReduceThenScan,
}

/// Whether a result may depend on the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Determinism {
    /// Sums and products of floats may round differently from run to run. Everything else is always the same.
    #[default]
    Any,
    /// The same bits from run to run, on one device.
    RunToRun,
}

/// Where a scan begins anew.
#[derive(Clone, Copy, Debug)]
pub enum Segments<'a> {
    /// At every element whose flag, an integer, is not 0; the flags have the input's shape, and any strides.
    Flags(&'a TensorHandle),
    /// At these positions along the axis, the same in every row: a list of integers in ascending order, of any stride. Equal
    /// ones are segments without elements, and those below 0 or past the end of the axis are none. Where one is before the
    /// last, some segments begin elsewhere.
    Offsets(&'a TensorHandle),
}

/// How to scan.
///
/// ```
/// use girih_kernels::{Determinism, ScanOptions};
///
/// let options = ScanOptions::exclusive().determinism(Determinism::RunToRun);
/// assert!(options.exclusive && options.path.is_none());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOptions<'a> {
    /// Whether an element's own value is left out of its result.
    pub exclusive: bool,
    /// Where the scan begins anew, beside the beginning of each row.
    pub segments: Option<Segments<'a>>,
    /// Whether the result may depend on the run.
    pub determinism: Determinism,
    /// A path that must be taken; the launcher's choice otherwise.
    pub path: Option<ScanPath>,
}

impl<'a> ScanOptions<'a> {
    /// Every element with those before it.
    pub fn inclusive() -> Self {
        Self::default()
    }

    /// What is before every element.
    pub fn exclusive() -> Self {
        Self {
            exclusive: true,
            ..Self::default()
        }
    }

    /// The same, in segments.
    pub fn segments(self, segments: Segments<'a>) -> Self {
        Self {
            segments: Some(segments),
            ..self
        }
    }

    /// The same, with a promise on the result.
    pub fn determinism(self, determinism: Determinism) -> Self {
        Self {
            determinism,
            ..self
        }
    }

    /// The same, by this path.
    pub fn path(self, path: ScanPath) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }
}

pub(crate) const CALL: &str = "scan";

/// Scans along an axis: `out[.., n, ..]` is all of `input[.., 0, ..]` to `input[.., n, ..]` combined, or to the one before
/// it. The result is contiguous.
///
/// The elements are integers of any width, or f16, bf16, f32 or f64; f16 and bf16 are combined in f32 and rounded at the
/// end. Nothing is read back from the device. Beside the result it takes memory for a total of each part of a row, of which
/// a part has 64 elements at the least, on a GPU some thousands. Scans in one pass keep that memory for the thread's next one.
///
/// | backend | how |
/// |---|---|
/// | CUDA | rows that are contiguous along the axis by [`LookBack`](ScanPath::LookBack), in 16-byte accesses where alignment allows; others by [`ReduceThenScan`](ScanPath::ReduceThenScan), one unit a part; from sm_90 on long lists by [`Pipelined`](ScanPath::Pipelined) |
/// | other GPUs | [`ReduceThenScan`](ScanPath::ReduceThenScan) in both |
/// | CPU | [`ReduceThenScan`](ScanPath::ReduceThenScan), one unit a part |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, ScanOperation, ScanOptions, Segments, scan};
///
/// fn sums(client: &Client) -> Result<()> {
///     let list = |values: &[i32]| {
///         let handle = client.create_from_slice(i32::as_bytes(values));
///         TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
///     };
///     let values = list(&[3, 1, 4, 1, 5]);
///     let sums = scan(client, &values, 0, ScanOperation::Sum, ScanOptions::inclusive())?;
///     assert_eq!(i32::from_bytes(&client.read_one(sums.handle)?), [3, 4, 8, 9, 14]);
///
///     let offsets = list(&[0, 3]);
///     let options = ScanOptions::exclusive().segments(Segments::Offsets(&offsets));
///     let sums = scan(client, &values, 0, ScanOperation::Sum, options)?;
///     assert_eq!(i32::from_bytes(&client.read_one(sums.handle)?), [0, 3, 4, 0, 1]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Element`], [`Error::Strides`], and of the segments [`Error::Rank`] and [`Error::Shape`];
/// [`Error::Device`] where the device does not store a type, or cannot take the path; [`Error::Argument`] where the path
/// does not keep the promise on the result, or is [`Direct`](ScanPath::Direct) for rows of several parts.
pub fn scan(
    client: &Client,
    input: &TensorHandle,
    axis: usize,
    operation: ScanOperation,
    options: ScanOptions<'_>,
) -> Result<TensorHandle> {
    check::axis(CALL, "input", input, axis)?;
    check_element(&Device::of(client), input.dtype)?;
    let (shape, _) = check::dims(input);
    let output = check::output(CALL, client, shape, input.dtype)?;
    let call = Call {
        client,
        input,
        output: &output,
        axis,
        options,
        is_made: true,
    };
    call.by(operation)?;
    Ok(output)
}

/// As [`scan`], into a tensor that is there, of any strides that do not overlap; gives the path that was taken. It shares no memory
/// with the others; what it would hold then is not defined.
///
/// # Errors
///
/// As [`scan`]; [`Error::Shape`], [`Error::Element`], [`Error::Strides`] and [`Error::Overlap`] of `output`.
pub fn scan_into(
    client: &Client,
    input: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    operation: ScanOperation,
    options: ScanOptions<'_>,
) -> Result<ScanPath> {
    let call = Call {
        client,
        input,
        output,
        axis,
        options,
        is_made: false,
    };
    call.by(operation)
}

/// As [`scan_into`], by an operation of one's own.
///
/// Of floats it is taken to round, so that [`Determinism::RunToRun`] keeps it from
/// [`LookBack`](ScanPath::LookBack).
///
/// # Errors
///
/// As [`scan_into`].
pub fn scan_with<O: ScanOperator>(
    client: &Client,
    input: &TensorHandle,
    output: &TensorHandle,
    axis: usize,
    options: ScanOptions<'_>,
) -> Result<ScanPath> {
    let call = Call {
        client,
        input,
        output,
        axis,
        options,
        is_made: false,
    };
    call.run::<O>(call.rounding())
}

/// Whether a device scans elements of a type.
///
/// # Errors
///
/// [`Error::Element`] where the elements are no numbers, [`Error::Device`] where the device does not store them.
pub fn supports_scan(client: &Client, element: ElemType) -> Result<()> {
    check_element(&Device::of(client), element)
}

/// A call, before it is checked.
struct Call<'a> {
    client: &'a Client,
    input: &'a TensorHandle,
    output: &'a TensorHandle,
    axis: usize,
    options: ScanOptions<'a>,
    /// Whether the client has just made the output.
    is_made: bool,
}

impl Call<'_> {
    /// Whether sums and products of the elements round.
    fn rounding(&self) -> Exactness {
        match self.input.dtype {
            ElemType::Float(_) => Exactness::Rounds,
            _ => Exactness::Exact,
        }
    }

    fn by(&self, operation: ScanOperation) -> Result<ScanPath> {
        match operation {
            ScanOperation::Sum => self.run::<Sum>(self.rounding()),
            ScanOperation::Product => self.run::<Product>(self.rounding()),
            ScanOperation::Min => self.run::<Min>(Exactness::Exact),
            ScanOperation::Max => self.run::<Max>(Exactness::Exact),
        }
    }

    fn run<O: ScanOperator>(&self, exactness: Exactness) -> Result<ScanPath> {
        let device = Device::of(self.client);
        self.check(&device)?;
        path::require(
            &device,
            sum_type(self.input.dtype),
            exactness,
            &self.options,
        )?;
        let (shape, _) = check::dims(self.input);
        if shape.contains(&0) {
            return Ok(self.options.path.unwrap_or(ScanPath::Direct));
        }
        let packed;
        let mut options = self.options;
        if let Some(Segments::Offsets(offsets)) = options.segments {
            packed = check::list(self.client, offsets);
            options.segments = Some(Segments::Offsets(&packed));
        }
        launch::scan::<O>(
            &device,
            self.input,
            self.output,
            self.axis,
            exactness,
            &options,
            self.is_made,
        )
    }

    fn check(&self, device: &Device) -> Result<()> {
        let Self {
            input,
            output,
            axis,
            ..
        } = *self;
        check::axis(CALL, "input", input, axis)?;
        check_element(device, input.dtype)?;
        check::within(CALL, device.client(), "input", input)?;
        let (shape, _) = check::dims(input);
        check::same_type(CALL, "output", output.dtype, input.dtype)?;
        check::shape(CALL, "output", output, &shape)?;
        check::within(CALL, device.client(), "output", output)?;
        check::distinct(CALL, "output", output)?;
        match self.options.segments {
            None => Ok(()),
            Some(Segments::Flags(flags)) => {
                check_integers(device, "flags", flags)?;
                check::shape(CALL, "flags", flags, &shape)?;
                check::within(CALL, device.client(), "flags", flags)
            }
            Some(Segments::Offsets(offsets)) => {
                let given = offsets.shape().len();
                if given != 1 {
                    return Err(Error::Rank {
                        call: CALL,
                        argument: "offsets",
                        given,
                        allowed: "1".into(),
                    });
                }
                check_integers(device, "offsets", offsets)?;
                check::within(CALL, device.client(), "offsets", offsets)
            }
        }
    }
}

/// The elements are integers that the device stores.
fn check_integers(device: &Device, argument: &'static str, tensor: &TensorHandle) -> Result<()> {
    match tensor.dtype {
        ElemType::Int(_) | ElemType::UInt(_) => check::element(CALL, device, tensor.dtype),
        given => Err(Error::Element {
            call: CALL,
            argument,
            given,
            allowed: "an integer type".into(),
        }),
    }
}

/// The elements are numbers that the device stores, and computes with.
fn check_element(device: &Device, element: ElemType) -> Result<()> {
    use FloatKind::{BF16, F16, F32, F64};
    match element {
        ElemType::Int(_) | ElemType::UInt(_) | ElemType::Float(F16 | BF16 | F32 | F64) => {
            check::element(CALL, device, element)
        }
        given => Err(Error::Element {
            call: CALL,
            argument: "input",
            given,
            allowed: "an integer type, f16, bf16, f32 or f64".into(),
        }),
    }
}

/// The type that elements are combined in.
pub(crate) fn sum_type(element: ElemType) -> ElemType {
    match element {
        ElemType::Float(FloatKind::F16 | FloatKind::BF16) => ElemType::Float(FloatKind::F32),
        element => element,
    }
}
