//! Bags: segments of rows of a table, which indices name.

use super::grouping::{Grouped, Grouping};
use super::job::Job;
use super::rows::Rows;
use super::{Kind, Reduction, Rules, rows_of, supports};
use crate::check::{self, list};
use crate::gather::report;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Checked, Error, Result};

/// How bags are combined.
#[derive(Clone, Copy, Debug)]
pub struct BagOptions<'a> {
    /// How the rows of a bag are combined.
    pub reduction: Reduction,
    /// What each index's row is multiplied by first, of the table's type; 1, if there are none.
    pub weights: Option<&'a TensorHandle>,
    /// The row of the table that does not count, as if no index named it.
    pub padding: Option<usize>,
    /// What an index out of range does. One without a place does not count either.
    pub bounds: Bounds,
    /// Whether to keep what [`embedding_bag_backward`](crate::embedding_bag_backward) needs of a mean, maximum or minimum.
    pub for_backward: bool,
}

impl BagOptions<'_> {
    /// A reduction without weights or padding, and with bounds that are masked.
    pub fn new(reduction: Reduction) -> Self {
        Self {
            reduction,
            weights: None,
            padding: None,
            bounds: Bounds::Mask,
            for_backward: false,
        }
    }

    fn rules(&self) -> Rules {
        let kind = Kind::from(self.reduction);
        Rules {
            kind,
            bounds: self.bounds,
            has_padding: self.padding.is_some(),
            zero_of_none: true,
            keeps_args: self.for_backward && kind.has_args(),
            keeps_counts: self.for_backward && kind == Kind::Mean,
        }
    }
}

/// Bags combined, and what their gradient needs.
#[derive(Clone, Debug)]
pub struct Bags {
    /// One row for each bag.
    pub values: TensorHandle,
    /// For each element of a maximum or minimum the position of the index whose row it came from, an `i32`: the first of equal
    /// ones; -1 where nothing in the bag counts. There if asked for.
    pub args: Option<TensorHandle>,
    /// Of a mean, how many indices of each bag count, a `u32`. There if asked for.
    pub counts: Option<TensorHandle>,
}

/// Combines rows of a table: `out[b, ..]` is all `weights[n] * table[index[n], ..]` of the indices `n` of which `grouping` says
/// that they belong to bag `b`.
///
/// `table` has rows along its first axis, as in [`segment_reduce`](crate::segment_reduce()); `index` has rank 1 and an integer
/// type, or rank 2 for one bag a row, grouped by their [`Length`](Grouping::Length). A bag in which nothing counts is 0, of every
/// reduction. f16 and bf16 are combined in f32. Nothing is read back from the device.
///
/// The rows of a bag are read one after another and combined in registers: no row is written before the bag's result is. Temporary
/// memory is that of [`segment_reduce`](crate::segment_reduce()) of as many rows as there are indices.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{BagOptions, Grouping, Reduction, Result, embedding_bag};
///
/// fn mean_words(client: &Client) -> Result<()> {
///     let table = client.create_from_slice(f32::as_bytes(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0]));
///     let table = TensorHandle::new_contiguous(vec![3, 2], table, f32::elem_type_native());
///     let words = client.create_from_slice(i32::as_bytes(&[1, 2, 0, 2]));
///     let words = TensorHandle::new_contiguous(vec![4], words, i32::elem_type_native());
///     let options = BagOptions { padding: Some(0), ..BagOptions::new(Reduction::Mean) };
///     let bags = embedding_bag(client, &table, &words, Grouping::Length(2), options)?;
///     let bytes = client.read_one(bags.into_inner().values.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [2.0, 3.0, 3.0, 4.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # mean_words(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`segment_reduce`](crate::segment_reduce()); [`Error::Shape`] and [`Error::Element`] of weights that are not one for each
/// index, of the table's type; [`Error::Argument`] of a padding that is no row; [`Error::Device`] where the device cannot report.
pub fn embedding_bag(
    client: &Client,
    table: &TensorHandle,
    index: &TensorHandle,
    grouping: Grouping<'_>,
    options: BagOptions<'_>,
) -> Result<Checked<Bags>> {
    const CALL: &str = "embedding_bag";
    let device = Device::of(client);
    let bag = Bag::new(CALL, &device, table, index, grouping, options)?;
    let report = report(CALL, &device, &bag.index, 0, bag.shape[0], options.bounds)?;
    let mut shape = bag.shape.clone();
    shape[0] = bag.grouped.ends.segments;
    check::elements(CALL, "the result", &shape)?;
    let rows = Rows::new(client, table);
    let job = Job {
        rows: &rows,
        order: bag.grouped.order.as_ref(),
        index: Some(&bag.index),
        weights: bag.weights.as_ref(),
        picked: None,
        ends: &bag.grouped.ends,
        padding: options.padding,
        report: report.as_ref(),
        rules: options.rules(),
    };
    let reduced = job.launch(&device);
    let bags = shape[0];
    let [arg, count] = [ElemType::Int(IntKind::I32), ElemType::UInt(UIntKind::U32)];
    let tensor =
        |shape: Vec<usize>, handle, dtype| TensorHandle::new_contiguous(shape, handle, dtype);
    let bags = Bags {
        values: tensor(shape.clone(), reduced.values, table.dtype),
        args: reduced.args.map(|handle| tensor(shape, handle, arg)),
        counts: reduced
            .counts
            .map(|handle| tensor(vec![bags], handle, count)),
    };
    Ok(Checked::new(bags, report))
}

