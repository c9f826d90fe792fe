//! `route_experts` and its gradient.

use super::super::matmul::model::{Element, Operand, Random, read};
use super::super::model::list;
use super::worded;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih_kernels::{ExpertRoutes, route_experts, route_experts_backward};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    routes_of_f32,
    routes_of_f64 needs [needs::F64],
    routes_of_f16 needs [needs::F16],
    routes_of_bf16 needs [needs::BF16],
    routes_of_many_tokens,
    all_to_one_and_none_to_others,
    equal_scores_and_those_that_are_no_numbers,
    no_tokens,
    slopes_of_scores,
    slopes_of_scores_of_f16 needs [needs::F16],
    what_is_refused,
}

/// What the host makes of scores.
struct Right {
    chosen: Vec<i32>,
    weights: Vec<f64>,
    places: Vec<i32>,
    sources: Vec<i32>,
    ends: Vec<i32>,
}

/// The softmax of some scores, over those of `among`.
fn softmax(scores: &[f64], among: &[usize]) -> Vec<f64> {
    let top = among.iter().map(|&at| scores[at]);
    let top = top.fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = among.iter().map(|&at| (scores[at] - top).exp()).sum();
    scores
        .iter()
        .map(|score| (score - top).exp() / sum)
        .collect()
}

/// Experts by their scores, the largest first, the first of equal ones first; NaN as infinity.
fn order(scores: &[f64]) -> Vec<usize> {
    let value = |at: usize| match scores[at] {
        score if score.is_nan() => f64::INFINITY,
        score => score,
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| value(b).partial_cmp(&value(a)).expect("numbers"));
    order
}

impl Right {
    fn new(scores: &[f64], experts: usize, k: usize, normalise: bool) -> Self {
        let all: Vec<usize> = (0..experts).collect();
        let (mut chosen, mut weights) = (vec![], vec![]);
        for scores in scores.chunks(experts) {
            let order = &order(scores)[..k];
            let among = if normalise { order } else { &all };
            let of_all = softmax(scores, among);
            chosen.extend(order.iter().map(|&expert| expert as i32));
            weights.extend(order.iter().map(|&expert| of_all[expert]));
        }
        let mut routes: Vec<usize> = (0..chosen.len()).collect();
        routes.sort_by_key(|&route| chosen[route]);
        let mut places = vec![0; routes.len()];
        for (place, &route) in routes.iter().enumerate() {
            places[route] = place as i32;
        }
        let ends = (0..experts as i32)
            .map(|expert| chosen.iter().filter(|&&other| other <= expert).count() as i32);
        Self {
            ends: ends.collect(),
            sources: routes.iter().map(|&route| (route / k) as i32).collect(),
            chosen,
            weights,
            places,
        }
    }

    fn compare(&self, rt: &Rt, found: &ExpertRoutes) -> Result<(), String> {
        let named = |what: &str, error: String| format!("{what}: {error}");
        for (what, tensor, right) in [
            ("chosen", &found.chosen, &self.chosen),
            ("places", &found.places, &self.places),
            ("sources", &found.sources, &self.sources),
            ("ends", &found.ends, &self.ends),
        ] {
            check::same(&read::<i32>(rt, tensor)?, right).map_err(|e| named(what, e))?;
        }
        let weights = match found.weights.dtype == f64::elem_type_native() {
            true => read::<f64>(rt, &found.weights)?,
            false => read::<f32>(rt, &found.weights)?
                .into_iter()
                .map(f64::from)
                .collect(),
        };
        check::close(&weights, &self.weights, 2e-6).map_err(|e| named("weights", e))
    }
}

/// Scores of tokens, in steps of 1/32, so that no type rounds them and some are equal.
fn scores<E: Element>(count: usize, seed: u64) -> Vec<E> {
    let mut random = Random::new(seed);
    let score = |_| E::of(random.below(256) as f64 / 32.0 - 4.0);
    (0..count).map(score).collect()
}

fn values<E: Element>(scores: &[E]) -> Vec<f64> {
    scores.iter().map(|score| score.value()).collect()
}

fn routed<E: Element>(
    rt: &Rt,
    [tokens, experts, k]: [usize; 3],
    normalise: bool,
) -> Result<(), String> {
    let scores = scores::<E>(tokens * experts, 3);
    let right = Right::new(&values(&scores), experts, k, normalise);
    let given = Operand::new(rt, &[tokens, experts], &[experts, 1], scores);
    let found = route_experts(&rt.client, &given.tensor, k, normalise);
    let found = found.map_err(|error| error.to_string())?;
    right
        .compare(rt, &found)
        .map_err(|error| format!("{tokens} tokens, {k} of {experts}: {error}"))
}

