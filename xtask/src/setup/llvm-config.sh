#!/bin/sh
# Answers CubeCL's build scripts for an LLVM that is one shared library.
root=$(cd "$(dirname "$0")/.." && pwd)
for question in "$@"; do
    case $question in
        --libdir) echo "$root/lib" ;;
        --includedir) echo "$root/include" ;;
        --libs | --libnames) echo ;;
        --system-libs) echo "-lLLVM" ;;
        --version) echo 23.1.4 ;;
        --cflags) echo "-I$root/include" ;;
        --cxxflags) echo "-I$root/include -std=c++17" ;;
    esac
done
