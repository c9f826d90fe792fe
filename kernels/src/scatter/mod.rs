//! Scatter: rows, or slices along any axis, to the places that a list of indices names.

mod combine;
pub(crate) mod direct;
mod launch;
mod path;
mod place;
pub(crate) mod private;
mod slices;
pub(crate) mod sorted;
mod strike;
pub(crate) mod tile;
mod tiled;
pub(crate) mod vote;

/// The examples of the book's chapter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/scatters.md")]
mod book {}

use crate::check;
use crate::gather::report;
use crate::plan::Walk;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::Device;
use girih::{Bounds, Checked, Error, Result};
use launch::Work;
pub(crate) use launch::{Route, route};

pub(crate) const CALL: &str = "scatter";

/// What happens at a place that an update goes to.
///
/// Integers wrap. Of floats, the smaller or larger of two is IEEE 754-2019's `minimumNumber` or `maximumNumber`: -0 is below +0,
/// and a NaN yields to a number, whether it was there or comes with an update. That is so by every path and on every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterMode {
    /// The update replaces what was there. Of several updates to one place, [`Duplicates`] says which stays.
    Set,
    /// The update is added to what was there: all updates to one place count.
    Add,
    /// What was there is multiplied by the update: all updates to one place count.
    Mul,
    /// The smaller of what was there and the update stays.
    Min,
    /// The larger of what was there and the update stays.
    Max,
}

/// What is promised of several updates to one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Duplicates {
    /// [`ScatterMode::Set`] keeps any of them, element by element. The other modes combine all of them in no fixed order, so
    /// that sums and products of floats may differ in their last bits from run to run.
    #[default]
    Unordered,
    /// The last in the order of the list stays. Of [`ScatterMode::Set`] alone.
    LastWins,
    /// The first in the order of the list stays. Of [`ScatterMode::Set`] alone.
    FirstWins,
    /// The same bits in every run, on every device, by any number of cubes. [`ScatterMode::Set`] keeps the last.
    ///
    /// Sums and products of floats are those of this order. All updates that have a place are lined up by place, those of one
    /// place in the order of the list, and cut into runs of 32. A run combines those of one place from the first to the last.
    /// What the runs have of a place that several share is lined up in their order, in an entry for the place that a run
    /// begins with and another for the one that it ends with, and is combined in the same way; until one run is left. What
    /// was there is combined with the result at the end. f16 and bf16 are combined in f32 and rounded at the end.
    Deterministic,
}

/// By which kernels updates are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScatterPath {
    /// Each update goes straight to its place: combined with what is there by an atomic operation, or stored by
    /// [`ScatterMode::Set`]. Where that has a winner, updates vote first who it is, which takes 4 bytes for each slice of the target.
    Atomic,
    /// Each cube takes some hundred updates, and finds out as it goes whether many of them have a place in common: if so, it
    /// combines those in shared memory before their atomic, else each goes straight to its place. It takes no memory.
    Combined,
    /// Each cube keeps sums of every slice of the target in shared memory, which meet the target at the end. For a target that
    /// shared memory has room for; it takes no other memory.
    Privatised,
    /// Updates are sorted by their places, and those of one place combined before they are written. It takes 20 bytes for each
    /// index, and a sixteenth of the updates (an eighth of f16 and bf16); its time hangs little on where updates go.
    Sorted,
}

/// How to scatter. A [`Bounds`] alone is one of these, all else as it is by default.
///
/// ```
/// use girih_kernels::{Bounds, Duplicates, ScatterOptions, ScatterPath};
///
/// let same_bits = ScatterOptions { duplicates: Duplicates::Deterministic, ..Bounds::Wrap.into() };
/// let sorted = ScatterOptions { path: Some(ScatterPath::Sorted), ..ScatterOptions::default() };
/// assert_eq!(same_bits.bounds, Bounds::Wrap);
/// assert_eq!((sorted.bounds, sorted.duplicates), (Bounds::Mask, Duplicates::Unordered));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScatterOptions {
    /// What an index out of range does. The default masks it: its update is dropped.
    pub bounds: Bounds,
    /// What is promised of several updates to one place.
    pub duplicates: Duplicates,
    /// The kernels to use; those that suit, if none are named.
    pub path: Option<ScatterPath>,
}

impl Default for ScatterOptions {
    fn default() -> Self {
        Bounds::Mask.into()
    }
}

impl From<Bounds> for ScatterOptions {
    fn from(bounds: Bounds) -> Self {
        Self {
            bounds,
            duplicates: Duplicates::default(),
            path: None,
        }
    }
}

impl From<Duplicates> for ScatterOptions {
    fn from(duplicates: Duplicates) -> Self {
        Self {
            duplicates,
            ..Self::default()
        }
    }
}