/// What bags are made of, checked.
pub(crate) struct Bag {
    /// The table's.
    pub shape: Vec<usize>,
    pub index: TensorHandle,
    pub weights: Option<TensorHandle>,
    pub grouped: Grouped,
}

impl Bag {
    pub(crate) fn new(
        call: &'static str,
        device: &Device,
        table: &TensorHandle,
        index: &TensorHandle,
        grouping: Grouping<'_>,
        options: BagOptions<'_>,
    ) -> Result<Self> {
        let client = device.client();
        supports(call, device, "table", table.dtype, options.reduction)?;
        let shape = rows_of(call, client, "table", table)?;
        check::index_type(call, device, "index", index.dtype)?;
        check::within(call, client, "index", index)?;
        let rank = index.shape().len();
        if !(1..=2).contains(&rank) {
            return Err(Error::Rank {
                call,
                argument: "index",
                given: rank,
                allowed: "1 or 2".into(),
            });
        }
        if let Some(weights) = options.weights {
            let (of_index, _) = check::dims(index);
            check::same_type(call, "weights", weights.dtype, table.dtype)?;
            check::shape(call, "weights", weights, &of_index)?;
            check::within(call, client, "weights", weights)?;
        }
        if let Some(padding) = options.padding.filter(|&padding| padding >= shape[0]) {
            return Err(Error::Argument {
                call,
                argument: "padding",
                given: padding.to_string(),
                allowed: format!("a row of the table, in 0..{}", shape[0]),
            });
        }
        let index = list(client, index);
        let entries = index.shape()[0];
        Ok(Self {
            shape,
            weights: options.weights.map(|weights| list(client, weights)),
            grouped: grouping.group(call, device, entries)?,
            index,
        })
    }
}

/// Whether a device combines bags of rows of a type, by indices of another.
///
/// # Errors
///
/// [`Error::Element`] and [`Error::Device`], as [`embedding_bag`].
pub fn supports_embedding_bag(
    client: &Client,
    element: ElemType,
    index: ElemType,
    reduction: Reduction,
) -> Result<()> {
    const CALL: &str = "embedding_bag";
    let device = Device::of(client);
    supports(CALL, &device, "table", element, reduction)?;
    check::index_type(CALL, &device, "index", index)
}
