//! The kinds of tensor that have the ops.

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{Float, Int, kind::Basic};
use girih::Bounds;
use girih_kernels::{Determinism, GatherOptions, ScanOperation, ScatterMode, ScatterOptions};

use crate::{IndexBackend, ScanBackend};

/// A result, and the record of an index out of range where there may be one.
type Recorded = (DispatchTensor, Option<DispatchTensor>);

/// A kind of tensor whose elements can be gathered and scattered: [`Float`] and [`Int`].
pub trait Kind: Basic + sealed::Ops {}

impl Kind for Float {}
impl Kind for Int {}

/// The ops of a kind, out of reach so that the set of kinds stays closed.
pub(crate) mod sealed {
    use super::*;

    pub trait Ops {
        fn gather(
            table: DispatchTensor,
            index: DispatchTensor,
            axis: usize,
            options: GatherOptions,
        ) -> Recorded;

        fn scatter(
            target: DispatchTensor,
            index: DispatchTensor,
            updates: DispatchTensor,
            axis: usize,
            mode: ScatterMode,
            options: ScatterOptions,
        ) -> Recorded;

        fn scatter_sum(
            updates: DispatchTensor,
            index: DispatchTensor,
            axis: usize,
            extent: usize,
            options: ScatterOptions,
        ) -> Recorded;

        fn scan(
            tensor: DispatchTensor,
            axis: usize,
            operation: ScanOperation,
            determinism: Determinism,
        ) -> DispatchTensor;

        /// What a mask keeps, with room for all, and its count.
        fn select(tensor: DispatchTensor, mask: DispatchTensor)
        -> (DispatchTensor, DispatchTensor);

        /// The first rows of a room.
        fn first(room: DispatchTensor, count: usize) -> DispatchTensor;
    }
}

macro_rules! ops {
    ($kind:ident $(by $bounds:ident)?: $gather:ident, $gather_alone:ident, $scatter:ident, $scatter_alone:ident, $scatter_sum:ident, $sum_alone:ident, $scan:ident,
     $select:ident, $first:ident) => {
        impl sealed::Ops for $kind {
            fn gather(
                table: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                options: GatherOptions,
            ) -> Recorded {
                // Integers have no gradient that options could say anything of.
                let given = options$(.$bounds)?;
                match options.bounds {
                    Bounds::Report => {
                        let (values, record) = Dispatch::$gather(table, index, axis, given);
                        (values, Some(record))
                    }
                    _ => (Dispatch::$gather_alone(table, index, axis, given), None),
                }
            }

            fn scatter(
                target: DispatchTensor,
                index: DispatchTensor,
                updates: DispatchTensor,
                axis: usize,
                mode: ScatterMode,
                options: ScatterOptions,
            ) -> Recorded {
                match options.bounds {
                    Bounds::Report => {
                        let (values, record) =
                            Dispatch::$scatter(target, index, updates, axis, mode, options);
                        (values, Some(record))
                    }
                    _ => {
                        let values =
                            Dispatch::$scatter_alone(target, index, updates, axis, mode, options);
                        (values, None)
                    }
                }
            }

            fn scatter_sum(
                updates: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                extent: usize,
                options: ScatterOptions,
            ) -> Recorded {
                match options.bounds {
                    Bounds::Report => {
                        let (values, record) =
                            Dispatch::$scatter_sum(updates, index, axis, extent, options);
                        (values, Some(record))
                    }
                    _ => {
                        let sums = Dispatch::$sum_alone(updates, index, axis, extent, options);
                        (sums, None)
                    }
                }
            }

            fn scan(
                tensor: DispatchTensor,
                axis: usize,
                operation: ScanOperation,
                determinism: Determinism,
            ) -> DispatchTensor {
                Dispatch::$scan(tensor, axis, operation, determinism)
            }

            fn select(
                tensor: DispatchTensor,
                mask: DispatchTensor,
            ) -> (DispatchTensor, DispatchTensor) {
                Dispatch::$select(tensor, mask)
            }

            fn first(room: DispatchTensor, count: usize) -> DispatchTensor {
                Dispatch::$first(room, count)
            }
        }
    };
}
ops!(Float: gather_float, gather_float_alone, scatter_float, scatter_float_alone, scatter_sum_float, scatter_sum_float_alone, scan_float, select_masked_float, first_float);
ops!(Int by bounds: gather_int, gather_int_alone, scatter_int, scatter_int_alone, scatter_sum_int, scatter_sum_int_alone, scan_int, select_masked_int, first_int);
