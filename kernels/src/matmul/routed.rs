//! Products whose rows are taken from, and added to, the rows that lists name.

use super::launch::{Reports, compute};
use super::plan::explained;
use super::problem::{Problem, output_type, rank, routed};
use super::result::described;
use super::{MatmulOptions, MatmulPlan, Route};
use crate::check;
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Checked, Result};

/// What became of the indices of both lists, each of which can be asked about.
#[derive(Debug)]
#[must_use = "under `Bounds::Report` an index out of range is known only to `check()`"]
pub struct Routed {
    /// Those that rows of A are taken by.
    pub gather: Checked<()>,
    /// Those that rows of the result are added to by.
    pub scatter: Checked<()>,
}

impl Routed {
    /// Waits for the device, and gives the first index out of range: of the rows that were taken, else of those that were
    /// added to. Without [`Bounds::Report`] nothing is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](girih::Error::OutOfRange), or [`Error::Server`](girih::Error::Server) where the kernel failed.
    pub fn check(self) -> Result<()> {
        self.gather.check()?;
        self.scatter.check()
    }
}

/// The product of gathered rows: `out[r, n] = activation(sum over k of a[gather[r], k] b[e, k, n] + bias[e, n])`, where `e`
/// is the group of row `r`, as in [`grouped_matmul`](super::grouped_matmul).
///
/// `a` has shape `[T, K]`, `gather` R indices of its rows, `b` `[E, K, N]`, the result `[R, N]`. The rows are not copied
/// first. Where `bounds` finds an index no place, the row is 0 before the bias. Without `ends` all rows have one matrix
/// `b` of shape `[K, N]`.
///
/// # Errors
///
/// As [`grouped_matmul`](super::grouped_matmul) and [`gather`](crate::gather).
pub fn gather_matmul(
    client: &Client,
    a: &TensorHandle,
    gather: &TensorHandle,
    b: &TensorHandle,
    ends: Option<&TensorHandle>,
    bounds: Bounds,
    options: &MatmulOptions<'_>,
) -> Result<Checked<TensorHandle>> {
    const CALL: &str = "gather_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "gather", gather, 1, false)?;
    rank(CALL, "b", b, if ends.is_some() { 3 } else { 2 }, false)?;
    let columns = b.shape()[b.shape().len() - 1];
    let shape = vec![gather.shape()[0], columns];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let route = Route {
        ends,
        gather: Some(gather),
        ..Default::default()
    };
    let device = Device::of(client);
    let problem = routed(CALL, &device, [a, b, &out], &route, bounds, false, options)?;
    let Routed { gather, .. } = run(&device, &problem, options)?;
    Ok(gather.map(|()| out))
}

/// What [`gather_matmul`] would launch.
///
/// # Errors
///
/// As [`gather_matmul`].
pub fn explain_gather_matmul(
    client: &Client,
    a: &TensorHandle,
    gather: &TensorHandle,
    b: &TensorHandle,
    ends: Option<&TensorHandle>,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "gather_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "gather", gather, 1, false)?;
    rank(CALL, "b", b, if ends.is_some() { 3 } else { 2 }, false)?;
    let columns = b.shape()[b.shape().len() - 1];
    let shape = vec![gather.shape()[0], columns];
    let out = described(CALL, a, shape, output_type(CALL, a, options)?)?;
    let route = Route {
        ends,
        gather: Some(gather),
        ..Default::default()
    };
    let device = Device::of(client);
    let tensors = [a, b, &out];
    let problem = routed(CALL, &device, tensors, &route, Bounds::Mask, false, options)?;
    explained(&device, &problem, options)
}

