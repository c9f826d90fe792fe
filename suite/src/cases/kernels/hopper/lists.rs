//! Products whose rows are gathered, and added to rows, by lists.

use super::super::matmul::lists::{RULES, place};
use super::super::model::{handle, list};
use super::groups::{Grouped, groups};
use super::model::{Element, Matrix, Outcome, dot, error_of_sums, product, run, value};
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih_kernels::raw::matmul::hopper::{Product, Share, Writing, form, supports};
use girih_testkit::{Rt, cases, needs};
use half::bf16;

cases! {
    gathered_rows needs [needs::WARPGROUP_MMA],
    rows_added_by_a_list needs [needs::WARPGROUP_MMA],
}

fn gathered_rows(rt: &Rt) -> Outcome {
    for (rows, ends) in [
        (300usize, &[129, 130, 258][..]),
        (700, &[1, 130, 131, 131, 640]),
    ] {
        let sources: Vec<i32> = (0..rows)
            .map(|row| (value(row, 8) * 60.0 + 40.0) as i32 - 5)
            .collect();
        for tile in [None, Some((256, Share::Nothing)), Some((256, Share::B))] {
            for bounds in RULES {
                let gathered = Grouped {
                    sources: Some((&sources, bounds)),
                    tile,
                    ..Grouped::new(rows, ends)
                };
                gathered.check(rt)?;
            }
        }
    }
    Ok(())
}

fn rows_added_by_a_list(rt: &Rt) -> Outcome {
    for bounds in RULES {
        added::<bf16>(rt, bounds)?;
        added::<f32>(rt, bounds)?;
    }
    Ok(())
}

/// Rows of a gathered product, times factors, added to rows that a list names, some of them to one.
fn added<O: Element>(rt: &Rt, bounds: Bounds) -> Outcome {
    let [rows, columns, inner, targets] = [300usize, 264, 72, 40];
    let ends = [129, 130, 290];
    let a = Matrix::<bf16>::new(rt, [1, 50, inner], Major::K, 9);
    let b = Matrix::<bf16>::new(rt, [3, columns, inner], Major::K, 10);
    let sources: Vec<i32> = (0..rows).map(|row| (row % 57) as i32 - 3).collect();
    let places: Vec<i32> = (0..rows).map(|row| (row * 7 % 45) as i32 - 2).collect();
    let factors: Vec<f32> = (0..rows).map(|row| value(row, 11)).collect();
    let before: Vec<O> = (0..targets * columns)
        .map(|at| O::round(value(at, 12)))
        .collect();
    let out = rt.put_tensor(&before, &[targets, columns]);
    let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
    let buffers = [&ends[..], &sources, &places].map(|values| rt.put(values));
    let [ends_list, sources_list, places_list] = [&buffers[0], &buffers[1], &buffers[2]].map(list);
    let weights = rt.put(&factors);
    let weights = list(&weights);
    let device = Device::of(&rt.client);
    let product = Product {
        rows_of: [50, targets],
        products: 3,
        steps: [0, b.step, 0, 0],
        ends: Some(&ends_list),
        gather: Some(&sources_list),
        scatter: Some(&places_list),
        weights: Some(&weights),
        bounds,
        adds: true,
        ..product(
            [&of_a, &of_b, &of_c],
            [rows, columns, inner],
            [&a.strides, &b.strides],
            columns,
        )
    };
    supports(&device, &product)?;
    let form = form(&device, &product);
    if form.writing != Writing::Add {
        return Err(format!("{form:?} does not add"));
    }
    run(&device, &product, form)?;
    let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
    let group_of = groups(&ends, rows);
    // Each sum, and how far rounding after each addition may take it.
    let mut want: Vec<(f64, f64)> = before.iter().map(|value| (value.wide(), 1e-6)).collect();
    for row in 0..rows {
        let to = place(places[row].into(), targets, bounds);
        let from = place(sources[row].into(), 50, bounds);
        let (Some(group), Some(to), Some(source)) = (group_of[row], to, from) else {
            continue;
        };
        for column in 0..columns {
            let (sum, magnitude) = dot(a.line(source), b.line(group * columns + column));
            let addend = sum * f64::from(factors[row]);
            let (value, error) = &mut want[to * columns + column];
            *value += addend;
            *error +=
                (addend.abs() + value.abs() + 1.0) * O::ROUNDING + error_of_sums(magnitude, inner);
        }
    }
    for (at, got) in got.into_iter().enumerate() {
        let (want, allowed) = want[at];
        if (got.wide() - want).abs() > allowed {
            let (row, column) = (at / columns, at % columns);
            return Err(format!(
                "{row}, {column} is {}, not {want} within {allowed}",
                got.wide()
            ));
        }
    }
    Ok(())
}
