//! Products of rows, and of positions of K, in groups.

use super::super::matmul::lists::place;
use super::super::model::{handle, list};
use super::model::{
    Element, Matrix, Outcome, close, dot, positions, product, run, run_beside, value,
};
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Beside, Form, Product, Share, form, form_of, supports};
use girih_testkit::{Rt, cases, needs};
use half::bf16;

cases! {
    rows_in_groups needs [needs::WARPGROUP_MMA],
    groups_in_turn needs [needs::WARPGROUP_MMA],
    groups_of_transposed_matrices needs [needs::WARPGROUP_MMA],
    beside_groups_in_turn needs [needs::WARPGROUP_MMA],
    positions_of_k_in_groups needs [needs::WARPGROUP_MMA],
}

/// Which group each row is in, if any.
pub fn groups(ends: &[i32], rows: usize) -> Vec<Option<usize>> {
    let ends: Vec<usize> = ends
        .iter()
        .map(|&end| (end.max(0) as usize).min(rows))
        .collect();
    (0..rows)
        .map(|row| {
            (0..ends.len()).find(|&group| {
                let begin = if group == 0 { 0 } else { ends[group - 1] };
                (begin..ends[group]).contains(&row)
            })
        })
        .collect()
}

/// A product of rows in groups.
#[derive(Clone, Copy)]
pub struct Grouped<'a> {
    /// Rows, columns and positions of K.
    pub extents: [usize; 3],
    /// How the groups' matrices lie.
    pub major: Major,
    /// Where each group ends.
    pub ends: &'a [i32],
    /// The rows of A, where a list names them, of the 90 that there are.
    pub sources: Option<(&'a [i32], Bounds)>,
    /// Columns of a tile, and what clusters share, where it is not left to the launcher.
    pub tile: Option<(u32, Share)>,
    /// What lies beside the result; if anything, the activation is [`Relu`](Activation::Relu).
    pub beside: Beside,
}

impl<'a> Grouped<'a> {
    /// Of so many rows in order, by matrices whose rows are contiguous, in tiles that suit.
    pub fn new(rows: usize, ends: &'a [i32]) -> Self {
        Self {
            extents: [rows, 520, 136],
            major: Major::Mn,
            ends,
            sources: None,
            tile: None,
            beside: Beside::Nothing,
        }
    }

    /// Computes it, and looks at the result and at what lies beside.
    pub fn check(&self, rt: &Rt) -> Outcome {
        let ([rows, columns, inner], ends) = (self.extents, self.ends);
        let rows_of_a = if self.sources.is_some() { 90 } else { rows };
        let a = Matrix::<bf16>::new(rt, [1, rows_of_a, inner], Major::K, 6);
        let b = Matrix::<bf16>::new(rt, [ends.len(), columns, inner], self.major, 7);
        let out = rt.poisoned_tensor::<bf16>(&[rows, columns], &[columns, 1]);
        let at = |at: usize| bf16::from_f32(value(at, 8));
        let slopes_at: Vec<bf16> = (0..rows * columns).map(at).collect();
        let beside = match self.beside {
            Beside::SlopeAt => rt.put_tensor(&slopes_at, &[rows, columns]),
            _ => rt.poisoned_tensor(&[rows, columns], &[columns, 1]),
        };
        let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
        let buffer = rt.put(ends);
        let sources_buffer = self.sources.map(|(sources, _)| rt.put(sources));
        let ends_list = list(&buffer);
        let sources_list = sources_buffer.as_ref().map(list);
        let device = Device::of(&rt.client);
        let product = Product {
            rows_of: [rows_of_a, rows],
            products: ends.len(),
            steps: [0, b.step, 0, 0],
            ends: Some(&ends_list),
            gather: sources_list.as_ref(),
            bounds: self.sources.map_or(Bounds::Mask, |(_, bounds)| bounds),
            activation: match self.beside {
                Beside::Nothing => Activation::Identity,
                _ => Activation::Relu,
            },
            ..product(
                [&of_a, &of_b, &of_c],
                self.extents,
                [&a.strides, &b.strides],
                columns,
            )
        };
        supports(&device, &product)?;
        let form = match self.tile {
            Some((columns, share)) => form_of(&product, columns, share),
            None => form(&device, &product),
        };
        let form = Form {
            beside: self.beside,
            ..form
        };
        run_beside(&device, &product, form, &handle(&beside))?;
        let read = |tensor| rt.read_tensor(tensor).map_err(|error| error.to_string());
        let (got, beside) = (read(&out)?, read(&beside)?);
        let group_of = groups(ends, rows);
        let zeros = vec![0.0; inner];
        for at in positions(got.len()) {
            let (row, column) = (at / columns, at % columns);
            let line = match self.sources {
                Some((sources, bounds)) => match place(sources[row].into(), rows_of_a, bounds) {
                    Some(source) => a.line(source),
                    None => &zeros,
                },
                None => a.line(row),
            };
            let (sum, magnitude) = match group_of[row] {
                Some(group) => dot(line, b.line(group * columns + column)),
                None => (0.0, 0.0),
            };
            let is_close = |got: bf16, want: f64| close(got, want, magnitude, inner);
            let is_right = match self.beside {
                Beside::Nothing => is_close(got[at], sum),
                Beside::Before => {
                    is_close(beside[at], sum) && got[at].wide() == beside[at].wide().max(0.0)
                }
                Beside::SlopeAt if slopes_at[at].wide() > 0.0 => is_close(got[at], sum),
                Beside::SlopeAt => got[at].wide() == 0.0,
            };
            if !is_right {
                let (got, beside) = (got[at].wide(), beside[at].wide());
                return Err(format!(
                    "ends {ends:?}, {form:?}: row {row}, column {column} is {got} beside {beside}, of the sum {sum}"
                ));
            }
        }
        Ok(())
    }
}

