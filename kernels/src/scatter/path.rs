//! Which way a scatter goes.

use super::{CALL, Duplicates, ScatterMode, ScatterOptions, ScatterPath};
use cubecl::ir::{ElemType, UIntKind};
use girih::device::Device;
use girih::memory::{AtomicAccess, Operation};
use girih::{Error, Result};

/// The type of keys, orders and votes.
pub(super) const WORD: ElemType = ElemType::UInt(UIntKind::U32);
/// Most slices, and most indices, that are sorted or vote.
const MOST: usize = u32::MAX as usize - 1;
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
    /// The widest of some widths in which both tensors can be accessed.
    pub width: &'a dyn Fn(&[usize]) -> usize,
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
    let exact = is_exact(case.element, case.mode);
    match options.path {
        Some(ScatterPath::Sorted) => sorted(case).map(|()| (Way::Reduce, "as asked for")),
        Some(ScatterPath::Atomic) => direct(case)
            .map(|way| (way, "as asked for"))
            .ok_or_else(|| lacks(case)),
        None if options.duplicates == Duplicates::Deterministic && !exact => {
            sorted(case).map(|()| (Way::Reduce, "the order of floats is fixed"))
        }
        None => match direct(case) {
            Some(way) => Ok((way, "the device combines atomically")),
            None => {
                let why = "the device does not combine these elements atomically";
                sorted(case).map(|()| (Way::Reduce, why))
            }
        },
    }
}

/// By atomics, where the device has them in a width that the tensors allow.
fn direct(case: &Case<'_>) -> Option<Way> {
    let widths = atomic_widths(case.device, case.mode, case.element);
    let atomic = (case.width)(&widths);
    if !widths.contains(&atomic) {
        return None;
    }
    // The tile comes in the atomics' width, or in any where the atomics are scalars.
    let width = match atomic {
        1 => (case.width)(&case.device.vector_widths(case.element.size())),
        _ => atomic,
    };
    Some(Way::Direct { width, atomic })
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
