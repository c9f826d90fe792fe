//! The gradients of segments and bags.

use super::backward::{
    add_kernel, convert_kernel, pick_kernel, places_kernel, spread_kernel, weights_kernel,
    zeros_kernel,
};
use super::bag::{Bag, BagOptions, Bags};
use super::grouping::{Grouped, Grouping, offsets_of};
use super::kernels::Plan;
use super::launch::{Columns, Ends, Job, Rows, adds_of, buffer, plan, room, sum_type, teams};
use super::{Kind, Reduction, Rules, rows_of, run, supports};
use crate::Determinism;
use crate::check::{self, list};
use crate::scan::cubes;
use crate::sort::{SortOptions, sort_with_indices};
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Bounds, Error, Result};

const U32: ElemType = ElemType::UInt(UIntKind::U32);
const I32: ElemType = ElemType::Int(IntKind::I32);

/// Entries of a team, one after another.
const WINDOW: usize = 32;

/// The gradient of [`segment_reduce`](crate::segment_reduce()) for its values.
///
/// `gradient` is that of the result, with a row for each segment. Each row gets, of a sum, the gradient of its segment; of a mean,
/// that divided by the segment's length; of a maximum or minimum, that of the elements that came from it, which `args` of
/// [`segment_reduce_with_args`](crate::segment_reduce_with_args) names: of equal ones the first has all of it; of a product, that
/// multiplied by the product of the other rows, computed by a division where there is no 0. A row of no segment gets 0. It has the
/// shape of `values` and is contiguous.
///
/// # Errors
///
/// As [`segment_reduce`](crate::segment_reduce()); [`Error::Shape`] and [`Error::Element`] of `gradient` and `args`;
/// [`Error::Argument`] of a maximum or minimum without `args`, and of integers.
pub fn segment_reduce_backward(
    client: &Client,
    gradient: &TensorHandle,
    values: &TensorHandle,
    args: Option<&TensorHandle>,
    grouping: Grouping<'_>,
    reduction: Reduction,
) -> Result<TensorHandle> {
    const CALL: &str = "segment_reduce_backward";
    let device = Device::of(client);
    supports(CALL, &device, "values", values.dtype, reduction)?;
    check_float(CALL, "values", values.dtype)?;
    let shape = rows_of(CALL, client, "values", values)?;
    let grouped = grouping.group(CALL, &device, shape[0])?;
    let of_segments = with_rows(&shape, grouped.ends.segments);
    check_gradient(CALL, client, gradient, values.dtype, &of_segments)?;
    let kind = Kind::from(reduction);
    let args = check_args(CALL, client, kind, args, &of_segments)?;
    let (values, rows) = (Rows::new(client, values), Rows::new(client, gradient));
    let elements = values.count * values.columns;
    let output = room(client, elements, values.element.size());
    let result = TensorHandle::new_contiguous(shape, output.clone(), values.element);
    if elements == 0 {
        return Ok(result);
    }
    // What the product needs beside the values: that of each segment's elements that are not 0, and how many are.
    let products = (kind == Kind::Product).then(|| products(&device, &values, &grouped));
    let (products, args) = match products {
        Some((products, zeros)) => (Some(products), Some(zeros)),
        None => (None, args.map(|args| args.handle.clone())),
    };
    let width = values.width(&device).min(rows.width(&device));
    let plan = plan(&device, Rules::of_segments(kind), rows.columns / width);
    let columns = Columns::new(&rows, width, plan);
    let ends = &grouped.ends;
    let windows = ends.entries.div_ceil(WINDOW);
    let (count, turns) = teams(&device, windows * columns.tiles, plan);
    let of_rows = ends.segments * rows.columns;
    let kept = |handle: Option<&Handle>| handle.map(|handle| buffer(handle, of_rows.max(1)));
    // SAFETY: windows are cut at the last entry, segments found are below their number, vectors of a row are masked.
    unsafe {
        spread_kernel::launch_unchecked(
            client,
            count,
            CubeDim::new_1d(plan.units),
            address(&[values.len(), rows.len(), elements]),
            width,
            rows.arg(),
            (kind == Kind::Product).then(|| values.arg()).into(),
            kept(products.as_ref()).into(),
            kept(args.as_ref()).into(),
            order_arg(&grouped).into(),
            ends.offsets_arg().into(),
            buffer(&output, elements),
            columns.arg(),
            values.step / width,
            ends.length,
            ends.segments,
            ends.entries,
            WINDOW,
            windows,
            turns,
            plan,
            [values.element, sum_type(values.element), ends.offset_type()],
        );
    }
    Ok(result)
}

