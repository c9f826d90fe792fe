//! Launches trials of a test on a device, and adds up what was observed.

use std::time::{Duration, Instant};

use cubecl::prelude::{CubeCount, CubeDim};
use girih::device::Device;
use girih::memory::{self, MemoryScope};
use girih_testkit::{Buffer, Rt};

use super::Test;
use super::kernels::{NOT_PLAYED, OUTCOMES, play, tally};
use super::model::{Kind, Verdicts};
use super::program::{LOCATIONS, Outcome, Program};
use super::stage::Stage;

/// Launches whose counts are read at once, after the first few.
const LAUNCHES: u32 = 8;
/// Trials that a unit of the count looks at, where there is a choice.
const COUNTED: u32 = 8;

/// Why a test was not played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device cannot keep an order of the test.
    #[error(transparent)]
    Refused(#[from] girih::Error),
    /// A kernel failed, or wrote where it should not.
    #[error(transparent)]
    Kernel(#[from] girih_testkit::Error),
    /// Trials were lost.
    #[error("{lost} of {trials} trials had a role that was not played")]
    Lost {
        /// Those lost.
        lost: u64,
        /// Those counted, lost ones included.
        trials: u64,
    },
}

/// What was observed of a test.
#[derive(Clone, Debug)]
pub struct Played {
    /// The program that was played.
    pub program: Program,
    /// What it may show.
    pub verdicts: Verdicts,
    /// Trials of each outcome.
    pub counts: Vec<u64>,
    /// Trials after the first launches, which wait for the compiler; and how long they took.
    pub timed: (u64, Duration),
}

impl Played {
    fn new(program: Program) -> Self {
        Self {
            verdicts: Verdicts::of(&program),
            program,
            counts: vec![0; OUTCOMES as usize],
            timed: (0, Duration::ZERO),
        }
    }

    /// Trials played.
    pub fn trials(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many trials showed an outcome.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.counts[usize::from(outcome.0)]
    }

    /// The outcomes of a kind that were seen.
    pub fn seen(&self, kind: Kind) -> Vec<(Outcome, u64)> {
        let codes = (0..=u8::MAX).map(Outcome);
        let counted = codes.map(|outcome| (outcome, self.count(outcome)));
        counted
            .filter(|&(outcome, count)| count > 0 && self.verdicts.kind(outcome) == kind)
            .collect()
    }

    /// The sequentially consistent outcomes that were not seen.
    pub fn unseen(&self) -> Vec<Outcome> {
        let outcomes = self.verdicts.sc.iter().copied();
        outcomes
            .filter(|&outcome| self.count(outcome) == 0)
            .collect()
    }

    /// Trials a second, where enough were played to say.
    pub fn rate(&self) -> Option<f64> {
        let (trials, time) = self.timed;
        (trials > 0).then(|| trials as f64 / time.as_secs_f64())
    }
}

/// Plays tests on one device.
///
/// ```
/// use girih_suite::litmus::{Error, Harness, Test, model::Kind};
/// use girih_testkit::Rt;
///
/// fn main() -> Result<(), Error> {
///     let test = Test::stated().remove(0);
///     for rt in Rt::present() {
///         let played = Harness::new(rt).play(&test, |played| played.trials() >= 1000)?;
///         assert_eq!(played.seen(Kind::Forbidden), []);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Harness<'a> {
    rt: &'a Rt,
}

impl<'a> Harness<'a> {
    /// A harness of a device.
    pub const fn new(rt: &'a Rt) -> Self {
        Self { rt }
    }

