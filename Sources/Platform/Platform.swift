// SPDX-License-Identifier: Apache-2.0
/// The C library, under one name on every system: the only module that imports it, so that what differs between
/// systems is found in one place. The gate `arrows` refuses the C library's own name elsewhere.
#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#else
@_exported public import Darwin
#endif
