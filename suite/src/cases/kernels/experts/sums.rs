//! `combine_experts` and its gradients.

use super::super::matmul::model::{Element, Operand, Random, Right, compare, read};
use super::worded;
use girih_kernels::{combine_experts, combine_experts_backward};
use girih_testkit::{Rt, cases, check, needs};
use half::{bf16, f16};

cases! {
    sums_of_f32,
    sums_of_f64 needs [needs::F64],
    sums_of_f16 needs [needs::F16],
    sums_of_bf16 needs [needs::BF16],
    places_out_of_range,
    the_same_bits_in_every_run,
    slopes_of_f32,
    slopes_of_f64 needs [needs::F64],
    slopes_of_f16 needs [needs::F16],
    slopes_of_bf16 needs [needs::BF16],
    what_is_refused,
}

/// Tokens, experts of a token, columns.
const SIZES: [[usize; 3]; 9] = [
    [0, 2, 4],
    [1, 1, 1],
    [3, 2, 0],
    [5, 2, 3],
    [17, 3, 8],
    [40, 2, 12],
    [9, 8, 130],
    [4, 11, 64],
    [33, 4, 257],
];

/// Places in an order that differs from the routes'.
fn places(count: usize) -> Vec<i32> {
    let mut random = Random::new(9);
    let mut places: Vec<i32> = (0..count as i32).collect();
    for at in (1..count).rev() {
        places.swap(at, random.below(at + 1));
    }
    places
}

/// What sums are made of: rows, places, weights.
struct Given<E: Element, W: Element> {
    rows: Operand<E>,
    places: Operand<i32>,
    weights: Operand<W>,
}

impl<E: Element, W: Element> Given<E, W> {
    fn new(rt: &Rt, [tokens, k, columns]: [usize; 3], pad: usize) -> Self {
        let mut random = Random::new(7);
        let routes = tokens * k;
        let strides = [columns + pad, 1];
        Self {
            rows: Operand::random(rt, &[routes, columns], &strides, &mut random),
            places: Operand::new(rt, &[tokens, k], &[k, 1], places(routes)),
            weights: Operand::random(rt, &[tokens, k], &[k, 1], &mut random),
        }
    }

    fn sum(&self, token: usize, column: usize, weighted: bool) -> Right {
        let mut sum = Right::default();
        let [rows, k] = [self.rows.shape[0], self.places.shape[1]];
        for turn in 0..k {
            let place = self.places.memory[token * k + turn];
            if let Some(place) = usize::try_from(place).ok().filter(|&place| place < rows) {
                let weight = match weighted {
                    true => self.weights.at(&[token, turn]),
                    false => 1.0,
                };
                sum.add(weight * self.rows.at(&[place, column]));
            }
        }
        sum
    }

    fn compare(&self, rt: &Rt) -> Result<(), String> {
        let [tokens, k] = [self.places.shape[0], self.places.shape[1]];
        let columns = self.rows.shape[1];
        for weighted in [true, false] {
            let weights = weighted.then_some(&self.weights.tensor);
            let (rows, places) = (&self.rows.tensor, &self.places.tensor);
            let found = combine_experts(&rt.client, rows, places, weights);
            let found = found.map_err(|error| error.to_string())?;
            let right: Vec<Right> = (0..tokens * columns)
                .map(|at| self.sum(at / columns, at % columns, weighted))
                .collect();
            compare(&read::<E>(rt, &found)?, &right, E::TOLERANCE)
                .map_err(|error| format!("{tokens} tokens, {k}, {columns} columns: {error}"))?;
        }
        Ok(())
    }
}

fn sums<E: Element, W: Element>(rt: &Rt) -> Result<(), String> {
    for size in SIZES {
        for pad in [0, 5] {
            Given::<E, W>::new(rt, size, pad).compare(rt)?;
        }
    }
    Ok(())
}

fn sums_of_f32(rt: &Rt) -> Result<(), String> {
    sums::<f32, f32>(rt)
}

fn sums_of_f64(rt: &Rt) -> Result<(), String> {
    sums::<f64, f64>(rt)
}

fn sums_of_f16(rt: &Rt) -> Result<(), String> {
    sums::<f16, f32>(rt)
}

fn sums_of_bf16(rt: &Rt) -> Result<(), String> {
    sums::<bf16, f32>(rt)
}

