// SPDX-License-Identifier: Apache-2.0
// The standard library checks the bounds of slices of unsafe buffers in debug builds only. These checks are in every
// build, and the only place that rebases a slice: a mistake in a range ends the process instead of reading or writing
// memory outside the buffer.

extension UnsafeRawBufferPointer {
    /// The bytes of a range, counted from 0.
    ///
    /// - Precondition: The range is within the buffer; checked in every build.
    @inlinable
    @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "The range is outside of the buffer.")
        return UnsafeRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// The bytes of a range, counted from 0.
    ///
    /// - Precondition: The range is within the buffer; checked in every build.
    @inlinable
    @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "The range is outside of the buffer.")
        return UnsafeMutableRawBufferPointer(rebasing: self[range])
    }
}

extension UnsafeBufferPointer {
    /// The elements of a range, counted from 0.
    ///
    /// - Precondition: The range is within the buffer; checked in every build.
    @inlinable
    @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeBufferPointer {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "The range is outside of the buffer.")
        return UnsafeBufferPointer(rebasing: self[range])
    }
}