/// Adds products of rows to rows, `target[scatter[r], n] += weights[r] activation(product[r, n])`, where `product[r, n]` is
/// the sum over `k` of `a[gather[r], k] b[e, k, n]`, and `bias[e, n]`; `e` is the group of row `r`.
///
/// One kernel is the second half of a mixture of experts: each row's product with its expert's matrix, times the row's
/// weight, is added to the row's token. All additions to one place count; their order is not fixed, so that sums of floats may
/// differ in their last bits from run to run.
///
/// `a` has shape `[T, K]`, `b` `[E, K, N]`, or `[K, N]` without `ends`, the target `[S, N]` and any strides that do not
/// overlap. The lists of a [`Route`] have R integers of one type, and R factors of any float type; what is not given is each
/// row's own number, and a factor of 1. Rows in no group add nothing, nor do those that `bounds` finds no place for in the
/// target; a row of `a` that is not there is 0 before the bias.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, MatmulOptions, Result, Route, gather_matmul_scatter_into};
///
/// fn combine(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let list = |values: &[i32]| {
///         let handle = client.create_from_slice(i32::as_bytes(values));
///         TensorHandle::new_contiguous(vec![values.len()], handle, i32::elem_type_native())
///     };
///     let tokens = tensor(&[1.0, 2.0], vec![2, 1]);
///     let experts = tensor(&[1.0, 10.0], vec![2, 1, 1]);
///     // Token 1 goes to the first expert, tokens 0 and 1 to the second.
///     let (rows, ends) = (list(&[1, 0, 1]), list(&[1, 3]));
///     let weights = tensor(&[0.5, 1.0, 0.5], vec![3]);
///     let target = tensor(&[0.0, 0.0], vec![2, 1]);
///     let route = Route {
///         ends: Some(&ends),
///         gather: Some(&rows),
///         scatter: Some(&rows),
///         weights: Some(&weights),
///     };
///     let options = MatmulOptions::default();
///     gather_matmul_scatter_into(client, &tokens, &experts, &target, &route, Bounds::Report, &options)?
///         .check()?;
///     let bytes = client.read_one(target.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [10.0, 11.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # combine(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`grouped_matmul`] and [`scatter_into`]; [`Error::Argument`] where the lists
/// do not say how many rows there are.
///
/// [`grouped_matmul`]: super::grouped_matmul
/// [`scatter_into`]: crate::scatter_into
/// [`Error::Argument`]: girih::Error::Argument
pub fn gather_matmul_scatter_into(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    target: &TensorHandle,
    route: &Route<'_>,
    bounds: Bounds,
    options: &MatmulOptions<'_>,
) -> Result<Routed> {
    let device = Device::of(client);
    let problem = adding(&device, [a, b, target], route, bounds, options)?;
    run(&device, &problem, options)
}

/// What [`gather_matmul_scatter_into`] would launch.
///
/// # Errors
///
/// As [`gather_matmul_scatter_into`].
pub fn explain_gather_matmul_scatter(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    target: &TensorHandle,
    route: &Route<'_>,
    bounds: Bounds,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    let device = Device::of(client);
    let problem = adding(&device, [a, b, target], route, bounds, options)?;
    explained(&device, &problem, options)
}

/// A product whose rows are added to others.
fn adding(
    device: &Device,
    tensors: [&TensorHandle; 3],
    route: &Route<'_>,
    bounds: Bounds,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    const CALL: &str = "gather_matmul_scatter";
    routed(CALL, device, tensors, route, bounds, true, options)
}

/// Computes a problem, with the records that its bounds ask for.
fn run(device: &Device, problem: &Problem, options: &MatmulOptions<'_>) -> Result<Routed> {
    let report = |list: &Option<TensorHandle>, extent| match list {
        Some(list) => crate::gather::report(problem.call, device, list, 0, extent, problem.bounds),
        None => Ok(None),
    };
    let reports: Reports = [
        report(&problem.gather, problem.rows_a)?,
        report(&problem.scatter, problem.rows_c)?,
    ];
    compute(device, problem, options, reports.clone())?;
    let [gather, scatter] = reports;
    Ok(Routed {
        gather: Checked::new((), gather),
        scatter: Checked::new((), scatter),
    })
}
