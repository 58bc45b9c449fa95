// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine

/// Options for the address, TLS and the access log.
struct ServeAddressOptions: ParsableArguments {
    @Option(.serverListen) var listen = "127.0.0.1:8080"

    @Option(.basePath) var basePath = ""

    @Option(.trustedProxy) var trustedProxy: [String] = []

    @Option(.tlsCertificate) var tlsCertificate: String?

    @Option(.tlsKey) var tlsKey: String?

    @Flag(.tlsSelfSigned) var tlsSelfSigned = false

    @Option(.accessLog) var accessLog = "-"
}

struct ServeContentOptions: ParsableArguments {
    @Flag(.readOnly) var readOnly = false

    @Flag(.overwrite) var overwrite = false

    @Flag(.hidden) var hidden = false

    @Option(.share) var share: [String] = []

    @Option(.shareExpires) var shareExpires: Duration?

    @Option(.shareCount) var shareCount: Int?

    @Option(.sharePasswordFile) var sharePasswordFile: String?

    @Flag(.qr) var qr: Bool?

    @Flag(.shareUploads) var shareUploads = false

    @Flag(.records) var records = false

    @Option(.recordHeader) var recordHeader: [String] = []

    @Option(.recordCookie) var recordCookie: [String] = []
}

/// Options for access control.
struct ServeAccessOptions: ParsableArguments {
    @Option(.tokenFile) var tokenFile: String?

    @Option(.credentials) var credentials: String?

    @Flag(.publicRead) var publicRead = false

    @Option(.sessionCookie) var sessionCookie = "martlet-session"

    @Option(.allowHost) var allowHost: [String] = []

    @Option(.allowOrigin) var allowOrigin: [String] = []
}

struct ServeLimitOptions: ParsableArguments {
    @Option(.maxUpload) var maxUpload: Int64?

    @Option(.maxTotal) var maxTotal: Int64?

    @Option(.keepFree) var keepFree: Int64?

    @Option(.expiry) var expiry: Duration?

    @Option(.idleTimeout) var idleTimeout: Duration?

    @Option(.uploadTimeout) var uploadTimeout: Duration?

    @Option(.leastUploadRate) var minRate: Int64?

    @Option(.maxConnections) var maxConnections: Int?

    @Option(.grace) var grace: Duration?
}