/// Each segment's product of what is not 0, in the type that elements are combined in, and how many zeros it has.
fn products(device: &Device, values: &Rows, grouped: &Grouped) -> (Handle, Handle) {
    let client = device.client();
    let sum = sum_type(values.element);
    let wide = match sum == values.element {
        true => values.clone(),
        // Rounded to 16 bits they would not give the other elements' product back.
        false => {
            let elements = values.len();
            let wide = room(client, elements, sum.size());
            convert(device, &values.handle, values.element, &wide, sum, elements);
            Rows {
                handle: wide,
                element: sum,
                ..values.clone()
            }
        }
    };
    let rules = Rules {
        keeps_args: true,
        ..Rules::of_segments(Kind::Nonzero)
    };
    let reduced = run(device, &wide, grouped, rules);
    (reduced.values, reduced.args.expect("zeros are counted"))
}

/// The gradients of an [`embedding_bag`](crate::embedding_bag).
#[derive(Clone, Debug)]
pub struct BagGradients {
    /// That of the table: its shape and type.
    pub table: TensorHandle,
    /// That of the weights, if there are weights: the shape of the indices.
    pub weights: Option<TensorHandle>,
}

/// The gradients of [`embedding_bag`](crate::embedding_bag) for the table and the weights.
///
/// `gradient` is that of the bags, `bags` what the call gave, made with [`for_backward`](BagOptions::for_backward); the other
/// arguments are those of the call. Each index's row gets its bag's gradient, multiplied by its weight, and of a mean divided by
/// the number of indices that count; of a maximum or minimum the elements alone that came from it. What did not count gets
/// nothing, and its weight 0. Rows are added up in f32 for f16 and bf16, and rounded once.
///
/// | determinism | how the table's gradient is added up |
/// |---|---|
/// | [`Any`](Determinism::Any) | by atomics, straight from the bags' gradient: no row for each index is written |
/// | [`RunToRun`](Determinism::RunToRun), or no such atomics | indices are sorted, and what goes to each row is added up in their order |
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
    options: BagOptions<'_>,
    bags: &Bags,
    determinism: Determinism,
) -> Result<BagGradients> {
    const CALL: &str = "embedding_bag_backward";
    let device = Device::of(client);
    let bag = Bag::new(CALL, &device, table, index, grouping, options)?;
    check_float(CALL, "table", table.dtype)?;
    let of_bags = with_rows(&bag.shape, bag.grouped.ends.segments);
    check_gradient(CALL, client, gradient, table.dtype, &of_bags)?;
    let kind = Kind::from(options.reduction);
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
        bounds: match options.bounds {
            // The call reported it.
            Bounds::Report => Bounds::Mask,
            bounds => bounds,
        },
        has_padding: options.padding.is_some(),
        ..Rules::of_segments(kind)
    };
    let backward = Backward {
        device: &device,
        gradient: Rows::new(client, gradient),
        bag: &bag,
        extent: bag.shape[0],
        padding: options.padding.unwrap_or(0),
        args,
        counts,
        rules,
    };
    let sorts = determinism == Determinism::RunToRun || !adds(&device, table.dtype);
    let of_table = match sorts {
        true => backward.in_order(CALL)?,
        false => backward.by_atomics(table.dtype),
    };
    let weights = options.weights.map(|weights| {
        let (shape, _) = check::dims(weights);
        let handle = backward.of_weights(&Rows::new(client, table));
        TensorHandle::new_contiguous(shape, handle, table.dtype)
    });
    Ok(BagGradients {
        table: TensorHandle::new_contiguous(bag.shape.clone(), of_table, table.dtype),
        weights,
    })
}

/// The sums of rows of a gradient, each of which belongs to one index, for a table of that shape; in the order of the indices.
pub(super) fn sums_of_rows(
    call: &'static str,
    device: &Device,
    gradient: &TensorHandle,
    index: &TensorHandle,
    bounds: Bounds,
    shape: &[usize],
) -> Result<TensorHandle> {
    let grouped = Grouping::Length(1).group(call, device, index.shape()[0])?;
    let bag = Bag {
        shape: shape.to_vec(),
        index: list(device.client(), index),
        weights: None,
        grouped,
    };
    let backward = Backward {
        device,
        gradient: Rows::new(device.client(), gradient),
        bag: &bag,
        extent: shape[0],
        padding: 0,
        args: None,
        counts: None,
        rules: Rules {
            bounds,
            ..Rules::of_segments(Kind::Sum)
        },
    };
    let sums = backward.in_order(call)?;
    Ok(TensorHandle::new_contiguous(
        shape.to_vec(),
        sums,
        gradient.dtype,
    ))
}

