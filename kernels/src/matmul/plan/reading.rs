//! How operands are read, and the result is written.

use crate::matmul::form::{Grouping, Reading};
use crate::matmul::problem::Problem;
use crate::plan::start;
use cubecl::server::Handle;
use girih::device::Device;

pub(super) fn swapped([inner, column]: [usize; 2]) -> [usize; 2] {
    [column, inner]
}

/// Element by element, of an operand with these strides from line to line and along lines.
pub(super) fn elements([line, along]: [usize; 2]) -> Reading {
    Reading::Elements {
        along_lines: along <= line,
    }
}

/// Where a matrix begins, and what steps lead from part to part of it.
fn is_aligned(handle: &Handle, size: usize, vector: usize, steps: &[usize]) -> bool {
    start(handle, size).is_multiple_of(vector as u64)
        && steps.iter().all(|step| step.is_multiple_of(vector))
}

/// The reading of an operand whose lines are `line` apart, and whose positions of K are `along` apart.
#[allow(clippy::too_many_arguments)]
fn reading(
    handle: &Handle,
    size: usize,
    vector: usize,
    [line, along]: [usize; 2],
    [lines, inner]: [usize; 2],
    groups: &[usize],
    crosses: bool,
    runs: bool,
) -> Reading {
    let steps = |step: usize, extent: usize| {
        let mut steps = groups.to_vec();
        steps.push(if extent > 1 { step } else { 0 });
        steps
    };
    let whole = |extent: usize| extent.is_multiple_of(vector);
    if crosses
        && line == 1
        && whole(lines)
        && is_aligned(handle, size, vector, &steps(along, inner))
    {
        return Reading::AcrossLines;
    }
    if runs && along == 1 && whole(inner) && is_aligned(handle, size, vector, &steps(line, lines)) {
        return Reading::AlongLines;
    }
    elements([line, along])
}

pub(super) fn reading_a(problem: &Problem, vector: usize) -> Reading {
    let groups: Vec<usize> = problem.batch.iter().map(|axis| axis[1]).collect();
    let in_order = problem.gather.is_none() && problem.grouping != Grouping::Rows;
    reading(
        &problem.a.handle,
        problem.element.size(),
        vector,
        problem.a_strides,
        [problem.rows_a, problem.inner],
        &groups,
        in_order,
        problem.grouping != Grouping::Inner,
    )
}

pub(super) fn reading_b(problem: &Problem, vector: usize) -> Reading {
    let mut groups: Vec<usize> = problem.batch.iter().map(|axis| axis[2]).collect();
    groups.push(problem.b_group);
    reading(
        &problem.b.handle,
        problem.element.size(),
        vector,
        swapped(problem.b_strides),
        [problem.columns, problem.inner],
        &groups,
        true,
        problem.grouping != Grouping::Inner,
    )
}

pub(super) fn writes_vectors(device: &Device, problem: &Problem, vector: usize) -> bool {
    let [row, column] = problem.c_strides;
    let mut steps: Vec<usize> = problem.batch.iter().map(|axis| axis[3]).collect();
    steps.extend([problem.c_group, if problem.rows_c > 1 { row } else { 0 }]);
    let adds = !problem.adds || device.adds_atomically(problem.output, vector);
    adds && column == 1
        && problem.columns.is_multiple_of(vector)
        && is_aligned(&problem.c.handle, problem.output.size(), vector, &steps)
}
