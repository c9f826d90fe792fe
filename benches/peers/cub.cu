// Collectives of thread blocks and warps by CUB, timed as girih's are (`benches/src/collectives`).
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o cub cub.cu && ./cub
//
// Every measurement is one line of JSON on standard output. Each thread holds one value, and its group does the collective
// `rounds` times in a launch, each time on what the last round left. CUB's temporary storage may be used again once all have
// passed a barrier; `two storages` in `way` takes two in turn, so that the collective's own barrier is enough.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

// Added to an integer below 2^22, this has it in its lowest bits.
constexpr float HOLDER = 12582912.0f;
constexpr unsigned HOLDER_BITS = 0x4b400000u;
// The bits that are kept of them.
constexpr unsigned KEPT = 0x3ffu;

// What a round leaves of a sum: integers wrap by themselves, floats keep their lowest bits, so that every sum is exact.
__device__ __forceinline__ unsigned kept(unsigned value) { return value; }
__device__ __forceinline__ float kept(float value) {
    return __uint_as_float(__float_as_uint(value + HOLDER) & KEPT | HOLDER_BITS) - HOLDER;
}

// A collective of a block: `Storages` says how many temporary storages rounds take in turn.
template <int Threads, int Storages, typename Storage, typename T, typename F>
__device__ __forceinline__ void rounds_of_block(const T *values, T *out, unsigned rounds, F round) {
    __shared__ Storage storages[Storages];
    unsigned unit = blockIdx.x * Threads + threadIdx.x;
    T value = values[unit];
    for (unsigned index = 0; index < rounds; ++index) {
        value = kept(value + round(storages[index % Storages], value));
        if (Storages == 1) {
            __syncthreads();
        }
    }
    out[unit] = value;
}

// The block's sum, which the first thread adds to its value.
template <typename T, int Threads, cub::BlockReduceAlgorithm Algorithm, int Storages>
__global__ void __launch_bounds__(Threads) block_reduce(const T *values, T *out, unsigned rounds) {
    using Collective = cub::BlockReduce<T, Threads, Algorithm>;
    using Storage = typename Collective::TempStorage;
    rounds_of_block<Threads, Storages, Storage>(values, out, rounds, [](Storage &storage, T value) {
        T sum = Collective(storage).Sum(value);
        return threadIdx.x == 0 ? sum : T(0);
    });
}

template <typename T, int Threads, cub::BlockScanAlgorithm Algorithm, int Storages>
__global__ void __launch_bounds__(Threads)
    block_inclusive_scan(const T *values, T *out, unsigned rounds) {
    using Collective = cub::BlockScan<T, Threads, Algorithm>;
    using Storage = typename Collective::TempStorage;
    rounds_of_block<Threads, Storages, Storage>(values, out, rounds, [](Storage &storage, T value) {
        T scanned;
        Collective(storage).InclusiveSum(value, scanned);
        return scanned;
    });
}

template <typename T, int Threads, cub::BlockScanAlgorithm Algorithm, int Storages>
__global__ void __launch_bounds__(Threads)
    block_exclusive_scan(const T *values, T *out, unsigned rounds) {
    using Collective = cub::BlockScan<T, Threads, Algorithm>;
    using Storage = typename Collective::TempStorage;
    rounds_of_block<Threads, Storages, Storage>(values, out, rounds, [](Storage &storage, T value) {
        T scanned;
        Collective(storage).ExclusiveSum(value, scanned);
        return scanned;
    });
}

// The sum of each group of `Lanes` threads, which its first thread adds to its value.
template <typename T, int Threads, int Lanes>
__global__ void __launch_bounds__(Threads) warp_reduce(const T *values, T *out, unsigned rounds) {
    using Collective = cub::WarpReduce<T, Lanes>;
    __shared__ typename Collective::TempStorage storages[Threads / Lanes];
    unsigned unit = blockIdx.x * Threads + threadIdx.x;
    T value = values[unit];
    for (unsigned index = 0; index < rounds; ++index) {
        T sum = Collective(storages[threadIdx.x / Lanes]).Sum(value);
        value = kept(value + (threadIdx.x % Lanes == 0 ? sum : T(0)));
    }
    out[unit] = value;
}

#ifndef __CUDACC_RTC__
#include "cub_timing.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace {

// Sizes, as girih's: four times the threads that 132 multiprocessors hold, and one block alone.
constexpr int UNITS = 4 * 132 * 2048;
constexpr int ROUNDS = 256;
constexpr int ROUNDS_ALONE = 2048;
constexpr int LAUNCHES = 30;
constexpr int PERIOD = 8192;

std::uint32_t hash(std::size_t position) {
    std::uint32_t hash = static_cast<std::uint32_t>(position % PERIOD) ^ 0x5bd1e995u;
    hash *= 0x9e3779b1u;
    hash ^= hash >> 15;
    hash *= 0x85ebca77u;
    return hash ^ hash >> 13;
}

