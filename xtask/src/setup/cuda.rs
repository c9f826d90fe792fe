//! CUDA's compilers, for kernels compiled to PTX and SASS on a machine without a GPU.

use std::fs;
use std::path::PathBuf;

use super::Folders;
use super::python;
use super::wheels::{self, Wheel, make_executable};
use crate::error::{Error, Result};

/// NVRTC and the headers that kernels include; ptxas; nvdisasm.
const WHEELS: [Wheel; 6] = [
    Wheel {
        package: "nvidia-cuda-nvrtc",
        version: "13.0.88",
        sha256: "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
        bytes: 90_215_200,
    },
    Wheel {
        package: "nvidia-cuda-runtime",
        version: "13.0.96",
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        bytes: 2_243_632,
    },
    Wheel {
        package: "nvidia-cuda-cccl",
        version: "13.0.85",
        sha256: "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
        bytes: 3_120_526,
    },
    Wheel {
        package: "nvidia-cuda-crt",
        version: "13.0.88",
        sha256: "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
        bytes: 134_086,
    },
    Wheel {
        package: "nvidia-cuda-nvcc",
        version: "13.0.88",
        sha256: "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
        bytes: 37_384_532,
    },
    Wheel {
        package: "nvidia-cuda-nvdisasm",
        version: "13.5.37",
        sha256: "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca",
        bytes: 5_170_654,
    },
];

/// Where every wheel keeps its part of the toolkit; girih-testkit looks there too.
const TOOLKIT: &str = "nvidia/cu13";

/// The programs that compile checks run.
const PROGRAMS: [&str; 2] = ["ptxas", "nvdisasm"];

/// The toolkit's folder, a valid `CUDA_PATH` once it is there.
pub fn folder(folders: &Folders) -> PathBuf {
    installation(folders).join(TOOLKIT)
}

/// The folder of the unpacked wheels, their licences among them.
fn installation(folders: &Folders) -> PathBuf {
    folders.girih().join("cuda-13.0")
}

/// Whether the toolkit is installed.
pub fn present(folders: &Folders) -> bool {
    folder(folders).is_dir()
}

/// Installs the toolkit from its wheels.
pub fn install(folders: &Folders) -> Result<()> {
    let what = "CUDA's compilers";
    wheels::install(what, &WHEELS, &folders.girih(), |unpacked| {
        for name in PROGRAMS {
            make_executable(&unpacked.join(TOOLKIT).join("bin").join(name))?;
        }
        // One rename makes it present, so that an installation that was cut off does not count.
        let target = installation(folders);
        wheels::remove(&target)?;
        fs::rename(unpacked, &target).map_err(Error::file(&target))
    })
}

/// Whether an NVIDIA driver is loaded and finds a GPU.
pub fn driver_answers() -> bool {
    python::agrees("import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0))")
}

/// Whether the machine has a toolkit of its own, with NVRTC.
pub fn machine_has_toolkit() -> bool {
    std::env::var_os("CUDA_PATH")
        .map_or_else(|| PathBuf::from("/usr/local/cuda"), PathBuf::from)
        .join("lib64/libnvrtc.so")
        .exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_toolkit_does_not_count() {
        let data = std::env::temp_dir().join(format!("girih-cuda-{}", std::process::id()));
        let folders = Folders { data: data.clone() };
        fs::create_dir_all(folders.girih().join("downloads/unpacked").join(TOOLKIT)).unwrap();
        assert!(!present(&folders));
        fs::create_dir_all(folder(&folders)).unwrap();
        assert!(present(&folders));
        fs::remove_dir_all(data).unwrap();
    }

    #[test]
    fn checksums_are_pinned_whole_and_once() {
        for (i, wheel) in WHEELS.iter().enumerate() {
            assert_eq!(wheel.sha256.len(), 64, "{}", wheel.package);
            assert!(WHEELS[..i].iter().all(|other| other.sha256 != wheel.sha256));
        }
    }
}
