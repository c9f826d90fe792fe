//! Compaction: the elements of a list that are kept, next to each other.

mod kernels;
mod launch;
mod predicate;
mod result;
mod runs;
mod tile;
mod unique;
mod written;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::NonZero;
    pub use super::kernels::{compact_look_back_kernel, compact_tiles_kernel, count_tiles_kernel};
    pub use super::tile::{CompactPlan, Keep};
}

pub use predicate::{NonZero, Predicate};
pub use result::{Compacted, Partition, Runs, Unique};
pub use unique::{UniqueOptions, unique};

use crate::check;
use crate::scan::ScanPath;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::Device;
use girih::{Error, Result};
use launch::{Compaction, Writes};
use tile::Keep;

/// How to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactOptions {
    /// The type of places and lengths that are written: `i32` or `u32`, or 64 bits of either. `i32` by default.
    pub index: ElemType,
    /// [`LookBack`](ScanPath::LookBack) or [`ReduceThenScan`](ScanPath::ReduceThenScan) where one must be taken; the
    /// launcher's choice otherwise. The result is the same.
    pub path: Option<ScanPath>,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            index: ElemType::Int(IntKind::I32),
            path: None,
        }
    }
}

impl CompactOptions {
    /// The same, with places and lengths of this type.
    pub fn index(self, index: ElemType) -> Self {
        Self { index, ..self }
    }

    /// The same, by this path.
    pub fn path(self, path: ScanPath) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }
}

/// The elements of `input` whose mask is not 0, in row-major order.
///
/// `mask` has the shape of `input`, and integers; both may have any strides. How many are kept stays on the device until
/// [`Compacted::count`] asks for it: the result has room for all. Beside it the call takes memory for a count of each part
/// of the list.
///
/// | backend | how |
/// |---|---|
/// | CUDA | one pass, by [look-back](ScanPath::LookBack) |
/// | other GPUs | parts are counted, the counts scanned, and the parts read again |
/// | CPU | the same, one unit a part |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{CompactOptions, Result, select};
///
/// fn positive(client: &Client) -> Result<()> {
///     let values = client.create_from_slice(f32::as_bytes(&[1.5, -2.0, 3.0]));
///     let values = TensorHandle::new_contiguous(vec![3], values, f32::elem_type_native());
///     let mask = client.create_from_slice(u32::as_bytes(&[1, 0, 1]));
///     let mask = TensorHandle::new_contiguous(vec![3], mask, u32::elem_type_native());
///     let kept = select(client, &values, &mask, CompactOptions::default())?.read(client)?;
///     assert_eq!(kept.shape().as_slice(), [2]);
///     let bytes = client.read_one(kept.handle)?;
///     assert_eq!(f32::from_bytes(&bytes)[..2], [1.5, 3.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # positive(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Element`], [`Error::Shape`], [`Error::Strides`]; [`Error::Device`] where the device does not store a type, or
/// cannot take the path; [`Error::Argument`] of a path that is none of compactions.
pub fn select(
    client: &Client,
    input: &TensorHandle,
    mask: &TensorHandle,
    options: CompactOptions,
) -> Result<Compacted> {
    const CALL: &str = "select";
    let writes = Writes {
        values: true,
        ..Writes::default()
    };
    let masked = Masked::new(CALL, client, input, mask)?;
    Ok(masked.compact(options, writes)?.kept())
}

/// The elements of `input` for which the predicate holds, in row-major order; else as [`select`].
///
/// # Errors
///
/// As [`select`].
pub fn select_by<P: Predicate>(
    client: &Client,
    input: &TensorHandle,
    options: CompactOptions,
) -> Result<Compacted> {
    const CALL: &str = "select_by";
    let writes = Writes {
        values: true,
        ..Writes::default()
    };
    let input = checked(CALL, client, input)?;
    let compaction = Compaction::new(CALL, client, &input, None, Keep::Predicate, options, writes);
    Ok(compaction.run::<P>()?.kept())
}

/// Where `input` is not 0: the coordinates of each such element, in row-major order, as rows of a tensor of shape
/// `[elements, rank]`; NaN is not 0.
///
/// The coordinates have the type of [`CompactOptions::index`]; else as [`select`]. A tensor of rank 0 has no coordinates.
///
/// # Errors
///
/// As [`select`]; [`Error::Rank`] of rank 0, [`Error::Size`] where the type of indices cannot count the elements.
pub fn nonzero(
    client: &Client,
    input: &TensorHandle,
    options: CompactOptions,
) -> Result<Compacted> {
    const CALL: &str = "nonzero";
    let rank = input.shape().len();
    if rank == 0 {
        return Err(Error::Rank {
            call: CALL,
            argument: "input",
            given: 0,
            allowed: "1 or more".into(),
        });
    }
    let writes = Writes {
        places: true,
        ..Writes::default()
    };
    let shaped = input;
    let input = checked(CALL, client, input)?;
    check_index(CALL, client, &input, options.index)?;
    let mut compaction =
        Compaction::new(CALL, client, &input, None, Keep::Predicate, options, writes);
    compaction.extents = check::dims(shaped).0;
    Ok(compaction.run::<NonZero>()?.places())
}

