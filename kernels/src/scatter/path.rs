//! Which way a scatter goes.

use super::tiled::{Private, Tile, require_cubes};
use super::{CALL, Duplicates, ScatterMode, ScatterOptions, ScatterPath};
use crate::plan::Walk;
use cubecl::ir::{ElemType, UIntKind};
use girih::device::{Device, Target};
use girih::memory::{AtomicAccess, Operation};
use girih::{Error, Result};

/// The type of keys, orders and votes.
pub(super) const WORD: ElemType = ElemType::UInt(UIntKind::U32);
/// Most slices, and most indices, that are sorted or vote.
const MOST: usize = u32::MAX as usize - 1;
/// Bytes that memory moves at least.
const SECTOR: usize = 32;
/// Slices of the target for each index, from which on votes cost more than a sort.
const SPARSE: usize = 16;

/// The operation of the atomics that a mode needs.
fn operation(mode: ScatterMode) -> Operation {
    match mode {
        ScatterMode::Set => Operation::Store,
        ScatterMode::Add => Operation::Add,
        ScatterMode::Mul => Operation::Mul,
        ScatterMode::Min => Operation::Min,
        ScatterMode::Max => Operation::Max,
    }
}

/// The widths in which the device combines elements of the type atomically, widest first.
pub(crate) fn atomic_widths(device: &Device, mode: ScatterMode, element: ElemType) -> Vec<usize> {
    let has = |width: &usize| {
        let access = AtomicAccess::new(operation(mode), element).vectors(*width);
        device.has_atomic(&access) && device.stores(element)
    };
    [8, 4, 2, 1].into_iter().filter(has).collect()
}

/// Whether the order in which updates are combined shows in no result. A minimum keeps the NaN that was there, if all are.
fn is_exact(element: ElemType, mode: ScatterMode) -> bool {
    !matches!(element, ElemType::Float(_)) || matches!(mode, ScatterMode::Min | ScatterMode::Max)
}

/// Which of several updates to one place is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Winner {
    Any,
    First,
    Last,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Straight to the places: accesses of `width` elements, `atomic` of which are combined at once.
    Direct { width: usize, atomic: usize },
    /// Combined within tiles, then straight to the places.
    Tile(Tile),
    /// Combined in shared memory.
    Private(Private),
    /// Votes, then the winners.
    Vote { last: bool },
    /// Sorted, then combined.
    Reduce,
    /// Sorted, then one of each place.
    Pick { last: bool },
}

/// Refuses options that rule each other out.
pub(super) fn refuse_contradictions(
    element: ElemType,
    mode: ScatterMode,
    options: &ScatterOptions,
) -> Result<()> {
    let refused = |argument, given: String, allowed: &str| {
        Err(Error::Argument {
            call: CALL,
            argument,
            given,
            allowed: allowed.into(),
        })
    };
    let ScatterOptions {
        duplicates, path, ..
    } = *options;
    if mode != ScatterMode::Set
        && matches!(duplicates, Duplicates::LastWins | Duplicates::FirstWins)
    {
        let given = format!("{duplicates:?}, of ScatterMode::{mode:?}");
        let allowed = "a winner of ScatterMode::Set alone; others combine all updates";
        return refused("duplicates", given, allowed);
    }
    if let Some(path) = path
        && mode != ScatterMode::Set
        && duplicates == Duplicates::Deterministic
        && path != ScatterPath::Sorted
        && !is_exact(element, mode)
    {
        let given = format!("{path:?}, of {element}, whose rounding depends on the run");
        let allowed = "ScatterPath::Sorted for results that do not";
        return refused("path", given, allowed);
    }
    Ok(())
}

/// Which of several updates stays.
pub(crate) fn winner(duplicates: Duplicates) -> Winner {
    match duplicates {
        Duplicates::Unordered => Winner::Any,
        Duplicates::FirstWins => Winner::First,
        Duplicates::LastWins | Duplicates::Deterministic => Winner::Last,
    }
}

/// What a decision needs of a call.
pub(crate) struct Case<'a> {
    pub device: &'a Device,
    pub element: ElemType,
    pub mode: ScatterMode,
    /// Slices of the target, and indices.
    pub slices: [usize; 2],
    /// Elements of a slice.
    pub slice: usize,
    /// Whether memory has elements of a slice side by side, so that a team of units moves them well.
    pub has_rows: bool,
    /// The widest of some widths in which both tensors can be accessed.
    pub width: &'a dyn Fn(&[usize]) -> usize,
}

impl<'a> Case<'a> {
    pub(super) fn new(
        device: &'a Device,
        element: ElemType,
        mode: ScatterMode,
        extent: usize,
        walk: &Walk,
        width: &'a dyn Fn(&[usize]) -> usize,
    ) -> Self {
        let [outer, slab, indices, head, row] = walk.extents;
        let side_by_side = walk.strides.iter().all(|strides| strides[4] == 1);
        let slice = outer * slab * head * row;
        Self {
            device,
            element,
            mode,
            slices: [extent, indices],
            slice,
            has_rows: slice == 1
                || side_by_side && (slice == row || row * element.size() >= SECTOR),
            width,
        }
    }
}

/// The way that suits, and why.
pub(crate) fn choose(case: &Case<'_>, options: &ScatterOptions) -> Result<(Way, &'static str)> {
    refuse_contradictions(case.element, case.mode, options)?;
    match case.mode {
        ScatterMode::Set => store(case, options),
        _ => combine(case, options),
    }
}

