// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The exit status by which aria2 reports a failure.
///
/// It is also the exit status of the command, the number in JSON events and stored rows, and the RPC's `errorCode`.
/// Several of the engine's codes can map to one status; the code's name is given next to the number if the difference
/// matters.
///
/// - Source: "EXIT STATUS" in aria2c(1); 33 to 35 are defined by Martlet.
package struct Aria2ExitStatus: Hashable, Sendable {
    /// The number.
    package let number: Int

    /// The status of a run in which everything succeeded.
    package static let success = Aria2ExitStatus(number: 0)
    /// The status of a run that left transfers unfinished.
    package static let unfinished = Aria2ExitStatus(number: 7)
    /// The status of a transfer that was removed.
    package static let removed = Aria2ExitStatus(number: 31)

    /// Creates a status from a stored or received number.
    package init(number: Int) { self.number = number }

    package init(_ code: TransferFailure.Code) {
        self.number =
            switch code {
            case .unknown: 1
            case .timeout: 2
            case .notFound: 3
            case .tooSlow: 5
            case .connectionRefused, .hostUnreachable, .connectionReset, .tlsHandshake, .certificateExpired,
                .certificateWrongHost, .certificateUnknownAuthority, .certificate, .network:
                6
            case .cannotResume: 8
            case .noSpace: 9
            case .inUse: 11
            case .fileExists: 13
            case .cannotOpen: 15
            case .cannotCreate: 16
            case .fileIO: 17
            case .cannotCreateDirectory: 18
            case .nameResolution: 19
            case .badResponse: 22
            case .redirects: 23
            case .authentication: 24
            case .badOption: 28
            case .overloaded: 29
            case .checksumMismatch: 32
            case .tooLarge: 33
            case .robotsDenied: 34
            case .addressDenied: 35
            }
    }

    /// The failure that the number stands for, or `nil` if it is not the status of a failure.
    ///
    /// The inverse of ``init(_:)``, as far as it is unambiguous: 6 is `network`, whatever the cause was.
    package var code: TransferFailure.Code? {
        switch self.number {
        case 1: .unknown
        case 2: .timeout
        case 3: .notFound
        case 5: .tooSlow
        case 6: .network
        case 8: .cannotResume
        case 9: .noSpace
        case 11: .inUse
        case 13: .fileExists
        case 15: .cannotOpen
        case 16: .cannotCreate
        case 17: .fileIO
        case 18: .cannotCreateDirectory
        case 19: .nameResolution
        case 22: .badResponse
        case 23: .redirects
        case 24: .authentication
        case 28: .badOption
        case 29: .overloaded
        case 32: .checksumMismatch
        case 33: .tooLarge
        case 34: .robotsDenied
        case 35: .addressDenied
        default: nil
        }
    }
}
