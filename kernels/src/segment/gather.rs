//! The gradient of a gather.

use super::gradient::zeros;
use super::grouping::{Ends, offsets_of};
use super::job::Job;
use super::named::named;
use super::rows::Rows;
use super::{Kind, Reduction, Rules, supports};
use crate::check::{self, list};
use crate::scatter::{Duplicates, ScatterMode, ScatterOptions, scatter_into, supports_scatter};
use crate::sort::{SortOptions, sort_with_indices};
use crate::{Bounds, Determinism};
use cubecl::client::Client;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Error, Result};

const CALL: &str = "gather_backward";

/// What an index of a gather does, and how the gradient of the gather is computed.
///
/// ```
/// use girih_kernels::{Bounds, Determinism, GatherOptions};
///
/// let masked = GatherOptions::from(Bounds::Mask);
/// let of_words = GatherOptions { padding: Some(0), ..masked };
/// let the_same_in_every_run = GatherOptions { determinism: Determinism::RunToRun, ..of_words };
/// # let _ = the_same_in_every_run;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GatherOptions {
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether the gradient may round differently from run to run.
    pub determinism: Determinism,
    /// The slice that has no gradient. It is gathered as others are.
    pub padding: Option<usize>,
}

impl From<Bounds> for GatherOptions {
    /// A gradient in any order, of every slice.
    fn from(bounds: Bounds) -> Self {
        Self {
            bounds,
            determinism: Determinism::Any,
            padding: None,
        }
    }
}

/// The gradient of [`gather`](crate::gather()), or of an index select, for its input: `out[.., i, ..]` is the sum of all
/// `gradient[.., n, ..]` of which `index[n]` is `i`, and 0 where there are none.
///
/// `gradient` is that of the gathered slices, with one along `axis` for each index; `extent` is the input's extent there. An index
/// out of range passes its gradient to where its bounds found it a place, and drops it where there was none; the padding's is dropped.
/// `options` are [`GatherOptions`], or [`Bounds`] alone.
///
/// With [`Determinism::RunToRun`] indices are sorted, and what goes to each slice is added up in their order; so it is on an NVIDIA GPU
/// where a gradient of 256 MiB and more, of elements of 32 bits and more, goes to the first axis, since that is faster there. Else it is
/// scattered into zeros, as [`scatter_into`](crate::scatter_into()) does, which says what memory it takes. Of the first axis the sorted path
/// takes, beside the result, 4 bytes for each index and the results and memory of a [sort](crate::sort_with_indices) of as many 32-bit
/// keys, four bytes for each slice of the input, and what [`segment_reduce`](crate::segment_reduce()) takes for long segments. A padding takes 4
/// bytes for each index.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, Determinism, GatherOptions, Result, gather_backward};
///
/// fn sums(client: &Client) -> Result<()> {
///     let gradient = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 10.0, 20.0, 5.0, 5.0]));
///     let gradient = TensorHandle::new_contiguous(vec![3, 2], gradient, f32::elem_type_native());
///     let index = client.create_from_slice(i32::as_bytes(&[1, 1, 9]));
///     let index = TensorHandle::new_contiguous(vec![3], index, i32::elem_type_native());
///     let options = GatherOptions { determinism: Determinism::RunToRun, ..Bounds::Mask.into() };
///     let table = gather_backward(client, &gradient, &index, 0, 2, options)?;
///     assert_eq!(f32::from_bytes(&client.read_one(table.handle)?), [0.0, 0.0, 11.0, 22.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`], [`Error::Device`]; [`Error::Argument`]
/// of a padding that is no slice; where indices are sorted or there is a padding [`Error::Size`] of an extent of more than 2^32 - 2,
/// and of more than 2^31 - 1 indices to sort.
pub fn gather_backward(
    client: &Client,
    gradient: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
    extent: usize,
    options: impl Into<GatherOptions>,
) -> Result<TensorHandle> {
    let options = options.into();
    let device = Device::of(client);
    check::axis(CALL, "gradient", gradient, axis)?;
    check::index(CALL, &device, index)?;
    check::element(CALL, &device, gradient.dtype)?;
    check::within(CALL, client, "gradient", gradient)?;
    let (mut shape, _) = check::dims(gradient);
    let count = index.shape()[0];
    shape[axis] = count;
    check::shape(CALL, "gradient", gradient, &shape)?;
    shape[axis] = extent;
    check::elements(CALL, "the result", &shape)?;
    if let Some(padding) = options.padding.filter(|&padding| padding >= extent) {
        return Err(Error::Argument {
            call: CALL,
            argument: "padding",
            given: padding.to_string(),
            allowed: format!("a slice of the input, in 0..{extent}"),
        });
    }
    let bounds = match options.bounds {
        // The gather reported it.
        Bounds::Report => Bounds::Mask,
        bounds => bounds,
    };
    let columns = shape[1..].iter().product::<usize>();
    let pays = axis == 0 && pays_to_sort(&device, [count, extent], columns, gradient.dtype);
    let sorts = is_sorted(options.determinism, axis) || pays;
    let elements: usize = shape.iter().product();
    if elements == 0 || count == 0 {
        let zeros = zeros(&device, gradient.dtype, elements);
        return Ok(TensorHandle::new_contiguous(shape, zeros, gradient.dtype));
    }
    let named = match sorts || options.padding.is_some() {
        false => None,
        true => {
            // Their numbers are of 32 bits, one of which is that of no slice.
            limit("the extent along the axis", extent, u32::MAX as usize - 1)?;
            let index = list(client, index);
            Some(named(&device, &index, extent, options.padding, bounds))
        }
    };
    if let Some(named) = named.as_ref().filter(|_| sorts) {
        limit("the number of indices", count, i32::MAX as usize)?;
        return sums_of_rows(&device, gradient, named, shape);
    }
    let sums = zeros(&device, gradient.dtype, elements);
    let sums = TensorHandle::new_contiguous(shape, sums, gradient.dtype);
    let duplicates = match options.determinism {
        Determinism::Any => Duplicates::Unordered,
        Determinism::RunToRun => Duplicates::Deterministic,
    };
    // What has a number may be of no slice.
    let (index, bounds) = match &named {
        Some(named) => (named, Bounds::Mask),
        None => (index, bounds),
    };
    let options = ScatterOptions {
        duplicates,
        ..bounds.into()
    };
    let mode = ScatterMode::Add;
    scatter_into(client, &sums, index, gradient, axis, mode, options)?.into_inner();
    Ok(sums)
}

