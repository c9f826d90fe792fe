//! NVIDIA's compilers: NVRTC, ptxas and nvdisasm.

use std::{
    env,
    ffi::{CStr, CString},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use cubecl::{Compiler, CubeKernel, define_kernel};
use cubecl_cpp::{shared::CppCompiler, target::Cuda};
use cudarc::nvrtc::{result as nvrtc, sys::nvrtcProgram};

use super::{Compiled, HOPPER, Resources, properties::options};
use crate::Error;

/// A folder with NVRTC, the headers of CUDA, ptxas and nvdisasm.
#[derive(Clone, Debug)]
pub struct Toolkit {
    root: PathBuf,
}

impl Toolkit {
    /// The toolkit of this machine: `CUDA_PATH`, else the one that `cargo xtask setup` installs, else `/usr/local/cuda`.
    ///
    /// # Errors
    /// [`Error::Toolkit`] if a compiler or the headers are missing there.
    pub fn find() -> Result<&'static Self, Error> {
        static FOUND: OnceLock<Result<Toolkit, Error>> = OnceLock::new();
        FOUND
            .get_or_init(|| Self::at(root()))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The toolkit in a folder.
    ///
    /// # Errors
    /// [`Error::Toolkit`] if a compiler or the headers are missing there.
    pub fn at(root: PathBuf) -> Result<Self, Error> {
        for part in ["bin/ptxas", "bin/nvdisasm", "include/cuda_runtime.h"] {
            if !root.join(part).exists() {
                return Err(Error::Toolkit {
                    missing: part.to_owned(),
                    root,
                });
            }
        }
        load_nvrtc(&root)?;
        Ok(Self { root })
    }

    /// Compiles a kernel for Hopper.
    ///
    /// # Errors
    /// [`Error::Compile`] with the stage that refused it and what it said.
    pub fn compile(&self, kernel: impl CubeKernel) -> Result<Compiled, Error> {
        self.compile_for(HOPPER, kernel)
    }

    /// Compiles a kernel for `arch`, such as `sm_100a`.
    ///
    /// # Errors
    /// [`Error::Compile`] with the stage that refused it and what it said.
    pub fn compile_for(&self, arch: &str, kernel: impl CubeKernel) -> Result<Compiled, Error> {
        let source = source(kernel)?;
        let ptx = self.ptx(&source, arch)?;
        let (sass, resources, log) = self.assemble(&ptx, arch)?;
        Ok(Compiled {
            arch: arch.to_owned(),
            source,
            ptx,
            sass,
            resources,
            log,
        })
    }

    /// Compiles a kernel for Hopper as far as PTX, where that is all that is asked.
    ///
    /// # Errors
    /// [`Error::Compile`] with the stage that refused it and what it said.
    pub fn compile_to_ptx(&self, kernel: impl CubeKernel) -> Result<String, Error> {
        self.ptx(&source(kernel)?, HOPPER)
    }

    /// Compiles CUDA C++ to PTX.
    ///
    /// # Errors
    /// [`Error::Compile`] with the log of NVRTC, which for a real architecture holds what ptxas refuses as well.
    pub fn ptx(&self, source: &str, arch: &str) -> Result<String, Error> {
        let refused = |log: String| Error::Compile {
            stage: "NVRTC",
            log,
        };
        let text = CString::new(source).map_err(|error| refused(error.to_string()))?;
        let include = self.root.join("include");
        let options = [
            format!("--gpu-architecture={arch}"),
            format!("--include-path={}", include.display()),
            format!("--include-path={}", include.join("cccl").display()),
            "-lineinfo".to_owned(),
        ];
        let program = Program::new(&text).map_err(|error| refused(error.to_string()))?;
        // SAFETY: the program lives until it is dropped at the end of this function.
        let (compiled, log, ptx) = unsafe {
            let compiled = nvrtc::compile_program(program.0, &options);
            let log = nvrtc::get_program_log(program.0);
            (compiled, log, nvrtc::get_ptx(program.0))
        };
        compiled.map_err(|error| refused(log.map_or(error.to_string(), |log| text_of(&log))))?;
        ptx.map(|ptx| text_of(&ptx))
            .map_err(|error| refused(error.to_string()))
    }

    /// Assembles PTX and disassembles the result: SASS, and what the kernel costs.
    ///
    /// # Errors
    /// [`Error::Compile`] with what ptxas or nvdisasm said.
    pub fn sass(&self, ptx: &str, arch: &str) -> Result<(String, Resources), Error> {
        let (sass, resources, _) = self.assemble(ptx, arch)?;
        Ok((sass, resources))
    }

    /// The same, and all that ptxas said.
    fn assemble(&self, ptx: &str, arch: &str) -> Result<(String, Resources, String), Error> {
        let folder = TemporaryFolder::new()?;
        let (source, cubin) = (folder.0.join("kernel.ptx"), folder.0.join("kernel.cubin"));
        fs::write(&source, ptx).map_err(|error| temporary(&source, &error))?;
        let log = self.run(
            "ptxas",
            &[
                format!("-arch={arch}").as_ref(),
                "-v".as_ref(),
                source.as_os_str(),
                "-o".as_ref(),
                cubin.as_os_str(),
            ],
        )?;
        let resources = Resources::parse(&log).ok_or_else(|| Error::Compile {
            stage: "ptxas",
            log: format!("no count of registers in its report: {log}"),
        })?;
        let sass = self.run("nvdisasm", &["-c".as_ref(), cubin.as_os_str()])?;
        Ok((sass, resources, log))
    }

    /// Runs a program of the toolkit; what it printed on both streams.
    fn run(&self, program: &'static str, arguments: &[&std::ffi::OsStr]) -> Result<String, Error> {
        let refused = |log: String| Error::Compile {
            stage: program,
            log,
        };
        let output = Command::new(self.root.join("bin").join(program))
            .args(arguments)
            .output()
            .map_err(|error| refused(error.to_string()))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            Err(refused(text))
        }
    }
}

