//! The gradients of bags.

use super::super::bag::{Bag, BagOptions, Bags};
use super::super::gather::pays_to_sort;
use super::super::grouping::{Ends, Grouping};
use super::super::rows::{Rows, address, adds_of, buffer, sum_type};
use super::super::{Kind, Reduction, Rules};
use super::{check_args, check_counts, check_float, check_gradient, with_rows};
use crate::Determinism;
use crate::check;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Error, Result};

/// Which gradients of an [`embedding_bag`](crate::embedding_bag) are computed, and how.
///
/// ```
/// use girih_kernels::{BagBackwardOptions, Determinism};
///
/// let of_the_weights_alone = BagBackwardOptions {
///     table: false,
///     ..BagBackwardOptions::from(Determinism::Any)
/// };
/// assert!(of_the_weights_alone.weights);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BagBackwardOptions {
    /// Whether the table's gradient may round differently from run to run.
    pub determinism: Determinism,
    /// Whether the table's gradient is computed.
    pub table: bool,
    /// Whether the weights' gradient is computed, if there are weights.
    pub weights: bool,
}

impl From<Determinism> for BagBackwardOptions {
    /// All that there are.
    fn from(determinism: Determinism) -> Self {
        Self {
            determinism,
            table: true,
            weights: true,
        }
    }
}

/// The gradients of an [`embedding_bag`](crate::embedding_bag).
#[derive(Clone, Debug)]
pub struct BagGradients {
    /// That of the table, if it was asked for: its shape and type.
    pub table: Option<TensorHandle>,
    /// That of the weights, if there are weights and it was asked for: the shape of the indices.
    pub weights: Option<TensorHandle>,
}

/// The gradients of [`embedding_bag`](crate::embedding_bag) for the table and the weights, or that one which is asked for: `options`
/// are [`BagBackwardOptions`], or a [`Determinism`] for both.
///
/// `gradient` is that of the bags, `bags` what the call gave, made with [`for_backward`](BagOptions::for_backward); the other
/// arguments are those of the call. Each index's row gets its bag's gradient, multiplied by its weight, and of a mean divided by
/// the number of indices that count; of a maximum or minimum the elements alone that came from it. What did not count gets
/// nothing, and its weight 0. Rows are added up in f32 for f16 and bf16, and rounded once.
///
/// | determinism | how the table's gradient is added up |
/// |---|---|
/// | [`Any`](Determinism::Any) | by atomics, straight from the bags' gradient: no row for each index is written |
/// | [`RunToRun`](Determinism::RunToRun), or no such atomics, or of f16 and bf16 a table in f32 that would take more than the arguments do, or on an NVIDIA GPU as many indices of a sum or mean as [`gather_backward`](crate::gather_backward) sorts | indices are sorted, and what goes to each row is added up in their order |
///
/// Temporary memory, beside the gradients: by atomics none of f32 and f64; of f16 and bf16 the table in f32, where that is at most 1.1 times
/// what the table, the gradient, the indices and the weights take together. In order, for each index
/// 8 bytes, the results and the memory of a [sort](crate::sort_with_indices) of as many 32-bit keys, and with weights or of a mean an
/// f32 (f64 of f64) more; four bytes for each row of the table, and what [`segment_reduce`](crate::segment_reduce()) takes for long segments.
///
/// # Errors
///
/// As [`embedding_bag`](crate::embedding_bag); [`Error::Shape`] and [`Error::Element`] of `gradient`; [`Error::Argument`] of a
/// product, which has no gradient here, of integers, and of bags without what the gradient needs; [`Error::Size`] of a table of
/// more than 2^32 - 2 rows, where indices are sorted.
#[allow(clippy::too_many_arguments)]
pub fn embedding_bag_backward(
    client: &Client,
    gradient: &TensorHandle,
    table: &TensorHandle,
    index: &TensorHandle,
    grouping: Grouping<'_>,
    bag: BagOptions<'_>,
    bags: &Bags,
    options: impl Into<BagBackwardOptions>,
) -> Result<BagGradients> {
    const CALL: &str = "embedding_bag_backward";
    let device = Device::of(client);
    let (given, options) = (bag, options.into());
    let bag = Bag::new(CALL, &device, table, index, grouping, given)?;
    check_float(CALL, "table", table.dtype)?;
    let of_bags = with_rows(&bag.shape, bag.grouped.ends.segments);
    check_gradient(CALL, client, gradient, table.dtype, &of_bags)?;
    let kind = Kind::from(given.reduction);
    if kind == Kind::Product {
        return Err(Error::Argument {
            call: CALL,
            argument: "the reduction",
            given: "Prod".into(),
            allowed: "Sum, Mean, Max or Min".into(),
        });
    }
    let args = check_args(CALL, client, kind, bags.args.as_ref(), &of_bags)?;
    let counts = match kind {
        Kind::Mean => Some(check_counts(CALL, client, bags, of_bags[0])?),
        _ => None,
    };
    let rules = Rules {
        bounds: match given.bounds {
            // The call reported it.
            Bounds::Report => Bounds::Mask,
            bounds => bounds,
        },
        has_padding: given.padding.is_some(),
        ..Rules::of_segments(kind)
    };
    let backward = Backward {
        device: &device,
        gradient: Rows::new(client, gradient),
        bag: &bag,
        extent: bag.shape[0],
        padding: given.padding.unwrap_or(0),
        args,
        counts,
        rules,
    };
    let sorts = options.determinism == Determinism::RunToRun
        || !adds(&device, table.dtype)
        || backward.pays_to_sort()
        || !backward.has_room_for_sums();
    let of_table = match (options.table, sorts) {
        (false, _) => None,
        (true, true) => Some(backward.in_order(CALL)?),
        (true, false) => Some(backward.by_atomics(table.dtype)),
    };
    let shape = &bag.shape;
    let of_table =
        of_table.map(|handle| TensorHandle::new_contiguous(shape.clone(), handle, table.dtype));
    let weights = given.weights.filter(|_| options.weights).map(|weights| {
        let (shape, _) = check::dims(weights);
        let handle = backward.of_weights(&Rows::new(client, table));
        TensorHandle::new_contiguous(shape, handle, table.dtype)
    });
    Ok(BagGradients {
        table: of_table,
        weights,
    })
}

