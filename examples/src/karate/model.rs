//! The model: two graph convolutions (Kipf and Welling, 2017).
//!
//! A convolution is `A (X W)`, where `A = D^-1/2 (T + I) D^-1/2` is the normalised matrix of ties:
//! every member sends its row of `X W` to its friends and itself, and sums what it is sent. `A` is
//! never a matrix here. A message is a row that girih **gathers** from its sender, scaled, and
//! **scatter-adds** to its receiver.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_burn::{Bounds, Error};

use super::Club;

/// Width of the hidden layer.
const HIDDEN: usize = 16;

/// One class for each side.
const CLASSES: usize = 2;

/// The messages of a convolution on a device: one along each tie in each direction, and one from
/// each member to itself.
#[derive(Debug, Clone)]
pub struct Graph {
    members: usize,
    senders: Tensor<1, Int>,
    receivers: Tensor<1, Int>,
    scales: Tensor<2>,
}

impl Graph {
    /// The messages of `club`.
    pub fn new(club: &Club, device: &Device) -> Self {
        let members = club.len();
        let mut messages: Vec<(usize, usize)> = (0..members).map(|own| (own, own)).collect();
        for &(a, b) in &club.ties {
            messages.extend([(a, b), (b, a)]);
        }
        let mut received = vec![0.0_f32; members];
        for &(_, receiver) in &messages {
            received[receiver] += 1.0;
        }
        let scale = |&(from, to): &(usize, usize)| (received[from] * received[to]).sqrt().recip();
        let scales: Vec<f32> = messages.iter().map(scale).collect();
        let index = |ends: Vec<i32>| Tensor::from_ints(ends.as_slice(), device);
        Self {
            members,
            senders: index(messages.iter().map(|message| message.0 as i32).collect()),
            receivers: index(messages.iter().map(|message| message.1 as i32).collect()),
            scales: Tensor::from_data(TensorData::new(scales, [messages.len(), 1]), device),
        }
    }

    /// `A rows`: what every member is sent, summed. `rows` has one row for each member.
    fn propagate(&self, rows: Tensor<2>) -> Result<Tensor<2>, Error> {
        let sent = girih_burn::gather(rows, 0, self.senders.clone(), Bounds::Mask)?.into_inner();
        let sent = sent * self.scales.clone();
        let receivers = self.receivers.clone();
        let sums = girih_burn::scatter_sum(sent, 0, receivers, self.members, Bounds::Mask)?;
        Ok(sums.into_inner())
    }
}

/// Two graph convolutions with a ReLU between: members to hidden features to scores of the sides.
#[derive(Module, Debug)]
pub struct Gcn {
    hidden: Param<Tensor<2>>,
    output: Param<Tensor<2>>,
}

impl Gcn {
    /// A model for `members` members with Glorot-uniform weights, drawn on the host so that a
    /// seed means the same weights on every device.
    pub fn new(members: usize, seed: u64, device: &Device) -> Self {
        let mut random = SplitMix64(seed);
        let mut weights = |rows: usize, columns: usize| {
            let limit = (6.0 / (rows + columns) as f32).sqrt();
            let values: Vec<f32> = (0..rows * columns)
                .map(|_| limit * (2.0 * random.uniform() - 1.0))
                .collect();
            Param::from_data(TensorData::new(values, [rows, columns]), device)
        };
        Self {
            hidden: weights(members, HIDDEN),
            output: weights(HIDDEN, CLASSES),
        }
    }

    /// The scores of each side for each member, `[members, 2]`.
    ///
    /// # Errors
    /// Where girih's ops refuse the device or the graph.
    pub fn forward(&self, graph: &Graph) -> Result<Tensor<2>, Error> {
        // The features are one-hot, the unit matrix: times the weights they are the weights.
        let hidden = relu(graph.propagate(self.hidden.val())?);
        graph.propagate(product(hidden, self.output.val()))
    }
}

/// `a b` as an element-wise product and a sum along an axis, which every device computes. Burn 0.22.1's own
/// `matmul` does not everywhere: on CubeCL's CPU runtime some shapes ask for more shared memory than there
/// is, and Mesa 22.3's lavapipe crashes while it compiles the kernel. For `[34, 16]` times `[16, 2]` this
/// costs nothing.
fn product(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let terms = a.unsqueeze_dim::<3>(2) * b.unsqueeze_dim::<3>(0);
    terms.sum_dim(1).squeeze_dim(1)
}

/// Steele, Lea and Flood's generator (2014).
struct SplitMix64(u64);

impl SplitMix64 {
    /// A number of `[0, 1)`, uniformly.
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 40) as f32 / (1_u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first output of the reference implementation with seed 0, 0xE220_A839_7B1D_CDAF.
        let expected = 0xE2_20A8 as f32 / 0x100_0000 as f32;
        approx::assert_abs_diff_eq!(SplitMix64(0).uniform(), expected);
    }
}
