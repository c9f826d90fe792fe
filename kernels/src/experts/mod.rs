//! What lies around the products of a mixture of experts: routes, sums of routes, and activations.

mod activate;
mod choose;
mod combine;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::activate::{activate_backward_kernel, activate_kernel};
    pub use super::choose::{
        Choosing, Extents, ExtentsCompilationArg, choose_backward_kernel, choose_kernel,
        place_kernel,
    };
    pub use super::combine::{Teams, combine_backward_kernel, combine_kernel};
}

use crate::check;
use crate::matmul::Activation;
use crate::scan::{cubes, sum_type};
use crate::segment::gradient::{address, each};
use crate::segment::launch::{Rows, buffer, list, room};
use activate::{activate_backward_kernel, activate_kernel};
use choose::{
    Choosing, ExtentsLaunch, MOST_EXPERTS, MOST_ROUTES, choose_backward_kernel, choose_kernel,
    place_kernel,
};
use combine::{Teams, combine_backward_kernel, combine_kernel};
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Error, Result};

const I32: ElemType = ElemType::Int(IntKind::I32);

/// Tokens of a chunk, unless there are so many that chunks are longer.
const TOKENS: usize = 32;
/// Chunks, while they have room for their routes: each looks through the counts of all.
const CHUNKS: usize = 512;

/// Which tokens go to which experts, with a route for each token and each of its experts.
///
/// Routes are numbered by token, `t * k + j`; in the order of experts, and within an expert of tokens, each has a place.
#[derive(Clone, Debug)]
pub struct ExpertRoutes {
    /// The weight of each route, `[T, k]`: an `f32`, or an `f64` where scores are.
    pub weights: TensorHandle,
    /// The expert of each route, `[T, k]`, an `i32`; the one of the largest score first.
    pub chosen: TensorHandle,
    /// The place of each route, `[T, k]`, an `i32`.
    pub places: TensorHandle,
    /// The token of each place, `[T * k]`, an `i32`.
    pub sources: TensorHandle,
    /// Where the places of each expert end, `[E]`, an `i32`.
    pub ends: TensorHandle,
}

