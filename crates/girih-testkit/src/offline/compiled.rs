//! A compiled kernel, and assertions on its instructions.

use std::collections::BTreeMap;

use super::Resources;

/// A kernel compiled for one architecture.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The architecture, such as `sm_90a`.
    pub arch: String,
    /// CUDA C++, as CubeCL writes it.
    pub source: String,
    /// PTX, as NVRTC compiles the source.
    pub ptx: String,
    /// SASS, the machine's own instructions, as ptxas assembles the PTX.
    pub sass: String,
    /// What ptxas says it costs.
    pub resources: Resources,
    /// All that ptxas says.
    pub log: String,
}

impl Compiled {
    /// How many PTX instructions contain `text`.
    pub fn count_ptx(&self, text: &str) -> usize {
        count(&self.ptx, ptx_instruction, text)
    }

    /// How many SASS instructions contain `text`.
    pub fn count_sass(&self, text: &str) -> usize {
        count(&self.sass, sass_instruction, text)
    }

    /// Fails unless a PTX instruction contains `text`.
    #[track_caller]
    pub fn assert_ptx(&self, text: &str) {
        if self.count_ptx(text) == 0 {
            panic!(
                "no `{text}` in the PTX, which has {}",
                opcodes(&self.ptx, ptx_instruction)
            );
        }
    }

    /// Fails if a PTX instruction contains `text`.
    #[track_caller]
    pub fn assert_no_ptx(&self, text: &str) {
        if let Some(instruction) = find(&self.ptx, ptx_instruction, text) {
            panic!("`{text}` in the PTX: {instruction}");
        }
    }

    /// Fails unless a SASS instruction contains `text`.
    #[track_caller]
    pub fn assert_sass(&self, text: &str) {
        if self.count_sass(text) == 0 {
            panic!(
                "no `{text}` in the SASS, which has {}",
                opcodes(&self.sass, sass_instruction)
            );
        }
    }

    /// Fails if a SASS instruction contains `text`.
    #[track_caller]
    pub fn assert_no_sass(&self, text: &str) {
        if let Some(instruction) = find(&self.sass, sass_instruction, text) {
            panic!("`{text}` in the SASS: {instruction}");
        }
    }

    /// At most so many bytes of a unit's registers are put aside in local memory: for kernels that hold more at once than
    /// registers have room for.
    pub fn assert_spills_at_most(&self, bytes: u32) {
        let Resources {
            stack,
            spill_stores,
            spill_loads,
            ..
        } = self.resources;
        assert!(
            stack.max(spill_stores).max(spill_loads) <= bytes,
            "local memory: {stack} bytes of stack, {spill_stores} bytes of spill stores, {spill_loads} of spill loads; \
             {bytes} are allowed"
        );
    }

    /// Fails if a unit uses local memory: a stack frame, spills, or a load or store of either.
    #[track_caller]
    pub fn assert_no_local_memory(&self) {
        let Resources {
            stack,
            spill_stores,
            spill_loads,
            ..
        } = self.resources;
        assert!(
            stack == 0 && spill_stores == 0 && spill_loads == 0,
            "local memory: {stack} bytes of stack, {spill_stores} bytes of spill stores, {spill_loads} of spill loads"
        );
        self.assert_no_sass("LDL");
        self.assert_no_sass("STL");
    }

    /// Fails if ptxas has the tensor cores finish a multiplication before the next, or adds waits of its own: it says so in
    /// lines of information alone.
    #[track_caller]
    pub fn assert_multiplications_overlap(&self) {
        if let Some(line) = self.log.lines().find(|line| line.contains("(C75")) {
            panic!("multiplications wait for each other: {line}");
        }
    }

    /// Fails if a unit needs more than `most` registers.
    #[track_caller]
    pub fn assert_registers_at_most(&self, most: u32) {
        let registers = self.resources.registers;
        assert!(registers <= most, "{registers} registers, more than {most}");
    }

    /// Fails if a unit uses [local memory](Self::assert_no_local_memory), or [more than `most` registers](Self::assert_registers_at_most).
    #[track_caller]
    pub fn assert_in_registers(&self, most: u32) {
        self.assert_no_local_memory();
        self.assert_registers_at_most(most);
    }
}

/// The instruction on a line of PTX, without its predicate.
fn ptx_instruction(line: &str) -> Option<&str> {
    let text = line.split("//").next()?.trim();
    // A line may open a block of inline assembly.
    let text = text.trim_start_matches(['{', ' ', '\t']);
    let text = match text.strip_prefix('@') {
        Some(predicated) => predicated.split_once(char::is_whitespace)?.1.trim_start(),
        None => text,
    };
    text.starts_with(|first: char| first.is_ascii_lowercase())
        .then_some(text)
}