/// Scatters slices along an axis, in place: `target[.., index[n], ..]` takes `updates[.., n, ..]` as `mode` says; updates
/// whose index finds no place are dropped.
///
/// `target` has any rank and any strides that do not overlap, shares no memory with the others, and has elements of any integer or
/// float type that the device stores; `index` rank 1 and an integer type; `updates` the shape of `target` with `index.len()` along `axis` and any strides.
/// `options` are [`ScatterOptions`], or a [`Bounds`] or [`Duplicates`] alone. Nothing is read back from the device.
///
/// | | kernels, unless [`ScatterOptions::path`] names some |
/// |---|---|
/// | [`Set`](ScatterMode::Set) | plain stores of the widest vectors; with a winner, a vote before |
/// | the others, on CUDA | [`ScatterPath::Combined`], or [`ScatterPath::Privatised`] where the target is small, with the widest atomics there are for the type: 16 bytes on recent GPUs |
/// | the others elsewhere | [`ScatterPath::Atomic`] |
/// | where the device has no such atomic, or with [`Duplicates::Deterministic`] of floats | sorted by place, then combined |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Duplicates, Result, ScatterMode, scatter_into};
///
/// fn sums(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32]| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(vec![values.len()], handle, f32::elem_type_native())
///     };
///     let (target, updates) = (tensor(&[1.0, 1.0, 1.0]), tensor(&[10.0, 20.0, 30.0]));
///     let index = client.create_from_slice(i32::as_bytes(&[2, 7, 2]));
///     let index = TensorHandle::new_contiguous(vec![3], index, i32::elem_type_native());
///     let same = Duplicates::Deterministic;
///     scatter_into(client, &target, &index, &updates, 0, ScatterMode::Add, same)?.check()?;
///     let bytes = client.read_one(target.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [1.0, 1.0, 41.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Axis`], [`Error::Element`], [`Error::Shape`], [`Error::Strides`], [`Error::Overlap`];
/// [`Error::Argument`] of options that rule each other out; [`Error::Size`] of more than 2^32 - 2 slices or indices where they
/// are sorted or vote; [`Error::Device`] where the device does not store a type, cannot report, or cannot go the path asked for.
pub fn scatter_into(
    client: &Client,
    target: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    axis: usize,
    mode: ScatterMode,
    options: impl Into<ScatterOptions>,
) -> Result<Checked<()>> {
    let options = options.into();
    let device = Device::of(client);
    let shape = checked(&device, target, index, updates, axis)?;
    let extent = target.shape()[axis];
    let report = report(CALL, &device, index, axis, extent, options.bounds)?;
    if extent == 0 || shape.contains(&0) {
        path::refuse_contradictions(target.dtype, mode, &options)?;
        return Ok(Checked::new((), report));
    }
    let packed;
    let (walk, updates) = match Walk::new(target, updates, axis) {
        Some(walk) => (walk, updates),
        None => {
            packed = into_contiguous(client, updates.clone().binding(), updates.dtype);
            (unfolded(target, &packed, axis)?, &packed)
        }
    };
    launch::launch(
        &Work {
            device: &device,
            target,
            index,
            updates,
            walk: &walk,
            extent,
            mode,
            bounds: options.bounds,
            report: report.as_ref(),
        },
        &options,
    )?;
    Ok(Checked::new((), report))
}

/// Refuses what a scatter cannot take; else gives the shape of the updates.
pub(crate) fn checked(
    device: &Device,
    target: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    axis: usize,
) -> Result<Vec<usize>> {
    check::axis(CALL, "target", target, axis)?;
    check::index(CALL, device, index)?;
    number(target.dtype)?;
    check::element(CALL, device, target.dtype)?;
    check::within(CALL, device.client(), "target", target)?;
    check::distinct(CALL, "target", target)?;
    let (mut shape, _) = check::dims(target);
    shape[axis] = index.shape()[0];
    check::same_type(CALL, "updates", updates.dtype, target.dtype)?;
    check::shape(CALL, "updates", updates, &shape)?;
    check::within(CALL, device.client(), "updates", updates)?;
    Ok(shape)
}

/// Elements are numbers.
fn number(element: ElemType) -> Result<()> {
    match element {
        ElemType::Float(_) | ElemType::Int(_) | ElemType::UInt(_) => Ok(()),
        _ => Err(Error::Element {
            call: CALL,
            argument: "target",
            given: element,
            allowed: "an integer or float type".into(),
        }),
    }
}

/// The walk of contiguous updates.
pub(crate) fn unfolded(target: &TensorHandle, updates: &TensorHandle, axis: usize) -> Result<Walk> {
    Walk::new(target, updates, axis).ok_or_else(|| {
        let (shape, strides) = check::dims(target);
        Error::Argument {
            call: CALL,
            argument: "target",
            given: format!("of shape {shape:?} and strides {strides:?}"),
            allowed: "strides that fold to two axes on either side of the indexed one".into(),
        }
    })
}

/// Whether a device scatters elements of one type by indices of another, in rows of `row` contiguous elements (the
/// product of the extents after the axis).
///
/// # Errors
///
/// [`Error::Element`] where the indices are no integers, or the elements no numbers; [`Error::Device`] where the device does not
/// store a type, or can neither combine its elements atomically nor sort.
pub fn supports_scatter(
    client: &Client,
    element: ElemType,
    index: ElemType,
    mode: ScatterMode,
    row: usize,
) -> Result<()> {
    let device = Device::of(client);
    number(element)?;
    check::element(CALL, &device, element)?;
    check::index_type(CALL, &device, "index", index)?;
    let fits = |width: &usize| row.is_multiple_of(*width);
    let combines = path::atomic_widths(&device, mode, element).iter().any(fits);
    match mode == ScatterMode::Set || combines {
        true => Ok(()),
        false => path::require_sort(&device),
    }
}

/// Whether a device takes these options for `indices` slices of `slice` elements that go to `extent`: what [`scatter_into`]
/// refuses beside types, shapes and strides.
///
/// # Errors
///
/// As [`scatter_into`].
pub fn supports_scatter_options(
    client: &Client,
    element: ElemType,
    mode: ScatterMode,
    [extent, indices]: [usize; 2],
    slice: usize,
    options: &ScatterOptions,
) -> Result<()> {
    let device = Device::of(client);
    let fits = |widths: &[usize]| {
        let whole = |width: &usize| slice.is_multiple_of(*width);
        widths.iter().copied().find(whole).unwrap_or(1)
    };
    let case = path::Case {
        device: &device,
        element,
        mode,
        slices: [extent.max(1), indices],
        slice: slice.max(1),
        has_rows: true,
        width: &fits,
    };
    path::choose(&case, options).map(|_| ())
}