/// Whether the device adds elements of a table's gradient one by one.
fn adds(device: &Device, element: ElemType) -> bool {
    adds_of(device, sum_type(element)).last() == Some(&1)
}

/// What the gradients of bags are made of.
struct Backward<'a> {
    device: &'a Device,
    gradient: Rows,
    bag: &'a Bag,
    /// Rows of the table.
    extent: usize,
    padding: usize,
    args: Option<&'a TensorHandle>,
    counts: Option<&'a TensorHandle>,
    rules: Rules,
}

impl Backward<'_> {
    fn ends(&self) -> &Ends {
        &self.bag.grouped.ends
    }

    /// Elements of the table.
    fn elements(&self) -> usize {
        self.extent * self.gradient.columns
    }

    /// Whether anything adds to the table.
    fn is_empty(&self) -> bool {
        self.elements() == 0 || self.ends().entries == 0 || self.ends().segments == 0
    }

    fn index_type(&self) -> ElemType {
        self.bag.index.dtype
    }

    fn weight_type(&self) -> ElemType {
        let weights = self.bag.weights.as_ref();
        weights.map_or(self.gradient.element, |weights| weights.dtype)
    }

    fn entries_arg(&self, list: Option<&TensorHandle>) -> Option<BufferArg> {
        list.map(|list| buffer(&list.handle, self.ends().entries))
    }

    fn counts_arg(&self) -> Option<BufferArg> {
        let counts = self.counts?;
        Some(buffer(&counts.handle, self.ends().segments))
    }

    fn args_arg(&self) -> Option<BufferArg> {
        let args = self.args?;
        Some(buffer(
            &args.handle,
            self.ends().segments * self.gradient.columns,
        ))
    }

    fn address(&self) -> AddressType {
        address(&[self.gradient.len(), self.elements(), self.ends().entries])
    }

    /// The gradient of the table, added up by atomics.
    fn by_atomics(&self, element: ElemType) -> Handle {
        let (client, sum) = (self.device.client(), sum_type(element));
        let elements = self.elements();
        let sums = zeros(self.device, sum, elements);
        if !self.is_empty() {
            match self.args {
                Some(args) => self.pick(args, &sums, sum),
                None => self.add(&sums, sum),
            }
        }
        if sum == element {
            return sums;
        }
        let rounded = room(client, elements, element.size());
        convert(self.device, &sums, sum, &rounded, element, elements);
        rounded
    }

    fn add(&self, sums: &Handle, sum: ElemType) {
        let widths = adds_of(self.device, sum);
        let readable = self.gradient.width(self.device);
        let fits = |width: &usize| readable.is_multiple_of(*width);
        let width = widths.into_iter().find(fits).unwrap_or(1);
        let plan = plan(self.device, self.rules, self.gradient.columns / width);
        let columns = Columns::new(&self.gradient, width, plan);
        let ends = self.ends();
        let windows = ends.entries.div_ceil(WINDOW);
        let (count, turns) = teams(self.device, windows * columns.tiles, plan);
        let types = [
            self.gradient.element,
            sum,
            self.weight_type(),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: windows are cut at the last entry; rows are masked, or promised to be there.
        unsafe {
            add_kernel::launch_unchecked(
                self.device.client(),
                count,
                CubeDim::new_1d(plan.units),
                self.address(),
                width,
                self.gradient.arg(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                self.counts_arg().into(),
                ends.offsets_arg().into(),
                buffer(sums, self.elements()),
                columns.arg(),
                self.extent,
                self.padding,
                ends.length,
                ends.segments,
                ends.entries,
                WINDOW,
                windows,
                turns,
                plan,
                types,
            );
        }
    }

    fn pick(&self, args: &TensorHandle, sums: &Handle, sum: ElemType) {
        let elements = self.ends().segments * self.gradient.columns;
        let (count, cube) = each(self.device, elements);
        let types = [
            self.gradient.element,
            sum,
            self.weight_type(),
            self.index_type(),
        ];
        // SAFETY: elements are below their number; those of `args` are entries, or below 0; rows are masked, or promised to be
        // there.
        unsafe {
            pick_kernel::launch_unchecked(
                self.device.client(),
                count,
                cube,
                self.address(),
                self.gradient.arg(),
                buffer(&args.handle, elements),
                buffer(&self.bag.index.handle, self.ends().entries),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                buffer(sums, self.elements()),
                self.gradient.step,
                self.gradient.columns,
                elements,
                self.extent,
                self.rules.bounds,
                types,
            );
        }
    }

    /// The gradient of the table, what goes to each row added up in the order of its indices.
    fn in_order(&self, call: &'static str) -> Result<Handle> {
        let (client, ends) = (self.device.client(), self.ends());
        if self.extent >= u32::MAX as usize {
            return Err(Error::Size {
                call,
                argument: "the number of rows of the table, where indices are sorted,",
                given: self.extent as u64,
                allowed: u64::from(u32::MAX) - 1,
            });
        }
        if self.is_empty() {
            return Ok(zeros(self.device, self.gradient.element, self.elements()));
        }
        let sum = sum_type(self.gradient.element);
        let made = |dtype: ElemType| {
            let handle = room(client, ends.entries, dtype.size());
            TensorHandle::new_contiguous(vec![ends.entries], handle, dtype)
        };
        let (rows, segments, scales) = (made(U32), made(U32), made(sum));
        self.places([&rows, &segments, &scales], sum);
        let options = SortOptions::default();
        let (rows, order) = sort_with_indices(client, &rows, 0, U32, &options)?;
        let by_row = Ends {
            offsets: Some(offsets_of(self.device, &rows, self.extent)),
            length: 0,
            segments: self.extent,
            entries: ends.entries,
        };
        let job = Job {
            rows: &self.gradient,
            order: Some(&order),
            index: Some(&segments),
            weights: Some(&scales),
            picked: self.args,
            ends: &by_row,
            padding: None,
            report: None,
            rules: Rules::of_segments(Kind::Sum),
        };
        Ok(job.launch(self.device).values)
    }

    fn places(&self, [rows, segments, scales]: [&TensorHandle; 3], sum: ElemType) {
        let ends = self.ends();
        let (count, cube) = each(self.device, ends.entries);
        let plan = Plan {
            rules: self.rules,
            team: 1,
            units: 1,
            blocks: 1,
            batch: 1,
            cut: false,
        };
        let types = [
            sum,
            self.weight_type(),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: places are below the number of entries.
        unsafe {
            places_kernel::launch_unchecked(
                self.device.client(),
                count,
                cube,
                self.address(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                self.counts_arg().into(),
                ends.offsets_arg().into(),
                buffer(&rows.handle, ends.entries),
                buffer(&segments.handle, ends.entries),
                buffer(&scales.handle, ends.entries),
                self.extent,
                self.padding,
                ends.length,
                ends.segments,
                ends.entries,
                plan,
                types,
            );
        }
    }

    /// The gradient of the weights.
    fn of_weights(&self, table: &Rows) -> Handle {
        let (client, ends) = (self.device.client(), self.ends());
        let element = self.gradient.element;
        if self.is_empty() {
            return zeros(self.device, element, ends.entries);
        }
        let output = room(client, ends.entries, element.size());
        let width = table
            .width(self.device)
            .min(self.gradient.width(self.device));
        let planned = plan(self.device, self.rules, self.gradient.columns / width);
        // Its units pass what they have from lane to lane.
        let plane = client.properties().hardware.plane_size_min.max(1);
        let plan = Plan {
            team: planned.team.min(1 << plane.ilog2()),
            ..planned
        };
        let columns = Columns::new(&self.gradient, width, plan);
        let windows = ends.entries.div_ceil(WINDOW);
        let (count, turns) = teams(self.device, windows, plan);
        let types = [
            element,
            sum_type(element),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: places are cut at the last entry; rows are masked, or promised to be there.
        unsafe {
            weights_kernel::launch_unchecked(
                client,
                count,
                CubeDim::new_1d(plan.units),
                self.address().max(address(&[table.len()])),
                width,
                self.gradient.arg(),
                table.arg(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.counts_arg().into(),
                self.args_arg().into(),
                ends.offsets_arg().into(),
                buffer(&output, ends.entries),
                columns.arg(),
                table.step / width,
                self.extent,
                self.padding,
                ends.length,
                ends.segments,
                ends.entries,
                WINDOW,
                windows,
                turns,
                plan,
                types,
            );
        }
        output
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
    super::supports_embedding_bag(client, element, index, reduction)?;
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

fn order_arg(grouped: &Grouped) -> Option<BufferArg> {
    let order = grouped
        .order
        .as_ref()
        .filter(|_| grouped.ends.entries > 0)?;
    Some(buffer(&order.handle, grouped.ends.entries))
}

/// Wide enough for a place in the longest of some lists.
pub(crate) fn address(lengths: &[usize]) -> AddressType {
    let most = lengths.iter().copied().max().unwrap_or(0);
    AddressType::from_len(most + (1 << 20))
}

/// Units for so many elements, one or a few to each.
pub(crate) fn each(device: &Device, elements: usize) -> (CubeCount, CubeDim) {
    let most = device.client().properties().hardware.max_units_per_cube;
    let units = 1u32 << most.clamp(1, 256).ilog2();
    let all = elements.div_ceil(units as usize).max(1);
    let all = match device.target() {
        Target::Cpu => all.min(16),
        _ => all,
    };
    (cubes(device, all), CubeDim::new_1d(units))
}

/// So many zeros.
pub(super) fn zeros(device: &Device, element: ElemType, count: usize) -> Handle {
    let client = device.client();
    let widths = device.vector_widths(element.size());
    let width = widths
        .into_iter()
        .find(|width| count.is_multiple_of(*width))
        .unwrap_or(1);
    let out = room(client, count, element.size());
    let vectors = count / width;
    if vectors > 0 {
        let (cubes, cube) = each(device, vectors);
        // SAFETY: vectors are below their number.
        unsafe {
            zeros_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                address(&[count]),
                width,
                buffer(&out, count),
                vectors,
                element,
            );
        }
    }
    out
}

/// The same numbers in another type.
fn convert(
    device: &Device,
    from: &Handle,
    given: ElemType,
    to: &Handle,
    wanted: ElemType,
    count: usize,
) {
    if count == 0 {
        return;
    }
    let (cubes, cube) = each(device, count);
    // SAFETY: elements are below their number.
    unsafe {
        convert_kernel::launch_unchecked(
            device.client(),
            cubes,
            cube,
            address(&[count]),
            buffer(from, count),
            buffer(to, count),
            count,
            [given, wanted],
        );
    }
}

/// The shape with another number of rows.
fn with_rows(shape: &[usize], rows: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[0] = rows;
    shape
}

fn check_float(call: &'static str, argument: &'static str, given: ElemType) -> Result<()> {
    match given {
        ElemType::Float(_) => Ok(()),
        given => Err(Error::Element {
            call,
            argument,
            given,
            allowed: "f16, bf16, f32 or f64".into(),
        }),
    }
}

fn check_gradient(
    call: &'static str,
    client: &Client,
    gradient: &TensorHandle,
    element: ElemType,
    shape: &[usize],
) -> Result<()> {
    check::same_type(call, "gradient", gradient.dtype, element)?;
    check::shape(call, "gradient", gradient, shape)?;
    check::within(call, client, "gradient", gradient)
}

/// The entries that extremes came from, as the call gave them.
fn check_args<'a>(
    call: &'static str,
    client: &Client,
    kind: Kind,
    args: Option<&'a TensorHandle>,
    shape: &[usize],
) -> Result<Option<&'a TensorHandle>> {
    if !matches!(kind, Kind::Max | Kind::Min) {
        return Ok(None);
    }
    let args = args.ok_or_else(|| missing(call, "args"))?;
    check::same_type(call, "args", args.dtype, I32)?;
    check::shape(call, "args", args, shape)?;
    check::within(call, client, "args", args)?;
    check_contiguous(call, "args", args)?;
    Ok(Some(args))
}

/// How many indices of each bag count, as the call gave it.
fn check_counts<'a>(
    call: &'static str,
    client: &Client,
    bags: &'a Bags,
    segments: usize,
) -> Result<&'a TensorHandle> {
    let counts = bags.counts.as_ref();
    let counts = counts.ok_or_else(|| missing(call, "counts"))?;
    check::same_type(call, "counts", counts.dtype, U32)?;
    check::shape(call, "counts", counts, &[segments])?;
    check::within(call, client, "counts", counts)?;
    check_contiguous(call, "counts", counts)?;
    Ok(counts)
}

/// What a call kept lies as the call left it.
fn check_contiguous(call: &'static str, argument: &'static str, kept: &TensorHandle) -> Result<()> {
    let (shape, strides) = check::dims(kept);
    match check::is_row_major(kept) || shape.contains(&0) {
        true => Ok(()),
        false => Err(Error::Argument {
            call,
            argument,
            given: format!("a tensor of strides {strides:?}"),
            allowed: "the contiguous one that the call gave".into(),
        }),
    }
}

fn missing(call: &'static str, what: &'static str) -> Error {
    Error::Argument {
        call,
        argument: what,
        given: "none".into(),
        allowed: "what the call keeps for its gradient".into(),
    }
}