const SIZES: [[usize; 3]; 9] = [
    [1, 1, 1],
    [1, 8, 2],
    [7, 4, 4],
    [31, 3, 1],
    [32, 8, 2],
    [33, 8, 3],
    [100, 5, 2],
    [70, 64, 8],
    [5, 300, 7],
];

fn routes<E: Element>(rt: &Rt) -> Result<(), String> {
    for sizes in SIZES {
        for normalise in [true, false] {
            routed::<E>(rt, sizes, normalise)?;
        }
    }
    Ok(())
}

fn routes_of_f32(rt: &Rt) -> Result<(), String> {
    routes::<f32>(rt)?;
    // Scores that lie column by column, and with gaps.
    for (strides, reach) in [([1, 40], 320), ([11, 1], 440)] {
        let memory = scores::<f32>(reach, 4);
        let given = Operand::new(rt, &[40, 8], &strides, memory);
        let dense: Vec<f64> = (0..320).map(|at| given.at(&[at / 8, at % 8])).collect();
        let found = route_experts(&rt.client, &given.tensor, 2, true);
        let found = found.map_err(|error| error.to_string())?;
        Right::new(&dense, 8, 2, true).compare(rt, &found)?;
    }
    Ok(())
}

/// Devices have exponentials of f64, or refuse it by name.
fn routes_of_f64(rt: &Rt) -> Result<(), String> {
    match Device::of(&rt.client).target() {
        Target::Cpu | Target::Cuda => routes::<f64>(rt),
        _ => {
            let refused = routed::<f64>(rt, [1, 8, 2], true).expect_err("no such exponential");
            match refused.contains("has no exponential of f64; route_experts needs it") {
                true => Ok(()),
                false => Err(refused),
            }
        }
    }
}

fn routes_of_f16(rt: &Rt) -> Result<(), String> {
    routes::<f16>(rt)
}

fn routes_of_bf16(rt: &Rt) -> Result<(), String> {
    routes::<bf16>(rt)
}

/// Several chunks, of more tokens than the shortest has, and with more routes than tokens have room for.
fn routes_of_many_tokens(rt: &Rt) -> Result<(), String> {
    routed::<f32>(rt, [3000, 8, 2], true)?;
    routed::<f32>(rt, [20_000, 4, 1], true)?;
    routed::<f32>(rt, [40, 200, 150], false)
}

