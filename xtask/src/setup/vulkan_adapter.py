"""Exits with 0 where Vulkan's loader finds an adapter, else with 1."""

import ctypes
import sys


class InstanceCreateInfo(ctypes.Structure):
    """VkInstanceCreateInfo without application, layers and extensions."""

    _fields_ = [
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.c_void_p),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    ]


def adapters() -> int:
    """How many physical devices the loader lists; 0 where there is no loader or no driver."""
    try:
        vulkan = ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return 0
    instance = ctypes.c_void_p()
    info = InstanceCreateInfo(type=1)
    if vulkan.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)) != 0:
        return 0
    count = ctypes.c_uint32()
    if vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None) != 0:
        return 0
    return count.value


sys.exit(0 if adapters() > 0 else 1)
