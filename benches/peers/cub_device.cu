// CUB's algorithms of a whole device, timed as girih's are (`benches/src/sorting.rs`, `benches/src/workload.rs`): sorts, counts
// of values, sums, and what keeps some of a list.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o cub_device cub_device.cu && ./cub_device
//
// Every measurement is one line of JSON on standard output. Temporary storage is allocated once, before what is timed, which
// takes two sets of buffers in turn. What each call gave is checked: in full on the host for short inputs, by the device for
// long ones; a wrong result ends the program.

// Ranges for profilers have no place in what is timed.
#define CCCL_DISABLE_NVTX
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "cub_timing.hpp"

#include <cstdint>

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

constexpr int SETS = 2;
constexpr int LAUNCHES = 20;
constexpr int BINS = 256;
// A length that is checked on the host, before what is timed.
constexpr std::size_t SHORT = 100003;

// A number of 32 bits that looks random, as girih's: no two positions have the same.
__host__ __device__ inline u32 mixed(u32 position, u32 seed) {
    u32 hash = position * 0x9e3779b1u ^ seed;
    hash ^= hash >> 15;
    hash *= 0x85ebca77u;
    return hash ^ hash >> 13;
}

__global__ void fill(u32 *keys, u32 *places, std::size_t length, u32 seed, int shift) {
    std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; at < length; at += stride) {
        keys[at] = mixed(static_cast<u32>(at), seed) >> shift;
        places[at] = static_cast<u32>(at);
    }
}

__global__ void fill_floats(float *values, u8 *flags, std::size_t length, u32 seed) {
    std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; at < length; at += stride) {
        u32 hash = mixed(static_cast<u32>(at), seed);
        // Small integers, whose sums are exact as long as they are below 2^24.
        values[at] = static_cast<float>(static_cast<int>(hash >> 30) - 1);
        flags[at] = hash >> 31;
    }
}

// Counts places at which sorted keys are out of order, or, of pairs, are not the keys of their places.
__global__ void count_faults(const u32 *keys, const u32 *places, std::size_t length, u32 seed, u64 *faults) {
    std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t at = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; at < length; at += stride) {
        bool is_wrong = at > 0 && keys[at - 1] > keys[at];
        if (places != nullptr) {
            is_wrong = is_wrong || mixed(places[at], seed) != keys[at];
        }
        if (is_wrong) {
            atomicAdd(reinterpret_cast<unsigned long long *>(faults), 1ull);
        }
    }
}

// The caller's own order: large keys first.
struct LargestFirst {
    __host__ __device__ bool operator()(u32 first, u32 second) const { return second < first; }
};

