//! The router's launches.

use super::choose::{
    Choosing, ExtentsLaunch, MOST_EXPERTS, MOST_ROUTES, choose_backward_kernel, choose_kernel,
    place_kernel,
};
use super::{I32, float_sums, has_exponentials, units};
use crate::check::{self, list};
use crate::segment::gradient::each;
use crate::segment::rows::{address, buffer, room};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

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
/// token's weights NaN. `ends`, `sources` and `places` are what [`grouped_matmul`],
/// [`gather_matmul`] and [`combine_experts`] take. Nothing is read back, and every run gives the same.
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
///
/// [`grouped_matmul`]: crate::grouped_matmul
/// [`gather_matmul`]: crate::gather_matmul
/// [`combine_experts`]: crate::combine_experts
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
        check::within(CALL, client, argument, tensor)?;
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
        has_exponentials(call, device, sums)?;
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
