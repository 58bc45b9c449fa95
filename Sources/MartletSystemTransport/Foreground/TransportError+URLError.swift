// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore

extension TransportError {
    /// Converts the error of a task.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - origin: The server.
    ///   - hasHead: Whether the head of the response had arrived.
    init(_ error: any Error, from origin: Origin, hasHead: Bool) {
        let place = "\(origin.host):\(origin.port)"
        let system = error as NSError
        guard system.domain == NSURLErrorDomain else {
            self.init(.broken, "\(place): \(system.localizedDescription)")
            self.peer = origin
            return
        }
        let text = system.localizedDescription
        switch system.code {
        case NSURLErrorCancelled: self.init(.cancelled, "the request to \(place) was cancelled")
        case NSURLErrorTimedOut:
            self.init(hasHead ? .broken : .connectTimeout, "\(place) did not respond in time")
        case NSURLErrorCannotFindHost: self.init(.unknownName, "the name \(origin.host) has no address")
        case NSURLErrorDNSLookupFailed:
            self.init(.nameResolution, "the name \(origin.host) could not be resolved: \(text)")
        case NSURLErrorCannotConnectToHost: self.init(.refused, "cannot connect to \(place): \(text)")
        case NSURLErrorNotConnectedToInternet:
            self.init(.unreachable, "this device is offline", remedy: "connect it to a network")
        case NSURLErrorInternationalRoamingOff, NSURLErrorCallIsActive, NSURLErrorDataNotAllowed:
            self.init(
                .unreachable,
                "the network must not be used now: \(text)",
                remedy: "connect to Wi-Fi, or allow this program cellular data in the system's settings"
            )
        case NSURLErrorSecureConnectionFailed: self.init(.tls, "the TLS handshake with \(place) failed: \(text)")
        case NSURLErrorServerCertificateHasBadDate, NSURLErrorServerCertificateNotYetValid:
            self.init(.certificateExpired, "the certificate of \(place) is not valid now: \(text)")
        case NSURLErrorServerCertificateUntrusted, NSURLErrorServerCertificateHasUnknownRoot:
            self.init(.certificateUnknownAuthority, "the certificate of \(place) is not trusted: \(text)")
        case NSURLErrorClientCertificateRejected, NSURLErrorClientCertificateRequired:
            self.init(.certificate, "\(place) requires a client certificate, or refuses the one it got: \(text)")
        case Self.insecureConnectionDenied:
            self.init(
                .proxySettings,
                "App Transport Security denies http to \(place)",
                remedy: "use https, or add an exception to NSAppTransportSecurity in the program's Info.plist"
            )
        case NSURLErrorCannotParseResponse, NSURLErrorBadServerResponse, NSURLErrorCannotDecodeRawData,
            NSURLErrorCannotDecodeContentData:
            self.init(.malformed, "the response of \(place) is malformed: \(text)")
        case NSURLErrorCannotOpenFile, NSURLErrorCannotCreateFile, NSURLErrorCannotWriteToFile,
            NSURLErrorCannotCloseFile, NSURLErrorCannotMoveFile, NSURLErrorFileDoesNotExist,
            NSURLErrorNoPermissionsToReadFile:
            self.init(.localResource, "the system could not use a temporary file: \(text)")
        case NSURLErrorNetworkConnectionLost:
            self.init(hasHead ? .truncated : .broken, "the connection to \(place) was lost: \(text)")
        default: self.init(hasHead ? .truncated : .broken, "\(place): \(text)")
        }
        self.peer = origin
    }

    /// `NSURLErrorAppTransportSecurityRequiresSecureConnection`, which only Apple's systems have.
    private static let insecureConnectionDenied = -1022
}