/// Where the toolkit should be.
fn root() -> PathBuf {
    let non_empty = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(root) = non_empty("CUDA_PATH") {
        return root;
    }
    let data = non_empty("XDG_DATA_HOME")
        .or_else(|| non_empty("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_default();
    let installed = data.join("girih/cuda-13.0/nvidia/cu13");
    if installed.exists() {
        installed
    } else {
        PathBuf::from("/usr/local/cuda")
    }
}

/// Loads the toolkit's NVRTC for the rest of the process: cudarc asks for it by name alone, and it for its builtins, so both
/// get these and `LD_LIBRARY_PATH` need not be set.
fn load_nvrtc(root: &Path) -> Result<(), Error> {
    for prefix in ["libnvrtc-builtins.so.", "libnvrtc.so."] {
        let missing = |missing: String| Error::Toolkit {
            missing,
            root: root.to_owned(),
        };
        let library = library(root, prefix).ok_or_else(|| missing(format!("lib/{prefix}13")))?;
        // SAFETY: NVRTC's initialisers have no requirements, and the library is never unloaded.
        let loaded = unsafe { libloading::Library::new(&library) };
        std::mem::forget(loaded.map_err(|error| missing(format!("NVRTC that loads ({error})")))?);
    }
    Ok(())
}

/// The file of the toolkit's libraries whose name starts with `prefix`.
fn library(root: &Path, prefix: &str) -> Option<PathBuf> {
    let folders = ["lib", "lib64"].into_iter();
    let entries = folders.filter_map(|folder| fs::read_dir(root.join(folder)).ok());
    let mut files = entries.flatten().filter_map(Result::ok);
    files.find_map(|entry| {
        let named = entry.file_name().to_string_lossy().starts_with(prefix);
        named.then(|| entry.path())
    })
}

/// CUDA C++ of a kernel, as `cubecl-cuda` would write it on Hopper.
fn source(kernel: impl CubeKernel) -> Result<String, Error> {
    let refused = |error: cubecl::CompilationError| Error::Compile {
        stage: "CubeCL",
        log: error.to_string(),
    };
    let definition = define_kernel(&kernel).map_err(refused)?;
    CppCompiler::<Cuda>::default()
        .compile(definition, &options())
        .map(|kernel| kernel.source)
        .map_err(refused)
}

/// A program of NVRTC, destroyed with this value.
struct Program(nvrtcProgram);

impl Program {
    fn new(source: &CStr) -> Result<Self, nvrtc::NvrtcError> {
        nvrtc::create_program(source, None).map(Self)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed here alone. It fails only for a program that does not exist.
        let _ = unsafe { nvrtc::destroy_program(self.0) };
    }
}

/// The text in front of the first NUL.
fn text_of(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters
        .iter()
        .map(|&character| character.cast_unsigned())
        .take_while(|&byte| byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A folder of this call's own, removed with this value.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("girih-{}-{count}", std::process::id()));
        fs::create_dir(&path).map_err(|error| temporary(&path, &error))?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing depends on its going: the system cleans its temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn temporary(path: &Path, error: &std::io::Error) -> Error {
    Error::Temporary {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use cubecl::prelude::*;

    use super::{
        super::{buffer, hopper, settings, target, tensor},
        *,
    };

    #[cube(launch_unchecked)]
    fn scale<E: Float, N: Size>(source: &[Vector<E, N>], out: &mut Tensor<Vector<E, N>>) {
        if ABSOLUTE_POS < out.len() {
            out[ABSOLUTE_POS] = source[ABSOLUTE_POS] * Vector::new(E::new(2.0));
        }
    }

    #[cube(launch_unchecked)]
    fn permute(order: &[u32], out: &mut [u32], #[comptime] compiles: bool) {
        comptime!(assert!(compiles, "planted: this kernel does not compile"));
        let mut values = Array::<u32>::new(64usize);
        for i in 0..64usize {
            values[order[i] as usize] = order[i + 64usize];
        }
        for i in 0..64usize {
            out[i] = values[i];
        }
    }

    fn permutation(compiles: bool) -> impl CubeKernel {
        permute::Permute::new(
            settings(32),
            hopper(),
            target(),
            buffer(),
            buffer(),
            compiles,
        )
    }

    #[test]
    fn a_kernel_becomes_instructions() {
        let kernel =
            scale::Scale::<f32>::new(settings(256), hopper(), target(), buffer(), tensor(), 4);
        let compiled = Toolkit::find().unwrap().compile(kernel).unwrap();
        assert!(
            compiled.source.contains("__global__"),
            "{}",
            compiled.source
        );
        compiled.assert_ptx("ld.global.nc.v4");
        compiled.assert_ptx("st.global.v4");
        compiled.assert_no_ptx("atom.");
        compiled.assert_sass("LDG.E.128");
        compiled.assert_sass("STG.E.128");
        compiled.assert_no_local_memory();
        compiled.assert_registers_at_most(32);
        assert!(compiled.resources.registers > 0);
    }

    #[test]
    fn local_memory_is_seen() {
        let compiled = Toolkit::find().unwrap().compile(permutation(true)).unwrap();
        assert!(compiled.resources.stack >= 256, "{:?}", compiled.resources);
        let refused = std::panic::catch_unwind(|| compiled.assert_no_local_memory());
        assert!(refused.is_err());
    }

    #[test]
    fn each_stage_says_why_it_refuses() {
        let toolkit = Toolkit::find().unwrap();
        let refused = |result: Result<Compiled, Error>| match result {
            Err(Error::Compile { stage, log }) => (stage, log),
            other => panic!("{other:?}"),
        };
        let (stage, log) = refused(toolkit.compile(permutation(false)));
        assert_eq!(stage, "CubeCL");
        assert!(
            log.contains("planted: this kernel does not compile"),
            "{log}"
        );
        let (stage, log) = refused(toolkit.compile_for("sm_1", permutation(true)));
        assert_eq!(stage, "NVRTC");
        assert!(log.contains("--gpu-architecture"), "{log}");
        let Err(Error::Compile { stage, log }) = toolkit.sass("no PTX", HOPPER) else {
            panic!("ptxas took what is not PTX");
        };
        assert_eq!(stage, "ptxas");
        assert!(!log.is_empty());
    }

    #[test]
    fn an_absent_toolkit_names_the_chore_that_installs_it() {
        let error = Toolkit::at(PathBuf::from("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/nowhere") && error.contains("cargo xtask setup"),
            "{error}"
        );
    }

    #[test]
    fn threads_do_not_share_files() {
        let toolkit = Toolkit::find().unwrap();
        std::thread::scope(|scope| {
            let compiles = || {
                toolkit
                    .compile(permutation(true))
                    .map(|compiled| compiled.sass)
            };
            let handles = [0, 1, 2, 3].map(|_| scope.spawn(compiles));
            let sass = handles.map(|handle| handle.join().unwrap().unwrap());
            assert!(sass.windows(2).all(|pair| pair[0] == pair[1]));
        });
    }
}