// Memory of the device, as long as it is in scope.
template <typename T> class Buffer {
  public:
    explicit Buffer(std::size_t length) {
        check(cudaMalloc(reinterpret_cast<void **>(&data), length * sizeof(T) + 16), "memory");
    }
    ~Buffer() { cudaFree(data); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    std::vector<T> read(std::size_t length) const {
        std::vector<T> host(length);
        check(cudaMemcpy(host.data(), data, length * sizeof(T), cudaMemcpyDeviceToHost), "copy");
        return host;
    }

    T *data = nullptr;
};

void require(bool is_right, const char *what, std::size_t length) {
    if (!is_right) {
        std::fprintf(stderr, "%s of %zu: wrong result\n", what, length);
        std::exit(1);
    }
}

// What is measured, in the words of girih's lines.
struct Case {
    const char *op;
    const char *dtype;
    const char *data;
    const char *way;
    std::size_t length;
    std::size_t bytes;
};

// Asks `call` for its temporary storage, and calls it; where `is_timed`, times it on the sets in turn, and prints the line.
// `call(storage, size, set)` is a call of CUB on a set.
template <typename F> void run(const Case &of, bool is_timed, F call) {
    std::size_t size = 0;
    check(call(nullptr, size, 0), of.way);
    Buffer<u8> storage(size);
    int turn = 0;
    auto launch = [&] { check(call(storage.data, size, turn++ % SETS), of.way); };
    if (!is_timed) {
        for (int set = 0; set < SETS; ++set) {
            launch();
        }
        check(cudaDeviceSynchronize(), of.way);
        return;
    }
    Times times = time_launches(LAUNCHES, launch);
    std::printf("{\"peer\": \"cub\", \"op\": \"%s\", \"dtype\": \"%s\", \"rows\": %llu, \"columns\": 1, "
                "\"data\": \"%s\", \"way\": \"%s\", \"bytes\": %llu, \"median_us\": %.3f, "
                "\"window_us\": %.3f, \"enqueue_us\": %.3f, \"items_per_ns\": %.3f}\n",
                of.op, of.dtype, static_cast<unsigned long long>(of.length), of.data, of.way,
                static_cast<unsigned long long>(of.bytes), times.median_us, times.window_us, times.enqueue_us,
                static_cast<double>(of.length) / times.window_us / 1e3);
    std::fflush(stdout);
}

// The outputs are in order, and pairs are the input's; short ones are those of the host's sort.
void check_sorted(const Buffer<u32> &keys, const Buffer<u32> *places, std::size_t length, u32 seed, const char *what) {
    Buffer<u64> faults(1);
    check(cudaMemset(faults.data, 0, sizeof(u64)), "memory");
    count_faults<<<1024, 256>>>(keys.data, places == nullptr ? nullptr : places->data, length, seed, faults.data);
    check(cudaGetLastError(), "check");
    check(cudaDeviceSynchronize(), "check");
    require(faults.read(1)[0] == 0, what, length);
    if (length > SHORT) {
        return;
    }
    std::vector<u32> want(length);
    for (std::size_t at = 0; at < length; ++at) {
        want[at] = mixed(static_cast<u32>(at), seed);
    }
    std::sort(want.begin(), want.end());
    require(keys.read(length) == want, what, length);
}

void sorts(std::size_t length, bool is_timed) {
    Buffer<u32> keys0(length), keys1(length), places0(length), places1(length);
    Buffer<u32> keys_out(length), places_out(length);
    u32 *keys[SETS] = {keys0.data, keys1.data};
    u32 *places[SETS] = {places0.data, places1.data};
    for (int set = 0; set < SETS; ++set) {
        fill<<<1024, 256>>>(keys[set], places[set], length, set + 1, 0);
        check(cudaGetLastError(), "fill");
    }
    // The last turn of an even number of launches is on the last set.
    u32 last = SETS;
    // CUB takes other tiles where the count has 64 bits; the best of both is what counts.
    const auto count = static_cast<u32>(length);
    run({"sort_keys", "u32", "uniform", "DeviceRadixSort::SortKeys, count of 64 bits", length, 8 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceRadixSort::SortKeys(storage, size, keys[set], keys_out.data, length);
        });
    check_sorted(keys_out, nullptr, length, last, "SortKeys");
    run({"sort_keys", "u32", "uniform", "DeviceRadixSort::SortKeys, count of 32 bits", length, 8 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceRadixSort::SortKeys(storage, size, keys[set], keys_out.data, count);
        });
    check_sorted(keys_out, nullptr, length, last, "SortKeys");
    run({"sort_pairs", "u32", "uniform", "DeviceRadixSort::SortPairs, count of 64 bits", length, 16 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceRadixSort::SortPairs(storage, size, keys[set], keys_out.data, places[set],
                                                   places_out.data, length);
        });
    check_sorted(keys_out, &places_out, length, last, "SortPairs");
    run({"sort_pairs", "u32", "uniform", "DeviceRadixSort::SortPairs, count of 32 bits", length, 16 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceRadixSort::SortPairs(storage, size, keys[set], keys_out.data, places[set],
                                                   places_out.data, count);
        });
    check_sorted(keys_out, &places_out, length, last, "SortPairs");
    run({"sort_by", "u32", "uniform", "DeviceMergeSort::StableSortKeys after a copy", length, 8 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            // It sorts in place: the keys come from elsewhere each time, as they do for all others.
            if (storage != nullptr) {
                cudaError_t status = cudaMemcpyAsync(keys_out.data, keys[set], length * sizeof(u32), cudaMemcpyDeviceToDevice);
                if (status != cudaSuccess) {
                    return status;
                }
            }
            return cub::DeviceMergeSort::StableSortKeys(storage, size, keys_out.data, count, LargestFirst());
        });
}

void counts(std::size_t length, bool is_timed) {
    Buffer<u32> values0(length), values1(length), places(length), out(BINS);
    u32 *values[SETS] = {values0.data, values1.data};
    for (int set = 0; set < SETS; ++set) {
        fill<<<1024, 256>>>(values[set], places.data, length, set + 1, 24);
        check(cudaGetLastError(), "fill");
    }
    run({"bincount", "u32", "uniform", "DeviceHistogram::HistogramEven", length, 4 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceHistogram::HistogramEven(storage, size, values[set], out.data, BINS + 1, 0u,
                                                       static_cast<u32>(BINS), static_cast<i64>(length));
        });
    u64 sum = 0;
    for (u32 count : out.read(BINS)) {
        sum += count;
    }
    require(sum == length, "HistogramEven", length);
}

void scans(std::size_t length, bool is_timed) {
    Buffer<float> values0(length), values1(length), out(length);
    Buffer<u8> flags0(length), flags1(length);
    Buffer<i64> places(length), count(1);
    float *values[SETS] = {values0.data, values1.data};
    u8 *flags[SETS] = {flags0.data, flags1.data};
    for (int set = 0; set < SETS; ++set) {
        fill_floats<<<1024, 256>>>(values[set], flags[set], length, set + 1);
        check(cudaGetLastError(), "fill");
    }
    const i64 items = static_cast<i64>(length);
    const u32 last = SETS;
    run({"scan", "f32", "in order", "DeviceScan::InclusiveSum", length, 8 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceScan::InclusiveSum(storage, size, values[set], out.data, items);
        });
    if (length <= SHORT) {
        std::vector<float> sums = out.read(length);
        float sum = 0.0f;
        for (std::size_t at = 0; at < length; ++at) {
            sum += static_cast<float>(static_cast<int>(mixed(static_cast<u32>(at), last) >> 30) - 1);
            require(sums[at] == sum, "InclusiveSum", length);
        }
    }
    run({"nonzero", "f32", "in order", "DeviceSelect::Flagged of positions", length, 5 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceSelect::Flagged(storage, size, thrust::counting_iterator<i64>(0), flags[set],
                                              places.data, count.data, items);
        });
    if (length <= SHORT) {
        std::vector<i64> kept = places.read(length);
        i64 found = 0;
        for (std::size_t at = 0; at < length; ++at) {
            if (mixed(static_cast<u32>(at), last) >> 31) {
                require(kept[found++] == static_cast<i64>(at), "Flagged", length);
            }
        }
        require(count.read(1)[0] == found, "Flagged", length);
    }
    run({"masked_select", "f32", "in order", "DeviceSelect::Flagged", length, 7 * length}, is_timed,
        [&](void *storage, std::size_t &size, int set) {
            return cub::DeviceSelect::Flagged(storage, size, values[set], flags[set], out.data, count.data, items);
        });
}

int main() {
    print_device(CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
    auto all = [](std::size_t length, bool is_timed) {
        sorts(length, is_timed);
        counts(length, is_timed);
        scans(length, is_timed);
    };
    all(SHORT, false);
    for (int log : {20, 24, 28}) {
        all(std::size_t(1) << log, true);
    }
    return 0;
}