/// The `k` experts with the largest scores of each token, their weights, and the routes in the order of experts: the router of a mixture
/// of experts.
///
/// `scores` has shape `[T, E]` and any strides. A weight is the softmax of the scores, over all experts, or with `normalise` over the
/// chosen ones, whose weights then sum to 1. Of equal scores the first is chosen first; NaN is above all numbers, and makes the
/// token's weights NaN. `ends`, `sources` and `places` are what [`grouped_matmul`](crate::grouped_matmul),
/// [`gather_matmul`](crate::gather_matmul) and [`combine_experts`] take. Nothing is read back, and every run gives the same.
///
/// Two launches: one chooses, one places the routes; no sort.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, route_experts};
///
/// fn routes(client: &Client) -> Result<()> {
///     // Two tokens, three experts.
///     let scores = client.create_from_slice(f32::as_bytes(&[0.0, 2.0, 1.0, 5.0, 1.0, 2.0]));
///     let scores = TensorHandle::new_contiguous(vec![2, 3], scores, f32::elem_type_native());
///     let routes = route_experts(client, &scores, 2, true)?;
///     let read = |list: TensorHandle| -> Result<Vec<i32>> {
///         Ok(i32::from_bytes(&client.read_one(list.handle)?).to_vec())
///     };
///     assert_eq!(read(routes.chosen)?, [1, 2, 0, 2]);
///     // The first expert has one route, as the second has; the third has two.
///     assert_eq!(read(routes.ends)?, [1, 2, 4]);
///     assert_eq!(read(routes.sources)?, [1, 0, 0, 1]);
///     assert_eq!(read(routes.places)?, [1, 2, 0, 3]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # routes(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Strides`]; [`Error::Element`] of scores that are no floats; [`Error::Argument`] of a `k` that is 0 or more
/// than there are experts; [`Error::Size`] of more than 2048 experts, or 2^31 - 1 routes; [`Error::Device`] where the device does not
/// store a type.
pub fn route_experts(
    client: &Client,
    scores: &TensorHandle,
    k: usize,
    normalise: bool,
) -> Result<ExpertRoutes> {
    const CALL: &str = "route_experts";
    let device = Device::of(client);
    let router = Router::new(CALL, &device, scores, k)?;
    let (tokens, routes) = (router.tokens, router.tokens * k);
    let tensor = |shape: &[usize], dtype: ElemType| {
        let count = shape.iter().product();
        TensorHandle::new_contiguous(shape.to_vec(), room(client, count, dtype.size()), dtype)
    };
    let result = ExpertRoutes {
        weights: tensor(&[tokens, k], router.sums),
        chosen: tensor(&[tokens, k], I32),
        places: tensor(&[tokens, k], I32),
        sources: tensor(&[routes], I32),
        ends: tensor(&[router.experts], I32),
    };
    if tokens == 0 {
        let zeros = client.create_from_slice(i32::as_bytes(&vec![0; router.experts]));
        let ends = TensorHandle::new_contiguous(vec![router.experts], zeros, I32);
        return Ok(ExpertRoutes { ends, ..result });
    }
    let chunks = router.chunks();
    let counts = room(client, chunks * router.experts, 4);
    let arg = |tensor: &TensorHandle| buffer(&tensor.handle, tensor.shape().iter().product());
    let units = units(&device);
    let types = [scores.dtype, router.sums];
    let choosing = Choosing {
        normalise,
        room: router.of_chunk() * k,
    };
    let of_token = (units as usize).min(router.of_chunk().max(router.experts)) as u32;
    // SAFETY: tokens are below their number, experts below theirs, and scores were checked to lie in their buffer.
    unsafe {
        choose_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(chunks as u32),
            CubeDim::new_1d(of_token.next_power_of_two().min(units)),
            router.address(),
            router.scores(),
            arg(&result.weights),
            arg(&result.chosen),
            arg(&result.places),
            buffer(&counts, chunks * router.experts),
            router.extents(),
            choosing,
            types,
        );
    }
    // SAFETY: the ranks and counts of the first kernel make the places a permutation of the routes.
    unsafe {
        place_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(chunks as u32),
            CubeDim::new_1d(units),
            router.address(),
            buffer(&counts, chunks * router.experts),
            arg(&result.chosen),
            arg(&result.places),
            arg(&result.sources),
            arg(&result.ends),
            router.extents(),
            router.experts,
        );
    }
    Ok(result)
}

/// The gradient of [`route_experts`] for its scores, given that of the weights; contiguous, of the scores' shape and type.
///
/// The choice is taken as it is: with `normalise` the scores of experts that were not chosen get 0.
///
/// # Errors
///
/// As [`route_experts`]; [`Error::Shape`] and [`Error::Element`] of the others.
pub fn route_experts_backward(
    client: &Client,
    gradient: &TensorHandle,
    scores: &TensorHandle,
    weights: &TensorHandle,
    chosen: &TensorHandle,
    normalise: bool,
) -> Result<TensorHandle> {
    const CALL: &str = "route_experts_backward";
    let device = Device::of(client);
    check::axis(CALL, "chosen", chosen, 1)?;
    let router = Router::new(CALL, &device, scores, chosen.shape()[1])?;
    let shape = [router.tokens, router.chosen];
    for (argument, tensor, dtype) in [
        ("gradient", gradient, router.sums),
        ("weights", weights, router.sums),
        ("chosen", chosen, I32),
    ] {
        check::same_type(CALL, argument, tensor.dtype, dtype)?;
        check::shape(CALL, argument, tensor, &shape)?;
        check::within(CALL, argument, tensor)?;
    }
    let elements = router.tokens * router.experts;
    let out = room(client, elements, scores.dtype.size());
    if elements > 0 {
        let routes = router.tokens * router.chosen;
        let (count, dim) = each(&device, elements);
        let lists = [gradient, weights, chosen].map(|tensor| list(client, tensor));
        let [gradient, weights, chosen] = lists.each_ref().map(|list| buffer(&list.handle, routes));
        // SAFETY: elements are below their number, and routes below theirs.
        unsafe {
            choose_backward_kernel::launch_unchecked(
                client,
                count,
                dim,
                router.address(),
                gradient,
                router.scores(),
                weights,
                chosen,
                buffer(&out, elements),
                router.extents(),
                normalise,
                [scores.dtype, router.sums],
            );
        }
    }
    let shape = vec![router.tokens, router.experts];
    Ok(TensorHandle::new_contiguous(shape, out, scores.dtype))
}

