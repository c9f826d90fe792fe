//! The kernels of the router: which experts a token goes to, and where its routes are among those of each expert.
//!
//! Tokens are cut into chunks, a cube to each. The first kernel chooses the experts of a chunk's tokens and counts, for each
//! expert, the chunk's routes to it, which gives each route its rank among these. The second finds where the chunk's routes to each
//! expert begin, and adds the rank. Nothing depends on the order in which cubes run.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if, clippy::too_many_arguments)]

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Routes of a chunk at most, in shared memory.
pub const MOST_ROUTES: usize = 4096;
/// Experts at most: two numbers of each are in shared memory.
pub const MOST_EXPERTS: usize = 2048;

/// The extents of a router.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Extents {
    /// Tokens.
    pub tokens: usize,
    /// Experts.
    pub experts: usize,
    /// Experts of a token.
    pub chosen: usize,
    /// Tokens of a chunk.
    pub of_chunk: usize,
    /// Chunks.
    pub chunks: usize,
    /// From a token's scores to the next one's, and from score to score.
    pub token_step: usize,
    pub expert_step: usize,
}

/// What a softmax over all, or over the chosen, is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choosing {
    /// Whether the weights of a token sum to 1.
    pub normalise: bool,
    /// Routes of a chunk.
    pub room: usize,
}

/// The experts of each token, the largest score first, the first of equal ones; their weights; and the rank of each route among those
/// of its chunk to its expert.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn choose_kernel<E: Float, W: Float>(
    scores: &[E],
    weights: &mut [W],
    chosen: &mut [i32],
    ranks: &mut [i32],
    counts: &mut [u32],
    extents: Extents,
    #[comptime] choosing: Choosing,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let mut list = shared::<u32>(choosing.room);
    let first = CUBE_POS * extents.of_chunk;
    let left = extents.tokens - first;
    let here = select(left < extents.of_chunk, left, extents.of_chunk);
    let mut token = UNIT_POS as usize;
    while token < here {
        choose::<E, W>(
            scores,
            weights,
            chosen,
            &mut list,
            first + token,
            token,
            extents,
            choosing.normalise,
        );
        token += CUBE_DIM as usize;
    }
    sync_cube();
    let routes = here * extents.chosen;
    let begin = first * extents.chosen;
    let mut expert = UNIT_POS as usize;
    while expert < extents.experts {
        let mut count = 0u32;
        for at in 0..routes {
            if list[at] as usize == expert {
                ranks[begin + at] = count as i32;
                count += 1u32;
            }
        }
        counts[CUBE_POS * extents.experts + expert] = count;
        expert += CUBE_DIM as usize;
    }
}

/// One token's experts and weights.
#[cube]
fn choose<E: Float, W: Float>(
    scores: &[E],
    weights: &mut [W],
    chosen: &mut [i32],
    list: &mut Shared<[u32]>,
    token: usize,
    in_chunk: usize,
    extents: Extents,
    #[comptime] normalise: bool,
) {
    let base = token * extents.token_step;
    let out = token * extents.chosen;
    let infinity = W::cast_from(f32::reinterpret(0x7f80_0000u32));
    // The score and the place of the last one chosen: what comes after it is yet to be chosen.
    let mut last = infinity;
    let mut last_at = i32::new(-1);
    let mut top = W::from_int(0);
    let mut sum = W::from_int(0);
    for turn in 0..extents.chosen {
        let mut best = W::from_int(0);
        let mut best_at = i32::new(-1);
        for expert in 0..extents.experts {
            let score = ordered::<W>(W::cast_from(scores[base + expert * extents.expert_step]));
            let at = expert as i32;
            let is_left = score < last || (score == last && at > last_at);
            let is_better = best_at < 0i32 || score > best;
            if is_left && is_better {
                best = score;
                best_at = at;
            }
        }
        last = best;
        last_at = best_at;
        let score = W::cast_from(scores[base + best_at as usize * extents.expert_step]);
        if turn == 0 {
            top = score;
        }
        let power = W::exp(score - top);
        sum += power;
        weights[out + turn] = power;
        chosen[out + turn] = best_at;
        list[in_chunk * extents.chosen + turn] = best_at as u32;
    }
    if comptime!(!normalise) {
        sum = W::from_int(0);
        for expert in 0..extents.experts {
            let score = W::cast_from(scores[base + expert * extents.expert_step]);
            sum += W::exp(score - top);
        }
    }
    for turn in 0..extents.chosen {
        let power = weights[out + turn];
        weights[out + turn] = power / sum;
    }
}