/// The instruction on a line of SASS, without its address and predicate: `/*0070*/  @!P0 LDG.E R2, desc[UR4][R2.64] ;`.
fn sass_instruction(line: &str) -> Option<&str> {
    let text = line
        .trim()
        .strip_prefix("/*")?
        .split_once("*/")?
        .1
        .trim_start();
    let text = match text.strip_prefix('@') {
        Some(predicated) => predicated.split_once(char::is_whitespace)?.1.trim_start(),
        None => text,
    };
    text.starts_with(|first: char| first.is_ascii_uppercase())
        .then_some(text)
}

type Instruction = fn(&str) -> Option<&str>;

fn find<'a>(text: &'a str, instruction: Instruction, wanted: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(instruction)
        .find(|line| line.contains(wanted))
}

fn count(text: &str, instruction: Instruction, wanted: &str) -> usize {
    text.lines()
        .filter_map(instruction)
        .filter(|line| line.contains(wanted))
        .count()
}

/// Every opcode and how often it occurs.
fn opcodes(text: &str, instruction: Instruction) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for line in text.lines().filter_map(instruction) {
        let opcode = line
            .split(|end: char| end.is_whitespace() || end == ';')
            .next();
        *counts.entry(opcode.unwrap_or(line)).or_default() += 1;
    }
    let listed: Vec<String> = counts
        .into_iter()
        .map(|(opcode, count)| format!("{count} {opcode}"))
        .collect();
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn compiled() -> Compiled {
        Compiled {
            arch: "sm_90a".to_owned(),
            source: String::new(),
            ptx: ".visible .entry kernel(\n\
                  // ld.global.commented\n\
                  \tld.param.u64 \t%rd1, [kernel_param_0];\n\
                  @%p1 bra \t$L__BB0_2;\n\
                  \tld.global.nc.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd4];\n\
                  \t// begin inline asm\n\
                  \t{ fence.sc.gpu; }\n"
                .to_owned(),
            sass: "\t.section .text.kernel\n\
                   .L_x_0:\n\
                   /*0000*/                   LDC R1, c[0x0][0x28] ;\n\
                   /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n\
                   /*0020*/                   EXIT ;\n"
                .to_owned(),
            resources: Resources {
                registers: 16,
                ..Resources::default()
            },
            log: "ptxas info    : Used 16 registers".to_owned(),
        }
    }

    fn message(check: impl FnOnce(&Compiled) + std::panic::UnwindSafe) -> String {
        let panic = catch_unwind(|| check(&compiled())).expect_err("the assertion held");
        crate::device::panic_message(&*panic)
    }

    #[test]
    fn what_is_there_is_found() {
        let compiled = compiled();
        compiled.assert_ptx("ld.global.nc.v4");
        compiled.assert_ptx("fence.sc.gpu");
        compiled.assert_no_ptx("commented");
        compiled.assert_sass("LDG.E.128");
        compiled.assert_no_sass("STG");
        compiled.assert_in_registers(16);
        assert_eq!(compiled.count_ptx("ld."), 2);
        assert_eq!(compiled.count_sass(" R"), 2);
    }

    #[test]
    fn multiplications_that_wait_are_found() {
        compiled().assert_multiplications_overlap();
        let text = message(|_| {
            let mut waiting = compiled();
            waiting.log +=
                "\nptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async serialized";
            waiting.assert_multiplications_overlap();
        });
        assert!(text.contains("C7515"), "{text}");
    }

    #[test]
    fn a_failure_says_what_is_there_instead() {
        assert_eq!(
            message(|c| c.assert_ptx("st.global")),
            "no `st.global` in the PTX, which has 1 bra, 1 fence.sc.gpu, 1 ld.global.nc.v4.f32, 1 ld.param.u64"
        );
        assert_eq!(
            message(|c| c.assert_no_sass("LDG")),
            "`LDG` in the SASS: LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;"
        );
        assert_eq!(
            message(|c| c.assert_in_registers(8)),
            "16 registers, more than 8"
        );
        let spilled = |_: &Compiled| {
            let mut spilled = compiled();
            spilled.resources.spill_loads = 8;
            spilled.assert_in_registers(16);
        };
        assert!(message(spilled).contains("8 of spill loads"));
    }
}