/// Whether so many tokens go to `k` experts each, for a caller of that name.
///
/// # Errors
///
/// [`Error::Argument`] and [`Error::Size`], as [`route_experts`].
pub fn supports_route_experts(
    call: &'static str,
    tokens: usize,
    experts: usize,
    k: usize,
) -> Result<()> {
    if k == 0 || k > experts {
        return Err(Error::Argument {
            call,
            argument: "k",
            given: k.to_string(),
            allowed: format!("1 to {experts}, as many as there are experts"),
        });
    }
    for (argument, given, most) in [
        ("experts", experts, MOST_EXPERTS),
        ("routes", tokens.saturating_mul(k), i32::MAX as usize),
    ] {
        if given > most {
            return Err(Error::Size {
                call,
                argument,
                given: given as u64,
                allowed: most as u64,
            });
        }
    }
    Ok(())
}

/// What the launches of a router have in common.
struct Router<'a> {
    scores: &'a TensorHandle,
    tokens: usize,
    experts: usize,
    chosen: usize,
    /// The type of weights.
    sums: ElemType,
}

impl<'a> Router<'a> {
    fn new(
        call: &'static str,
        device: &Device,
        scores: &'a TensorHandle,
        chosen: usize,
    ) -> Result<Self> {
        let rank = scores.shape().len();
        if rank != 2 {
            return Err(Error::Rank {
                call,
                argument: "scores",
                given: rank,
                allowed: "2".into(),
            });
        }
        let [tokens, experts] = [scores.shape()[0], scores.shape()[1]];
        let sums = float_sums(call, device, "scores", scores)?;
        check::element(call, device, I32)?;
        supports_route_experts(call, tokens, experts, chosen)?;
        Ok(Self {
            scores,
            tokens,
            experts,
            chosen,
            sums,
        })
    }

    /// Tokens of a chunk.
    fn of_chunk(&self) -> usize {
        let most = (MOST_ROUTES / self.chosen).max(1);
        let wanted = self.tokens.div_ceil(CHUNKS).next_multiple_of(TOKENS);
        wanted.max(TOKENS).min(most)
    }

    fn chunks(&self) -> usize {
        self.tokens.div_ceil(self.of_chunk())
    }

    /// Elements from the first score to the last.
    fn len(&self) -> usize {
        let steps = check::dims(self.scores).1;
        1 + (self.tokens.max(1) - 1) * steps[0] + (self.experts - 1) * steps[1]
    }

    fn scores(&self) -> BufferArg {
        buffer(&self.scores.handle, self.len())
    }

    fn address(&self) -> AddressType {
        address(&[
            self.len(),
            self.tokens * self.experts,
            self.chunks() * self.experts,
        ])
    }

    fn extents(&self) -> ExtentsLaunch {
        let steps = check::dims(self.scores).1;
        ExtentsLaunch::new(
            self.tokens,
            self.experts,
            self.chosen,
            self.of_chunk(),
            self.chunks(),
            steps[0],
            steps[1],
        )
    }
}

fn units(device: &Device) -> u32 {
    let most = device.client().properties().hardware.max_units_per_cube;
    1 << most.clamp(1, 256).ilog2()
}

