// SPDX-License-Identifier: Apache-2.0
internal import Files

/// An open file that is closed with its last reference at the latest; NIO has another type of its name.
typealias OpenFile = Files.FileDescriptor