fn places_out_of_range(rt: &Rt) -> Result<(), String> {
    let mut given = Given::<f32, f32>::new(rt, [4, 2, 8], 0);
    let places = vec![0, -1, 7, 8, i32::MIN, i32::MAX, 3, 3];
    given.places = Operand::new(rt, &[4, 2], &[2, 1], places);
    given.compare(rt)
}

/// What was added is the same whatever ran before: there are no atomics.
fn the_same_bits_in_every_run(rt: &Rt) -> Result<(), String> {
    let given = Given::<f32, f32>::new(rt, [64, 6, 96], 0);
    let run = || {
        let weights = Some(&given.weights.tensor);
        let (rows, places) = (&given.rows.tensor, &given.places.tensor);
        let found = combine_experts(&rt.client, rows, places, weights);
        read::<f32>(rt, &found.map_err(|error| error.to_string())?)
    };
    let first = run()?;
    (0..4).try_for_each(|_| check::same(&run()?, &first))
}

fn slopes<E: Element, W: Element>(rt: &Rt) -> Result<(), String> {
    for [tokens, k, columns] in SIZES {
        for pad in [0, 5] {
            let given = Given::<E, W>::new(rt, [tokens, k, columns], pad);
            let mut random = Random::new(8);
            let above = Operand::<E>::random(rt, &[tokens, columns], &[columns, 1], &mut random);
            let found = combine_experts_backward(
                &rt.client,
                &above.tensor,
                &given.rows.tensor,
                &given.places.tensor,
                &given.weights.tensor,
            )
            .map_err(|error| error.to_string())?;
            let mut of_rows = vec![Right::default(); tokens * k * columns];
            let mut of_weights = vec![Right::default(); tokens * k];
            for (route, of_weight) in of_weights.iter_mut().enumerate() {
                let place = given.places.memory[route] as usize;
                for column in 0..columns {
                    let slope = above.at(&[route / k, column]);
                    let weight = given.weights.at(&[route / k, route % k]);
                    of_rows[place * columns + column].add(slope * weight);
                    of_weight.add(slope * given.rows.at(&[place, column]));
                }
            }
            // Below its least normal number f16 has steps, not digits.
            for right in &mut of_rows {
                right.size = right.size.max(1e-3);
            }
            let named = |what: &str, error: String| {
                format!("{what} of {tokens} tokens, {k}, {columns} columns: {error}")
            };
            compare(&read::<E>(rt, &found.rows)?, &of_rows, E::TOLERANCE)
                .map_err(|error| named("rows", error))?;
            compare(&read::<W>(rt, &found.weights)?, &of_weights, W::TOLERANCE)
                .map_err(|error| named("weights", error))?;
        }
    }
    Ok(())
}

fn slopes_of_f32(rt: &Rt) -> Result<(), String> {
    slopes::<f32, f32>(rt)
}

fn slopes_of_f64(rt: &Rt) -> Result<(), String> {
    slopes::<f64, f64>(rt)
}

fn slopes_of_f16(rt: &Rt) -> Result<(), String> {
    slopes::<f16, f32>(rt)
}

fn slopes_of_bf16(rt: &Rt) -> Result<(), String> {
    slopes::<bf16, f32>(rt)
}

fn what_is_refused(rt: &Rt) -> Result<(), String> {
    let given = Given::<f32, f32>::new(rt, [4, 2, 8], 0);
    let other = Given::<f32, f32>::new(rt, [3, 2, 8], 0);
    let text = |error: Option<girih_kernels::Error>| error.map(|error| error.to_string());
    let refused = |found: Option<String>, wanted: &str| worded(&found.unwrap_or_default(), wanted);
    let (rows, places) = (&given.rows.tensor, &given.places.tensor);
    let weights = Some(&other.weights.tensor);
    refused(
        text(combine_experts(&rt.client, rows, places, weights).err()),
        "weights has shape [3, 2]; combine_experts needs [4, 2]",
    )?;
    refused(
        text(combine_experts(&rt.client, rows, rows, None).err()),
        "places has elements of type f32; combine_experts needs i32",
    )?;
    refused(
        text(
            combine_experts_backward(
                &rt.client,
                rows,
                rows,
                &other.places.tensor,
                &other.weights.tensor,
            )
            .err(),
        ),
        "the number of places is 6; combine_experts_backward needs 8, as many as there are rows",
    )?;
    given.compare(rt)
}
