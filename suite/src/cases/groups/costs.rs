//! What collectives cost on an NVIDIA GPU, by the instructions of the benchmark's kernels.

use girih_bench::collectives::{
    Element, Members, Op,
    kernels::{of_floats, of_integers},
};
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    a_plane_takes_a_shuffle_a_step_or_one_instruction,
    a_cube_waits_once,
    integers_of_a_cube_are_combined_by_instructions,
    few_planes_are_read_by_blocks,
    many_planes_are_read_by_lanes,
    one_plane_rakes,
}

/// The benchmark's kernel for cubes of so many units.
fn kernel(
    toolkit: &Toolkit,
    element: Element,
    cube: u32,
    op: Op,
    members: Members,
) -> Result<Compiled, Error> {
    let (settings, device, target) = (settings(cube), hopper(), target());
    let (values, out, rounds) = (buffer(), buffer(), ());
    let compiled = match element {
        Element::U32 => toolkit.compile(of_integers::OfIntegers::new(
            settings, device, target, values, out, rounds, op, members,
        )),
        Element::F32 => toolkit.compile(of_floats::OfFloats::new(
            settings, device, target, values, out, rounds, op, members,
        )),
    }?;
    compiled.assert_no_local_memory();
    Ok(compiled)
}

/// What one round takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    barriers: usize,
    stores: usize,
    loads: usize,
    shuffles: usize,
    /// Combinations of a plane in one instruction.
    reductions: usize,
}

impl Cost {
    /// Of a group within a plane.
    const fn of_lanes(shuffles: usize, reductions: usize) -> Self {
        Self {
            barriers: 0,
            stores: 0,
            loads: 0,
            shuffles,
            reductions,
        }
    }

    /// Of a cube, which waits once for one value of each plane.
    const fn of_cube(loads: usize, shuffles: usize, reductions: usize) -> Self {
        Self {
            barriers: 1,
            stores: 1,
            loads,
            shuffles,
            reductions,
        }
    }

    fn of(compiled: &Compiled) -> Self {
        let count = |text| compiled.count_ptx(text);
        Self {
            barriers: count("bar.sync") + count("barrier.sync"),
            stores: count("st.shared"),
            loads: count("ld.shared"),
            shuffles: count("shfl.sync"),
            reductions: count("redux.sync"),
        }
    }

    fn times(self, rounds: usize) -> Self {
        Self {
            barriers: self.barriers * rounds,
            stores: self.stores * rounds,
            loads: self.loads * rounds,
            shuffles: self.shuffles * rounds,
            reductions: self.reductions * rounds,
        }
    }

    /// Fails unless the kernel has this as many times as the compiler has unrolled the rounds.
    #[track_caller]
    fn assert(self, compiled: &Compiled) {
        let found = Self::of(compiled);
        let unrolled = (1..=16).any(|rounds| self.times(rounds) == found);
        assert!(unrolled, "{found:?} is no multiple of {self:?}");
    }
}

fn a_plane_takes_a_shuffle_a_step_or_one_instruction(toolkit: &Toolkit) -> Result<(), Error> {
    let cost = |element, op, members, cost: Cost| {
        cost.assert(&kernel(toolkit, element, 256, op, members)?);
        Ok::<_, Error>(())
    };
    let (plane, lanes) = (Members::Plane, Members::Lanes(8));
    cost(Element::U32, Op::Reduce, plane, Cost::of_lanes(0, 1))?;
    cost(Element::F32, Op::Reduce, plane, Cost::of_lanes(5, 0))?;
    for element in Element::ALL {
        cost(element, Op::Reduce, lanes, Cost::of_lanes(3, 0))?;
        cost(element, Op::InclusiveScan, lanes, Cost::of_lanes(3, 0))?;
        cost(element, Op::InclusiveScan, plane, Cost::of_lanes(5, 0))?;
    }
    // What comes before an integer is a difference; a float's is added up beside its sum.
    let exclusive = Op::ExclusiveScan;
    cost(Element::U32, exclusive, plane, Cost::of_lanes(5, 0))?;
    cost(Element::F32, exclusive, plane, Cost::of_lanes(5, 0))
}

fn a_cube_waits_once(toolkit: &Toolkit) -> Result<(), Error> {
    for element in Element::ALL {
        for op in Op::ALL {
            for cube in [64, 256, 1024] {
                let cost = Cost::of(&kernel(toolkit, element, cube, op, Members::Cube)?);
                assert!(cost.barriers > 0, "{element:?} {op:?} {cube}");
                assert_eq!(cost.barriers, cost.stores, "{element:?} {op:?} {cube}");
            }
        }
    }
    Ok(())
}

fn integers_of_a_cube_are_combined_by_instructions(toolkit: &Toolkit) -> Result<(), Error> {
    let (element, cube) = (Element::U32, Members::Cube);
    let reduced = kernel(toolkit, element, 1024, Op::Reduce, cube)?;
    Cost::of_cube(1, 0, 2).assert(&reduced);
    for op in [Op::InclusiveScan, Op::ExclusiveScan] {
        for units in [256, 1024] {
            let scanned = kernel(toolkit, element, units, op, cube)?;
            Cost::of_cube(1, 5, 1).assert(&scanned);
        }
    }
    Ok(())
}

/// Index 7 is made of blocks of four, of two and of one, each of which is read at once.
fn few_planes_are_read_by_blocks(toolkit: &Toolkit) -> Result<(), Error> {
    for op in [Op::InclusiveScan, Op::ExclusiveScan] {
        let compiled = kernel(toolkit, Element::F32, 256, op, Members::Cube)?;
        Cost::of_cube(3, 5, 0).assert(&compiled);
        for vector in ["ld.shared.v4", "ld.shared.v2"] {
            compiled.assert_ptx(vector);
        }
        // Who needs a block reads it, with no jump, nor anything that waits for those who do not.
        for branch in ["BSSY", "BSYNC", "WARPSYNC", "BRA.DIV"] {
            compiled.assert_no_sass(branch);
        }
    }
    Ok(())
}

fn many_planes_are_read_by_lanes(toolkit: &Toolkit) -> Result<(), Error> {
    let cost = |op, shuffles| {
        let compiled = kernel(toolkit, Element::F32, 1024, op, Members::Cube)?;
        Cost::of_cube(1, shuffles, 0).assert(&compiled);
        Ok::<_, Error>(())
    };
    cost(Op::InclusiveScan, 11)?;
    cost(Op::ExclusiveScan, 11)
}

fn one_plane_rakes(toolkit: &Toolkit) -> Result<(), Error> {
    let rakes = |element, cube, loads, shuffles, reductions| {
        let compiled = kernel(toolkit, element, cube, Op::Reduce, Members::Cube)?;
        Cost::of_cube(loads, shuffles, reductions).assert(&compiled);
        // Nothing passes from lane to lane before all have put down what they have.
        let first = |texts: [&str; 2]| {
            texts
                .iter()
                .filter_map(|text| compiled.ptx.find(text))
                .min()
        };
        let (waits, passes) = (
            first(["bar.sync", "barrier.sync"]),
            first(["shfl.sync", "redux.sync"]),
        );
        assert!(waits.is_some() && waits < passes, "{}", compiled.ptx);
        // So many that a multiprocessor holds its most units.
        compiled.assert_registers_at_most(32);
        Ok::<_, Error>(())
    };
    // A lane's values, by vectors of four.
    rakes(Element::U32, 256, 2, 0, 1)?;
    rakes(Element::F32, 256, 2, 5, 0)?;
    rakes(Element::F32, 1024, 8, 5, 0)
}
