// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

/// Words for the user of a program, in English; ``TransferError/message`` and ``TransferError/remedy`` are for its
/// developer.
extension TransferError: LocalizedError {
    /// What failed, in one sentence.
    public var errorDescription: String? {
        switch self.code {
        case .badURL: "The address is not valid."
        case .badRequest: "The request is not valid."
        case .badDestination: "The file cannot be saved there."
        case .badConfiguration: "The network settings of this program are not valid."
        case .badResumeData: "The interrupted transfer cannot be continued, because its saved state is damaged."
        case .timeout: "The server did not respond in time."
        case .nameResolution: "The server could not be found."
        case .network: self.networkDescription
        case .certificate: self.certificateDescription
        case .authentication: "The server requires a user name and a password, or refused the given ones."
        case .redirect: "The server redirected the request in a way that cannot be followed."
        case .httpStatus: self.statusDescription
        case .badResponse: "The server sent an invalid response."
        case .fileExists: "A file with this name already exists."
        case .fileInUse: "Another program is downloading a file with this name."
        case .noSpace: self.status == 507 ? "The server has no space left." : "There is not enough space on the disk."
        case .file: "A file could not be read or written."
        case .checksumMismatch: "The received file is damaged: its checksum does not match."
        case .cannotResume: "The transfer was interrupted and cannot be continued."
        case .bodyTooLarge:
            self.status == 413 ? "The file is too large for the server." : "The response of the server is too large."
        case .notCached: "The content is not available without a connection to the server."
        case .cancelled: "The transfer was cancelled."
        case .becameDownload: "The transfer continues as a download."
        case .invalidated, .queueClosed: "No more transfers can be started."
        case .listDamaged: "The list of downloads is damaged."
        case .listInUse: "The list of downloads is already open."
        case .listTooNew: "The list of downloads was written by a newer version of this program."
        case .sessionInUse: "Another program has these transfers open."
        case .daemonUnavailable: "The background service for transfers is not available."
        case .fileWasHandedOut: "The temporary file no longer exists."
        default: "The transfer failed."
        }
    }

    /// The technical details: what failed and where.
    public var failureReason: String? { self.message }

    /// A suggestion for the user, or `nil`.
    public var recoverySuggestion: String? {
        switch self.code {
        case .timeout, .nameResolution, .network: "Check the network connection, then try again."
        case .certificate where self.networkFailure == .certificateExpired:
            "Check the date and the time of this computer. If they are correct, ask the operator of the server."
        case .certificate: "Check the address. If it is correct, ask the operator of the server."
        case .authentication: "Check the user name and the password, then try again."
        case .badURL: "Check the address, then try again."
        case .badDestination: "Choose another place, then try again."
        case .fileExists: "Choose another name, or move the existing file."
        case .fileInUse: "Choose another name, or try again later."
        case .noSpace where self.status == nil: "Free some space, then try again."
        case .checksumMismatch, .cannotResume: "Start the transfer again."
        case .listInUse, .sessionInUse: "Close the other program, then try again."
        case .listTooNew: "Update this program."
        default: self.isRetryable ? "Try again later." : nil
        }
    }

    private var networkDescription: String {
        switch self.networkFailure {
        case .connectionRefused: "The server refused the connection."
        case .hostUnreachable: "The server could not be reached."
        case .tlsHandshake: "A secure connection to the server could not be established."
        default: "The connection to the server was lost."
        }
    }

    private var certificateDescription: String {
        switch self.networkFailure {
        case .certificateExpired: "The certificate of the server has expired or is not valid yet."
        case .certificateWrongHost: "The certificate of the server belongs to another server."
        case .certificateUnknownAuthority: "The identity of the server could not be verified."
        default: "There is a problem with a certificate of the connection."
        }
    }

    private var statusDescription: String {
        guard let status = self.status else { return "The server refused the request." }
        return switch status {
        case 404, 410: "The file was not found on the server."
        case 403: "Access to the file is not allowed."
        case 429, 503: "The server is busy."
        case 500...: "The server has a problem (status \(status))."
        default: "The server refused the request (status \(status))."
        }
    }
}