/// Whether a device has what [`gather_backward`] needs along an axis, for elements and indices of these types.
///
/// # Errors
///
/// [`Error::Element`] and [`Error::Device`]. A deterministic gradient along another axis than the first is scattered, and may need
/// what [`supports_scatter_options`](crate::supports_scatter_options) asks for.
pub fn supports_gather_backward(
    client: &Client,
    element: ElemType,
    index: ElemType,
    axis: usize,
    determinism: Determinism,
) -> Result<()> {
    let device = Device::of(client);
    match is_sorted(determinism, axis) {
        true => {
            check::index_type(CALL, &device, "index", index)?;
            supports(CALL, &device, "gradient", element, Reduction::Sum)
        }
        false => supports_scatter(client, element, index, ScatterMode::Add, 1),
    }
}

/// Whether indices are sorted: slices along the first axis are rows.
fn is_sorted(determinism: Determinism, axis: usize) -> bool {
    determinism == Determinism::RunToRun && axis == 0
}

/// Whether rows that are added to those of a table take less time in the order of the table than by atomics: each row of the table is
/// then written once, and not first zeroed and then read and written for each row that is added, and that outweighs a sort of the
/// `[entries, extent]` indices. The numbers are an H200's: 2^20 rows of 512 bytes take 402 us in order and 571 us by atomics.
pub(super) fn pays_to_sort(
    device: &Device,
    [entries, extent]: [usize; 2],
    columns: usize,
    element: ElemType,
) -> bool {
    const LEAST: usize = 256 << 20;
    let bytes = entries.saturating_mul(columns * element.size());
    let is_float = matches!(element, ElemType::Float(_));
    // Those of 16 bits have atomics that add eight at once.
    let suits = is_float && element.size() >= 4 && device.target() == Target::Cuda;
    suits && bytes >= LEAST && entries <= i32::MAX as usize && extent < u32::MAX as usize
}

fn limit(argument: &'static str, given: usize, allowed: usize) -> Result<()> {
    match given > allowed {
        true => Err(Error::Size {
            call: CALL,
            argument,
            given: given as u64,
            allowed: allowed as u64,
        }),
        false => Ok(()),
    }
}

/// The sums of rows of which each belongs to a row of the result that a list names, or to none; in the order of the list.
fn sums_of_rows(
    device: &Device,
    gradient: &TensorHandle,
    named: &TensorHandle,
    shape: Vec<usize>,
) -> Result<TensorHandle> {
    let client = device.client();
    let places = ElemType::UInt(UIntKind::U32);
    let options = SortOptions::default();
    let (sorted, order) = sort_with_indices(client, named, 0, places, &options)?;
    let (extent, entries) = (shape[0], named.shape()[0]);
    let job = Job {
        rows: &Rows::new(client, gradient),
        order: Some(&order),
        index: None,
        weights: None,
        picked: None,
        ends: &Ends::by(offsets_of(device, &sorted, extent), extent, entries),
        padding: None,
        report: None,
        rules: Rules::of_segments(Kind::Sum),
    };
    let sums = job.launch(device).values;
    Ok(TensorHandle::new_contiguous(shape, sums, gradient.dtype))
}
