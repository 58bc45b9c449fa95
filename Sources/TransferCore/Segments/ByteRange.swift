// SPDX-License-Identifier: Apache-2.0
/// A half-open range of byte offsets.
///
/// Ranges on the wire include their last byte (RFC 9110 §14.1.2); these ranges do not.
public typealias ByteRange = Range<Int64>