/// Whether the device adds elements of a table's gradient one by one.
fn adds(device: &Device, element: ElemType) -> bool {
    adds_of(device, sum_type(element)).last() == Some(&1)
}

/// What the gradients of bags are made of.
pub(super) struct Backward<'a> {
    pub device: &'a Device,
    pub gradient: Rows,
    pub bag: &'a Bag,
    /// Rows of the table.
    pub extent: usize,
    pub padding: usize,
    pub args: Option<&'a TensorHandle>,
    pub counts: Option<&'a TensorHandle>,
    pub rules: Rules,
}

impl Backward<'_> {
    /// Where bags begin and end.
    pub(super) fn ends(&self) -> &Ends {
        &self.bag.grouped.ends
    }

    /// Elements of the table.
    pub(super) fn elements(&self) -> usize {
        self.extent * self.gradient.columns
    }

    /// Whether the order of the table is the faster one. Of an extreme few elements are added.
    fn pays_to_sort(&self) -> bool {
        let counts = [self.ends().entries, self.extent];
        let (columns, element) = (self.gradient.columns, self.gradient.element);
        self.args.is_none() && pays_to_sort(self.device, counts, columns, element)
    }

    /// Whether sums in the type that rows are added up in, if it is another than theirs, take at most 1.1 times the bytes of the
    /// arguments.
    fn has_room_for_sums(&self) -> bool {
        let element = self.gradient.element;
        let sum = sum_type(element);
        let entry = self.bag.index.dtype.size()
            + self
                .bag
                .weights
                .as_ref()
                .map_or(0, |list| list.dtype.size());
        let rows = (self.elements() + self.gradient.count * self.gradient.columns) * element.size();
        let arguments = rows + self.ends().entries * entry;
        sum == element || 10 * self.elements() * sum.size() <= 11 * arguments
    }

    /// Whether anything adds to the table.
    pub(super) fn is_empty(&self) -> bool {
        self.elements() == 0 || self.ends().entries == 0 || self.ends().segments == 0
    }

    /// The type of indices.
    pub(super) fn index_type(&self) -> ElemType {
        self.bag.index.dtype
    }

    /// The type of weights, that of the gradient without.
    pub(super) fn weight_type(&self) -> ElemType {
        let weights = self.bag.weights.as_ref();
        weights.map_or(self.gradient.element, |weights| weights.dtype)
    }

    /// A list with an element for each entry.
    pub(super) fn entries_arg(&self, list: Option<&TensorHandle>) -> Option<BufferArg> {
        list.map(|list| buffer(&list.handle, self.ends().entries))
    }

    /// How many entries of each bag count.
    pub(super) fn counts_arg(&self) -> Option<BufferArg> {
        let counts = self.counts?;
        Some(buffer(&counts.handle, self.ends().segments))
    }

    /// Where each element of the bags came from.
    pub(super) fn args_arg(&self) -> Option<BufferArg> {
        let args = self.args?;
        Some(buffer(
            &args.handle,
            self.ends().segments * self.gradient.columns,
        ))
    }

    /// Wide enough for every place.
    pub(super) fn address(&self) -> AddressType {
        address(&[self.gradient.len(), self.elements(), self.ends().entries])
    }
}

/// Whether a device has what [`embedding_bag_backward`] needs, by atomics or in order.
///
/// # Errors
///
/// [`Error::Element`] of what is no float, [`Error::Argument`] of a product, and as
/// [`supports_embedding_bag`](crate::supports_embedding_bag).
pub fn supports_embedding_bag_backward(
    client: &Client,
    element: ElemType,
    index: ElemType,
    reduction: Reduction,
) -> Result<()> {
    const CALL: &str = "embedding_bag_backward";
    super::super::supports_embedding_bag(client, element, index, reduction)?;
    check_float(CALL, "table", element)?;
    match reduction {
        Reduction::Prod => Err(Error::Argument {
            call: CALL,
            argument: "the reduction",
            given: "Prod".into(),
            allowed: "Sum, Mean, Max or Min".into(),
        }),
        _ => Ok(()),
    }
}