    /// Plays a test until `enough` says so; it is asked every few launches.
    ///
    /// # Errors
    /// [`Error::Refused`] by name if the device cannot keep an order of the test, before anything is launched; the others
    /// where the harness itself went wrong.
    pub fn play(
        &self,
        test: &Test,
        mut enough: impl FnMut(&Played) -> bool,
    ) -> Result<Played, Error> {
        let device = Device::of(&self.rt.client);
        for access in test.required() {
            device.require_atomic("litmus", &access)?;
        }
        let mut played = Played::new(test.program());
        let mut memory = Memory::new(self.rt, test, &played.program);
        let mut launches = 1;
        loop {
            let start = Instant::now();
            memory.launch(launches);
            let trials = memory.collect(&mut played.counts)?;
            // The first launch waits for the compiler.
            if played.trials() > trials {
                played.timed.0 += trials;
                played.timed.1 += start.elapsed();
                launches = LAUNCHES.min(2 * launches);
            }
            if enough(&played) {
                return Ok(played);
            }
        }
    }
}

/// The buffers of a test on a device, and what is launched over them.
struct Memory<'a> {
    rt: &'a Rt,
    program: &'a Program,
    scope: MemoryScope,
    stage: Stage,
    cells: Buffer<u32>,
    seen: Buffer<u32>,
    meeting: Buffer<u32>,
    /// Counts since the beginning, which wrap; and what they were when last read.
    histogram: Buffer<u32>,
    before: Vec<u32>,
    launches: u32,
}

impl<'a> Memory<'a> {
    fn new(rt: &'a Rt, test: &Test, program: &'a Program) -> Self {
        let stage = Stage::of(rt, program, test.scope, test.space);
        let trials = stage.trials() as usize;
        let bins = vec![0; OUTCOMES as usize + 1];
        Self {
            rt,
            program,
            scope: test.scope,
            stage,
            cells: rt.put(&vec![0; trials * LOCATIONS]),
            seen: rt.put(&vec![NOT_PLAYED; trials * stage.roles as usize]),
            meeting: rt.put(&[0]),
            histogram: rt.put(&bins),
            before: bins,
            launches: 0,
        }
    }

    fn launch(&mut self, times: u32) {
        for _ in 0..times {
            // Any number will do that differs from launch to launch: the kernels scramble it.
            let seed = self.launches;
            self.launches += 1;
            match self.scope {
                MemoryScope::Cube => self.play::<memory::Cube>(seed),
                MemoryScope::System => self.play::<memory::System>(seed),
                _ => self.play::<memory::Device>(seed),
            }
            self.tally(seed);
        }
    }

    fn play<S: memory::KnownScope>(&self, seed: u32) {
        // SAFETY: the buffers hold as many elements as the stage has trials, which bound every index.
        unsafe {
            play::launch_unchecked::<S>(
                &self.rt.client,
                CubeCount::new_1d(self.stage.ensemble.cubes),
                CubeDim::new_1d(self.stage.ensemble.units),
                self.cells.arg(),
                self.seen.arg(),
                self.meeting.arg(),
                seed,
                self.program.clone(),
                self.stage,
            );
        }
    }

    fn tally(&self, seed: u32) {
        let cubes = self.stage.trials().div_ceil(self.rt.units * COUNTED);
        // SAFETY: the buffers hold as many elements as the stage has trials, and the histogram has a bin for each outcome
        // and one for what is none; these bound every index.
        unsafe {
            tally::launch_unchecked(
                &self.rt.client,
                CubeCount::new_1d(if self.stage.ensemble.cubes == 1 {
                    1
                } else {
                    cubes
                }),
                self.rt.cube_dim(),
                self.cells.arg(),
                self.seen.arg(),
                self.meeting.arg(),
                self.histogram.arg(),
                seed,
                self.program.clone(),
                self.stage,
            );
        }
    }

    /// Adds what was counted since the last call; gives how many trials that was.
    fn collect(&mut self, counts: &mut [u64]) -> Result<u64, Error> {
        let now = self.rt.read(&self.histogram)?;
        let grown = now.iter().zip(&self.before);
        let grown: Vec<u64> = grown
            .map(|(&now, &was)| now.wrapping_sub(was).into())
            .collect();
        self.before = now;
        let (trials, lost) = (grown.iter().sum(), grown[OUTCOMES as usize]);
        if lost > 0 {
            return Err(Error::Lost { lost, trials });
        }
        for (count, grown) in counts.iter_mut().zip(grown) {
            *count += grown;
        }
        Ok(trials)
    }
}
