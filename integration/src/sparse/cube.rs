//! The ops on CubeCL's tensors: girih's launchers.

use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{SparseRows, SparseStep, combine_rows, sparse_step};

use super::SparseBackend;
use crate::cube::{Place, handle, unchecked_call, writable};

impl SparseBackend for CubeBackend {
    fn combine_rows_float(
        gradient: CubeTensor,
        index: CubeTensor,
        extent: usize,
        padding: Option<usize>,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        let out = Place::of(&gradient);
        let [gradient, index] = [gradient, index].map(handle);
        let combined = combine_rows(&out.client, &gradient, &index, extent, padding, bounds);
        let combined = combined.unwrap_or_else(unchecked_call);
        let which = out.clone().of_type(DType::I32).tensor(combined.index);
        (which, out.tensor(combined.rows))
    }

    fn sparse_step_float(
        parameter: CubeTensor,
        first: CubeTensor,
        second: CubeTensor,
        index: CubeTensor,
        rows: CubeTensor,
        step: SparseStep,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let client = parameter.client.clone();
        // Rows are written where they are: in memory that nothing else uses.
        let own = |tensor| writable(into_contiguous(tensor));
        let parameter = own(parameter);
        let (first, second) = match step.states() {
            0 => (first, second),
            1 => (own(first), second),
            _ => (own(first), own(second)),
        };
        let states: Vec<TensorHandle> = [first.clone(), second.clone()]
            .into_iter()
            .take(step.states())
            .map(handle)
            .collect();
        let states: Vec<&TensorHandle> = states.iter().collect();
        let gradient = SparseRows {
            index: handle(index),
            rows: handle(rows),
        };
        let made = sparse_step(
            &client,
            &handle(parameter.clone()),
            &states,
            &gradient,
            step,
        );
        made.unwrap_or_else(unchecked_call);
        (parameter, first, second)
    }
}
