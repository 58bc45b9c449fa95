// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation

extension URLError {
    /// The key of the URL's text, whose name in Foundation is deprecated and which programs still use.
    private static let textKey = "NSErrorFailingURLStringKey"

    /// An error of a task, with the URL where programs look for it.
    static func about(_ code: URLError.Code, _ url: URL?, _ message: String) -> URLError {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let url {
            info[NSURLErrorFailingURLErrorKey] = url
            info[Self.textKey] = url.absoluteString
        }
        return URLError(code, userInfo: info)
    }

    /// The error of `URLSession` for one of Martlet's, which is its underlying error.
    init(_ error: TransferError, _ url: URL?) {
        var info: [String: Any] = [
            NSLocalizedDescriptionKey: error.code == .cancelled
                ? "cancelled" : error.errorDescription ?? error.message,
            NSLocalizedFailureReasonErrorKey: error.message,
            NSUnderlyingErrorKey: error,
        ]
        if let url {
            info[NSURLErrorFailingURLErrorKey] = url
            info[Self.textKey] = url.absoluteString
        }
        if let data = error.resumeData { info[URLSessionDownloadTaskResumeData] = data.data }
        self.init(Self.code(error), userInfo: info)
    }

    private static func code(_ error: TransferError) -> URLError.Code {
        switch error.code {
        case .badURL, .badRequest: .badURL
        case .badDestination, .badConfiguration, .badResumeData: .unknown
        case .timeout: .timedOut
        case .nameResolution: .cannotFindHost
        case .network: Self.network(error.networkFailure)
        case .certificate: Self.certificate(error.networkFailure)
        case .authentication: .userAuthenticationRequired
        case .redirect: .httpTooManyRedirects
        case .httpStatus, .badResponse: .badServerResponse
        case .fileExists, .fileInUse, .noSpace, .file: .cannotWriteToFile
        case .checksumMismatch: .cannotDecodeRawData
        case .cannotResume: .networkConnectionLost
        case .bodyTooLarge: .dataLengthExceedsMaximum
        case .notCached: .resourceUnavailable
        case .cancelled, .invalidated: .cancelled
        case .sessionInUse: .backgroundSessionInUseByAnotherProcess
        case .daemonUnavailable: .backgroundSessionWasDisconnected
        default: .unknown
        }
    }

    private static func network(_ failure: TransferError.NetworkFailure?) -> URLError.Code {
        switch failure {
        case .connectionRefused, .hostUnreachable: .cannotConnectToHost
        case .tlsHandshake: .secureConnectionFailed
        default: .networkConnectionLost
        }
    }

    private static func certificate(_ failure: TransferError.NetworkFailure?) -> URLError.Code {
        switch failure {
        case .certificateExpired: .serverCertificateHasBadDate
        case .certificateUnknownAuthority, .certificateWrongHost: .serverCertificateUntrusted
        default: .secureConnectionFailed
        }
    }
}
