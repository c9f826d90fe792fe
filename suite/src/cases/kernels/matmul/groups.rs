//! Products of rows, and of positions of K, in groups.

use super::host::{activated, text};
use super::model::{Element, Operand, Random, Right, compare, read, row_major, strides};
use girih::device::Device;
use girih_kernels::{Activation, MatmulOptions, grouped_inner_matmul, grouped_matmul};
use girih_testkit::{Rt, cases};

cases! {
    rows_in_groups,
    rows_by_ends_of_other_types,
    rows_with_bias_and_activation,
    no_rows_or_no_groups,
    positions_in_groups,
    many_groups,
}

/// The group of a row, if it is in one: ends are put within, and one before the last is an empty group's.
pub fn group_of(ends: &[i64], row: usize, rows: usize) -> Option<usize> {
    let mut begin = 0;
    for (group, &end) in ends.iter().enumerate() {
        let end = (end.clamp(0, rows as i64) as usize).max(begin);
        if (begin..end).contains(&row) {
            return Some(group);
        }
        begin = end;
    }
    None
}

fn all_ends(rows: usize, groups: usize) -> Vec<Vec<i64>> {
    let mut random = Random::new(rows as u64 + groups as u64);
    let rows = rows as i64;
    let mut some: Vec<i64> = (0..groups)
        .map(|_| random.below(rows as usize + 1) as i64)
        .collect();
    some.sort_unstable();
    let even = (1..=groups as i64).map(|group| group * rows / groups as i64);
    let mut all = vec![
        even.collect(),
        some,
        vec![rows; groups],
        vec![0; groups],
        (0..groups)
            .map(|group| if group + 1 == groups { rows } else { 0 })
            .collect(),
        // Ends past the rows, below 0, and descending.
        vec![rows + 100; groups],
        vec![-5; groups],
    ];
    all.push(
        (0..groups as i64)
            .map(|group| if group % 2 == 0 { rows / 2 } else { rows / 4 })
            .collect(),
    );
    all
}

fn grouped<I: Element>(
    rt: &Rt,
    [rows, columns, inner, groups]: [usize; 4],
    ends: &[i64],
    transposed: [bool; 2],
    with_bias: bool,
    activation: Activation,
) -> Result<(), String> {
    let mut random = Random::new((rows + 3 * columns + 7 * inner) as u64);
    let (a_shape, b_shape) = ([rows, inner], [groups, inner, columns]);
    let a = Operand::<f32>::random(
        rt,
        &a_shape,
        &strides(&a_shape, transposed[0], 0),
        &mut random,
    );
    let b = Operand::<f32>::random(
        rt,
        &b_shape,
        &strides(&b_shape, transposed[1], 0),
        &mut random,
    );
    let bias = Operand::<f32>::random(
        rt,
        &[groups, columns],
        &row_major(&[groups, columns]),
        &mut random,
    );
    let list: Vec<I> = ends.iter().map(|&end| I::of(end as f64 / 10.0)).collect();
    let list = Operand::new(rt, &[groups], &[1], list);
    let options = MatmulOptions {
        bias: with_bias.then_some(&bias.tensor),
        activation,
        ..Default::default()
    };
    let out =
        grouped_matmul(&rt.client, &a.tensor, &b.tensor, &list.tensor, &options).map_err(text)?;
    let mut want = vec![];
    for row in 0..rows {
        let group = group_of(ends, row, rows);
        for column in 0..columns {
            let mut sum = Right::default();
            if let Some(group) = group {
                for k in 0..inner {
                    sum.add(a.at(&[row, k]) * b.at(&[group, k, column]));
                }
                if with_bias {
                    sum.add(bias.at(&[group, column]));
                }
            }
            sum.value = activated(sum.value, activation);
            want.push(sum);
        }
    }
    compare::<f32>(&read(rt, &out)?, &want, 1e-5).map_err(|error| {
        format!("{rows} x {columns} of {inner}, ends {ends:?}, transposed {transposed:?}: {error}")
    })
}

fn rows_in_groups(rt: &Rt) -> Result<(), String> {
    for extents in [
        [100, 40, 24, 5],
        [7, 9, 5, 3],
        [65, 64, 32, 1],
        [40, 16, 8, 12],
    ] {
        for ends in all_ends(extents[0], extents[3]) {
            grouped::<i32>(
                rt,
                extents,
                &ends,
                [false, false],
                false,
                Activation::Identity,
            )?;
        }
        let ends = &all_ends(extents[0], extents[3])[1];
        for transposed in [[false, true], [true, false], [true, true]] {
            grouped::<i32>(rt, extents, ends, transposed, false, Activation::Identity)?;
        }
    }
    Ok(())
}

