//! The kinds of tensor that have the ops.

use burn::backend::{Dispatch, DispatchTensor};
use burn::tensor::{Float, Int, kind::Basic};
use girih::Bounds;
use girih_kernels::{Determinism, ScanOperation, ScatterMode, ScatterOptions};

use crate::{IndexBackend, ScanBackend};

/// A result and the record of an index out of range.
type Recorded = (DispatchTensor, DispatchTensor);

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
            bounds: Bounds,
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
    }
}

macro_rules! ops {
    ($kind:ident: $gather:ident, $scatter:ident, $scatter_sum:ident, $scan:ident, $select:ident) => {
        impl sealed::Ops for $kind {
            fn gather(
                table: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                bounds: Bounds,
            ) -> Recorded {
                Dispatch::$gather(table, index, axis, bounds)
            }

            fn scatter(
                target: DispatchTensor,
                index: DispatchTensor,
                updates: DispatchTensor,
                axis: usize,
                mode: ScatterMode,
                options: ScatterOptions,
            ) -> Recorded {
                Dispatch::$scatter(target, index, updates, axis, mode, options)
            }

            fn scatter_sum(
                updates: DispatchTensor,
                index: DispatchTensor,
                axis: usize,
                extent: usize,
                options: ScatterOptions,
            ) -> Recorded {
                Dispatch::$scatter_sum(updates, index, axis, extent, options)
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
        }
    };
}
ops!(Float: gather_float, scatter_float, scatter_sum_float, scan_float, select_masked_float);
ops!(Int: gather_int, scatter_int, scatter_sum_int, scan_int, select_masked_int);
