//! Nucleus sampling on a device.

use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error, Side, cumsum, gather, search_sorted, sort_with_indices};

use super::bigrams::{BYTES, Bigrams, Refused};
use super::uniforms::Uniforms;

/// Steps after which what was drawn is read.
const BLOCK: usize = 32;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The part of the mass that the nucleus has: the fewest bytes that have as much are drawn from.
    pub p: f64,
    /// By what logits are divided: below 1 likely bytes become more so, above 1 less.
    pub temperature: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            p: 0.9,
            temperature: 0.9,
        }
    }
}

impl Settings {
    /// # Errors
    /// [`Refused`] of a number that makes no sense.
    fn check(&self) -> Result<(), Refused> {
        match self {
            Self { p, .. } if !(0.0..=1.0).contains(p) => Err(Refused::P(*p)),
            Self { temperature, .. } if !(temperature.is_finite() && *temperature > 0.0) => {
                Err(Refused::Temperature(*temperature))
            }
            _ => Ok(()),
        }
    }
}

/// Draws bytes after bytes, a batch at a time.
#[derive(Debug, Clone)]
pub struct Sampler {
    /// Logits of what follows each byte, by the temperature.
    logits: Tensor<2>,
    p: f64,
    device: Device,
}

impl Sampler {
    /// One that draws on a device from what follows what.
    ///
    /// # Errors
    /// [`Refused`] of settings that make no sense.
    pub fn new(bigrams: &Bigrams, settings: Settings, device: &Device) -> Result<Self, Refused> {
        settings.check()?;
        let logits = TensorData::new(bigrams.logits(), [BYTES, BYTES]);
        Ok(Self {
            logits: Tensor::<2>::from_data(logits, device) / settings.temperature,
            p: settings.p,
            device: device.clone(),
        })
    }

    /// The next byte after each of a batch, drawn by a number from 0 to before 1 for each. All of it happens on the device.
    ///
    /// # Errors
    /// What girih's ops refuse: a device without what they need.
    pub fn step(
        &self,
        bytes: Tensor<1, Int>,
        uniforms: Tensor<1>,
    ) -> Result<Tensor<1, Int>, Error> {
        let [batch] = bytes.dims();
        let logits = gather(self.logits.clone(), 0, bytes, Bounds::Mask)?.into_inner();
        // The likely ones first, and their weights, of which the largest is 1.
        let (logits, order) = sort_with_indices(logits, 1, true)?;
        let largest = logits.clone().slice([0..batch, 0..1]);
        let sums = cumsum((logits - largest).exp(), 1)?;
        // The nucleus ends where the sums reach p of all.
        let all = sums.clone().slice([0..batch, BYTES - 1..BYTES]);
        let last = search_sorted(sums.clone(), all * self.p, Side::Left)?;
        // Of its mass the number takes a part, and the byte that the part ends in.
        let mass = sums.clone().gather(1, last.clone());
        let part = mass * uniforms.reshape([batch, 1]);
        let drawn = search_sorted(sums, part, Side::Right)?;
        // A part that was rounded to all of the mass ends in the last byte.
        let drawn = drawn.min_pair(last);
        Ok(order.gather(1, drawn).reshape([batch]))
    }

    /// So many bytes after the last one of each prompt, drawn by `uniforms`, of which each step takes one for each prompt. Calls
    /// `progress` with the number of steps that are done.
    ///
    /// # Errors
    /// As of [`step`](Self::step), and where the device fails.
    pub fn generate(
        &self,
        last: &[u8],
        length: usize,
        uniforms: &mut Uniforms,
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<Vec<u8>>, Error> {
        let batch = last.len();
        let mut texts = vec![vec![]; batch];
        let first: Vec<i32> = last.iter().map(|&byte| i32::from(byte)).collect();
        let mut bytes = Tensor::<1, Int>::from_data(TensorData::new(first, [batch]), &self.device);
        for begin in (0..length).step_by(BLOCK) {
            let steps = BLOCK.min(length - begin);
            let numbers: Vec<f32> = uniforms.by_ref().take(steps * batch).collect();
            let numbers = TensorData::new(numbers, [steps, batch]);
            let numbers = Tensor::<2>::from_data(numbers, &self.device);
            let mut drawn = vec![];
            for step in 0..steps {
                let number = numbers.clone().slice([step..step + 1, 0..batch]);
                bytes = self.step(bytes, number.reshape([batch]))?;
                drawn.push(bytes.clone());
            }
            let drawn = Tensor::cat(drawn, 0).try_into_data()?;
            for (at, byte) in drawn.iter::<i64>().enumerate() {
                texts[at % batch].push(byte as u8);
            }
            progress(begin + steps);
        }
        Ok(texts)
    }
}
