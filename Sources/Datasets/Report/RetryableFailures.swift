// SPDX-License-Identifier: Apache-2.0
package import TransferCore

extension DatasetResult.Failure {
    /// The failure of a transfer, as a report has it.
    package init(_ failure: TransferFailure) {
        self.init(
            code: failure.code.rawValue,
            message: failure.description,
            isRetryable: Self.isRetryable(failure)
        )
    }

    /// Whether another run may succeed where a transfer failed.
    ///
    /// This differs from `TransferFailure.isRetryable`, which decides about the next attempt of the same run: a wrong
    /// digest or a full disk is not worth another attempt at once, but it is after the cause was fixed.
    static func isRetryable(_ failure: TransferFailure) -> Bool {
        switch failure.code {
        case .timeout, .tooSlow, .connectionRefused, .hostUnreachable, .connectionReset, .network, .overloaded,
            .checksumMismatch, .cannotResume, .tlsHandshake:
            return true
        // Faults of this machine.
        case .noSpace, .inUse, .cannotOpen, .cannotCreate, .fileIO, .cannotCreateDirectory: return true
        case .notFound, .redirects, .authentication, .badOption, .tooLarge, .fileExists, .certificateExpired,
            .certificateWrongHost, .certificateUnknownAuthority, .certificate, .robotsDenied, .addressDenied:
            return false
        // Whether a name server responded that the name does not exist.
        case .nameResolution: return failure.isRetryable
        case .badResponse, .unknown:
            guard let status = failure.status else { return failure.isRetryable }
            return status >= 500 || [408, 425, 429].contains(status)
        }
    }
}