fn rows_in_groups(rt: &Rt) -> Outcome {
    let many: Vec<i32> = (0..70).map(|group| group * 9 + group % 5).collect();
    let cases: [(usize, &[i32]); 7] = [
        (300, &[300]),
        (300, &[0, 150, 150, 300, 300]),
        (300, &[129, 130, 258]),
        (700, &[1, 130, 131, 131, 640]),
        (300, &[-5, 1000, 1000]),
        (300, &[0, 0, 0]),
        (640, &many),
    ];
    for (rows, ends) in cases {
        let grouped = Grouped::new(rows, ends);
        grouped.check(rt)?;
        for share in [Share::Nothing, Share::A, Share::B] {
            let tile = Some((256, share));
            Grouped { tile, ..grouped }.check(rt)?;
        }
    }
    Ok(())
}

/// Groups of sizes around those of tiles and of their halves: clusters go from tiles of both cubes to such as are side by side and back,
/// past tiles of which a warpgroup has no row.
const SIZES: [i32; 20] = [
    300, 0, 64, 65, 128, 129, 255, 256, 257, 1, 320, 321, 384, 385, 900, 40, 0, 512, 576, 700,
];

/// Where each of these groups ends, and as many rows as there are, of which the last are in none.
fn in_turn() -> (Vec<i32>, usize) {
    let ends = SIZES.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    let rows = SIZES.iter().sum::<i32>() as usize + 30;
    (ends.collect(), rows)
}

/// Sources of so many rows.
fn sources(rows: usize) -> Vec<i32> {
    (0..rows).map(|row| (row * 37 % 90) as i32).collect()
}

fn groups_in_turn(rt: &Rt) -> Outcome {
    let (ends, rows) = in_turn();
    let grouped = Grouped {
        extents: [rows, 2568, 200],
        ..Grouped::new(rows, &ends)
    };
    grouped.check(rt)?;
    for share in [Share::Nothing, Share::A, Share::B] {
        let tile = Some((256, share));
        Grouped { tile, ..grouped }.check(rt)?;
    }
    let sources = sources(rows);
    for share in [Share::Nothing, Share::B] {
        let gathered = Grouped {
            sources: Some((&sources, Bounds::Mask)),
            tile: Some((256, share)),
            ..grouped
        };
        gathered.check(rt)?;
    }
    Ok(())
}