fn rows_by_ends_of_other_types(rt: &Rt) -> Result<(), String> {
    fn by<I: Element>(rt: &Rt, ends: &[i64]) -> Result<(), String> {
        match Device::of(&rt.client).stores(I::elem_type_native()) {
            true => grouped::<I>(
                rt,
                [50, 16, 8, 3],
                ends,
                [false; 2],
                false,
                Activation::Identity,
            ),
            false => Ok(()),
        }
    }
    by::<i64>(rt, &[10, -1, 60])?;
    by::<u32>(rt, &[10, 10, 50])?;
    by::<u64>(rt, &[10, 10, 60])?;
    by::<i16>(rt, &[10, -1, 60])?;
    by::<u8>(rt, &[0, 0, 50])
}

fn rows_with_bias_and_activation(rt: &Rt) -> Result<(), String> {
    for activation in [Activation::Identity, Activation::Gelu, Activation::Silu] {
        for ends in [[10, 10, 30], [0, 0, 40], [40, 40, 40]] {
            grouped::<i32>(rt, [40, 24, 16, 3], &ends, [false; 2], true, activation)?;
        }
    }
    Ok(())
}

fn no_rows_or_no_groups(rt: &Rt) -> Result<(), String> {
    grouped::<i32>(
        rt,
        [0, 8, 8, 2],
        &[0, 0],
        [false; 2],
        false,
        Activation::Identity,
    )?;
    grouped::<i32>(
        rt,
        [6, 8, 8, 0],
        &[],
        [false; 2],
        false,
        Activation::Identity,
    )?;
    grouped::<i32>(
        rt,
        [6, 0, 8, 2],
        &[3, 6],
        [false; 2],
        false,
        Activation::Identity,
    )?;
    grouped::<i32>(
        rt,
        [6, 8, 0, 2],
        &[3, 6],
        [false; 2],
        true,
        Activation::Relu,
    )
}

fn many_groups(rt: &Rt) -> Result<(), String> {
    let groups = 300;
    let ends: Vec<i64> = (0..groups as i64)
        .map(|group| (group * group / 200).min(400))
        .collect();
    grouped::<i32>(
        rt,
        [450, 8, 12, groups],
        &ends,
        [false; 2],
        false,
        Activation::Identity,
    )
}

fn positions_in_groups(rt: &Rt) -> Result<(), String> {
    for [rows, columns, inner, groups] in [
        [24, 40, 100, 5],
        [5, 9, 30, 3],
        [64, 32, 65, 2],
        [8, 8, 0, 2],
        [8, 8, 10, 0],
    ] {
        for transposed in [[false, false], [true, false], [true, true]] {
            for ends in all_ends(inner, groups.max(1)) {
                let ends = &ends[..groups];
                let mut random = Random::new(rows as u64);
                let (a_shape, b_shape) = ([rows, inner], [inner, columns]);
                let a = Operand::<f32>::random(
                    rt,
                    &a_shape,
                    &strides(&a_shape, transposed[0], 0),
                    &mut random,
                );
                let b = Operand::<f32>::random(
                    rt,
                    &b_shape,
                    &strides(&b_shape, transposed[1], 0),
                    &mut random,
                );
                let list: Vec<i32> = ends.iter().map(|&end| end as i32).collect();
                let list = Operand::new(rt, &[groups], &[1], list);
                let options = MatmulOptions::default();
                let out =
                    grouped_inner_matmul(&rt.client, &a.tensor, &b.tensor, &list.tensor, &options)
                        .map_err(text)?;
                let mut want = vec![];
                for group in 0..groups {
                    // An end before the one before it is an empty group's.
                    let clamped = |end: i64| end.clamp(0, inner as i64) as usize;
                    let begin = if group == 0 {
                        0
                    } else {
                        clamped(ends[group - 1])
                    };
                    let end = clamped(ends[group]);
                    for row in 0..rows {
                        for column in 0..columns {
                            let mut sum = Right::default();
                            for k in begin..end {
                                sum.add(a.at(&[row, k]) * b.at(&[k, column]));
                            }
                            want.push(sum);
                        }
                    }
                }
                compare::<f32>(&read(rt, &out)?, &want, 1e-5).map_err(|error| {
                    format!("{rows} x {columns} of {inner}, ends {ends:?}: {error}")
                })?;
            }
        }
    }
    Ok(())
}