/// The score, NaN as the largest.
#[cube]
fn ordered<W: Float>(score: W) -> W {
    // Neither holds for NaN.
    let is_number = score < W::from_int(0) || score >= W::from_int(0);
    select(
        is_number,
        score,
        W::cast_from(f32::reinterpret(0x7f80_0000u32)),
    )
}

/// The place of each route in the order of experts, given its rank within its chunk; the token of each place; where the places of
/// each expert end.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn place_kernel(
    counts: &[u32],
    chosen: &[i32],
    places: &mut [i32],
    sources: &mut [i32],
    ends: &mut [i32],
    extents: Extents,
    #[comptime] room: usize,
) {
    // Routes to each expert: of all chunks, and of those before this one.
    let totals = shared::<Atomic<u32>>(room);
    let before = shared::<Atomic<u32>>(room);
    let units = CUBE_DIM as usize;
    let mut expert = UNIT_POS as usize;
    while expert < extents.experts {
        totals[expert].at::<Cube>().store::<Relaxed>(0u32);
        before[expert].at::<Cube>().store::<Relaxed>(0u32);
        expert += units;
    }
    sync_cube();
    // Neighbouring units have neighbouring experts; where there are more units than experts, some share an expert's chunks.
    let parts = select(extents.experts < units, units / extents.experts, 1usize);
    let mut work = UNIT_POS as usize;
    while work < parts * extents.experts {
        let expert = work % extents.experts;
        let mut chunk = work / extents.experts;
        let mut all = 0u32;
        let mut earlier = 0u32;
        while chunk < extents.chunks {
            let count = counts[chunk * extents.experts + expert];
            all += count;
            earlier += select(chunk < CUBE_POS, count, 0u32);
            chunk += parts;
        }
        totals[expert].at::<Cube>().fetch_add::<Relaxed>(all);
        before[expert].at::<Cube>().fetch_add::<Relaxed>(earlier);
        work += units;
    }
    sync_cube();
    let mut expert = UNIT_POS as usize;
    while expert < extents.experts {
        let mut begin = 0u32;
        for other in 0..expert {
            begin += totals[other].at::<Cube>().load::<Relaxed>();
        }
        before[expert].at::<Cube>().fetch_add::<Relaxed>(begin);
        if CUBE_POS == 0 {
            let end = begin + totals[expert].at::<Cube>().load::<Relaxed>();
            ends[expert] = end as i32;
        }
        expert += units;
    }
    sync_cube();
    let first = CUBE_POS * extents.of_chunk * extents.chosen;
    let behind = first + extents.of_chunk * extents.chosen;
    let routes = extents.tokens * extents.chosen;
    let behind = select(behind < routes, behind, routes);
    let mut route = first + UNIT_POS as usize;
    while route < behind {
        let begin = before[chosen[route] as usize]
            .at::<Cube>()
            .load::<Relaxed>();
        let place = begin as i32 + places[route];
        places[route] = place;
        sources[place as usize] = (route / extents.chosen) as i32;
        route += units;
    }
}

/// The gradient of the scores, from that of the weights; a unit to a score.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn choose_backward_kernel<E: Float, W: Float>(
    gradient: &[W],
    scores: &[E],
    weights: &[W],
    chosen: &[i32],
    out: &mut [E],
    extents: Extents,
    #[comptime] normalise: bool,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let all = extents.tokens * extents.experts;
    let mut at = ABSOLUTE_POS;
    while at < all {
        let token = at / extents.experts;
        let expert = at % extents.experts;
        let first = token * extents.chosen;
        // The weights' gradient along the weights, and what is this expert's own.
        let mut along = W::from_int(0);
        let mut own = W::from_int(0);
        let mut weight = W::from_int(0);
        for turn in 0..extents.chosen {
            let slope = gradient[first + turn];
            let here = weights[first + turn];
            along += slope * here;
            if chosen[first + turn] as usize == expert {
                own = slope;
                weight = here;
            }
        }
        if comptime!(normalise) {
            out[at] = E::cast_from(weight * (own - along));
        } else {
            // Every expert's probability, from that of the first chosen, whose score is the largest.
            let base = token * extents.token_step;
            let score = W::cast_from(scores[base + expert * extents.expert_step]);
            let best = chosen[first] as usize;
            let top = W::cast_from(scores[base + best * extents.expert_step]);
            let probability = weights[first] * W::exp(score - top);
            out[at] = E::cast_from(probability * (own - along));
        }
        at += CUBE_COUNT * CUBE_DIM as usize;
    }
}