/// The type that a tensor's floats are summed in.
fn float_sums(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<ElemType> {
    use FloatKind::{BF16, F16, F32, F64};
    match tensor.dtype {
        ElemType::Float(F16 | BF16 | F32 | F64) => {}
        given => {
            return Err(Error::Element {
                call,
                argument,
                given,
                allowed: "f16, bf16, f32 or f64".into(),
            });
        }
    }
    let sums = sum_type(tensor.dtype);
    check::element(call, device, tensor.dtype)?;
    check::element(call, device, sums)?;
    check::within(call, argument, tensor)?;
    Ok(sums)
}

/// Rows added up by token: `out[t, ..] =` the sum over `j` of `weights[t, j] rows[places[t, j], ..]`; without weights the sum of the
/// rows alone.
///
/// `rows` has shape `[R, N]`, `places` and `weights` `[T, k]`, as [`route_experts`] gives them; the result `[T, N]` is contiguous and of
/// the rows' type. Sums are of `f32` for halves, rounded once, in the order of `j`: every run gives the same, and nothing is added
/// atomically. A place out of range adds nothing.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, combine_experts};
///
/// fn sums(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let rows = tensor(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0], vec![3, 2]);
///     let places = client.create_from_slice(i32::as_bytes(&[0, 2, 1, 7]));
///     let places = TensorHandle::new_contiguous(vec![2, 2], places, i32::elem_type_native());
///     let weights = tensor(&[0.5, 2.0, 1.0, 1.0], vec![2, 2]);
///     let out = combine_experts(client, &rows, &places, Some(&weights))?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [200.5, 401.0, 10.0, 20.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Device`] where the device does not store a type.
pub fn combine_experts(
    client: &Client,
    rows: &TensorHandle,
    places: &TensorHandle,
    weights: Option<&TensorHandle>,
) -> Result<TensorHandle> {
    const CALL: &str = "combine_experts";
    let device = Device::of(client);
    let combining = Combining::new(CALL, &device, rows, places, weights)?;
    let Combining {
        rows,
        places,
        weights,
        tokens,
        chosen,
        sums,
    } = combining;
    let elements = tokens * rows.columns;
    let out = room(client, elements, rows.element.size());
    if elements > 0 {
        let width = rows.width(&device);
        let all = elements / width;
        let (count, dim) = each(&device, all);
        // SAFETY: vectors are below their number, and places masked.
        unsafe {
            combine_kernel::launch_unchecked(
                client,
                count,
                dim,
                address(&[rows.len(), elements]),
                width,
                rows.arg(),
                buffer(&places.handle, tokens * chosen),
                weights
                    .map(|weights| buffer(&weights.handle, tokens * chosen))
                    .into(),
                buffer(&out, elements),
                rows.count,
                rows.columns / width,
                rows.step / width,
                all,
                chosen,
                [rows.element, sums],
            );
        }
    }
    let shape = vec![tokens, rows.columns];
    Ok(TensorHandle::new_contiguous(shape, out, rows.element))
}

/// The gradients of [`combine_experts`].
#[derive(Clone, Debug)]
pub struct CombineGradients {
    /// That of the rows, `weights[t, j] gradient[t, ..]` at `places[t, j]`: contiguous.
    pub rows: TensorHandle,
    /// That of the weights, `[T, k]`: the product of `gradient[t, ..]` with `rows[places[t, j], ..]`.
    pub weights: TensorHandle,
}

/// The gradients of [`combine_experts`] for its rows and weights, given that of its result: one pass over both.
///
/// `places` name each row once, as [`route_experts`] makes them: a row that they do not name would have no gradient, and one named
/// twice that of one of both.
///
/// # Errors
///
/// As [`combine_experts`]; [`Error::Shape`] and [`Error::Element`] of the gradient; [`Error::Argument`] where there are other places than
/// rows.
pub fn combine_experts_backward(
    client: &Client,
    gradient: &TensorHandle,
    rows: &TensorHandle,
    places: &TensorHandle,
    weights: &TensorHandle,
) -> Result<CombineGradients> {
    const CALL: &str = "combine_experts_backward";
    let device = Device::of(client);
    let combining = Combining::new(CALL, &device, rows, places, Some(weights))?;
    let Combining {
        rows,
        places,
        weights,
        tokens,
        chosen,
        sums,
    } = combining;
    let routes = tokens * chosen;
    if routes != rows.count {
        return Err(Error::Argument {
            call: CALL,
            argument: "the number of places",
            given: routes.to_string(),
            allowed: format!("{}, as many as there are rows", rows.count),
        });
    }
    check::same_type(CALL, "gradient", gradient.dtype, rows.element)?;
    check::shape(CALL, "gradient", gradient, &[tokens, rows.columns])?;
    check::within(CALL, "gradient", gradient)?;
    let elements = routes * rows.columns;
    let of_rows = room(client, elements, rows.element.size());
    let of_weights = room(client, routes, sums.size());
    if routes > 0 {
        let gradient = Rows::new(client, gradient);
        let width = rows.width(&device).min(gradient.width(&device));
        let vectors = rows.columns / width;
        let teams = teams(&device, vectors, chosen);
        let all = routes.div_ceil((teams.units / teams.team) as usize);
        let turns = match device.target() {
            // A cube of a CPU costs more than a row.
            Target::Cpu => all.div_ceil(16),
            _ => 1,
        };
        let weights = weights.expect("they were given");
        // SAFETY: routes are below their number, and places masked; `each` cuts nothing off, since turns times cubes cover all.
        unsafe {
            combine_backward_kernel::launch_unchecked(
                client,
                cubes(&device, all.div_ceil(turns)),
                CubeDim::new_1d(teams.units),
                address(&[rows.len(), gradient.len(), elements]),
                width,
                gradient.arg(),
                rows.arg(),
                buffer(&places.handle, routes),
                buffer(&weights.handle, routes),
                buffer(&of_rows, elements),
                buffer(&of_weights, routes),
                rows.count,
                vectors,
                gradient.step / width,
                rows.step / width,
                routes,
                turns,
                teams,
                [rows.element, sums],
            );
        }
    }
    let shape = vec![routes, rows.columns];
    Ok(CombineGradients {
        rows: TensorHandle::new_contiguous(shape, of_rows, rows.element),
        weights: TensorHandle::new_contiguous(vec![tokens, chosen], of_weights, sums),
    })
}

/// A team as wide as rows are, of a plane at most.
fn teams(device: &Device, vectors: usize, chosen: usize) -> Teams {
    let hardware = &device.client().properties().hardware;
    let plane = 1u32 << hardware.plane_size_min.max(1).ilog2();
    let team = match device.target() {
        Target::Cpu => 1,
        _ => plane.min(vectors.next_power_of_two().min(64) as u32),
    };
    let units = units(device);
    Teams {
        team: team.min(units),
        units,
        chosen,
    }
}

/// The checked arguments of sums by token.
struct Combining {
    rows: Rows,
    places: TensorHandle,
    weights: Option<TensorHandle>,
    tokens: usize,
    chosen: usize,
    /// The type of the sums, and of the weights.
    sums: ElemType,
}

impl Combining {
    fn new(
        call: &'static str,
        device: &Device,
        rows: &TensorHandle,
        places: &TensorHandle,
        weights: Option<&TensorHandle>,
    ) -> Result<Self> {
        for (argument, tensor) in [("rows", rows), ("places", places)] {
            let given = tensor.shape().len();
            if given != 2 {
                return Err(Error::Rank {
                    call,
                    argument,
                    given,
                    allowed: "2".into(),
                });
            }
        }
        let sums = float_sums(call, device, "rows", rows)?;
        check::element(call, device, I32)?;
        check::same_type(call, "places", places.dtype, I32)?;
        check::within(call, "places", places)?;
        let [tokens, chosen] = [places.shape()[0], places.shape()[1]];
        if let Some(weights) = weights {
            check::same_type(call, "weights", weights.dtype, sums)?;
            check::shape(call, "weights", weights, &[tokens, chosen])?;
            check::within(call, "weights", weights)?;
        }
        let client = device.client();
        Ok(Self {
            rows: Rows::new(client, rows),
            places: list(client, places),
            weights: weights.map(|weights| list(client, weights)),
            tokens,
            chosen,
            sums,
        })
    }
}

/// `activation(values)` of each element: contiguous, of the same shape and type.
///
/// # Errors
///
/// [`Error::Element`] of what are no floats, [`Error::Strides`]; [`Error::Device`] where the device does not store a type.
pub fn activate(
    client: &Client,
    values: &TensorHandle,
    activation: Activation,
) -> Result<TensorHandle> {
    const CALL: &str = "activate";
    let device = Device::of(client);
    let sums = float_sums(CALL, &device, "values", values)?;
    let (shape, _) = check::dims(values);
    let elements: usize = shape.iter().product();
    let out = room(client, elements, values.dtype.size());
    let values = list(client, values);
    let result = TensorHandle::new_contiguous(shape, out, values.dtype);
    launch_activation(&device, &values, &result, activation, sums);
    Ok(result)
}

/// Launches the activation of contiguous values into a contiguous tensor of as many.
pub(crate) fn launch_activation(
    device: &Device,
    values: &TensorHandle,
    out: &TensorHandle,
    activation: Activation,
    sums: ElemType,
) {
    let Some(pass) = Pass::over(device, [values, out]) else {
        return;
    };
    // SAFETY: vectors are below their number, which both tensors have.
    unsafe {
        activate_kernel::launch_unchecked(
            device.client(),
            pass.count.clone(),
            pass.dim,
            address(&[pass.elements]),
            pass.width,
            buffer(&values.handle, pass.elements),
            buffer(&out.handle, pass.elements),
            pass.elements / pass.width,
            activation,
            [values.dtype, sums],
        );
    }
}

/// Multiplies each element of a contiguous gradient with the slope of an activation at a contiguous tensor's.
pub(crate) fn launch_activation_backward(
    device: &Device,
    values: &TensorHandle,
    gradient: &TensorHandle,
    activation: Activation,
    sums: ElemType,
) {
    let Some(pass) = Pass::over(device, [values, gradient]) else {
        return;
    };
    // SAFETY: vectors are below their number, which both tensors have.
    unsafe {
        activate_backward_kernel::launch_unchecked(
            device.client(),
            pass.count.clone(),
            pass.dim,
            address(&[pass.elements]),
            pass.width,
            buffer(&values.handle, pass.elements),
            buffer(&gradient.handle, pass.elements),
            pass.elements / pass.width,
            activation,
            [values.dtype, sums],
        );
    }
}

/// One pass over two contiguous tensors.
struct Pass {
    elements: usize,
    width: usize,
    count: CubeCount,
    dim: CubeDim,
}

impl Pass {
    /// None where there are no elements.
    fn over(device: &Device, tensors: [&TensorHandle; 2]) -> Option<Self> {
        let elements: usize = tensors[0].shape().iter().product();
        let size = tensors[0].dtype.size();
        let fits = |width: &usize| {
            elements.is_multiple_of(*width)
                && tensors.iter().all(|tensor| {
                    let start = tensor.handle.offset_start.unwrap_or(0);
                    start.is_multiple_of((*width * size) as u64)
                })
        };
        let width = device
            .vector_widths(size)
            .into_iter()
            .find(fits)
            .unwrap_or(1);
        let (count, dim) = each(device, elements / width);
        (elements > 0).then_some(Self {
            elements,
            width,
            count,
            dim,
        })
    }
}
