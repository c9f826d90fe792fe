//! Offsets with some bits exchanged, against bank conflicts.

use crate::LayoutError;

/// CuTe's `Swizzle<bits, base, shift>`: `bits` bits of an offset are XORed onto as many others, `shift` positions
/// lower.
///
/// The lowest `base` bits stay as they are, so that runs of `2^base` elements stay together. The bits written begin at
/// bit `base`, the bits read at bit `base + shift`; with a negative shift it is the other way round.
///
/// Law: it is its own inverse, and a permutation of every aligned block of `2^`[`block_bits`](Swizzle::block_bits)
/// offsets.
///
/// ```
/// use girih_layout::Swizzle;
///
/// let swizzle = Swizzle::new(2, 0, 3)?;
/// // Bits 3 and 4 go onto bits 0 and 1.
/// assert_eq!(swizzle.apply(0b01_000), 0b01_001);
/// assert_eq!(swizzle.apply(0b11_010), 0b11_001);
/// assert_eq!(swizzle.to_string(), "Sw<2,0,3>");
/// assert!(Swizzle::new(3, 0, 2).is_err());
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The swizzle that leaves every offset where it is.
    pub const IDENTITY: Self = Self {
        bits: 0,
        base: 0,
        shift: 0,
    };

    /// The swizzle of `bits` bits above the lowest `base`, `shift` positions apart.
    ///
    /// # Errors
    /// [`LayoutError::Swizzle`] when the bits read and the bits written overlap (`|shift| < bits`), or reach past bit
    /// 64.
    pub const fn new(bits: u32, base: u32, shift: i32) -> Result<Self, LayoutError> {
        let distance = shift.unsigned_abs();
        let fits = match base.checked_add(bits) {
            Some(low) => matches!(low.checked_add(distance), Some(high) if high <= 64),
            None => false,
        };
        if distance < bits || !fits {
            return Err(LayoutError::Swizzle { bits, base, shift });
        }
        Ok(Self { bits, base, shift })
    }

    /// How many bits are exchanged.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// How many of the lowest bits stay: `2^base` consecutive offsets stay consecutive.
    pub const fn base(self) -> u32 {
        self.base
    }

    /// How far above the bits written the bits read are; below them when negative.
    pub const fn shift(self) -> i32 {
        self.shift
    }

    /// Whether every offset stays where it is.
    pub const fn is_identity(self) -> bool {
        self.bits == 0
    }

    /// The size of the aligned blocks that are permuted within themselves, as a power of 2: `base + bits + |shift|`.
    pub const fn block_bits(self) -> u32 {
        self.base + self.bits + self.shift.unsigned_abs()
    }

    /// The offset at which what would lie at `offset` lies.
    pub const fn apply(self, offset: u64) -> u64 {
        if self.bits == 0 {
            return offset;
        }
        // With any bits at all, neither `bits` nor a shift below reaches 64.
        let mask = (1u64 << self.bits) - 1;
        let distance = self.shift.unsigned_abs();
        if self.shift >= 0 {
            offset ^ ((offset >> (self.base + distance)) & mask) << self.base
        } else {
            offset ^ ((offset >> self.base) & mask) << (self.base + distance)
        }
    }
}

impl Default for Swizzle {
    fn default() -> Self {
        Self::IDENTITY
    }
}