fn all_to_one_and_none_to_others(rt: &Rt) -> Result<(), String> {
    let (tokens, experts) = (90, 6);
    for favourite in [0, 3, 5] {
        let score = |at: usize| if at % experts == favourite { 3.0 } else { -1.0 };
        let scores: Vec<f32> = (0..tokens * experts).map(score).collect();
        let right = Right::new(&values(&scores), experts, 1, false);
        let given = Operand::new(rt, &[tokens, experts], &[experts, 1], scores);
        let found = route_experts(&rt.client, &given.tensor, 1, false);
        right.compare(rt, &found.map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

fn equal_scores_and_those_that_are_no_numbers(rt: &Rt) -> Result<(), String> {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let rows = [
        [1.0, 1.0, 1.0, 1.0],
        [0.0, -0.0, 0.0, -0.0],
        [nan, 1.0, nan, 2.0],
        [1.0, nan, inf, 2.0],
        [inf, 1.0, inf, 2.0],
        [-inf, 5.0, -inf, -inf],
        [-inf, -inf, -inf, -inf],
        [nan, nan, nan, nan],
    ];
    let scores = rows.concat();
    let given = Operand::new(rt, &[rows.len(), 4], &[4, 1], scores.clone());
    for k in [1, 2, 4] {
        let found = route_experts(&rt.client, &given.tensor, k, false);
        let found = found.map_err(|error| error.to_string())?;
        // Sums with infinities among them have no number, as NaN has none; of minus infinity with 5 the weight is 0.
        let mut right = Right::new(&values(&scores), 4, k, false);
        for (token, row) in rows.iter().enumerate() {
            let has_number = row.iter().all(|score| !score.is_nan() && *score < inf);
            let is_low = row.iter().all(|score| *score == -inf);
            if !has_number || is_low {
                right.weights[token * k..][..k].fill(f64::NAN);
            }
        }
        // What infinity leaves to others is 0 or no number; the choice alone is checked there.
        let weights: Vec<f64> = read::<f32>(rt, &found.weights)?
            .into_iter()
            .map(f64::from)
            .collect();
        let kept: Vec<usize> = (0..weights.len())
            .filter(|at| ![3, 4].contains(&(at / k)))
            .collect();
        let of = |values: &[f64]| kept.iter().map(|&at| values[at]).collect::<Vec<f64>>();
        check::close(&of(&weights), &of(&right.weights), 2e-6)?;
        right.weights.clone_from(&weights);
        right.compare(rt, &found)?;
    }
    Ok(())
}

fn no_tokens(rt: &Rt) -> Result<(), String> {
    let given = Operand::<f32>::new(rt, &[0, 5], &[5, 1], vec![]);
    let found = route_experts(&rt.client, &given.tensor, 2, true);
    let found = found.map_err(|error| error.to_string())?;
    check::same(&read::<i32>(rt, &found.ends)?, &[0; 5])?;
    assert_eq!(found.places.shape().to_vec(), [0, 2]);
    assert_eq!(found.sources.shape().to_vec(), [0]);
    Ok(())
}

/// The gradient by its definition: the softmax's Jacobian, of those among which it is taken.
fn slopes(scores: &[f64], slopes: &[f64], experts: usize, k: usize, normalise: bool) -> Vec<f64> {
    let all: Vec<usize> = (0..experts).collect();
    let rows = scores.chunks(experts).zip(slopes.chunks(k));
    rows.flat_map(|(scores, slopes)| {
        let order = &order(scores)[..k];
        let among = if normalise { order } else { &all };
        let weights = softmax(scores, among);
        (0..experts)
            .map(move |expert| {
                if !among.contains(&expert) {
                    return 0.0;
                }
                let terms = order.iter().zip(slopes).map(|(&chosen, slope)| {
                    let own = if chosen == expert { 1.0 } else { 0.0 };
                    slope * weights[chosen] * (own - weights[expert])
                });
                terms.sum()
            })
            .collect::<Vec<f64>>()
    })
    .collect()
}

fn sloped<E: Element>(rt: &Rt, tolerance: f64) -> Result<(), String> {
    for [tokens, experts, k] in SIZES {
        for normalise in [true, false] {
            let scores = scores::<E>(tokens * experts, 5);
            let mut random = Random::new(6);
            let slope: Vec<f32> = (0..tokens * k).map(|_| random.real() as f32).collect();
            let of_slope: Vec<f64> = slope.iter().map(|&slope| slope.into()).collect();
            let right = slopes(&values(&scores), &of_slope, experts, k, normalise);
            let given = Operand::new(rt, &[tokens, experts], &[experts, 1], scores);
            let slope = Operand::new(rt, &[tokens, k], &[k, 1], slope);
            let found = route_experts(&rt.client, &given.tensor, k, normalise)
                .and_then(|routes| {
                    route_experts_backward(
                        &rt.client,
                        &slope.tensor,
                        &given.tensor,
                        &routes.weights,
                        &routes.chosen,
                        normalise,
                    )
                })
                .map_err(|error| error.to_string())?;
            let found: Vec<f64> = values(&read::<E>(rt, &found)?);
            check::close(&found, &right, tolerance)
                .map_err(|error| format!("{tokens} tokens, {k} of {experts}: {error}"))?;
        }
    }
    Ok(())
}

fn slopes_of_scores(rt: &Rt) -> Result<(), String> {
    sloped::<f32>(rt, 2e-6)
}

fn slopes_of_scores_of_f16(rt: &Rt) -> Result<(), String> {
    sloped::<f16>(rt, 1e-3)
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let given = |shape: [usize; 2]| {
        Operand::<f32>::new(rt, &shape, &[shape[1], 1], vec![0.0; shape[0] * shape[1]]).tensor
    };
    let refused = |result: girih_kernels::Result<ExpertRoutes>, wanted: &str| match result {
        Ok(_) => Err(format!("not refused: {wanted}")),
        Err(error) => worded(&error.to_string(), wanted),
    };
    let scores = given([3, 4]);
    for k in [0, 5] {
        refused(
            route_experts(&rt.client, &scores, k, true),
            &format!("k is {k}; route_experts needs 1 to 4, as many as there are experts"),
        )?;
    }
    refused(
        route_experts(&rt.client, &given([1, 2049]), 1, true),
        "experts counts 2049; route_experts takes up to 2048",
    )?;
    let numbers = rt.put(&[1i32, 2]);
    let numbers = TensorHandle::new(
        list(&numbers).handle,
        vec![1, 2],
        vec![2usize, 1],
        i32::elem_type_native(),
    );
    refused(
        route_experts(&rt.client, &numbers, 1, true),
        "scores has elements of type i32; route_experts needs f16, bf16, f32 or f64",
    )?;
    let routes = route_experts(&rt.client, &scores, 2, true).map_err(|e| e.to_string())?;
    let error = route_experts_backward(
        &rt.client,
        &given([3, 3]),
        &scores,
        &routes.weights,
        &routes.chosen,
        true,
    )
    .expect_err("another shape");
    worded(
        &error.to_string(),
        "gradient has shape [3, 3]; route_experts_backward needs [3, 2]",
    )
}
