//! The ops on CubeCL's tensors: girih's launchers.

use burn::tensor::DType;
use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    BagBackwardOptions, BagOptions, Bags, Grouping, Reduction, embedding_bag,
    embedding_bag_backward, segment_reduce, segment_reduce_backward, segment_reduce_with_args,
};

use super::BagBackend;
use super::backend::{Bag, Listed};
use crate::cube::{Place, handle, unchecked_call};

impl Listed {
    /// The same for a launcher.
    fn grouping(self, list: &TensorHandle) -> Grouping<'_> {
        match self {
            Self::Offsets => Grouping::Offsets(list),
            Self::Length(length) => Grouping::Length(length),
            Self::SortedIds(segments) => Grouping::SortedIds {
                ids: list,
                segments,
            },
            Self::Ids(segments) => Grouping::Ids {
                ids: list,
                segments,
            },
        }
    }
}

impl Bag {
    fn options(self, weights: &TensorHandle) -> BagOptions<'_> {
        BagOptions {
            weights: self.weighted.then_some(weights),
            padding: self.padding,
            bounds: self.bounds,
            for_backward: self.keeps,
            ..BagOptions::new(self.reduction)
        }
    }
}

/// What an op keeps, or an empty tensor.
fn kept(out: &Place, tensor: Option<TensorHandle>, dtype: DType) -> CubeTensor {
    let out = out.clone().of_type(dtype);
    match tensor {
        Some(tensor) => out.tensor(tensor),
        None => out.empty(),
    }
}

/// Rows combined, of any type.
fn reduced(
    values: CubeTensor,
    list: CubeTensor,
    reduction: Reduction,
    listed: Listed,
) -> CubeTensor {
    let out = Place::of(&values);
    let [values, list] = [values, list].map(handle);
    let reduced = segment_reduce(&out.client, &values, listed.grouping(&list), reduction);
    out.tensor(reduced.unwrap_or_else(unchecked_call))
}

impl BagBackend for CubeBackend {
    fn embedding_bag_float(
        table: CubeTensor,
        index: CubeTensor,
        list: CubeTensor,
        weights: CubeTensor,
        bag: Bag,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        let out = Place::of(&table);
        let [table, index, list, weights] = [table, index, list, weights].map(handle);
        let by = bag.listed.grouping(&list);
        let checked = embedding_bag(&out.client, &table, &index, by, bag.options(&weights));
        let (bags, report) = checked.unwrap_or_else(unchecked_call).into_parts();
        (
            out.clone().tensor(bags.values),
            kept(&out, bags.args, DType::I32),
            kept(&out, bags.counts, DType::U32),
            out.record(report),
        )
    }

    fn embedding_bag_backward_float(
        gradient: CubeTensor,
        table: CubeTensor,
        index: CubeTensor,
        list: CubeTensor,
        weights: CubeTensor,
        args: CubeTensor,
        counts: CubeTensor,
        bag: Bag,
        options: BagBackwardOptions,
    ) -> (CubeTensor, CubeTensor) {
        let (out, dtype) = (Place::of(&table), table.dtype);
        let values = handle(gradient.clone());
        let bags = Bags {
            values,
            args: super::backend::keeps_args(bag.reduction).then(|| handle(into_contiguous(args))),
            counts: (bag.reduction == Reduction::Mean).then(|| handle(into_contiguous(counts))),
        };
        let [gradient, table, index, list, weights] =
            [gradient, table, index, list, weights].map(handle);
        let gradients = embedding_bag_backward(
            &out.client,
            &gradient,
            &table,
            &index,
            bag.listed.grouping(&list),
            bag.options(&weights),
            &bags,
            options,
        )
        .unwrap_or_else(unchecked_call);
        [gradients.table, gradients.weights]
            .map(|found| kept(&out, found, dtype))
            .into()
    }

    fn segment_reduce_float(
        values: CubeTensor,
        list: CubeTensor,
        reduction: Reduction,
        listed: Listed,
        keeps: bool,
    ) -> (CubeTensor, CubeTensor) {
        let out = Place::of(&values);
        if !keeps {
            let values = reduced(values, list, reduction, listed);
            return (values, kept(&out, None, DType::I32));
        }
        let [values, list] = [values, list].map(handle);
        let by = listed.grouping(&list);
        let reduced = segment_reduce_with_args(&out.client, &values, by, reduction);
        let reduced = reduced.unwrap_or_else(unchecked_call);
        let args = kept(&out, reduced.args, DType::I32);
        (out.tensor(reduced.values), args)
    }

    fn segment_reduce_int(
        values: CubeTensor,
        list: CubeTensor,
        reduction: Reduction,
        listed: Listed,
    ) -> CubeTensor {
        reduced(values, list, reduction, listed)
    }

    fn segment_reduce_backward_float(
        gradient: CubeTensor,
        values: CubeTensor,
        list: CubeTensor,
        args: CubeTensor,
        reduction: Reduction,
        listed: Listed,
    ) -> CubeTensor {
        let out = Place::of(&values);
        let args = super::backend::keeps_args(reduction).then(|| handle(into_contiguous(args)));
        let [gradient, values, list] = [gradient, values, list].map(handle);
        let by = listed.grouping(&list);
        let (client, args) = (&out.client, args.as_ref());
        let gradient = segment_reduce_backward(client, &gradient, &values, args, by, reduction);
        out.tensor(gradient.unwrap_or_else(unchecked_call))
    }
}