/// The same by matrices whose columns are contiguous, as gradients have them: a cube loads all of a tile's columns by one copy or, of a
/// cluster that shares them elsewhere, by two.
fn groups_of_transposed_matrices(rt: &Rt) -> Outcome {
    let (ends, rows) = in_turn();
    let sources = sources(rows);
    let grouped = Grouped {
        extents: [rows, 1288, 200],
        major: Major::K,
        ..Grouped::new(rows, &ends)
    };
    for columns in [64, 128, 256] {
        for share in [Share::Nothing, Share::A, Share::B] {
            let tile = Some((columns, share));
            Grouped { tile, ..grouped }.check(rt)?;
        }
        let gathered = Grouped {
            sources: Some((&sources, Bounds::Mask)),
            tile: Some((columns, Share::B)),
            ..grouped
        };
        gathered.check(rt)?;
    }
    Ok(())
}

/// The same with sums before the activation beside them, and with slopes at what is there.
fn beside_groups_in_turn(rt: &Rt) -> Outcome {
    let (ends, rows) = in_turn();
    for major in [Major::K, Major::Mn] {
        for beside in [Beside::Before, Beside::SlopeAt] {
            for share in [Share::Nothing, Share::B] {
                let grouped = Grouped {
                    extents: [rows, 1288, 200],
                    major,
                    beside,
                    tile: Some((256, share)),
                    ..Grouped::new(rows, &ends)
                };
                grouped.check(rt)?;
            }
        }
    }
    Ok(())
}

/// A product for each group of positions of K, of which some have what is no number beside a group's end.
fn positions_of_k_in_groups(rt: &Rt) -> Outcome {
    let device = Device::of(&rt.client);
    let [rows, columns, inner] = [200, 264, 330];
    let a = Matrix::<bf16>::new(rt, [1, rows, inner], Major::Mn, 13);
    let b = Matrix::<bf16>::new(rt, [1, columns, inner], Major::Mn, 14);
    // Position 129 is in no group of the second list of ends, and beside one.
    let mut spoilt = a.values.clone();
    for row in 0..rows {
        spoilt[row * inner + 129] = f64::INFINITY;
    }
    let spoilt: Vec<bf16> = spoilt.into_iter().map(bf16::from_f64).collect();
    let with_infinities = rt.put_strided(
        &spoilt,
        &[1, rows, inner],
        &[a.step, a.strides[0], a.strides[1]],
    );
    for (ends, spoils) in [
        (&[64, 64, 65, 300, 330][..], false),
        (&[0, 129], true),
        (&[-3, 1000], false),
        (&[0, 0], false),
    ] {
        let count = ends.len();
        let buffer = rt.put(ends);
        let ends_list = list(&buffer);
        let out =
            rt.poisoned_tensor::<bf16>(&[count, rows, columns], &[rows * columns, columns, 1]);
        let of_a = handle(if spoils { &with_infinities } else { &a.tensor });
        let (of_b, of_c) = (handle(&b.tensor), handle(&out));
        let product = Product {
            products: count,
            steps: [0, 0, rows * columns, 0],
            ends: Some(&ends_list),
            groups_of_inner: true,
            ..product(
                [&of_a, &of_b, &of_c],
                [rows, columns, inner],
                [&a.strides, &b.strides],
                columns,
            )
        };
        supports(&device, &product)?;
        let chosen = form(&device, &product);
        for share in [Share::Nothing, Share::A, Share::B] {
            let form = Form {
                columns: 256,
                stages: 4,
                share,
                ..chosen
            };
            run(&device, &product, form)?;
            let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
            for at in positions(got.len()) {
                let (row, column) = (at / columns, at % columns);
                let (group, row) = (row / rows, row % rows);
                let put = |end: i32| (end.max(0) as usize).min(inner);
                let begin = if group == 0 { 0 } else { put(ends[group - 1]) };
                let of = begin..put(ends[group]).max(begin);
                let (want, magnitude) = dot(&a.line(row)[of.clone()], &b.line(column)[of]);
                if !close(got[at], want, magnitude, inner) {
                    let got = got[at].wide();
                    return Err(format!(
                        "ends {ends:?}, {form:?}: group {group}, row {row}, column {column} is {got}, not {want}"
                    ));
                }
            }
        }
    }
    Ok(())
}
