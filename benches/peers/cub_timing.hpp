// How the programs that measure CUB time what they launch.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int WARMUP = 6;
constexpr int WINDOWS = 3;

inline void check(cudaError_t status, const char *what) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        std::exit(1);
    }
}

inline double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::size_t middle = times.size() / 2;
    return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

// The time between two events around `work`, in microseconds.
template <typename F> double between_events(F work) {
    cudaEvent_t start, end;
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&end), "event");
    check(cudaEventRecord(start), "event");
    work();
    check(cudaEventRecord(end), "event");
    check(cudaEventSynchronize(end), "launch");
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, start, end), "event");
    check(cudaEventDestroy(start), "event");
    check(cudaEventDestroy(end), "event");
    return milliseconds * 1e3;
}

// Times of one launch, in microseconds: the median of launches timed one by one, the mean in a window of launches back to back,
// and what the caller spends on enqueuing one.
struct Times {
    double median_us, window_us, enqueue_us;
};

// Times `launch`, which enqueues one launch, `launches` times by itself and as many times in each window.
template <typename F> Times time_launches(int launches, F launch) {
    for (int turn = 0; turn < WARMUP; ++turn) {
        launch();
    }
    check(cudaDeviceSynchronize(), "launch");
    std::vector<double> singles, windows, enqueued;
    for (int turn = 0; turn < launches; ++turn) {
        singles.push_back(between_events(launch));
    }
    for (int window = 0; window < WINDOWS; ++window) {
        double time = between_events([&] {
            auto start = std::chrono::steady_clock::now();
            for (int turn = 0; turn < launches; ++turn) {
                launch();
            }
            std::chrono::duration<double, std::micro> spent =
                std::chrono::steady_clock::now() - start;
            enqueued.push_back(spent.count() / launches);
        });
        windows.push_back(time / launches);
    }
    return {median(singles), median(windows), median(enqueued)};
}

// The first line: what is measured, and on what.
inline void print_device(int major, int minor, int subminor) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "device");
    std::printf("{\"gpu\": \"%s\", \"cub\": \"%d.%d.%d\"}\n", properties.name, major, minor, subminor);
    std::fflush(stdout);
}
