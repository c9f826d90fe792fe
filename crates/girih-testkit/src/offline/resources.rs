//! What ptxas says a kernel costs.

/// The resources of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers of one unit.
    pub registers: u32,
    /// Local memory of one unit, in bytes: arrays that an index only known at run time reaches.
    pub stack: u32,
    /// Bytes that one unit stores for lack of registers.
    pub spill_stores: u32,
    /// Bytes that one unit loads for lack of registers.
    pub spill_loads: u32,
}

impl Resources {
    /// Reads what `ptxas -v` prints of a file with one kernel; `None` if it is not there.
    pub fn parse(log: &str) -> Option<Self> {
        let mut resources = Self {
            registers: number_before(log, "registers")?,
            ..Self::default()
        };
        // ptxas leaves the line out when all three are 0 and prints it always with -v; both read as 0.
        resources.stack = number_before(log, "bytes stack frame").unwrap_or(0);
        resources.spill_stores = number_before(log, "bytes spill stores").unwrap_or(0);
        resources.spill_loads = number_before(log, "bytes spill loads").unwrap_or(0);
        Some(resources)
    }
}

/// The number in front of `unit`.
fn number_before(log: &str, unit: &str) -> Option<u32> {
    let (before, _) = log.split_once(unit)?;
    before.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_log_of_ptxas() {
        let log = "ptxas info    : 0 bytes gmem\n\
                   ptxas info    : Compiling entry function 'kernel' for 'sm_90a'\n\
                   ptxas info    : Function properties for kernel\n    \
                   400 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
                   ptxas info    : Used 40 registers, used 1 barriers, 400 bytes cumulative stack size\n";
        let expected = Resources {
            registers: 40,
            stack: 400,
            spill_stores: 12,
            spill_loads: 8,
        };
        assert_eq!(Resources::parse(log), Some(expected));
        assert_eq!(Resources::parse("ptxas fatal   : no kernel"), None);
    }
}