/// Of a store.
fn store(case: &Case<'_>, options: &ScatterOptions) -> Result<(Way, &'static str)> {
    let winner = winner(options.duplicates);
    let last = winner != Winner::First;
    let votes = || {
        case.device
            .require_atomic(CALL, &AtomicAccess::new(Operation::Max, WORD))?;
        few(case)
    };
    match options.path {
        Some(path @ (ScatterPath::Combined | ScatterPath::Privatised)) => Err(Error::Argument {
            call: CALL,
            argument: "path",
            given: format!("{path:?}, of ScatterMode::Set"),
            allowed: "a mode that combines updates, or another path".into(),
        }),
        Some(ScatterPath::Sorted) => sorted(case).map(|()| (Way::Pick { last }, "as asked for")),
        _ if winner == Winner::Any => {
            let widths = case.device.vector_widths(case.element.size());
            let (width, atomic) = ((case.width)(&widths), 1);
            Ok((Way::Direct { width, atomic }, "any update may stay"))
        }
        Some(_) => votes().map(|()| (Way::Vote { last }, "as asked for")),
        None if case.slices[0] > SPARSE.saturating_mul(case.slices[1]) => {
            sorted(case).map(|()| (Way::Pick { last }, "few of the slices are written"))
        }
        None => match votes() {
            Ok(()) => Ok((Way::Vote { last }, "one update stays")),
            Err(_) => {
                let why = "one update stays, and the device has no atomic max of u32";
                sorted(case).map(|()| (Way::Pick { last }, why))
            }
        },
    }
}

/// Of what is combined.
fn combine(case: &Case<'_>, options: &ScatterOptions) -> Result<(Way, &'static str)> {
    let asked = "as asked for";
    let fixed = options.duplicates == Duplicates::Deterministic;
    let atomics = || widths(case).ok_or_else(|| lacks(case));
    match options.path {
        Some(ScatterPath::Sorted) => sorted(case).map(|()| (Way::Reduce, asked)),
        Some(ScatterPath::Atomic) => atomics().map(|widths| (direct(widths), asked)),
        Some(ScatterPath::Combined) => {
            let [width, atomic] = atomics()?;
            require_cubes(case.device)?;
            few(case)?;
            Ok((Way::Tile(Tile::new(case, width, atomic)), asked))
        }
        Some(ScatterPath::Privatised) => {
            let [width, atomic] = atomics()?;
            require_cubes(case.device)?;
            few(case)?;
            Ok((Way::Private(Private::new(case, width, atomic)?), asked))
        }
        None if fixed && !is_exact(case.element, case.mode) => {
            sorted(case).map(|()| (Way::Reduce, "the order of floats is fixed"))
        }
        None => match widths(case) {
            Some(widths) => Ok(suiting(case, widths)),
            None => {
                let why = "the device does not combine these elements atomically";
                sorted(case).map(|()| (Way::Reduce, why))
            }
        },
    }
}

/// What suits a device with atomics, for accesses and atomics of these widths.
fn suiting(case: &Case<'_>, widths: [usize; 2]) -> (Way, &'static str) {
    let [width, atomic] = widths;
    let straight = |why| (direct(widths), why);
    if case.device.target() != Target::Cuda {
        return straight("the device combines atomically");
    }
    if require_cubes(case.device).is_err() || few(case).is_err() {
        return straight("the device's cubes cannot combine them before");
    }
    if !case.has_rows {
        return straight("elements of a slice lie apart");
    }
    match Private::new(case, width, atomic) {
        Ok(private) if private.suits(case.slices) => (
            Way::Private(private),
            "shared memory has room for the target",
        ),
        _ => {
            let tile = Tile::new(case, width, atomic);
            (
                Way::Tile(tile),
                "each tile finds out whether its updates meet",
            )
        }
    }
}

/// By atomics alone.
fn direct([width, atomic]: [usize; 2]) -> Way {
    // The tile comes in the atomics' width, or in any where the atomics are scalars.
    let width = if atomic == 1 { width } else { atomic };
    Way::Direct { width, atomic }
}

/// The widths of accesses and of atomics, where the device has some that the tensors allow.
fn widths(case: &Case<'_>) -> Option<[usize; 2]> {
    let widths = atomic_widths(case.device, case.mode, case.element);
    let atomic = (case.width)(&widths);
    if !widths.contains(&atomic) {
        return None;
    }
    let width = (case.width)(&case.device.vector_widths(case.element.size()));
    Some([
        if width.is_multiple_of(atomic) {
            width
        } else {
            atomic
        },
        atomic,
    ])
}

fn lacks(case: &Case<'_>) -> Error {
    let access = AtomicAccess::new(operation(case.mode), case.element);
    Error::Device {
        call: CALL,
        device: case.device.name(),
        feature: format!("{access} in rows of these strides"),
    }
}

/// What a sort needs.
fn sorted(case: &Case<'_>) -> Result<()> {
    few(case)?;
    require_sort(case.device)
}

/// Slices and indices have numbers of 32 bits.
fn few(case: &Case<'_>) -> Result<()> {
    let arguments = ["the slices of the target", "the indices"];
    match arguments
        .into_iter()
        .zip(case.slices)
        .find(|(_, count)| *count > MOST)
    {
        None => Ok(()),
        Some((argument, given)) => Err(Error::Size {
            call: CALL,
            argument,
            given: given as u64,
            allowed: MOST as u64,
        }),
    }
}

/// The device sorts keys with what goes with them.
pub(super) fn require_sort(device: &Device) -> Result<()> {
    crate::check::element(CALL, device, WORD)?;
    let many = [1, 1 << 24];
    let options = crate::SortOptions::default();
    crate::sort_path(device.client(), WORD, Some(WORD), many, &options).map(|_| ())
}