/// The elements of `input` whose mask is not 0, and those whose mask is 0, each in row-major order; else as [`select`].
///
/// # Errors
///
/// As [`select`].
pub fn partition(
    client: &Client,
    input: &TensorHandle,
    mask: &TensorHandle,
    options: CompactOptions,
) -> Result<Partition> {
    const CALL: &str = "partition";
    let writes = Writes {
        values: true,
        rejected: true,
        ..Writes::default()
    };
    let masked = Masked::new(CALL, client, input, mask)?;
    Ok(masked.compact(options, writes)?.partition())
}

/// The first of every run of equal elements, in row-major order, and for each element the number of its run. A NaN is
/// equal to none, and is a run of its own; 0 and -0 are equal.
///
/// The numbers have the type of [`CompactOptions::index`]; else as [`select`].
///
/// # Errors
///
/// As [`select`]; [`Error::Size`] where the type of indices cannot count the elements.
pub fn unique_consecutive(
    client: &Client,
    input: &TensorHandle,
    options: CompactOptions,
) -> Result<Runs> {
    runs("unique_consecutive", client, input, options, true)
}

/// Run-length encoding: the first of every run of equal elements, in row-major order, and how long the run is; as
/// [`unique_consecutive`], which also gives lengths, without the numbers of the elements' runs.
///
/// # Errors
///
/// As [`unique_consecutive`].
pub fn run_length(client: &Client, input: &TensorHandle, options: CompactOptions) -> Result<Runs> {
    runs("run_length", client, input, options, false)
}

fn runs(
    call: &'static str,
    client: &Client,
    input: &TensorHandle,
    options: CompactOptions,
    inverse: bool,
) -> Result<Runs> {
    let writes = Writes {
        values: true,
        places: true,
        inverse,
        ..Writes::default()
    };
    let input = checked(call, client, input)?;
    check_index(call, client, &input, options.index)?;
    let compaction = Compaction::new(call, client, &input, None, Keep::Change, options, writes);
    Ok(compaction.run::<NonZero>()?.runs())
}

/// A list and its mask, checked.
struct Masked<'a> {
    call: &'static str,
    client: &'a Client,
    input: TensorHandle,
    mask: TensorHandle,
}

impl<'a> Masked<'a> {
    fn new(
        call: &'static str,
        client: &'a Client,
        input: &TensorHandle,
        mask: &TensorHandle,
    ) -> Result<Self> {
        let device = Device::of(client);
        if !matches!(mask.dtype, ElemType::Int(_) | ElemType::UInt(_)) {
            return Err(Error::Element {
                call,
                argument: "mask",
                given: mask.dtype,
                allowed: "an integer type".into(),
            });
        }
        check::element(call, &device, mask.dtype)?;
        let (shape, _) = check::dims(input);
        check::shape(call, "mask", mask, &shape)?;
        check::within(call, client, "mask", mask)?;
        Ok(Self {
            call,
            client,
            input: checked(call, client, input)?,
            mask: flat(client, mask),
        })
    }

    fn compact(&self, options: CompactOptions, writes: Writes) -> Result<written::Written> {
        let mask = Some(&self.mask);
        let Self {
            call,
            client,
            input,
            ..
        } = self;
        Compaction::new(call, client, input, mask, Keep::Mask, options, writes).run::<NonZero>()
    }
}

/// The tensor as a list of numbers that the device stores.
fn checked(call: &'static str, client: &Client, input: &TensorHandle) -> Result<TensorHandle> {
    match input.dtype {
        ElemType::Int(_) | ElemType::UInt(_) | ElemType::Float(_) => {}
        given => {
            return Err(Error::Element {
                call,
                argument: "input",
                given,
                allowed: "a number".into(),
            });
        }
    }
    check::element(call, &Device::of(client), input.dtype)?;
    check::within(call, client, "input", input)?;
    Ok(flat(client, input))
}

/// The elements in row-major order, as a list.
fn flat(client: &Client, tensor: &TensorHandle) -> TensorHandle {
    let (shape, strides) = check::dims(tensor);
    let count: usize = shape.iter().product();
    let folded = crate::fold::fold(&shape, [&strides]);
    let is_list = match folded.as_slice() {
        [] => true,
        [axis] => axis.strides == [1],
        _ => false,
    };
    let whole = match is_list || count == 0 {
        true => tensor.clone(),
        false => into_contiguous(client, tensor.clone().binding(), tensor.dtype),
    };
    TensorHandle::new_contiguous(vec![count], whole.handle, tensor.dtype)
}

/// The index type can count the elements, and the device stores it.
fn check_index(
    call: &'static str,
    client: &Client,
    input: &TensorHandle,
    index: ElemType,
) -> Result<()> {
    let most = match index {
        ElemType::Int(IntKind::I32) => i32::MAX as u64,
        ElemType::UInt(UIntKind::U32) => u32::MAX.into(),
        ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U64) => i64::MAX as u64,
        given => {
            return Err(Error::Element {
                call,
                argument: "index",
                given,
                allowed: "i32, u32, i64 or u64".into(),
            });
        }
    };
    check::element(call, &Device::of(client), index)?;
    let given = input.shape()[0] as u64;
    match given <= most {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument: "input",
            given,
            allowed: most,
        }),
    }
}
