// SPDX-License-Identifier: Apache-2.0
/// Arithmetic for numbers from outside: results that do not fit are replaced by the nearest number that does.
///
/// Numbers from the network, files, RPC and the command line can have any value, and Swift's operators trap on overflow.
extension FixedWidthInteger {
    /// The sum, clamped to the type's range.
    @inlinable
    package func adding(clamping other: Self) -> Self {
        let (sum, overflow) = self.addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, clamped to the type's range.
    @inlinable
    package func subtracting(clamping other: Self) -> Self {
        let (difference, overflow) = self.subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