void set(unsigned &value, std::size_t position) { value = hash(position); }
void set(float &value, std::size_t position) {
    value = static_cast<float>(hash(position) >> 22);
}

std::uint32_t bits(unsigned value) { return value; }
std::uint32_t bits(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

const char *name(unsigned) { return "u32"; }
const char *name(float) { return "f32"; }

// What is measured, in the words of girih's lines.
struct Case {
    const char *op;
    std::string group;
    int units;
    int cube;
    const char *way;
};

template <typename T> using Kernel = void (*)(const T *, T *, unsigned);

// Times launches of so many blocks, and prints the line.
template <typename T> void measure(const Case &of, Kernel<T> kernel, int cubes, int rounds) {
    std::size_t units = static_cast<std::size_t>(cubes) * of.cube;
    std::vector<T> host(units);
    for (std::size_t position = 0; position < units; ++position) {
        set(host[position], position);
    }
    T *values, *out;
    check(cudaMalloc(&values, units * sizeof(T)), "memory");
    check(cudaMalloc(&out, units * sizeof(T)), "memory");
    check(cudaMemcpy(values, host.data(), units * sizeof(T), cudaMemcpyHostToDevice), "copy");
    check(cudaMemset(out, 0xff, units * sizeof(T)), "memory");

    auto launch = [&] {
        kernel<<<cubes, of.cube>>>(values, out, rounds);
        check(cudaGetLastError(), "launch");
    };
    Times times = time_launches(LAUNCHES, launch);

    check(cudaMemcpy(host.data(), out, units * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    std::uint64_t checksum = 0;
    for (std::size_t place = 0; place < units; ++place) {
        checksum += bits(host[place]) * static_cast<std::uint64_t>(place % 65521 + 1);
    }
    check(cudaFree(values), "memory");
    check(cudaFree(out), "memory");
    std::printf("{\"peer\": \"cub\", \"op\": \"%s\", \"dtype\": \"%s\", \"group\": \"%s\", \"units\": %d, "
                "\"cube\": %d, \"cubes\": %d, \"rounds\": %d, \"way\": \"%s\", \"median_us\": %.3f, "
                "\"window_us\": %.3f, \"enqueue_us\": %.3f, \"ns_per_round\": %.3f, \"checksum\": \"%016llx\"}\n",
                of.op, name(T()), of.group.c_str(), of.units, of.cube, cubes, rounds, of.way,
                times.median_us, times.window_us, times.enqueue_us, times.window_us * 1e3 / rounds,
                static_cast<unsigned long long>(checksum));
    std::fflush(stdout);
}

// A grid that fills the device, and one block alone.
template <typename T> void both(const Case &of, Kernel<T> kernel) {
    measure(of, kernel, UNITS / of.cube, ROUNDS);
    measure(of, kernel, 1, ROUNDS_ALONE);
}

template <typename T, int Threads, cub::BlockReduceAlgorithm Algorithm>
void reductions(const char *way, const char *way_of_two) {
    Case of{"reduce", "cube", Threads, Threads, way};
    both<T>(of, block_reduce<T, Threads, Algorithm, 1>);
    of.way = way_of_two;
    both<T>(of, block_reduce<T, Threads, Algorithm, 2>);
}

template <typename T, int Threads, cub::BlockScanAlgorithm Algorithm>
void scans(const char *way, const char *way_of_two) {
    Case of{"inclusive_scan", "cube", Threads, Threads, way};
    both<T>(of, block_inclusive_scan<T, Threads, Algorithm, 1>);
    of.way = way_of_two;
    both<T>(of, block_inclusive_scan<T, Threads, Algorithm, 2>);
    of.op = "exclusive_scan";
    both<T>(of, block_exclusive_scan<T, Threads, Algorithm, 2>);
    of.way = way;
    both<T>(of, block_exclusive_scan<T, Threads, Algorithm, 1>);
}

template <typename T, int Threads> void of_blocks() {
    reductions<T, Threads, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(
        "warp reductions", "warp reductions, two storages");
    reductions<T, Threads, cub::BLOCK_REDUCE_RAKING>("raking", "raking, two storages");
    reductions<T, Threads, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(
        "raking, commutative", "raking, commutative, two storages");
    scans<T, Threads, cub::BLOCK_SCAN_RAKING>("raking", "raking, two storages");
    scans<T, Threads, cub::BLOCK_SCAN_WARP_SCANS>("warp scans", "warp scans, two storages");
}

template <typename T> void all() {
    of_blocks<T, 256>();
    of_blocks<T, 1024>();
    both<T>({"reduce", "plane", 32, 256, "warp reduce"}, warp_reduce<T, 256, 32>);
    both<T>({"reduce", "8 lanes", 8, 256, "warp reduce"}, warp_reduce<T, 256, 8>);
}

} // namespace

int main() {
    print_device(CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    all<unsigned>();
    all<float>();
    return 0;
}
#endif
