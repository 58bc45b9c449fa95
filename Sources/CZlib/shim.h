// SPDX-License-Identifier: Apache-2.0
// zlib's interface, and the parts of it that Swift does not import: macros that pass the size of a structure.
//
// There is no `link` line in the module map: Package.swift links the static library on Linux.
#include <zlib.h>

/// Prepares a stream for gzip members (RFC 1952) with the largest window.
static inline int martlet_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
